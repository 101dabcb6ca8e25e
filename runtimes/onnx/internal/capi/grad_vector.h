// Vectors of LANES floats for the training kernels, included once per instruction set by grad.c, which defines LANES and
// NAME(x). Vector extensions of GCC and Clang; IEEE semantics throughout (no fast-math). Not-a-numbers survive.

typedef float NAME(vf) __attribute__((vector_size(LANES * 4), may_alias));
typedef float NAME(vfu) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(vi) __attribute__((vector_size(LANES * 4), may_alias));
#define VF NAME(vf)
#define VFU NAME(vfu)
#define VI NAME(vi)

static inline VF NAME(all)(float x) { return (VF){0} + x; }

// load_or reads up to LANES floats; missing ones are fill.
static inline VF NAME(load_or)(const float *p, int64_t n, float fill) {
  if (n >= LANES) return *(const VFU *)p;
#if LANES == 16
  return (VF)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)((1u << n) - 1), p);
#elif LANES == 8
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return (VF)_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
#else
  VF x = NAME(all)(fill);
  for (int64_t j = 0; j < n; j++) x[j] = p[j];
  return x;
#endif
}

static inline VF NAME(load)(const float *p, int64_t n) { return NAME(load_or)(p, n, 0); }

// store writes up to LANES floats.
static inline void NAME(store)(float *p, int64_t n, VF x) {
  if (n >= LANES) {
    *(VFU *)p = x;
    return;
  }
#if LANES == 16
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
#elif LANES == 8
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), (__m256)x);
#else
  for (int64_t j = 0; j < n; j++) p[j] = x[j];
#endif
}

// if_less returns yes in the lanes where a < b, else no, also where one is not a number.
static inline VF NAME(if_less)(VF a, VF b, VF yes, VF no) {
#if LANES == 16
  return (VF)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ), (__m512)no, (__m512)yes);
#else
  VI m = a < b;
  return (VF)(((VI)yes & m) | ((VI)no & ~m));
#endif
}

// clamp returns x within -most and most.
static inline VF NAME(clamp)(VF x, float most) {
  const VF hi = NAME(all)(most), lo = -hi;
#if LANES == 16
  return (VF)_mm512_max_ps((__m512)lo, _mm512_min_ps((__m512)hi, (__m512)x));
#else
  x = NAME(if_less)(x, hi, x, hi);
  return NAME(if_less)(lo, x, x, lo);
#endif
}

static inline VF NAME(absolute)(VF x) { return (VF)((VI)x & 0x7fffffff); }

static inline VF NAME(root)(VF x) {
#if LANES == 16
  return (VF)_mm512_sqrt_ps((__m512)x);
#elif LANES == 8
  return (VF)_mm256_sqrt_ps((__m256)x);
#else
  for (int j = 0; j < LANES; j++) x[j] = sqrtf(x[j]);
  return x;
#endif
}

// add returns the sum of the lanes.
static inline float NAME(add)(VF x) {
  float s[LANES];
  memcpy(s, &x, sizeof s);
  for (int n = LANES / 2; n; n /= 2) {
    for (int j = 0; j < n; j++) s[j] += s[j + n];
  }
  return *s;
}

// highest returns the largest lane; none may be a not-a-number.
static inline float NAME(highest)(VF x) {
  float s[LANES];
  memcpy(s, &x, sizeof s);
  for (int n = LANES / 2; n; n /= 2) {
    for (int j = 0; j < n; j++) s[j] = s[j + n] > s[j] ? s[j + n] : s[j];
  }
  return *s;
}

// whole returns x/ln 2 as a whole number n, and the rest x - n ln 2 of x.
static inline VF NAME(whole)(VF x, VF *rest) {
  const float rounds = 12582912.f;  // to integers, for up to 2^22
  VF n = x * 1.44269504f + rounds - rounds;
  *rest = x - n * 0.693359375f + n * 2.12194440e-4f;
  return n;
}

// power returns 2^n exp(r) for |r| <= 0.35 within 2 ulp. n is at most 127; other than AVX-512, it must be above -126.
static inline VF NAME(power)(VF n, VF r) {
  VF p = r * 1.3814320554956794e-3f + 8.36885068565607e-3f;
  p = p * r + 4.1668400168418884e-2f;
  p = p * r + 1.666651964187622e-1f;
  p = p * r + 4.999999403953552e-1f;
  p = p * (r * r) + r + 1.f;
#if LANES == 16
  return (VF)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  return (VF)((VI)p + (__builtin_convertvector(n, VI) << 23));
#endif
}

// ex returns exp(x + more) for x <= 1 and a small more: 0 below -105, perhaps from -86.9 on. A not-a-number gives anything.
static inline VF NAME(ex)(VF x, VF more) {
  VF r;
#if LANES == 16
  VF n = NAME(whole)((VF)_mm512_max_ps((__m512)x, _mm512_set1_ps(-105)), &r);
  return NAME(power)(n, r + more);
#else
  VI live = x >= -86.9f;
  VF n = NAME(whole)((VF)((VI)x & live), &r);
  return (VF)((VI)NAME(power)(n, r + more) & live);
#endif
}

// sigmoid returns 1/(1+exp(-x)) and its complement with full relative accuracy, but at least 1e-38 for x < 0. A not-a-number
// gives anything.
static inline VF NAME(sigmoid)(VF x, VF *complement) {
  VF r, n = NAME(whole)(NAME(clamp)(-x, 87), &r), e = NAME(power)(n, r), s = 1.f / (1.f + e);
  *complement = e * s;
  return s;
}

// EACH does its last argument for the elements lo to hi: with k = LANES of them from i, then with those left over.
#define EACH(i, k, lo, hi, ...)                  \
  do {                                           \
    int64_t i = (lo);                            \
    for (; i + LANES <= (hi); i += LANES) {      \
      enum { k = LANES };                        \
      __VA_ARGS__                                \
    }                                            \
    if (i < (hi)) {                              \
      const int64_t k = (hi)-i;                  \
      __VA_ARGS__                                \
    }                                            \
  } while (0)
