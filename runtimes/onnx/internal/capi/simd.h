// Includes SIMD_SOURCE once for each instruction set: LANES is how many floats a vector has, NAME(x) what x is called there.
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if defined(__x86_64__)
#pragma GCC push_options
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")
#endif
#define LANES 16
#define NAME(x) JOIN(x, _avx512)
#include SIMD_SOURCE
#undef LANES
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#endif
#pragma GCC pop_options

#pragma GCC push_options
#if !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif
#define LANES 8
#define NAME(x) JOIN(x, _avx2)
#include SIMD_SOURCE
#undef LANES
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#endif
#pragma GCC pop_options
#endif

#define LANES 4
#define NAME(x) JOIN(x, _baseline)
#include SIMD_SOURCE
#undef LANES
#undef NAME
#undef JOIN
#undef JOIN2
#undef SIMD_SOURCE
