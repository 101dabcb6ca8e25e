"""PAPL's losses, weights, metrics and gradients by the numpy reference, on fixed noise and fixed logits.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds p2_papl.py)
It writes golden.json.gz. The first cases are the worked examples of the sheet (three masks of log-probability -0.1, -1, -2).
"""
import gzip
import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as ref  # noqa: E402

rng = np.random.default_rng(5)
LEAST = np.float32(2.0 ** -24)


def units(*shape):
    return ((rng.integers(0, 2 ** 23, shape) + 0.5) / 2 ** 23).astype(np.float32)


def numbers(a):
    return [float("%.9g" % v) for v in np.asarray(a, float).ravel()]


def sums(name, total, count):
    return {f"metric.{name}.sum": numbers(total), f"metric.{name}.count": numbers(count)}


cases = []


def add(name, o, V, mask_id, pad, suppressed, x0, real, free, time, time2, u, perm, logits, progress=0.0):
    B, L = x0.shape
    n = free.sum(1)
    rank = np.full((B, L), 1 << 30)
    for b in range(B):
        rank[b, np.flatnonzero(free[b])] = np.argsort(np.argsort(perm[b, free[b]], kind="stable"))
    clean = np.where(np.isin(np.arange(V), suppressed), -np.inf, logits.astype(float))
    target = np.where(free, x0, 0)
    if o.get("masker", "count") == "count":
        _, mask = ref.sample_mask_exact_count(x0, time[:, 0].astype(float), perm, mask_id, free)
        ratio = mask.sum(1) / np.maximum(n, 1)
        weight = n / np.maximum(mask.sum(1), 1)
    else:
        ratio = np.clip(time[:, 0].astype(float), 1 / 500, 1 - 1 / 500)
        mask = free & (u < ratio[:, None])
        weight = 1 / ratio
        time = np.clip(time, np.float32(1 / 500), np.float32(1 - 1 / 500))
    k = mask.sum(1)
    alpha, tau, form = o.get("alpha", 1.0), float(o.get("tau", 1.0)), o.get("form", "paper")
    if o.get("alpha_warmup", 0):
        alpha *= min(1.0, progress / o["alpha_warmup"])
    loss, grad, _ = ref.papl_loss(clean, target, mask, alpha, tau, form, np.where(k > 0, ratio, 1))
    lp = np.where(mask, ref.gather_last(ref.log_softmax(clean), target), 0.0)
    w = ref.papl_weights(lp, mask, 1.0 if form == "open_dllm" else tau)
    some = (k > 0).astype(float)
    entropy = -(w * np.log(np.where(w > 0, w, 1))).sum(1)
    effective = some / np.where(k > 0, (w ** 2).sum(1), 1)
    training = {"loss": numbers(loss), "ids": numbers(np.where(mask, mask_id, x0)), **sums("nll", -weight * lp.sum(1), n), **sums("ce", -lp.sum(1), k),
                **sums("p_masked", (mask * np.exp(lp)).sum(1), k), **sums("planner_entropy", entropy, some), **sums("planner_positions", effective, some)}
    _, em = ref.sample_mask_exact_count(x0, time2[:, 0].astype(float), perm, mask_id, free)
    lp = np.where(em, ref.gather_last(ref.log_softmax(clean), target), 0.0)
    ek = em.sum(1)
    hit = em & (clean.argmax(-1) == target)
    evaluation = {"bound": numbers(-n / np.maximum(ek, 1) * lp.sum(1)), "count": numbers(n), "ids": numbers(np.where(em, mask_id, x0)), **sums("ce", -lp.sum(1), ek), **sums("accuracy", hit.sum(1), ek)}
    feeds = {"tokens": x0, "free": free, "time": time, "time2": time2, "u": u, "rank": rank, "attention_mask": real, "progress": np.array(progress)}
    cases.append({"name": name, "options": o, "v": V, "mask": mask_id, "pad": pad, "suppressed": suppressed, "rows": B, "length": L,
                  "feeds": {k: numbers(v) for k, v in feeds.items()}, "logits": numbers(logits), "training": training, "eval": evaluation, "grad": numbers(grad)})
    return loss


def example(want, name, time=LEAST, **o):
    lp = np.array([[-0.1, -1.0, -2.0]])
    logits = np.stack([lp, np.log1p(-np.exp(lp))], -1).astype(np.float32)
    yes = np.ones((1, 3), bool)
    loss = add(name, o, 2, 2, -1, [], np.zeros((1, 3), int), yes, yes, np.full((1, 1), time, np.float32), np.full((1, 1), LEAST), np.full((1, 3), LEAST),
               rng.random((1, 3)), logits)
    assert abs(loss - want) < 1e-6, (name, loss, want)


example(1.033333, "example alpha 0", alpha=0.0)
example(1.205920, "example alpha 1", alpha=1.0)
example(1.896267, "example alpha 5", alpha=5.0)
example(1.551094, "example pelbo", form="pelbo")
example(1.120350, "example tau .5", tau=0.5)
example(1.276367, "example tau .3 alpha 5", tau=0.3, alpha=5.0)
example(1.357348, "example open_dllm", form="open_dllm", masker="bernoulli", time=np.float32(0.75))


def case(name, progress=0.0, tie=False, **o):
    B, L, V, mask_id, pad = 5, 6, 7, 3, 6
    suppressed = [mask_id, pad]
    x0 = rng.choice([v for v in range(V) if v not in suppressed], (B, L))
    real = np.arange(L) < np.array([L, L, 4, 5, 3])[:, None]
    x0[~real] = pad
    free = real & (rng.random((B, L)) > 0.25)
    free[0], free[4] = True, False
    time, u = units(B, 1), units(B, L)
    if o.get("masker") == "bernoulli":
        time[1], u[1] = LEAST, 0.9  # no mask
    logits = (2 * rng.standard_normal((B, L, V))).astype(np.float32)
    if tie:
        logits[0], x0[0] = logits[0, 0], x0[0, 0]
    add(name, o, V, mask_id, pad, suppressed, x0, real, free, time, units(B, 1), u, rng.random((B, L)), logits, progress)


for form in ("paper", "pelbo", "open_dllm"):
    for masker in ("count", "bernoulli"):
        for alpha in (0.0, 1.0, 5.0):
            case(f"{form} {masker} alpha {alpha}", form=form, masker=masker, alpha=alpha)
for form in ("paper", "pelbo"):
    for tau in (0.0, 0.04, 0.3, 3.0, "inf"):
        case(f"{form} tau {tau}", form=form, tau=tau)
    case(f"{form} greedy with ties", form=form, tau=0.0, tie=True)
    for progress in (0.0, 0.05, 0.5):
        case(f"{form} warm-up at {progress}", progress=progress, form=form, alpha=2.0, alpha_warmup=0.1)

with gzip.GzipFile("golden.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
assert math.isfinite(sum(c["training"]["loss"][0] for c in cases))
