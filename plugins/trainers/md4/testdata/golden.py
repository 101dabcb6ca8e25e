"""Losses, bounds, metrics and gradients of MD4 by the numpy reference, on fixed noise and fixed logits.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds md4.py and p2_papl.py)
It writes golden.json.gz. Noise is exact in float32; times and uniforms keep a margin, so that masks are certain.
"""
import gzip
import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import md4 as ref  # noqa: E402
import p2_papl  # noqa: E402

B, L, V, MASK, PAD = 5, 6, 7, 3, 6
SUPPRESSED = [MASK, PAD]
REAL = [v for v in range(V) if v not in SUPPRESSED]
M = len(REAL)
rng = np.random.default_rng(4)


def units(*shape):
    return ((rng.integers(0, 2 ** 23, shape) + 0.5) / 2 ** 23).astype(np.float32)


def numbers(a):
    return [float("%.9g" % v) for v in np.asarray(a, float).ravel()]


def schedule(o):
    kind = o.get("schedule", "linear")
    eps = o.get("eps", 1e-4)
    if kind == "polynomial":
        return ref.Schedule("poly", power=o["c"], eps=eps)
    if kind == "geometric":
        return ref.Schedule(kind, bmin=o.get("b_min", 1e-5), bmax=o.get("b_max", 20.0), eps=eps)
    return ref.Schedule(kind, eps=eps)


def sums(name, total, count):
    return {f"metric.{name}.sum": numbers(total), f"metric.{name}.count": numbers(count)}


cases = []


def case(name, takes_time=False, **o):
    s = schedule(o)
    T = o.get("t", 0) or None
    x0 = rng.choice(REAL, (B, L))
    lengths = np.array([L, L, 4, 5, 3])
    real = np.arange(L) < lengths[:, None]
    x0[~real] = PAD
    fixed = (rng.random((B, L)) < 0.25) & real
    fixed[4] = real[4]  # a row without a free token
    fixed[0] = False
    free = real & ~fixed
    n = free.sum(1)
    time, time2 = units(B, 1), units(B, 1)
    perm = rng.random((B, L))
    rank = np.full((B, L), 1 << 30)
    for b in range(B):
        rank[b, np.flatnonzero(free[b])] = np.argsort(np.argsort(perm[b, free[b]]))
    logits = (2 * rng.standard_normal((B, L, V))).astype(np.float32)
    clean = np.where(np.isin(np.arange(V), SUPPRESSED), -np.inf, logits.astype(float))
    lp = ref.log_softmax(clean)
    target = np.where(free, x0, REAL[0])
    hit = clean.argmax(-1) == x0

    def by_time(t):
        t = t[:, 0].astype(float)
        if T:
            t = ref.snap_up(t, T)
        while True:
            u = units(B, L)
            if np.abs(u - s.u(t)[:, None]).min() > 1e-6:
                break
        mask = free & (u < s.u(t)[:, None])
        weight = s.weight(t) if T is None else T * ref.unmask_prob(s, t - 1 / T, t)
        bound = ref.md4_loss(lp, target, mask, t, s, T)
        assert np.allclose(bound, weight * ref.masked_ce(lp, target, mask))
        return u, mask, weight, bound, t

    def by_count(u):
        _, mask = p2_papl.sample_mask_exact_count(x0, u[:, 0].astype(float), perm, MASK, free)
        k = mask.sum(1)
        weight = n / np.maximum(k, 1)
        return mask, weight, weight * ref.masked_ce(lp, target, mask), s.t_of_u(np.clip(k / np.maximum(n, 1), s.u(0), s.u(1)))

    u = units(B, L)
    if o.get("estimator", "time") == "count":
        mask, weight, bound, t = by_count(time)
    else:
        u, mask, weight, bound, t = by_time(time)
    ce = ref.masked_ce(lp, target, mask)
    k = mask.sum(1)
    coef = mask * weight[:, None] / n.sum()
    grad = coef[..., None] * (np.exp(lp) - np.eye(V)[target])
    training = {"loss": numbers(bound.sum() / n.sum()), "ids": numbers(ref.apply_mask(x0, mask, MASK)), **sums("nll", bound, n), **sums("ce", ce, k)}
    if takes_time:
        training["timesteps"] = numbers(t)
    which = o.get("eval", "auto")
    if which == "count" or which == "auto" and T is None and not takes_time:
        mask, weight, bound, t = by_count(time2 if o.get("times", "") != "stratified" else time)
        evaluation = {"bound": numbers(bound)}
    else:
        assert o.get("estimator", "time") == "time"
        recon = np.array([ref.recon_term(int(v), M, s) for v in n])
        prior = np.array([ref.prior_term(int(v), M, s) for v in n])
        evaluation = {"bound": numbers(bound + recon + prior), **sums("diffusion", bound, n), **sums("recon", recon, n), **sums("prior", prior, n)}
    ce, k = ref.masked_ce(lp, target, mask), mask.sum(1)
    evaluation |= {"count": numbers(n), "ids": numbers(ref.apply_mask(x0, mask, MASK)), **sums("ce", ce, k), **sums("accuracy", (mask & hit).sum(1), k)}
    if takes_time:
        evaluation["timesteps"] = numbers(t)
    feeds = {"tokens": x0, "free": free, "time": time, "time2": time2, "u": u, "rank": rank, "attention_mask": real}
    cases.append({"name": name, "options": o, "v": V, "mask": MASK, "pad": PAD, "suppressed": SUPPRESSED, "takes_time": takes_time, "rows": B, "length": L,
                  "feeds": {k: numbers(v) for k, v in feeds.items()}, "logits": numbers(logits), "training": training, "eval": evaluation, "grad": numbers(grad)})


for eps in (0.0, 1e-4):
    for steps in (0, 1, 8, 1000):
        case(f"linear eps {eps} T {steps}", eps=eps, t=steps)
        case(f"polynomial 3 eps {eps} T {steps}", schedule="polynomial", c=3.0, eps=eps, t=steps)
        case(f"polynomial 0.5 eps {eps} T {steps}", schedule="polynomial", c=0.5, eps=eps, t=steps)
        case(f"cosine eps {eps} T {steps}", schedule="cosine", eps=eps, t=steps)
        case(f"geometric eps {eps} T {steps}", schedule="geometric", eps=eps, t=steps)
case("geometric by other ends", schedule="geometric", b_min=1e-3, b_max=10.0)
case("count", estimator="count")
case("count, cosine", estimator="count", schedule="cosine", times="stratified")
case("eval by time", eval="time", times="iid")
for kind in ("linear", "polynomial", "cosine", "geometric"):
    case(f"{kind}, a network with time", takes_time=True, schedule=kind, c=2.0)
    case(f"{kind}, counts, a network with time", takes_time=True, schedule=kind, c=2.0, estimator="count", eval="count")

with gzip.GzipFile("golden.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
assert math.isfinite(sum(c["training"]["loss"][0] for c in cases))
