"""Prefixes that the numpy reference of the EB-Sampler opens, for random, tied and extreme statistics.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds samplers.py)

Every probability is a multiple of 1/4096, so that differences are exact in float32 and ties are real ties.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(17)


def statistics(n, kind):
    p1 = rng.integers(2048, 4097, n) / 4096
    p2 = np.minimum(rng.integers(0, 2049, n) / 4096, 1 - p1)
    h = rng.exponential(0.3, n)
    if kind == "ties":
        p1, p2, h = np.round(p1 * 4) / 4, np.zeros(n), np.round(h * 4) / 4
    elif kind == "sure":
        h[rng.random(n) < 0.5] = 0
    elif kind == "one huge":
        h *= 0.01
        h[rng.integers(n)] = 9.0
    return [np.float32(a).astype(np.float64) for a in (p1, p2, h)]


rows = []
for case in range(240):
    n = int(rng.integers(1, 25))
    p1, p2, h = statistics(n, ["plain", "ties", "sure", "one huge"][case % 4])
    eligible = rng.random(n) < 0.8
    eligible[rng.integers(n)] = True
    gamma = float(rng.choice([0, 0.001, 0.1, 0.5, 2, 10, np.inf]))
    options = {"proxy": ["entropy", "confidence", "margin"][case % 3], "gamma": "inf" if np.isinf(gamma) else gamma}
    extra = {}
    if case % 5 == 0:
        options["max_per_step"] = extra["max_k"] = int(rng.integers(1, 5))
    if case % 7 == 0:
        options["min_per_step"] = extra["min_k"] = int(rng.integers(1, 1 + extra.get("max_k", 4)))
    if case % 4 == 1:
        options["max_entropy"] = extra["max_entropy"] = float(rng.choice([0.0, 0.25, 0.5]))
    logp = -rng.integers(0, 64, n) / 16
    if options["proxy"] == "confidence" and case % 2:
        options["confidence"], extra["err"] = "drawn", -logp
    stats = {"p_max": p1, "margin": p1 - p2, "entropy": h}
    opened, _ = ref.eb_select(stats, eligible, gamma, options["proxy"], **extra)
    rows.append({"options": options, "p1": p1.tolist(), "p2": p2.tolist(), "entropy": h.tolist(), "logp": logp.tolist(),
                 "eligible": eligible.tolist(), "open": opened.tolist()})
print("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]")
