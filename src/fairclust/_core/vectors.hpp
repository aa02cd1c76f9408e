// Vectors of the instruction set that a file is compiled for, for the inner loops: what they share. No standard-library
// template may be used here, and all names are the file's own: code compiled for AVX-512 must not be the copy that the
// linker keeps for everybody.
#pragma once

#include <cstdint>

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define FC_CAT2(a, b) a##b
#define FC_CAT(a, b) FC_CAT2(a, b)
#define FC_TEXT2(a) #a
#define FC_TEXT(a) FC_TEXT2(a)

#if defined(__AVX512F__)
#define FC_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define FC_VECTOR_BYTES 32
#else
#define FC_VECTOR_BYTES 16
#endif

namespace fairclust {
namespace {

typedef float vfloat __attribute__((vector_size(FC_VECTOR_BYTES)));
typedef double vdouble __attribute__((vector_size(FC_VECTOR_BYTES)));

template <class T> struct Simd;
template <> struct Simd<float> { typedef vfloat vec; };
template <> struct Simd<double> { typedef vdouble vec; };

template <class T> constexpr int lanes() { return FC_VECTOR_BYTES / (int)sizeof(T); }

template <class T> inline typename Simd<T>::vec load(const T* p) {
    typename Simd<T>::vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}
template <class T> inline void store(T* p, typename Simd<T>::vec v) { memcpy(p, &v, sizeof(v)); }

// The first values of a vector, fewer than it has lanes; nothing beyond them is read. The others are zero.
template <class T> inline typename Simd<T>::vec load_first(const T* p, int64_t count) {
    typename Simd<T>::vec v = {};
    for (int i = 0; i < lanes<T>(); ++i) v[i] = i < count ? p[i] : 0;
    return v;
}
#if FC_VECTOR_BYTES == 64
template <> inline vfloat load_first(const float* p, int64_t count) {
    return (vfloat)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
}
template <> inline vdouble load_first(const double* p, int64_t count) {
    return (vdouble)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
}
#elif FC_VECTOR_BYTES == 32
template <> inline vfloat load_first(const float* p, int64_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (vfloat)_mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane));
}
template <> inline vdouble load_first(const double* p, int64_t count) {
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    return (vdouble)_mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lane));
}
#endif

template <class X> inline X smaller(X a, X b) { return a < b ? a : b; }
template <class X> inline X larger(X a, X b) { return a > b ? a : b; }
// There is an instruction for each. GCC 12 finds that of the smaller one, and seldom that of the larger.
#if FC_VECTOR_BYTES == 64
template <> inline vfloat larger(vfloat a, vfloat b) { return (vfloat)_mm512_max_ps((__m512)a, (__m512)b); }
#elif FC_VECTOR_BYTES == 32
template <> inline vfloat larger(vfloat a, vfloat b) { return (vfloat)_mm256_max_ps((__m256)a, (__m256)b); }
#elif defined(__SSE2__)
template <> inline vfloat larger(vfloat a, vfloat b) { return (vfloat)_mm_max_ps((__m128)a, (__m128)b); }
#endif

typedef int32_t vint32 __attribute__((vector_size(FC_VECTOR_BYTES)));

// What a comparison says, a bit per lane.
inline uint64_t bits_of(vint32 is) {
#if FC_VECTOR_BYTES == 64
    return _mm512_movepi32_mask((__m512i)is);
#elif FC_VECTOR_BYTES == 32
    return (uint64_t)_mm256_movemask_ps((__m256)is);
#elif defined(__SSE2__)
    return (uint64_t)_mm_movemask_ps((__m128)is);
#else
    uint64_t bits = 0;
    for (int i = 0; i < lanes<float>(); ++i) bits |= (uint64_t)(is[i] & 1) << i;
    return bits;
#endif
}

typedef float vhalf __attribute__((vector_size(FC_VECTOR_BYTES / 2)));  // as many floats as a vector has doubles

inline vdouble doubles(vhalf v) {
#if FC_VECTOR_BYTES == 64
    return (vdouble)_mm512_maskz_cvtps_pd(0xff, (__m256)v);  // one instruction, which GCC 12 does not find by itself
#else
    return __builtin_convertvector(v, vdouble);
#endif
}

// As many values as a vector has doubles, in double precision.
inline vdouble load_doubles(const double* p) { return load(p); }
inline vdouble load_doubles(const float* p) {
    vhalf values;
    memcpy(&values, p, sizeof(values));
    return doubles(values);
}
#if FC_VECTOR_BYTES == 64
// The first of them; nothing beyond is read. The others are zero.
inline vdouble load_first_doubles(const double* p, int64_t count) { return load_first(p, count); }
inline vdouble load_first_doubles(const float* p, int64_t count) {
    return doubles((vhalf)_mm256_maskz_loadu_ps((__mmask8)((1u << count) - 1), p));
}
#endif

}  // namespace
}  // namespace fairclust
