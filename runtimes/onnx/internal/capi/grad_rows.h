// Training kernels over rows. Included by grad.c, once per instruction set. The first output may lie where an input does.

// dx = y (dy - sum(y dy)); in: dy, y
static void NAME(softmax_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const int64_t w = j->width;
  for (int64_t r = lo; r < hi; r++) {
    const float *dy = j->in[0] + r * w, *y = j->in[1] + r * w;
    float *dx = j->out[0] + r * w;
    VF sum = {0};
    EACH(i, k, 0, w, sum += NAME(load)(dy + i, k) * NAME(load)(y + i, k););
    const float s = NAME(add)(sum);
    EACH(i, k, 0, w, NAME(store)(dx + i, k, NAME(load)(y + i, k) * (NAME(load)(dy + i, k) - s)););
  }
}

// norm_grad is the gradient of y = gamma n + beta with n = (x - mean) inv, or without mean and beta. Into the sums of this
// part go those of dy n for gamma and of dy for beta.
static inline void NAME(norm_grad)(const mdm_job *j, const float *gamma, const float *means, const float *invs, int64_t lo, int64_t hi, int64_t part) {
  const int64_t w = j->width;
  const int columns = means ? 2 : 1;
  float *dgamma = j->sums + part * columns * w, *dbeta = dgamma + w;
  memset(dgamma, 0, columns * w * sizeof(float));
  for (int64_t r = lo; r < hi; r++) {
    const float *dy = j->in[0] + r * w, *x = j->in[1] + r * w, mean = means ? means[r] : 0, inv = invs[r];
    float *dx = j->out[0] + r * w;
    VF s1 = {0}, s2 = {0};
    EACH(i, k, 0, w, {
      VF d = NAME(load)(dy + i, k), n = (NAME(load)(x + i, k) - mean) * inv, t = d * NAME(load)(gamma + i, k);
      NAME(store)(dgamma + i, k, NAME(load)(dgamma + i, k) + d * n);
      if (means) NAME(store)(dbeta + i, k, NAME(load)(dbeta + i, k) + d);
      s1 += t;
      s2 += t * n;
    });
    const float m1 = means ? NAME(add)(s1) / w : 0, m2 = NAME(add)(s2) / w;
    EACH(i, k, 0, w, {
      VF n = (NAME(load)(x + i, k) - mean) * inv, t = NAME(load)(dy + i, k) * NAME(load)(gamma + i, k);
      NAME(store)(dx + i, k, (t - m1 - n * m2) * inv);
    });
  }
}

// in: dy, x, gamma, mean, inv
static void NAME(layer_norm_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  NAME(norm_grad)(j, j->in[2], j->in[3], j->in[4], lo, hi, part);
}

// in: dy, x, gamma, inv
static void NAME(rms_norm_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  NAME(norm_grad)(j, j->in[2], NULL, j->in[3], lo, hi, part);
}

// in: logits; out: -log p of the target, log of the sum of exp
static void NAME(cross_entropy)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  enum { BLOCK = 64 * LANES };  // summed in float, blocks in double
  const int64_t w = j->width;
  for (int64_t r = lo; r < hi; r++) {
    const float *z = j->in[0] + r * w;
    VF top = NAME(all)(-INFINITY), numbers = {0};
    EACH(i, k, 0, w, {
      VF x = NAME(load_or)(z + i, k, -INFINITY);
      top = NAME(if_less)(top, x, x, top);
      numbers += NAME(if_less)(x, NAME(all)(INFINITY), (VF){0}, x);  // stays 0 but for not-a-numbers and infinity
    });
    const float m = NAME(highest)(top);
    if (NAME(add)(numbers) != 0 || m == -INFINITY) {
      j->out[0][r] = NAN;
      j->out[1][r] = m == -INFINITY && NAME(add)(numbers) == 0 ? m : NAN;
      continue;
    }
    double sum = 0;
    for (int64_t b = 0; b < w; b += BLOCK) {
      VF s = {0};
      EACH(i, k, b, w < b + BLOCK ? w : b + BLOCK, s += NAME(ex)(NAME(load_or)(z + i, k, -INFINITY) - m, (VF){0}););
      sum += NAME(add)(s);
    }
    const double l = log(sum);
    j->out[0][r] = l + ((double)m - z[j->targets[r]]);
    j->out[1][r] = m + l;
  }
}

// dlogits = dnll (exp(logits - lse) - onehot(target)); in: dnll, logits, lse. A row of dnll 0 is 0.
static void NAME(cross_entropy_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const int64_t w = j->width;
  for (int64_t r = lo; r < hi; r++) {
    const float d = j->in[0][r], *z = j->in[1] + r * w, lse = j->in[2][r];
    float *dz = j->out[0] + r * w;
    if (d == 0) {
      memset(dz, 0, w * sizeof(float));
    } else if (!(fabsf(lse) < INFINITY)) {
      for (int64_t i = 0; i < w; i++) dz[i] = NAN;
    } else {
      EACH(i, k, 0, w, NAME(store)(dz + i, k, NAME(ex)(NAME(load)(z + i, k) - lse, (VF){0}) * d););
      dz[j->targets[r]] -= d;
    }
  }
}
