#include "kernel.h"

#include <float.h>
#include <math.h>

enum { BINS = 1024, FEW = 256 };

static int before(mdm_place a, mdm_place b) { return a.z > b.z || (a.z == b.z && a.id < b.id); }

// sort_places is a heap sort: no recursion, no memory, O(n log n) on anything.
static void sort_places(mdm_place *a, int64_t n) {
  for (int64_t end = n, start = n / 2; end > 1;) {
    if (start > 0) {
      start--;
    } else {
      end--;
      mdm_place t = a[end];
      a[end] = a[0];
      a[0] = t;
    }
    for (int64_t i = start, j; (j = 2 * i + 1) < end; i = j) {
      if (j + 1 < end && before(a[j], a[j + 1])) j++;
      if (!before(a[i], a[j])) break;
      mdm_place t = a[i];
      a[i] = a[j];
      a[j] = t;
    }
  }
}

mdm_place mdm_cut(const mdm_head *h, const float *z, const float *weight, double limit, float lowest, float highest, float span) {
  float lo = lowest, hi = highest;  // the crossing lies within
  double sum = 0;                   // weight before hi
  while (1) {
    // Bins of equal width from hi down; the last one takes all the rest, down to lo.
    double bin[BINS] = {0};
    int32_t count[BINS] = {0};
    const double scale = (BINS - 1) / (span > 0 ? (double)span : 1);
    for (int32_t b = 0; b < h->blocks; b++) {
      const int32_t from = h->block[b].lo, to = from + h->block[b].n;
      for (int32_t v = from; v < to; v++) {
        const float x = z[v];
        if (!(x >= lo && x <= hi) || x == -INFINITY) continue;
        const double d = ((double)hi - x) * scale;
        const int i = d < BINS - 1 ? (int)d : BINS - 1;
        bin[i] += weight ? weight[v] : 1;
        count[i]++;
      }
    }
    int i = 0;
    while (i < BINS && !(sum + bin[i] > limit)) sum += bin[i++];
    if (i == BINS) return (mdm_place){lowest, INT32_MAX};
    float least = INFINITY, most = -INFINITY;
    for (int32_t b = 0; b < h->blocks; b++) {
      const int32_t from = h->block[b].lo, to = from + h->block[b].n;
      for (int32_t v = from; v < to; v++) {
        const float x = z[v];
        if (!(x >= lo && x <= hi) || x == -INFINITY) continue;
        const double d = ((double)hi - x) * scale;
        if ((d < BINS - 1 ? (int)d : BINS - 1) != i) continue;
        if (x < least) least = x;
        if (x > most) most = x;
      }
    }
    lo = least, hi = most, span = (double)most - least < FLT_MAX ? most - least : FLT_MAX;
    if (lo < hi && count[i] > FEW) continue;

    // Few tokens, or equals only: walk them in order.
    mdm_place list[FEW], last = {hi, -1};
    int64_t n = 0;
    for (int32_t b = 0; b < h->blocks; b++) {
      const int32_t from = h->block[b].lo, to = from + h->block[b].n;
      for (int32_t v = from; v < to; v++) {
        if (z[v] < lo || z[v] > hi) continue;
        if (lo < hi) {
          list[n++] = (mdm_place){z[v], v};
        } else if (last.id < 0 || sum <= limit) {  // ids ascend
          last.id = v;
          sum += weight ? weight[v] : 1;
        }
      }
    }
    sort_places(list, n);
    for (int64_t j = 0; j < n && (last.id < 0 || sum <= limit); j++) {
      last = list[j];
      sum += weight ? weight[last.id] : 1;
    }
    return last;
  }
}

mdm_place mdm_place_before(const mdm_head *h, const float *z, mdm_place at) {
  mdm_place best = at;
  for (int32_t b = 0; b < h->blocks; b++) {
    const int32_t from = h->block[b].lo, to = from + h->block[b].n;
    for (int32_t v = from; v < to; v++) {
      const mdm_place x = {z[v], v};
      if (before(x, at) && (best.id == at.id || before(best, x))) best = x;
    }
  }
  return best;
}

void mdm_top(const mdm_head *h, const float *z, const float *block_max, float highest, double lnz, int32_t *ids, float *logp) {
  // A small k is kept sorted by insertion, which seldom happens; a large one is cut and sorted.
  enum { SMALL = 64 };
  mdm_place small[SMALL], *list = small, last = {-INFINITY, INT32_MAX};
  int64_t n = 0, k = h->k;
  const int large = k > SMALL;
  if (large) {
    last = mdm_cut(h, z, NULL, k - 1, -INFINITY, highest, 32);
    list = malloc(k * sizeof *list);
    if (!list) k = 0;
  }
  for (int32_t b = 0; b < h->blocks && k; b++) {
    if (!large && n == k && !(block_max[b] > list[k - 1].z)) continue;
    const int32_t from = h->block[b].lo, to = from + h->block[b].n;
    for (int32_t v = from; v < to; v++) {
      const float x = z[v];
      if (x == -INFINITY) continue;
      if (large) {
        if (n < k && mdm_keeps(last, x, v)) list[n++] = (mdm_place){x, v};
        continue;
      }
      if (n == k && !(x > list[k - 1].z)) continue;
      int64_t j = n < k ? n++ : k - 1;
      for (; j > 0 && x > list[j - 1].z; j--) list[j] = list[j - 1];
      list[j] = (mdm_place){x, v};
    }
  }
  if (large) sort_places(list, n);
  for (int64_t j = 0; j < h->k; j++) {
    ids[j] = j < n ? list[j].id : -1;
    logp[j] = j < n ? (float)(list[j].z - lnz) : -INFINITY;
  }
  if (large) free(list);
}
