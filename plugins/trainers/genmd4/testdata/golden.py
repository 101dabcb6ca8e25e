"""Losses, bounds and gradients of GenMD4 by the numpy reference, on fixed noise and fixed logits.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds md4.py)
It writes golden.json.gz: "cases", a batch each, and "toy", a table denoiser of three positions whose masks are all enumerated.
Noise is exact in float32; uniforms keep a margin, so that masks are certain.
"""
import gzip
import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import md4 as ref  # noqa: E402

B, L, V, MASK, PAD = 5, 6, 8, 3, 7
SUPPRESSED = [MASK, PAD]
REAL = [v for v in range(V) if v not in SUPPRESSED]
M = len(REAL)
rng = np.random.default_rng(8)
EPS, T1 = 1e-4, 1e-3


def units(*shape):
    return ((rng.integers(0, 2 ** 23, shape) + 0.5) / 2 ** 23).astype(np.float32).astype(float)


def numbers(a):
    return [float("%.9g" % v) for v in np.asarray(a, float).ravel()]


def sums(name, total, count):
    return {f"metric.{name}.sum": numbers(total), f"metric.{name}.count": numbers(count)}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def case(name, raw, frozen=False, eps=EPS, t1=T1, ragged=True):
    raw = np.asarray(raw, np.float32).astype(float)
    w = ref.softplus(raw)
    x0 = rng.choice(REAL, (B, L))
    real, fixed = np.ones((B, L), bool), np.zeros((B, L), bool)
    if ragged:
        real = np.arange(L) < np.array([L, L, 4, 5, 3])[:, None]
        fixed = (rng.random((B, L)) < 0.25) & real
        fixed[4], fixed[0] = real[4], False  # row 4 has no free token
    x0[~real] = PAD
    free = real & ~fixed
    n = free.sum(1)
    time, time2 = units(B, 1), units(B, 1)
    inner = np.array([[REAL.index(v) if v in REAL else 0 for v in row] for row in x0])
    wr = w[REAL]
    wx = wr[inner]

    def part(noise_time, logits):
        t = t1 + (1 - t1) * noise_time[:, 0]
        u = (1 - eps) * t[:, None] ** wx
        while True:
            noise = units(B, L)
            if np.abs(noise - u).min() > 1e-5:
                break
        mask = free & (noise < u)
        lp = ref.log_softmax(logits[..., REAL])  # suppressed tokens have no probability
        own = ref.gen_loss(lp, inner, mask, t, wr) * (1 - t1)
        ce = ref.masked_ce(lp, inner, mask)
        return noise, mask, lp, own, ce, t

    la = (2 * rng.standard_normal((B, L, V))).astype(np.float32).astype(float)
    lb = (2 * rng.standard_normal((B, L, V))).astype(np.float32).astype(float)
    la[0, 0], lb[1, 1] = 0, 0
    la[0, 0, x0[0, 0]] = 30  # a certain token: no digits may be lost
    ua, ma, lpa, loss_a, ce_a, t = part(time, la)
    # the same uniforms as the reference's explicit masks; both samples share t
    ub, mb, lpb, loss_b, ce_b, _ = part(time, lb)
    recon, drecon = np.zeros(B), np.zeros((B, M))
    dq = np.zeros((B, M))
    rloo = np.zeros((B, M))
    for r in range(B):
        at = np.flatnonzero(free[r])
        if len(at) == 0:
            continue
        X, K, J = inner[r:r + 1, at], ma[r:r + 1, at], mb[r:r + 1, at]
        v, g = ref.gen_recon(X, wr, t1, eps)
        recon[r], drecon[r] = v[0], g[0]
        rloo[r] = (1 - t1) * ref.gen_rloo_grad(lpa[r:r + 1, at], K, lpb[r:r + 1, at], J, X, t[r:r + 1], wr, eps)[0]
    value = (loss_a + loss_b) / 2 + recon
    dw = (rloo + drecon).sum(0) / n.sum()
    naive = np.zeros(M)
    for r in range(B):
        naive += (1 - t1) * ref.gen_naive_grad(lpa[r:r + 1], ma[r:r + 1], lpb[r:r + 1], mb[r:r + 1], inner[r:r + 1], t[r:r + 1])[0] + drecon[r]
    naive /= n.sum()

    def grad_raw(d):
        out = np.zeros(V)
        out[REAL] = d
        return out * sigmoid(raw) * (0 if frozen else 1)

    def grad_logits(lp, mask):
        mu = np.exp(lp)
        oh = np.eye(M)[inner]
        d = -(wx[..., None] * (oh - mu) - mu * (wr - (mu @ wr)[..., None])) / t[:, None, None]
        d = np.where(mask[..., None], d, 0) * (1 - t1) / 2 / n.sum()
        out = np.zeros((B, L, V))
        out[..., REAL] = d
        return out

    ids = lambda mask: numbers(ref.apply_mask(x0, mask, MASK))
    training = {"loss": numbers(value.sum() / n.sum()), **sums("nll", value, n), **sums("ce", ce_a + ce_b, ma.sum(1) + mb.sum(1)),
                **sums("w_min", wr.min(), 1), **sums("w_mean", wr.mean(), 1), **sums("w_max", wr.max(), 1),
                "a.ids": ids(ma), "b.ids": ids(mb), "a.timesteps": numbers(t), "b.timesteps": numbers(t),
                "grad.raw": numbers(grad_raw(dw)), "grad.a": numbers(grad_logits(lpa, ma)), "grad.b": numbers(grad_logits(lpb, mb))}
    # the evaluation has a time of its own; its noise is that of the first sample
    t2 = t1 + (1 - t1) * time2[:, 0]
    u2 = (1 - eps) * t2[:, None] ** wx
    assert np.abs(ua - u2).min() > 1e-7
    m2 = free & (ua < u2)
    loss2, ce2 = ref.gen_loss(lpa, inner, m2, t2, wr) * (1 - t1), ref.masked_ce(lpa, inner, m2)
    prior = n * eps * math.log(M)
    clean = np.where(np.isin(np.arange(V), SUPPRESSED), -np.inf, la)
    evaluation = {"bound": numbers(loss2 + recon + prior), "count": numbers(n), **sums("diffusion", loss2, n), **sums("recon", recon, n), **sums("prior", prior, n),
                  **sums("ce", ce2, m2.sum(1)), **sums("accuracy", (m2 & (clean.argmax(-1) == x0)).sum(1), m2.sum(1)),
                  "a.ids": ids(m2), "a.timesteps": numbers(t2)}
    return {"name": name, "options": {"eps": eps, "t1": t1, "frozen": frozen}, "v": V, "mask": MASK, "pad": PAD, "suppressed": SUPPRESSED, "rows": B, "length": L,
            "feeds": {k: numbers(v) for k, v in {"tokens": x0, "free": free, "attention_mask": real, "time": time, "time2": time2, "a": ua, "b": ub, "raw": raw,
                                                 "logits.a": la, "logits.b": lb}.items()},
            "training": training, "eval": evaluation, "naive": numbers(grad_raw(naive))}


