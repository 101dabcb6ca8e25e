// One position, from its logits to everything that is wanted. Included by kernel_simd.h, once per instruction set.

// filter applies top-k, top-p and min-p to e [V] (exponentials at the row's temperature): 0 where a token is dropped. It
// renews the block sums and returns the sums over what is kept but the argmax, and the largest exponential among that.
static void NAME(filter)(const mdm_head *h, const float *z, const mdm_peaks *p, const float *params, float scale, float *e, double *block_sum,
                         double total, double *rest, double *cross, double *second) {
  const float m = p->first, k = params[1], top_p = params[2];
  mdm_place last = {-INFINITY, INT32_MAX};
  if (k > 0 && k < h->v) {
    last.z = mdm_cut(h, z, NULL, (double)k - 1, -INFINITY, m, 32).z;  // equals of the k-th stay
    total = 0;
    for (int32_t b = 0; b < h->blocks; b++) {
      int32_t lo = h->block[b].lo, hi = lo + h->block[b].n;
      for (int32_t v = lo; v < hi; v++) total += z[v] >= last.z ? e[v] : 0;
    }
  }
  if (top_p < 1) {
    const mdm_place crossing = mdm_cut(h, z, e, (double)top_p * total, last.z, m, 24 * params[0]);
    // What comes before the token that crosses p is the tokens whose own cumulative mass does not.
    last = h->below && crossing.id != INT32_MAX ? mdm_place_before(h, z, crossing) : crossing;
  }
  const float lowest = params[3] > 0 ? m + log(params[3] < 1 ? params[3] : 1) * params[0] : -INFINITY;
  VI step;
  for (int j = 0; j < LANES; j++) step[j] = j;
  *rest = *cross = *second = 0;
  e[p->argmax] = 0;
  VF most = {0};
  for (int32_t b = 0; b < h->blocks; b++) {
    int32_t lo = h->block[b].lo, n = h->block[b].n;
    VF s = {0}, c = {0};
    for (int32_t i = 0; i < n; i += LANES) {
      VF x = NAME(load)(z + lo + i, n - i), y = *(VFU *)(e + lo + i);
      VI id = step + (lo + i), keep = ((x > last.z) | ((x == last.z) & (id <= last.id))) & (x >= lowest) & (x > -INFINITY);
      if (n - i < LANES) keep &= step < n - i;  // the rest of the vector is the next block's
      VF d = (VF)((VI)((m - x) * scale) & keep);
      y = (VF)((VI)y & keep);
      s += y;
      c += y * d;
      most = NAME(max)(most, y);
      if (n - i >= LANES) {
        *(VFU *)(e + lo + i) = y;
      } else {
        for (int32_t j = 0; j < n - i; j++) e[lo + i + j] = y[j];
      }
    }
    double sum = 0;
    for (int j = 0; j < LANES; j++) sum += s[j], *cross += c[j];
    *rest += sum;
    block_sum[b] = sum + (p->argmax >= lo && p->argmax < lo + n);
  }
  e[p->argmax] = 1;
  for (int j = 0; j < LANES; j++) *second = most[j] > *second ? most[j] : *second;
}

// inverse returns the smallest token whose cumulative mass exceeds target; only the block that crosses is summed again.
static int32_t NAME(inverse)(const mdm_head *h, const float *z, const mdm_peaks *p, float scale, const float *kept, const double *block_sum, double target) {
  float buffer[MDM_BLOCK + LANES];
  double sum = 0, a, b;
  int32_t last = p->argmax;
  for (int32_t i = 0; i < h->blocks; i++) {
    if (!(sum + block_sum[i] > target)) {
      sum += block_sum[i];
      continue;
    }
    int32_t lo = h->block[i].lo, n = h->block[i].n;
    const float *e = kept ? kept + lo : buffer;
    if (!kept) NAME(sums)(z + lo, n, p->first, scale, buffer, &a, &b);
    for (int32_t j = 0; j < n; j++) {
      if (e[j] > 0) {
        sum += e[j], last = lo + j;
        if (sum > target) return last;
      }
    }
    // Rounding ate the gap: the token is the block's last one, unless a later block holds it by the same rounding.
    if (sum + 1e-6 * sum > target) return last;
  }
  return last;
}

