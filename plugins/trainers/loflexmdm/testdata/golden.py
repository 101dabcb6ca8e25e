"""Losses, bounds, metrics and gradients of LoFlexMDM by the numpy reference, on fixed noise and fixed outputs of the networks.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds flexmdm.py)
It writes golden.json.gz. Gradients by the order network's scores are those of the surrogate: states, event times and the
advantage stay as they are.
"""
import sys

import numpy as np

sys.path.insert(1, "../../internal/interpolant/testdata")
from insertion import Batch, Times, called, case, gradient, heads, metrics, objective, ref, sample, single, terms, write  # noqa: E402

rng = np.random.default_rng(27)
cases = []


def speeds(score, free, o, scale):
    """Speeds [B, L] of scores, and the centred scores where there are such."""
    kind, r_min = o.get("speeds", "centred"), o.get("r_min", 1.01)
    if kind == "centred":
        A = o.get("limit", 1.5)
        x = np.where(free, A * np.tanh(score / A), 0.0)
        x = np.where(free, x - x.sum(1, keepdims=True) / np.maximum(free.sum(1, keepdims=True), 1), 0.0)
        return np.where(free, scale * np.exp(x), 1.0), x
    if kind == "softplus":
        return np.where(free, r_min + (o.get("r_max", 100.0) - r_min) * np.logaddexp(0, score - 4), 1.0), None
    return np.where(free, r_min + np.exp(score), 1.0), None


def regulariser(learned, centred, free, o):
    a, total = o.get("a", 1.0), np.zeros(len(free))
    grid = (np.arange(o.get("grid", 100)) + 0.5) / o.get("grid", 100)
    if o.get("reg", "auto") == "on" or o.get("reg", "auto") == "auto" and o.get("speeds", "centred") != "centred":
        for b in learned:
            some = free.any(1)
            total[some] += ref.schedule_regulariser(b[some], free[some], a, grid, w_mean=o.get("mixture", 1.0), w_edge=o.get("ends", 1.0), w_kl=o.get("kl", 0.0))
    for x in centred:
        if x is not None:
            total += o.get("l2", 0.01) * (x * x).sum(1) / np.maximum(free.sum(1), 1)
    return total


def regularised(o):
    centred = o.get("speeds", "centred") == "centred"
    return centred and o.get("l2", 0.01) > 0 or o.get("reg", "auto") == "on" or o.get("reg", "auto") == "auto" and not centred


def about(b_in, b_um, free, o):
    n = free.sum(1)
    some = n > 0
    safe = np.maximum(n, 1)
    mean = np.where(free, b_in, 0).sum(1) / safe
    spread = np.sqrt(np.where(free, (b_in - mean[:, None]) ** 2, 0).sum(1) / safe)
    out = {"metric.b_in.sum": np.where(free, b_in, 0).sum(1), "metric.b_in.count": n, "metric.b_in_spread.sum": spread, "metric.b_in_spread.count": some,
           "metric.b_in_min.sum": np.where(some, np.where(free, b_in, np.inf).min(1, initial=1e9), 0), "metric.b_in_min.count": some,
           "metric.b_in_max.sum": np.where(free, b_in, 0).max(1), "metric.b_in_max.count": some}
    if o.get("b_um") == "trainable":
        out |= {"metric.b_um.sum": np.where(free, b_um, 0).sum(1), "metric.b_um.count": n}
    return out


