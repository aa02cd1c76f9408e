// What is asked of arrays before a kernel reads them. A kernel indexes by what these have seen, so nothing that Python
// can pass makes it leave an array. Each is one pass without a branch, compiled apart from the bindings, for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace fairclust {

// Raises ValueError in Python, with the argument's name.
[[noreturn]] inline void refuse(const char* argument, const std::string& wanted) {
    throw std::invalid_argument(std::string(argument) + " " + wanted);
}
inline void require(bool fits, const char* argument, const char* wanted) {
    if (!fits) refuse(argument, wanted);
}

// All of 0 <= value < limit.
bool is_within(const int32_t* values, size_t count, int64_t limit);
// All of lowest <= value <= highest.
bool is_between(const int64_t* values, size_t count, int64_t lowest, int64_t highest);
// 0 where there is none.
uint8_t largest_of(const uint8_t* values, size_t count);
uint16_t largest_of(const uint16_t* values, size_t count);
// 0 <= values[0] <= values[1] <= ... <= values[count - 1].
bool is_rising(const int64_t* values, size_t count);
// Each of 0 ... count - 1 once.
bool is_permutation(const int32_t* values, size_t count);

void require_indices(const char* argument, const int32_t* values, size_t count, int64_t limit, const char* of_what);

}  // namespace fairclust
