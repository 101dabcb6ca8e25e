"""Schedules, rho, grids, times and PAPL losses, from the numpy references and from 60-digit arithmetic.

Run from this folder: python golden.py REFERENCE_FOLDER | gzip -9n > golden.json.gz
REFERENCE_FOLDER holds md4.py and p2_papl.py. Schedules are evaluated twice: by md4.py, and from their formulas in decimal
arithmetic at the same float64 times, since the reference's own alpha loses digits near t = 1. The script asserts that both
agree to the reference's rounding and writes the latter. Infinities are strings.
"""
import json
import math
import sys
from decimal import Decimal as D
from decimal import getcontext

import numpy as np

sys.path.insert(0, sys.argv[1])
import md4  # noqa: E402
import p2_papl as papl  # noqa: E402

getcontext().prec = 60
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def sin(x):
    term, total, k = x, x, 1
    while term and abs(term) > D(10) ** -80:
        k += 2
        term = -term * x * x / (k * (k - 1))
        total += term
    return total


def cos(x):
    return sin(PI / 2 - x)


def exact(spec, t):
    """(alpha, u, du/dt) in 60 digits."""
    t, kind = D(t), spec["Kind"]
    if kind == "linear":
        u, du = t, D(1)
    elif kind == "polynomial":
        c = D(spec["C"])
        u = t ** c if t else D(0)
        du = c * t ** (c - 1) if t else (D(1) if c == 1 else D(0) if c > 1 else D("inf"))
    elif kind == "cosine":
        u, du = sin(PI / 2 * t), PI / 2 * cos(PI / 2 * t)
        if t == 1:
            u, du = D(1), D(0)
    else:
        lo, hi = D(spec["BMin"]), D(spec["BMax"])
        b = ((1 - t) * lo.ln() + t * hi.ln()).exp()
        u, du = 1 - (-b).exp(), b * (-b).exp() * (hi / lo).ln()
    eps = D(spec.get("Eps", 0.0))
    return (1 - 2 * eps) * (1 - u) + eps, (1 - 2 * eps) * u + eps, (1 - 2 * eps) * du


def divide(a, b):
    return a / b if b else D("inf")


def log(a):
    return a.ln() if a else D("-inf")


def number(x):
    x = float(x)
    return ("inf" if x > 0 else "-inf") if math.isinf(x) else x


SPECS = [
    ({"Kind": "linear"}, dict(kind="linear")),
    ({"Kind": "polynomial", "C": 0.5}, dict(kind="poly", power=0.5)),
    ({"Kind": "polynomial", "C": 1.0}, dict(kind="poly", power=1.0)),
    ({"Kind": "polynomial", "C": 3.0}, dict(kind="poly", power=3.0)),
    ({"Kind": "cosine"}, dict(kind="cosine")),
    ({"Kind": "geometric", "BMin": 1e-5, "BMax": 20.0}, dict(kind="geometric")),
    ({"Kind": "geometric", "BMin": 1e-3, "BMax": 8.0}, dict(kind="geometric", bmin=1e-3, bmax=8.0)),
]
SPECS = [({**s, "Eps": e} if e else s, {**k, "eps": e}) for s, k in SPECS for e in (0.0, 1e-4, 1e-2)]
TIMES = [0.0, 1e-12, 1e-7, 1e-4, 0.001, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.75, 0.9, 0.99, 0.999, 1 - 1e-6, 1 - 1e-10, 1.0]
STEPS = [(0.0, 1.0), (0.0, 1e-6), (0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.9, 1.0), (0.3, 0.3), (0.0, 0.0), (1e-9, 2e-9),
         (0.1, 0.1 + 1e-6), (0.4, 0.4 + 1e-9), (0.7, 0.7 + 1e-12), (0.999, 0.999 + 1e-7), (1 - 1e-9, 1.0)]


def schedule(spec, kw):
    ref, rows, steps = md4.Schedule(**kw), [], []
    for t in TIMES:
        a, u, du = exact(spec, t)
        want = {"t": t, "alpha": a, "u": u, "prime": -du, "weight": divide(du, u), "log_snr": log(a) - log(u)}
        with np.errstate(all="ignore"):
            got = {"alpha": ref.alpha(t), "u": ref.u(t), "prime": ref.dalpha(t), "weight": ref.weight(t)}
            snr = float(ref.log_snr(t))
        for k, v in got.items():
            w, v = float(want[k]), float(v)
            assert w == v or abs(w - v) <= 1e-13 + 1e-12 * abs(w), (spec, t, k, w, v)
        if u and a > 1e-8:
            assert abs(snr - float(want["log_snr"])) < 1e-6, (spec, t)
        rows.append({k: number(v) for k, v in want.items()})
    for s, t in STEPS:
        us, ut = exact(spec, s)[1], exact(spec, t)[1]
        rho = (ut - us) / ut if ut else D(0)
        if t:
            assert abs(float(md4.unmask_prob(ref, s, t)) - float(rho)) < 1e-15 / float(ut) + 1e-12, (spec, s, t)
        steps.append([s, t, number(rho)])
    us = [float(u) for u in (ref.u(0.0), 0.02, 0.3, 0.77, 0.97)]
    return {"spec": spec, "times": rows, "rho": steps,
            "inverse": [[u, float(ref.t_of_u(u))] for u in us if u > float(ref.u(0.0))],
            "recon": md4.recon_term(7, 50, ref), "prior": 7 * float(exact(spec, 1.0)[0]) * math.log(50)}