// gumbel returns argmax(z/T + g) over what is kept.
static int32_t NAME(gumbel)(const mdm_head *h, const float *z, const double *g, double temperature, const float *kept) {
  double best = -INFINITY;
  int32_t argmax = -1;
  for (int32_t b = 0; b < h->blocks; b++) {
    int32_t lo = h->block[b].lo, hi = lo + h->block[b].n;
    for (int32_t v = lo; v < hi; v++) {
      double x = z[v] / temperature + g[v];
      if (x > best && (!kept || kept[v] > 0)) best = x, argmax = v;
    }
  }
  return argmax;
}

// noised returns ln sum exp(x - x[argmax]) of x = z/T + g over what is kept.
static double NAME(noised)(const mdm_head *h, const float *z, const double *g, double temperature, const float *kept, int32_t argmax) {
  const double best = z[argmax] / temperature + g[argmax];
  double sum = 0;
  for (int32_t b = 0; b < h->blocks; b++) {
    int32_t lo = h->block[b].lo, hi = lo + h->block[b].n;
    for (int32_t v = lo; v < hi; v++) {
      if (v != argmax && (!kept || kept[v] > 0)) sum += exp(z[v] / temperature + g[v] - best);
    }
  }
  return log1p(sum);
}

// position returns whether the logits are sound.
static int NAME(position)(const mdm_call *c, int64_t i, mdm_slot *slot, char *scratch) {
  const mdm_head *h = c->head;
  double *block_sum = (double *)scratch, *dot = block_sum + h->blocks;
  float *block_max = (float *)(dot + h->dots), *kept = NULL;
  const float *z = c->logits + i * h->v, *params = c->params + 4 * (i / c->l);
  if (h->edits) {
    float *edited = block_max + h->blocks + (h->filter ? h->v + 64 : 0);
    NAME(edit)(c, i, slot, edited, block_max);
    z = edited;
  }
  mdm_peaks p = NAME(peaks)(h, z, block_max);
  if (p.fault) {
    mdm_fail(c, i, p.fault);
    return 0;
  }
  const float m = p.first, temperature = params[0];
  const int hot = temperature > 0, model = mdm_wants_model(h, hot);
  const int filtered = hot && h->filter && ((params[1] > 0 && params[1] < h->v) || params[2] < 1 || params[3] > 0);
  const int tempered = hot && (!h->gumbel || filtered || h->peaks_on > MDM_MODEL || h->entropy_on == MDM_SAMPLING || h->logp_proposal_on > MDM_MODEL);
  const float inverse = hot ? 1 / temperature : 1, scale = inverse < FLT_MAX ? inverse : FLT_MAX;
  if (filtered) kept = block_max + h->blocks;
  for (int32_t k = 0; k < h->dots; k++) dot[k] = 0;

  const int64_t l = i % c->l;
  float *before = h->kl >= 0 && slot ? slot->logits + l * h->v : NULL;
  double drift = before ? slot->norm[2 * l] - before[p.argmax] : 0;  // that of the argmax

  double rest = 0, cross = 0, rest_t = 0, cross_t = 0;  // over all tokens but the argmax
  float copy[MDM_BLOCK], e[MDM_BLOCK + LANES];
  for (int32_t b = 0; b < h->blocks && (model || tempered); b++) {
    const int32_t lo = h->block[b].lo, n = h->block[b].n;
    const float *src = z + lo;
    const int top = p.argmax >= lo && p.argmax < lo + n;
    if (top) {
      memcpy(copy, src, n * sizeof(float));
      copy[p.argmax - lo] = -INFINITY;
      src = copy;
    }
    double s = 0, x = 0;
    if (model) {
      const int same = temperature == 1 && filtered;
      float *out = same ? kept + lo : h->dots || before ? e : NULL;
      NAME(sums)(src, n, m, 1, out, &s, &x);
      rest += s, cross += x;
      if (before) drift += NAME(drift)(z + lo, before + lo, n, m, slot->norm[2 * l], out);
      if (h->dots) NAME(dots)(c, out, lo, n, dot);
    }
    if (tempered) {
      if (!model || temperature != 1) NAME(sums)(src, n, m, scale, filtered ? kept + lo : NULL, &s, &x);
      rest_t += s, cross_t += x;
      block_sum[b] = s + top;
    }
  }
  for (int32_t k = 0; k < h->dots; k++) dot[k] += c->dot[k * h->v + p.argmax];

  const double lnz = log1p(rest), lnt = log1p(rest_t);
  int32_t proposal = p.argmax;
  double total = 1 + rest_t;
  const int peaks = hot ? h->peaks_on : MDM_MODEL;
  double others = peaks > MDM_MODEL ? rest_t : rest, most = -1;  // others: what the largest of p1's distribution leaves
  if (hot) {
    if (filtered) {
      kept[p.argmax] = 1;
      NAME(filter)(h, z, &p, params, scale, kept, block_sum, total, &rest_t, &cross_t, &most);
      if (peaks == MDM_SAMPLING) others = rest_t;
      total = 0;
      for (int32_t b = 0; b < h->blocks; b++) total += block_sum[b];
    }
    if (h->gumbel) {
      proposal = NAME(gumbel)(h, z, c->gumbel + i * h->v, temperature, kept);
    } else {
      proposal = NAME(inverse)(h, z, &p, scale, kept, block_sum, c->uniform[i] * total);
    }
  }
  c->proposal[i] = proposal;
  float *out = c->stats + i;
  const int64_t n = c->n;
  if (h->p1 >= 0) out[h->p1 * n] = 1 / (1 + others);
  if (h->p2 >= 0) {
    const double second = peaks == MDM_SAMPLING && kept ? most : exp(((double)p.second - m) / (peaks > MDM_MODEL ? temperature : 1));
    out[h->p2 * n] = second / (1 + others);
  }
  if (h->entropy >= 0) {
    out[h->entropy * n] = h->entropy_on == MDM_SAMPLING && hot ? log1p(rest_t) + cross_t / (1 + rest_t) : lnz + cross / (1 + rest);
  }
  if (h->logp_current >= 0) {
    const int64_t t = c->tokens[i];
    out[h->logp_current * n] = t >= 0 && t < h->v && !h->suppressed[t] ? ((double)z[t] - m) - lnz : 0;
  }
  if (h->logp_proposal >= 0) {
    const double d = (double)z[proposal] - m;
    const int on = hot ? h->logp_proposal_on : MDM_MODEL;
    out[h->logp_proposal * n] = on == MDM_MODEL      ? d - lnz
                                : on == MDM_TEMPERED ? d / temperature - lnt
                                : on == MDM_SAMPLING ? d / temperature - log(total)
                                                     : -NAME(noised)(h, z, c->gumbel + i * h->v, temperature, kept, proposal);
  }
  if (h->kl >= 0) {
    double kl = INFINITY;
    if (slot) {
      double *norm = slot->norm + 2 * l;
      if (slot->known[l]) kl = drift / (1 + rest) + norm[1] - lnz;
      norm[0] = m, norm[1] = lnz;
    }
    out[h->kl * n] = kl > 0 ? kl : 0;
  }
  for (int32_t k = 0; k < h->dots; k++) out[(h->dot + k) * n] = dot[k] / (1 + rest);
  if (h->k) mdm_top(h, z, block_max, m, m + lnz, c->top_ids + i * h->k, c->top_logp + i * h->k);
  return 1;
}

static void NAME(positions)(const mdm_call *c, int64_t lo, int64_t hi, char *scratch) {
  for (int64_t i = lo; i < hi; i++) {
    mdm_slot *slot = c->slots && c->slots[i / c->l] >= 0 ? c->memory->slot + c->slots[i / c->l] : NULL;
    const int known = c->active[i] && NAME(position)(c, i, slot, scratch);
    if (slot) slot->known[i % c->l] = known;
  }
}
