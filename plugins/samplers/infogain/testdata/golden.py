"""What Info-Gain does (samplers.md, S17): J(a) = H(opened now) + mean H of the rest after opening, the smallest wins.

Run from this folder: python golden.py | gzip -9n > golden.json.gz   (numpy alone; no other reference is needed)

The network is logits = 2 cos(1 + i + 2 v + s/2 + phase), s = sum over unmasked j of (x_j + 1)(j + 1), V = 3, mask 3; a
proposal is the largest logit plus Gumbel noise of frac((index + 1) c + phase). The positions' noise is PCG-DXSM (Go's
math/rand/v2), seeded with the bits of frac((step + 1) c + phase). "seen" are the canvases of all steps, "passes" the
forward passes of each step, "j" the J of what was chosen (null where nothing was weighed).
"""
import json
import struct
import sys

import numpy as np

V, MASK, M64, M128 = 3, 3, 2**64 - 1, 2**128 - 1
MUL = 2549297995355413924 << 64 | 4865540595714422341
INC = 6364136223846793005 << 64 | 1442695040888963407


class PCG:
    def __init__(self, hi, lo):
        self.state = hi << 64 | lo

    def float64(self):
        self.state = (self.state * MUL + INC) & M128
        hi, lo = self.state >> 64, self.state & M64
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & M64
        hi ^= hi >> 48
        hi = hi * (lo | 1) & M64
        return (hi & (2**53 - 1)) / 2**53


def frac(index, c, phase):
    return ((index + 1) * c + phase) % 1.0


def probabilities(x, phase):
    i, v = np.arange(len(x))[:, None], np.arange(V)[None]
    s = np.sum(np.where(x == MASK, 0, (x + 1) * (np.arange(len(x)) + 1)))
    z = (2.0 * np.cos(1 + i + 2 * v + 0.5 * s + phase)).astype(np.float32).astype(np.float64)
    p = np.exp(z - z.max(-1, keepdims=True))
    return z, p / p.sum(-1, keepdims=True)


def entropy(p):
    return -np.sum(p * np.log(p), -1)


def step(x, n, phase, o):
    """One step: the canvas after it, its forward passes, J, and how close the closest decision was."""
    L, tau = len(x), o["position_temperature"]
    z, p = probabilities(x, phase)
    noise = frac(n * L * V + np.arange(L * V).reshape(L, V), 0.6180339887498949, phase)
    proposal = np.argmax(z - np.log(-np.log(noise)), -1)
    mask = np.flatnonzero(x == MASK)
    k = min(o["k"], len(mask))
    conf, H = p[mask, proposal[mask]], entropy(p)
    near = [1.0]

    def top(score, k):
        order = np.argsort(-score, kind="stable")
        if k < len(score):
            near.append(score[order[k - 1]] - score[order[k]])
        return tuple(sorted(order[:k].tolist()))

    def after(a):
        y = x.copy()
        y[mask[list(a)]] = proposal[mask[list(a)]]
        return y

    if o["threshold"] > 0 and k < len(mask):
        near.append(np.min(np.abs(conf - o["threshold"])))
        if (sure := int(np.sum(conf >= o["threshold"]))) > 0:
            return after(top(conf, min(k, sure))), 1, None, min(near)
    sets, rng = [top(conf, k)], PCG(struct.unpack("<Q", struct.pack("<d", frac(n, 0.4142135623730951, phase)))[0], 0)
    if k < len(mask):
        for _ in range(o["candidate_number"] - 1):
            u = np.array([rng.float64() for _ in mask])
            a = top(conf / tau - np.log(-np.log(u)), k)
            if a not in sets:
                sets.append(a)
    if len(sets) == 1:
        return after(sets[0]), 1, None, min(near)
    J = []
    for a in sets:
        y = after(a)
        rest = entropy(probabilities(y, phase)[1])[y == MASK]
        cost = H[mask[list(a)]].sum() if o["variant"] == "info_gain" else 0.0
        J.append(cost + (rest.mean() if len(rest) else 0.0))
    near.append(np.diff(np.sort(J)[:2])[0])
    best = int(np.argmin(J))
    return after(sets[best]), 1 + len(sets), J[best], min(near)


def run(L, phase, o):
    x, seen, passes, js = np.full(L, MASK), [], [], []
    while (x == MASK).any():
        seen.append(x.tolist())
        x, n, j, near = step(x, len(seen) - 1, phase, o)
        if near < 1e-5:
            return None
        passes.append(n)
        js.append(j)
    return {"options": o, "phase": phase, "seen": seen + [x.tolist()], "passes": passes, "j": js}


cases = []
for variant in ("info_gain", "lookum"):
    for k in (1, 3):
        for c, tau, threshold in ((8, 0.1, 0.0), (4, 1.0, 0.0), (8, 0.1, 0.6)):
            for n in range(120 if k == 3 else 60):
                o = {"variant": variant, "k": k, "candidate_number": c, "position_temperature": tau, "threshold": threshold}
                case = run(2 + n % 9, n / 128, o)
                if case is not None:
                    cases.append(case)
json.dump(cases, sys.stdout, separators=(",", ":"))
