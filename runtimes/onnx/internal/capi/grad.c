// The training kernels for each instruction set. This file knows nothing of ONNX Runtime.
#include "grad.h"

#include <math.h>
#include <string.h>

#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
#include "grad_table.h"
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
#include "grad_table.h"
#undef LANES
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#endif
#pragma GCC pop_options
#endif

#define LANES 4
#define NAME(x) JOIN(x, _baseline)
#include "grad_table.h"
#undef LANES
#undef NAME

const mdm_parts *mdm_parts_here(void) {
#if defined(__x86_64__)
  switch (mdm_level()) {
    case 2:
      return &parts_avx512;
    case 1:
      return &parts_avx2;
  }
#endif
  return &parts_baseline;
}

void mdm_columns(const mdm_job *j, int64_t lo, int64_t hi) {
  enum { AT_ONCE = 64 };
  for (int c = 0; c < j->columns; c++) {
    for (int64_t at = lo; at < hi; at += AT_ONCE) {
      const int64_t n = hi - at < AT_ONCE ? hi - at : AT_ONCE;
      double sum[AT_ONCE] = {0};
      for (int64_t p = 0; p < j->parts; p++) {
        const float *s = j->sums + (p * j->columns + c) * j->width + at;
        for (int64_t i = 0; i < n; i++) sum[i] += s[i];
      }
      for (int64_t i = 0; i < n; i++) j->out[1 + c][at + i] = (float)sum[i];
    }
  }
}
