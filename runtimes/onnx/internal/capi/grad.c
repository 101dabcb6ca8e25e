// The training kernels for each instruction set. This file knows nothing of ONNX Runtime.
#include "grad.h"

#include <math.h>
#include <string.h>

#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SIMD_SOURCE "grad_table.h"
#include "simd.h"

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