def both(name, alphabet=4, pads=True, rates=False, suppressed=(0, 1), t=None, **o):
    batch = Batch(rng, alphabet, pads)
    batch.t = np.clip(batch.t, 0.05, 0.95).astype(np.float32).astype(float)
    if t is not None:
        batch.t[:] = np.float32(t)
    a, norm = o.get("a", 1.0), o.get("normalise", "sum")
    suppressed = list(suppressed)
    free, n = batch.free, batch.free.sum(1)
    order = single(rng.standard_normal((batch.B, batch.L, 2)))

    def read():
        b_in, x = speeds(order[..., 0], free, o, o.get("c", 2.0))
        if o.get("b_um") != "trainable":
            return b_in, np.ones_like(b_in), [b_in], [x]
        b_um, y = speeds(order[..., 1], free, o, 1.0)
        return b_in, b_um, [b_in, b_um], [x, y]

    # Training: two samples of each row, side by side.
    pair = lambda v: np.repeat(v, 2, axis=0)
    b_in, b_um, _, _ = read()
    x1, fixed, times = pair(batch.x1), pair(batch.fixed), Times(pair(batch.t), a, o.get("stretch", 2.0))
    time = times.t
    q_in, q_um, z = sample(rng, x1, fixed, time, a, pair(b_in), pair(b_um))
    gives = heads(rng, 2 * batch.B, batch.L, batch.V, rates) | {"order": order}

    def parts():
        b_in, b_um, _, _ = read()
        now = ref.contract(x1, z["state"], pair(b_in), 1, 0)
        return terms(now, x1, gives, times, a, pair(b_um), suppressed)

    split = lambda v: (v[0::2], v[1::2])
    l1, l2 = split(objective(parts(), norm, batch.L))
    advantage = l1 - l2

    def log_p():
        b_in, b_um, _, _ = read()
        return split(ref.log_p_state(z["state"], time, a, pair(b_in), pair(b_um), pair(free)))

    p1, p2 = log_p()
    ratio = p1 - p2

    def loss():
        l1, l2 = split(objective(parts(), norm, batch.L))
        p1, p2 = log_p()
        _, _, learned, centred = read()
        rows = 0.5 * (advantage * (p1 - p2 - ratio) + l1 + l2) + regulariser(learned, centred, free, o)
        return rows.mean() if norm == "code" else rows.sum() / max(n.sum(), 1)

    assert np.allclose(0.5 * (advantage * (p1 - p2) + l1 + l2), ref.rloo_surrogate(l1, l2, p1, p2))
    ones = np.ones(batch.B)
    want = {"loss": loss(), "metric.nll.sum": parts()["total"].reshape(-1, 2).mean(1), "metric.nll.count": n, **metrics(parts(), batch, 2), **called(z, time),
            **about(b_in, b_um, free, o), "metric.log_ratio.sum": np.abs(p1 - p2), "metric.log_ratio.count": ones,
            "metric.advantage.sum": np.abs(advantage), "metric.advantage.count": ones}
    if regularised(o):
        _, _, learned, centred = read()
        want |= {"metric.reg.sum": regulariser(learned, centred, free, o), "metric.reg.count": ones}
    for k in gives:
        want["grad." + k] = gradient(loss, gives[k])
    feeds = batch.feeds() | {"q_in_pair": q_in, "q_um_pair": q_um}
    cases.append(case(name, "training", o, batch, suppressed, feeds, gives, want))

    # Evaluation: one sample.
    times = Times(batch.t, a, 2.0)
    q_in, q_um, z = sample(rng, batch.x1, batch.fixed, times.t, a, b_in, b_um)
    gives = heads(rng, batch.B, batch.L, batch.V, rates) | {"order": order}
    p = terms(z, batch.x1, gives, times, a, b_um, suppressed)
    want = {"bound": p["total"], "count": n, **metrics(p, batch), **called(z, times.t), **about(b_in, b_um, free, o)}
    cases.append(case(name + ", eval", "eval", o, batch, suppressed, batch.feeds() | {"q_in": q_in, "q_um": q_um}, gives, want))


both("centred")
both("centred without a regulariser, rows of one length", l2=0.0, pads=False)
both("centred, other limits", c=1.0, limit=0.5, l2=1.0)
both("centred, both speeds", rates=True, b_um="trainable")
both("frozen, a network that rates masks", rates=True)
both("softplus", speeds="softplus")
both("softplus, both speeds, code, a 3", speeds="softplus", b_um="trainable", rates=True, normalise="code", a=3.0, kl=1.0)
both("exp, divergence", speeds="exp", kl=1.0, grid=20)
both("exp, from 0, no parts", speeds="exp", r_min=0.0, reg="off")
both("centred, all parts", reg="on", kl=0.5, mixture=2.0, ends=3.0, a=2.0)
both("code", normalise="code")
both("one token", alphabet=1, suppressed=(0, 1, 2))
both("uniform times", stretch=1.0)
both("early", t=1e-3)
both("late", t=0.999)
write(cases)
