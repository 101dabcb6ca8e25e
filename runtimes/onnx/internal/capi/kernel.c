#include "kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

int mdm_head_init(mdm_head *h, const int64_t *suppress, size_t count) {
  h->suppressed = calloc(h->v, 1);
  if (!h->suppressed) return -1;
  for (size_t i = 0; i < count; i++) {
    if (suppress[i] >= 0 && suppress[i] < h->v) h->suppressed[suppress[i]] = 1;
  }
  // Twice over the vocabulary: count the blocks, then write them.
  for (int pass = 0; pass < 2; pass++) {
    int32_t blocks = 0;
    for (int64_t lo = 0; lo < h->v;) {
      if (h->suppressed[lo]) {
        lo++;
        continue;
      }
      int64_t hi = lo;
      while (hi < h->v && hi < lo + MDM_BLOCK && !h->suppressed[hi]) hi++;
      if (pass) h->block[blocks] = (mdm_block){(int32_t)lo, (int32_t)(hi - lo)};
      blocks++;
      lo = hi;
    }
    if (!pass) {
      h->blocks = blocks;
      h->block = malloc((blocks + 1) * sizeof(mdm_block));
      if (!h->block) return -1;
    }
  }
  size_t floats = h->blocks + (h->filter ? h->v + 64 : 0) + (h->edits ? h->v : 0);
  h->scratch = ((h->blocks + h->dots) * sizeof(double) + floats * sizeof(float) + 63) / 64 * 64;
  if (!h->scratch) h->scratch = 64;
  return 0;
}

void mdm_head_free(mdm_head *h) {
  free(h->suppressed);
  free(h->block);
  free(h->bias_token);
  free(h->bias);
}

static void mdm_fail(const mdm_call *c, int64_t i, int32_t fault) {
  const mdm_head *h = c->head;
  const int32_t rows[] = {h->p1, h->p2, h->entropy, h->logp_current, h->logp_proposal, h->kl};
  c->proposal[i] = fault;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    if (rows[r] >= 0) c->stats[rows[r] * c->n + i] = NAN;
  }
  for (int32_t k = 0; k < h->dots; k++) c->stats[(h->dot + k) * c->n + i] = NAN;
  for (int32_t k = 0; k < h->k; k++) c->top_ids[i * h->k + k] = -1, c->top_logp[i * h->k + k] = NAN;
}

// Whether some statistic of the model's own distribution is wanted.
static int mdm_wants_model(const mdm_head *h, int hot) {
  return h->logp_current >= 0 || h->kl >= 0 || h->k || h->dots || h->peaks_on == MDM_MODEL || h->entropy_on == MDM_MODEL || h->logp_proposal_on == MDM_MODEL ||
         (!hot && (h->peaks_on || h->entropy_on || h->logp_proposal_on));
}

#define SIMD_SOURCE "kernel_simd.h"
#include "simd.h"

int mdm_level(void) {
#if defined(__x86_64__)
  const char *wish = getenv("MDMHOST_SIMD");
  const int most = !wish ? 2 : !strcmp(wish, "avx2") ? 1 : !strcmp(wish, "baseline") ? 0 : 2;
  __builtin_cpu_init();
  if (most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return 2;
  if (most >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
  return 0;
}

const char *mdm_instructions(void) { return (const char *[]){"baseline", "avx2", "avx512"}[mdm_level()]; }

void mdm_positions(const mdm_call *c, int64_t lo, int64_t hi, void *scratch) {
#if defined(__x86_64__)
  switch (mdm_level()) {
    case 2:
      positions_avx512(c, lo, hi, scratch);
      return;
    case 1:
      positions_avx2(c, lo, hi, scratch);
      return;
  }
#endif
  positions_baseline(c, lo, hi, scratch);
}
