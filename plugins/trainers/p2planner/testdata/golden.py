"""The planner's training graphs by numpy in float64, on fixed noise and fixed outputs of both networks.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds p2_papl.py)
It writes golden.json.gz. Cross-entropies are -log p and -log(1 - p) as they stand, gradients are central differences.
"""
import gzip
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as ref  # noqa: E402

rng = np.random.default_rng(11)
ENDS = np.float32(1e-3)


def units(*shape):
    return ((rng.integers(0, 2 ** 23, shape) + 0.5) / 2 ** 23).astype(np.float32)


def numbers(a):
    return [float("%.9g" % v) for v in np.asarray(a, float).ravel()]


def sums(name, total, count):
    return {f"metric.{name}.sum": numbers(total), f"metric.{name}.count": numbers(count)}


def without(logits, ids):
    return np.where(np.isin(np.arange(logits.shape[-1]), ids), -np.inf, np.asarray(logits, float))


def draw(logits, u, temperature):
    if temperature == 0:
        return logits.argmax(-1)
    c = np.cumsum(np.exp(ref.log_softmax(logits / temperature)), -1)
    at = u[..., None].astype(float) * c[..., -1:]
    assert np.abs(c[..., :-1] - at).min() > 1e-6, "a draw that rounding decides; take another seed"
    return (c <= at).sum(-1)


def bce(out, z, y, suppressed):
    """[B, L]; out is [B, L] log-odds or [B, L, V] logits."""
    if out.ndim == 2:
        p = 1 / (1 + np.exp(-out))
    else:
        p = ref.gather_last(np.exp(ref.log_softmax(without(out, suppressed))), z)
    return -np.where(y, np.log(p), np.log1p(-p))


def constant(right, n):
    """BCE of whoever knows the share of right tokens alone, summed."""
    share = right.sum() / max(n.sum(), 1)
    terms = [q * np.log(q) for q in (share, 1 - share) if q > 0]
    return -sum(terms) * n.sum()


def graph(o, mask, x0, free, mix, token, logits, planner, mask_id, suppressed):
    fresh = free & (mask | (mix >= np.float32(o.get("mix", 0.5))))
    z = np.where(fresh, draw(without(logits, suppressed), token, o.get("temperature", 1.0)), x0)
    y = z == x0
    open_, k, n = free & ~mask, mask.sum(1), free.sum(1)
    judged = np.where(free, z, 0)  # what padding is said to be does not count
    each = bce(np.asarray(planner, float), judged, y, suppressed)
    outputs = {"ids": numbers(np.where(mask, mask_id, x0)), "planner.ids": numbers(z)}
    if o.get("head", "binary") == "binary" and o.get("mask_pattern", True):
        outputs["planner.masked"] = numbers(mask)
    row = (each * free).sum(1)
    outputs |= sums("nll", row, n)
    for name, where in (("masked", mask), ("unmasked", open_)):
        count, right = where.sum(1), (y & where).sum(1)
        outputs |= sums(f"bce_{name}", (each * where).sum(1), count) | sums(f"right_{name}", right, count)
        outputs |= sums(f"constant_{name}", constant(right, count), count.sum())

    def loss(out):
        weighed = np.where(k > 0, 1 / np.maximum(k, 1), 0)
        return (weighed * (bce(out, judged, y, suppressed) * free).sum(1)).mean()

    return outputs, row, n, loss


def differences(f, x, h=1e-5):
    x, out = np.asarray(x, float).copy(), np.zeros(np.shape(x))
    for i in np.ndindex(x.shape):
        was = x[i]
        x[i] = was + h
        up = f(x)
        x[i] = was - h
        out[i], x[i] = (up - f(x)) / (2 * h), was
    return out


cases = []


def masks(o, x0, free, time, noise, perm, mask_id):
    if o.get("masker", "count") == "count":
        return ref.sample_mask_exact_count(x0, time[:, 0].astype(float), perm, mask_id, free)[1]
    return free & (noise < np.clip(time, ENDS, 1 - ENDS))


def case(name, **o):
    B, L, V, mask_id, pad = 5, 6, 7, 3, 6
    suppressed = [mask_id, pad]
    x0 = rng.choice([v for v in range(V) if v not in suppressed], (B, L))
    real = np.arange(L) < np.array([L, L, 4, 5, 3])[:, None]
    x0[~real] = pad
    free = real & (rng.random((B, L)) > 0.25)
    free[0], free[4] = True, False
    time, time2, noise, mix, token, perm = units(B, 1), units(B, 1), units(B, L), units(B, L), units(B, L), rng.random((B, L))
    if o.get("masker") == "bernoulli":
        time[1], noise[1] = 2.0 ** -24, 0.9  # no mask
        time, time2 = np.clip(time, ENDS, 1 - ENDS), np.clip(time2, ENDS, 1 - ENDS)
    logits = (1.5 * rng.standard_normal((B, L, V)) + 2 * (np.arange(V) == x0[..., None])).astype(np.float32)
    planner = (2 * rng.standard_normal((B, L) if o.get("head", "binary") == "binary" else (B, L, V))).astype(np.float32)
    rank = np.full((B, L), 1 << 30)
    for b in range(B):
        rank[b, np.flatnonzero(free[b])] = np.argsort(np.argsort(perm[b, free[b]], kind="stable"))
    rest = (x0, free, mix, token, logits, planner, mask_id, suppressed)
    training, _, _, loss = graph(o, masks(o, x0, free, time, noise, perm, mask_id), *rest)
    training["loss"] = numbers(loss(planner.astype(float)))
    evaluation, row, n, _ = graph(o, masks(o, x0, free, time2, noise, perm, mask_id), *rest)
    evaluation |= {"bound": numbers(row), "count": numbers(n)}
    feeds = {"tokens": x0, "free": free, "time": time, "time2": time2, "mask": noise, "mix": mix, "token": token, "rank": rank, "attention_mask": real}
    cases.append({"name": name, "options": o, "v": V, "mask": mask_id, "pad": pad, "suppressed": suppressed, "rows": B, "length": L,
                  "feeds": {k: numbers(v) for k, v in feeds.items()}, "logits": numbers(logits), "planner": numbers(planner),
                  "training": training, "eval": evaluation, "grad": numbers(differences(loss, planner))})


for head in ("binary", "vocabulary"):
    for masker in ("count", "bernoulli"):
        case(f"{head} {masker}", head=head, masker=masker)
    case(f"{head} always new", head=head, mix=0.0)
    case(f"{head} always kept", head=head, mix=1.0)
    case(f"{head} likeliest", head=head, temperature=0.0)
    case(f"{head} warm", head=head, temperature=1.7)
case("binary without the masks", mask_pattern=False)

with gzip.GzipFile("golden.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
