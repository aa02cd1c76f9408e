#include "checks.hpp"

#include <vector>

namespace fairclust {

bool is_within(const int32_t* values, size_t count, int64_t limit) {
    if (limit > INT32_MAX) limit = static_cast<int64_t>(INT32_MAX) + 1;
    const int32_t last = static_cast<int32_t>(limit - 1);
    int32_t outside = 0;
    for (size_t i = 0; i < count; ++i) outside |= (values[i] < 0) | (values[i] > last);
    return !outside;
}

bool is_between(const int64_t* values, size_t count, int64_t lowest, int64_t highest) {
    bool outside = false;
    for (size_t i = 0; i < count; ++i) outside |= (values[i] < lowest) | (values[i] > highest);
    return !outside;
}

template <class C> static C largest(const C* values, size_t count) {
    C found = 0;
    for (size_t i = 0; i < count; ++i) found = values[i] > found ? values[i] : found;
    return found;
}
uint8_t largest_of(const uint8_t* values, size_t count) { return largest(values, count); }
uint16_t largest_of(const uint16_t* values, size_t count) { return largest(values, count); }

bool is_rising(const int64_t* values, size_t count) {
    bool falls = count > 0 && values[0] < 0;
    for (size_t i = 1; i < count; ++i) falls |= values[i] < values[i - 1];
    return !falls;
}

bool is_permutation(const int32_t* values, size_t count) {
    if (!is_within(values, count, static_cast<int64_t>(count))) return false;
    std::vector<char> seen(count, 0);
    for (size_t i = 0; i < count; ++i) seen[values[i]] = 1;
    char all = 1;
    for (size_t i = 0; i < count; ++i) all &= seen[i];
    return all;
}

void require_indices(const char* argument, const int32_t* values, size_t count, int64_t limit, const char* of_what) {
    if (is_within(values, count, limit)) return;
    size_t i = 0;
    while (values[i] >= 0 && values[i] < limit) ++i;
    refuse(argument, "holds " + std::to_string(values[i]) + " at position " + std::to_string(i) + ", but there are " +
                         std::to_string(limit) + " " + of_what + ", numbered from 0");
}

}  // namespace fairclust