def times(rng):
    out = []
    for B in (1, 3, 8, 100):
        v = rng.random(B)
        shared, strata = md4.times_shared_offset(v[0], B), md4.times_jittered(v)
        out.append({"u": v.tolist(), "shared_offset": shared.tolist(), "stratified": strata.tolist(),
                    "snapped": [[T, md4.snap_up(strata, T).tolist()] for T in (1, 7, 64)]})
    return out


def md4_losses(rng):
    B, N, m = 4, 6, 5
    logp = md4.log_softmax(rng.standard_normal((B, N, m)))
    x0 = rng.integers(0, m, (B, N))
    mask = rng.random((B, N)) < 0.6
    mask[3] = False
    t = np.array([0.125, 0.5, 0.9375, 0.25])
    lp = np.take_along_axis(logp, x0[..., None], -1)[..., 0]
    losses = []
    for spec, kw in SPECS:
        ref = md4.Schedule(**kw)
        losses.append({"spec": spec, "continuous": md4.md4_loss(logp, x0, mask, t, ref).tolist(),
                       "finite16": md4.md4_loss(logp, x0, mask, t, ref, T=16).tolist()})
    ce = md4.masked_ce(logp, x0, mask)
    return {"logp": lp.ravel().tolist(), "mask": mask.ravel().tolist(), "n": N, "t": t.tolist(), "ce": ce.tolist(), "losses": losses,
            "bits": md4.bits_per_token(ce[0], N), "perplexity": md4.perplexity(ce[0], N)}


def papl_losses(rng):
    B, L, V = 4, 6, 3
    out = []
    for case in range(3):
        logits = rng.standard_normal((B, L, V)) * (1 + case)
        x0 = rng.integers(0, V, (B, L))
        mask = rng.random((B, L)) < 0.5
        mask[0], mask[1] = False, True
        ratio = rng.uniform(1 / 500, 1 - 1 / 500, B)
        lp = papl.gather_last(papl.log_softmax(logits), x0)
        for form in ("paper", "pelbo", "open_dllm"):
            for alpha, tau in ((0.0, 1.0), (1.0, 1.0), (5.0, 0.3), (1.0, 0.0), (2.0, math.inf), (1.0, 0.01)):
                loss, grad, w = papl.papl_loss(logits, x0, mask, alpha, tau, form, ratio)
                coef = papl.gather_last(grad, x0) / np.expm1(lp)  # the gradient at the true token is coef (p - 1)
                out.append({"form": form, "alpha": alpha, "tau": number(tau), "L": L, "logp": lp.ravel().tolist(),
                            "mask": mask.ravel().tolist(), "ratio": ratio.tolist(), "loss": loss, "coef": coef.ravel().tolist(),
                            "w": w.ravel().tolist()})
    return out


def exact_counts(rng):
    out = []
    for L in (1, 5, 9):
        x0, free = rng.integers(0, 4, (6, L)), rng.random((6, L)) < 0.7
        u, order = np.array([0, 0.2, 0.5, 0.7, 0.9, 1 - 1e-12]), rng.random((6, L))
        xt, _ = papl.sample_mask_exact_count(x0, u, order, 4, free)
        rank = np.argsort(np.argsort(order, axis=1), axis=1)
        out += [{"u": float(u[b]), "x0": x0[b].tolist(), "free": free[b].tolist(), "rank": rank[b].tolist(), "xt": xt[b].tolist()}
                for b in range(6)]
    return out


rng = np.random.default_rng(11)
print(json.dumps({
    "schedules": [schedule(s, k) for s, k in SPECS],
    "grids": [{"kind": k, "T": T, "t": md4.grid(k, T).tolist()} for k in ("uniform", "cosine") for T in (1, 2, 4, 7, 50)],
    "times": times(rng),
    "md4": md4_losses(rng),
    "papl": papl_losses(rng),
    "exact_counts": exact_counts(rng),
}, separators=(",", ":")))