LOG = float(ref.softplus_inv(1.0))
start = np.full(V, LOG)
unequal = np.array([-1.2, 0.3, 1.5, 5, 0.9, -0.4, 2.2, -3])
cases = [case("the start: all exponents 1", start), case("unequal", unequal), case("unequal, without padding", unequal, ragged=False),
         case("extreme", [-6.0, 3, 8, 0, -2, 0.5, 12, 0]), case("eps 0, another t1", unequal, eps=0.0, t1=0.03), case("frozen", unequal, frozen=True)]

# A table denoiser z -> mu of three positions and three tokens, one row, every mask; times of a quadrature.
N, m = 3, 3
den, w, x0 = ref.random_denoiser(11, N, m, 1.5), np.array([0.7, 1.3, 2.0]), (2, 0, 1)
raw = ref.softplus_inv(w).astype(np.float32).astype(float)
w = ref.softplus(raw)
masks = ref.all_masks(N)
logits = np.array([np.log(np.maximum(den(ref.zt(x0, k, m)), 1e-9)) for k in masks]).astype(np.float32).astype(float)
lps = [ref.log_softmax(z)[None] for z in logits]
table = {tuple(k): np.exp(lp[0]) for k, lp in zip(masks, lps)}
X = np.array([x0])


def L_t(ww, t):
    """The expected loss at a time, all masks enumerated."""
    return sum(ref.gen_mask_prob(x0, k, t, ww) * ref.gen_loss(lp, X, k[None], [t], ww)[0] for k, lp in zip(masks, lps))


def slope(f, h=1e-5):
    return np.array([(f(w + h * e) - f(w - h * e)) / (2 * h) for e in np.eye(m)])


t1 = 1e-9
times = []
for t in (0.25, 0.625, 0.9375):
    t = float(np.float32(t))
    q = [ref.gen_mask_prob(x0, k, t, w) for k in masks]
    times.append({"time": float("%.9g" % ((t - t1) / (1 - t1))), "t": t, "q": numbers(q),
                  "gradient": numbers(slope(lambda ww: (1 - t1) * L_t(ww, t) + ref.gen_recon(X, ww, t1)[0][0]) * sigmoid(raw)),
                  "value": numbers((1 - t1) * L_t(w, t) + ref.gen_recon(X, w, t1)[0][0])})
exact = ref.exact_gen_nelbo(x0, lambda z, t: table[tuple(np.array(z) == m)], w, m)
equal = ref.exact_gen_nelbo(x0, lambda z, t: table[tuple(np.array(z) == m)], np.full(m, 1.7), m)
closed = ref.exact_nelbo(x0, lambda z: table[tuple(np.array(z) == m)], m)
assert abs(equal - closed) < 1e-5
nodes, weights = np.polynomial.legendre.leggauss(40)
v = 0.5 * (nodes + 1)
toy = {"tokens": numbers(x0), "raw": numbers(raw), "masks": [numbers(k) for k in masks], "logits": [numbers(z) for z in logits], "t1": t1,
       "times": times, "nodes": numbers(v ** 4), "weights": numbers(0.5 * weights * 4 * v ** 3), "exact": float("%.9g" % exact), "polynomial": float("%.9g" % closed)}

with gzip.GzipFile("golden.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps({"cases": cases, "toy": toy}).encode())
