// Vector code of the kernel, included once per instruction set by kernel.c, which defines LANES and NAME(x).
// Vector extensions of GCC and Clang; IEEE semantics throughout (no fast-math).

typedef float NAME(vf) __attribute__((vector_size(LANES * 4), may_alias));
typedef float NAME(vfu) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(vi) __attribute__((vector_size(LANES * 4), may_alias));
#define VF NAME(vf)
#define VFU NAME(vfu)
#define VI NAME(vi)

static inline VF NAME(max)(VF a, VF b) {
#if LANES == 16
  return (VF)_mm512_max_ps((__m512)a, (__m512)b);
#elif LANES == 8
  return (VF)_mm256_max_ps((__m256)a, (__m256)b);
#else
  VI m = a > b;
  return (VF)(((VI)a & m) | ((VI)b & ~m));
#endif
}

static inline VF NAME(min)(VF a, VF b) { return -NAME(max)(-a, -b); }

// load reads up to LANES floats; missing ones are -inf.
static inline VF NAME(load)(const float *p, int32_t n) {
  if (n >= LANES) return *(const VFU *)p;
#if LANES == 16
  return (VF)_mm512_mask_loadu_ps(_mm512_set1_ps(-INFINITY), (__mmask16)((1u << n) - 1), p);
#else
  VF x = (VF){0} - INFINITY;
  for (int32_t j = 0; j < n; j++) x[j] = p[j];
  return x;
#endif
}

// ex returns exp(x) for x <= 0: exactly 0 below -86.9, else within 2 ulp. *d gets -x, 0 where the result is 0.
static inline VF NAME(ex)(VF x, VF *d) {
  VI live = x >= -86.9f;
  x = (VF)((VI)x & live);
  *d = -x;
  VF t = x * 1.44269504f + 12582912.f;  // rounds to an integer in the low bits
  VF n = t - 12582912.f;
  VF r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  VF p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.f;
  VI scaled = (VI)p + (((VI)t - 0x4B400000) << 23);
  return (VF)(scaled & live);
}

// peaks finds the two largest logits, block maxima and faults.
static mdm_peaks NAME(peaks)(const mdm_head *h, const float *z, float *block_max) {
  const VF low = (VF){0} - INFINITY;
  VF second = low;
  VI bad = {0};
  float best = -INFINITY;
  int32_t at = -1;
  VF first = low;
  for (int32_t b = 0; b < h->blocks; b++) {
    const float *p = z + h->block[b].lo;
    int32_t n = h->block[b].n;
    VF top = low;
    for (int32_t i = 0; i < n; i += LANES) {
      VF x = NAME(load)(p + i, n - i);
      bad |= x != x;
      second = NAME(max)(second, NAME(min)(first, x));
      first = NAME(max)(first, x);
      top = NAME(max)(top, x);
    }
    float m = top[0];
    for (int j = 1; j < LANES; j++) m = top[j] > m ? top[j] : m;
    block_max[b] = m;
    if (m > best) best = m, at = b;
  }
  mdm_peaks r = {best, -INFINITY, -1, 0};
  for (int j = 0; j < LANES; j++) {
    if (bad[j]) r.fault = MDM_FAULT_NAN;
  }
  if (best == INFINITY) r.fault = MDM_FAULT_NAN;
  if (r.fault) return r;
  if (at < 0) {
    r.fault = MDM_FAULT_SUPPRESSED;
    return r;
  }
  r.argmax = h->block[at].lo;
  while (z[r.argmax] != best) r.argmax++;
  // Each lane knows its own two largest; one lane's largest is the row's.
  int seen = 0;
  for (int j = 0; j < LANES; j++) {
    float x = first[j];
    if (x == best && !seen) {
      seen = 1;
      x = second[j];
    }
    if (x > r.second) r.second = x;
  }
  return r;
}

// sums adds exp((z - m) * scale) over n tokens, and the same times (m - z) * scale; e gets the exponentials if it is not NULL (room for n rounded up to LANES).
static inline void NAME(sums)(const float *z, int32_t n, float m, float scale, float *e, double *sum, double *cross) {
  VF s = {0}, c = {0};
  for (int32_t i = 0; i < n; i += LANES) {
    VF d, x = NAME(ex)((NAME(load)(z + i, n - i) - m) * scale, &d);
    s += x;
    c += x * d;
    if (e) *(VFU *)(e + i) = x;
  }
  double a = 0, b = 0;
  for (int j = 0; j < LANES; j++) a += s[j], b += c[j];
  *sum = a;
  *cross = b;
}

// dots adds sum_v e_v c_v of one block to acc for every vector.
static void NAME(dots)(const mdm_call *c, const float *e, int32_t lo, int32_t n, double *acc) {
  for (int32_t k = 0; k < c->head->dots; k++) {
    const float *p = c->dot + (int64_t)k * c->head->v + lo;
    VF s = {0};
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) s += *(const VFU *)(e + i) * *(const VFU *)(p + i);
    double a = 0;
    for (int j = 0; j < LANES; j++) a += s[j];
    for (; i < n; i++) a += (double)e[i] * p[i];
    acc[k] += a;
  }
}

#include "kernel_edit.h"
#include "kernel_position.h"

#undef VF
#undef VFU
#undef VI
