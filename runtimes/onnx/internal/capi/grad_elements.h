// Training kernels that look at one element at a time. Included by grad.c, once per instruction set. An output may lie where
// an input does.

// gelu' = Phi(x) + x phi(x) = 1 - q for x >= 0 and q for x < 0, with q = exp(-a^2/2) (R(a) - a/sqrt(2 pi)), a = |x| and
// R(a) = exp(a^2/2) erfc(a/sqrt 2)/2, which is fitted in t = 1/(1 + 0.3 a) (relative error 1.5e-7 for a <= 14).
static inline VF NAME(gelu_slope)(VF x) {
  const VF most = NAME(all)(14);
  VF a = NAME(absolute)(x);
  a = NAME(if_less)(most, a, most, a);
  VF t = 1.f / (1.f + 0.3f * a);
  VF p = 0.03567477688193321f * t - 0.15720310807228088f;
  p = p * t + 0.20635353028774261f;
  p = p * t - 0.05368367210030556f;
  p = p * t + 0.12856164574623108f;
  p = p * t + 0.09991348534822464f;
  p = p * t + 0.12075395882129669f;
  p = p * t + 0.11962930113077164f;
  // a^2 = high^2 + low (a + high), the square of the high half being exact.
  VF high = (VF)((VI)a & 0xfffff000), low = a - high;
  VF e = NAME(ex)(high * high * -0.5f, low * (a + high) * -0.5f);
  VF q = e * (p * t - a * 0.3989422804f);
  return NAME(if_less)(x, (VF){0}, q, 1.f - q);
}

// in: dy, x
static void NAME(gelu_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *dy = j->in[0], *x = j->in[1];
  float *dx = j->out[0];
  EACH(i, k, lo, hi, NAME(store)(dx + i, k, NAME(load)(dy + i, k) * NAME(gelu_slope)(NAME(load)(x + i, k))););
}

// in: x
static void NAME(silu)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *in = j->in[0];
  float *out = j->out[0];
  EACH(i, k, lo, hi, {
    VF x = NAME(load)(in + i, k), c;
    NAME(store)(out + i, k, x * NAME(sigmoid)(x, &c));
  });
}

// silu' = s (1 + x (1 - s)), s = sigmoid(x); in: dy, x
static void NAME(silu_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *dy = j->in[0], *in = j->in[1];
  float *dx = j->out[0];
  EACH(i, k, lo, hi, {
    VF x = NAME(load)(in + i, k), c, s = NAME(sigmoid)(x, &c);
    NAME(store)(dx + i, k, NAME(load)(dy + i, k) * (s * (1.f + x * c)));
  });
}

// in: u, v
static void NAME(swiglu)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *in = j->in[0], *v = j->in[1];
  float *out = j->out[0];
  EACH(i, k, lo, hi, {
    VF u = NAME(load)(in + i, k), c;
    NAME(store)(out + i, k, u * NAME(sigmoid)(u, &c) * NAME(load)(v + i, k));
  });
}

// in: dy, u, v
static void NAME(swiglu_grad)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *dy = j->in[0], *in = j->in[1], *v = j->in[2];
  float *du = j->out[0], *dv = j->out[1];
  EACH(i, k, lo, hi, {
    VF d = NAME(load)(dy + i, k), u = NAME(load)(in + i, k), c, s = NAME(sigmoid)(u, &c);
    NAME(store)(du + i, k, d * NAME(load)(v + i, k) * (s * (1.f + u * c)));
    NAME(store)(dv + i, k, d * (u * s));
  });
}

// AdamW as PyTorch has it, g being clipped, with the attributes rest = 1 - b:
//   m' = b1 m + (1-b1) g,  v' = b2 v + (1-b2) g^2,  p' = p (1 - lr w) - (lr/bias1) m' / (sqrt(v')/sqrt(bias2) + eps)
// in: params, grads, m, v, decay w, learning-rate factors, (lr, clip, bias1, bias2); w and the factors [n] or [1]
static void NAME(adamw)(const mdm_job *j, int64_t lo, int64_t hi, int64_t part) {
  (void)part;
  const float *in_p = j->in[0], *in_g = j->in[1], *in_m = j->in[2], *in_v = j->in[3], *decay = j->in[4], *rate = j->in[5], *scalars = j->in[6];
  const float lr = scalars[0], clip = scalars[1], step = lr / scalars[2], scale = 1 / sqrtf(scalars[3]);
  const float rest1 = j->rest1, rest2 = j->rest2, beta1 = 1 - rest1, beta2 = 1 - rest2, epsilon = j->epsilon;
  const int decays = j->decays, rates = j->rates;
  const VF decay_of_all = NAME(all)(*decay), rate_of_all = NAME(all)(*rate);
  float *out_p = j->out[0], *out_m = j->out[1], *out_v = j->out[2];
  EACH(i, k, lo, hi, {
    VF p = NAME(load)(in_p + i, k), g = NAME(load)(in_g + i, k) * clip, m = NAME(load)(in_m + i, k), v = NAME(load)(in_v + i, k);
    VF w = decays ? NAME(load)(decay + i, k) : decay_of_all, f = rates ? NAME(load)(rate + i, k) : rate_of_all;
    m = m * beta1 + g * rest1;
    v = v * beta2 + g * g * rest2;
    NAME(store)(out_p + i, k, p * (1.f - f * lr * w) - f * step * m / (NAME(root)(v) * scale + epsilon));
    NAME(store)(out_m + i, k, m);
    NAME(store)(out_v + i, k, v);
  });
}
