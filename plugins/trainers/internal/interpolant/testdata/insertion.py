"""What the golden scripts of flexmdm and loflexmdm share: rows, noise, the networks' outputs, the bound's terms and derivatives.

REFERENCE_FOLDER, the scripts' argument, holds flexmdm.py.
"""
import gzip
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import flexmdm as ref  # noqa: E402

PAD, MASK, EOS = 0, 1, 2
SMALL_GAP = 1e-4  # events keep this distance from the rows' time, so that states are the same in float32


def numbers(a):
    return [float("%.9g" % v) for v in np.asarray(a, float).ravel()]


def single(a):
    """The numbers as float32 has them, in float64."""
    return np.asarray(a, np.float32).astype(float)


def units(rng, *shape):
    return (rng.integers(0, 2 ** 23, shape) + 0.5) / 2 ** 23


class Times:
    """The times t of the rows' draws, and what their hazards are multiplied with."""

    def __init__(self, drawn, a, stretch):
        self.t = ref.clock_inv(stretch * ref.clock(drawn, a), a)
        self.factor = stretch * ref.base_hazard(drawn, a) / ref.base_hazard(self.t, a)


class Batch:
    """Seven rows: a whole one, one with a prompt, a short one, the empty string, a prompt alone, one with fragments, one of padding alone."""

    def __init__(self, rng, alphabet=4, pads=True):
        self.B, self.L, self.V = 7, 7, 3 + alphabet
        lengths = [7, 7, 4, 1, 5, 6, 0] if pads else [7] * 7
        self.x1 = rng.integers(3, self.V, (self.B, self.L))
        self.fixed = np.zeros((self.B, self.L), bool)
        for b, n in enumerate(lengths):
            self.x1[b, n:] = PAD
            self.x1[b, n - 1:n] = EOS
            self.fixed[b, n - 1:n] = True
        self.fixed[1, :3] = True
        self.fixed[4] = self.x1[4] != PAD
        self.fixed[5, [1, 3]] = True
        self.real = self.x1 != PAD
        self.free = self.real & ~self.fixed
        self.t = single(np.clip(units(rng, self.B), 1e-4, 1 - 1e-4))

    def feeds(self):
        return {"tokens": self.x1, "free": self.free, "attention_mask": self.real, "time": self.t}


def sample(rng, x1, fixed, t, a, b_in, b_um):
    """Noise whose states keep their distance, and what the reference makes of it."""
    free = (x1 != PAD) & ~fixed
    u = ref.clock(t, a)[:, None]
    while True:
        q_in, q_um = units(rng, *x1.shape), units(rng, *x1.shape)
        z = ref.interpolant(x1, fixed, t, q_in, q_um, a, b_in, b_um, MASK, PAD)
        u_in = -np.log1p(-q_in) / b_in
        u_um = u_in - np.log1p(-q_um) / b_um
        off = np.minimum(np.abs(u_in / u - 1), np.abs(u_um / u - 1))
        if (off[free] > SMALL_GAP).all():
            return q_in, q_um, z


def heads(rng, n, L, V, rates):
    out = {"logits": single(1.5 * rng.standard_normal((n, L, V))), "insertion_rate": single(np.exp(rng.standard_normal((n, L + 1))))}
    if rates:
        out["unmask_rate"] = single(np.exp(rng.standard_normal((n, L))))
    return out


def terms(z, x1, gives, times, a, b_um, suppressed):
    """The reference's parts, weighted for the times' draw, with um_kl 0 where the network has no unmask_rate."""
    logits = np.array(gives["logits"])
    logits[..., suppressed] -= 1e9
    log_k = logits - logits.max(-1, keepdims=True)
    log_k = log_k - np.log(np.exp(log_k).sum(-1, keepdims=True))
    um = gives.get("unmask_rate")
    parts = ref.loss_terms(z, x1, log_k, b_um if um is None else um, gives["insertion_rate"], times.t, a, b_um, MASK)
    for k in ("um_ce", "um_kl", "ins", "total"):
        parts[k] = parts[k] * times.factor
    if um is None:
        parts["total"] = parts["um_ce"] + parts["ins"]
        parts["um_kl"] = np.zeros(len(x1))
    target = np.take_along_axis(x1, np.maximum(z["st"], 0), 1)
    parts["hits"] = ((z["xt"] == MASK) & (logits.argmax(-1) == target)).sum(1)
    return parts


def metrics(parts, batch, k=1):
    """um_ce, um_kl, in, total and accuracy; the k copies of a row side by side."""
    mean = lambda v: np.asarray(v, float).reshape(-1, k).mean(1)
    out = {}
    for name, key in (("um_ce", "um_ce"), ("um_kl", "um_kl"), ("in", "ins"), ("total", "total")):
        out[f"metric.{name}.sum"] = mean(parts[key])
        out[f"metric.{name}.count"] = batch.real.any(1)
    out["metric.accuracy.sum"], out["metric.accuracy.count"] = mean(parts["hits"]), mean(parts["n_mask"])
    return out


def objective(parts, normalise, L):
    if normalise != "code":
        return parts["total"]
    return ref.code_reduction(parts, L)


def called(z, t):
    return {"ids": z["xt"], "real": z["st"] >= 0, "timesteps": t}


def gradient(f, x, step=1e-5):
    """Central differences of the scalar f() by the entries of x, which it reads."""
    out = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        was = x[i]
        x[i] = was + step
        up = f()
        x[i] = was - step
        out[i] = (up - f()) / (2 * step)
        x[i] = was
    return out


def case(name, graph, o, batch, suppressed, feeds, gives, want):
    return {"name": name, "graph": graph, "options": o, "v": batch.V, "mask": MASK, "pad": PAD, "suppressed": suppressed, "rows": batch.B,
            "length": batch.L, "feeds": {k: numbers(v) for k, v in feeds.items()}, "gives": {k: numbers(v) for k, v in gives.items()},
            "want": {k: numbers(v) for k, v in want.items()}}


def write(cases):
    with gzip.GzipFile("golden.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(cases).encode())
