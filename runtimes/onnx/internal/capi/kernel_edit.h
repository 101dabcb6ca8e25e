// Edits of one position's logits. Included by kernel_simd.h, once per instruction set.

// credit updates the credits of a position and adds them to its logits z.
static void NAME(credit)(const mdm_call *c, int64_t i, mdm_slot *s, float *z, float *block_max) {
  const mdm_head *h = c->head;
  const mdm_peaks p = NAME(peaks)(h, z, block_max);
  if (p.fault) return;
  float *m = s->credit + i % c->l * h->v;
  if (!s->known[i % c->l]) memset(m, 0, h->v * sizeof *m);
  for (int64_t v = 0; v < h->v; v++) {
    const float x = m[v] * h->beta;
    m[v] = x < MDM_LEAST_CREDIT ? 0 : x;
  }
  const int64_t t = c->tokens[i];
  if (t >= 0 && t < h->v && h->suppressed[t]) {  // blank
    double total = 0, sum, cross;
    for (int32_t b = 0; b < h->blocks; b++) {
      NAME(sums)(z + h->block[b].lo, h->block[b].n, p.first, 1, NULL, &sum, &cross);
      total += sum;
    }
    m[p.argmax] += pow(total, -(double)h->gamma);
  }
  enum { STRIDE = 64 };  // few tokens have credit: most strides are passed over
  for (int64_t lo = 0; lo < h->v; lo += STRIDE) {
    const int64_t n = h->v - lo < STRIDE ? h->v - lo : STRIDE;
    int some = 0;
    for (int64_t j = 0; j < n; j++) some |= m[lo + j] > 0;
    for (int64_t j = 0; some && j < n; j++) {
      if (m[lo + j] > 0) z[lo + j] += h->alpha * log1p(m[lo + j]);
    }
  }
}

// edit writes the edited logits of position i to z [V].
static void NAME(edit)(const mdm_call *c, int64_t i, mdm_slot *s, float *z, float *block_max) {
  const mdm_head *h = c->head;
  memcpy(z, c->logits + i * h->v, h->v * sizeof *z);
  for (int32_t j = 0; j < h->biases; j++) {
    if (h->bias_token[j] >= 0 && h->bias_token[j] < h->v) z[h->bias_token[j]] += h->bias[j];
  }
  if (c->written) {
    const int64_t b = i / c->l;
    for (int32_t j = 0; j < c->written_count[b]; j++) {
      float *x = z + c->written[b * c->l + j];
      *x = *x > 0 ? *x / h->repetition : *x * h->repetition;
    }
  }
  if (h->left != 0 && i % c->l > 0 && c->attention[i - 1]) {
    const int64_t t = c->tokens[i - 1];
    if (t >= 0 && t < h->v) z[t] -= h->left;
  }
  if (h->alpha != 0 && s) NAME(credit)(c, i, s, z, block_max);
}

// drift returns the sum of e ((m' - z') - (m - z)) over n tokens, z' the logits before, and puts z in their place.
static double NAME(drift)(const float *z, float *before, int32_t n, float m, float m_before, const float *e) {
  VF s = {0};
  for (int32_t i = 0; i < n; i += LANES) {
    const VF x = NAME(load)(z + i, n - i), y = NAME(load)(before + i, n - i), w = *(const VFU *)(e + i);
    const VF d = ((m_before - y) - (m - x)) * w;
    s += (VF)((VI)d & (w > 0));
    if (n - i >= LANES) {
      *(VFU *)(before + i) = x;
    } else {
      memcpy(before + i, z + i, (n - i) * sizeof *z);
    }
  }
  double a = 0;
  for (int j = 0; j < LANES; j++) a += s[j];
  return a;
}
