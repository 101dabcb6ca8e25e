"""What the numpy reference of KLASS opens, along whole rows.

Run from this folder: python golden.py REFERENCE_FOLDER | gzip -9n > golden.json.gz        (REFERENCE_FOLDER holds samplers.py)

A row is a list of steps on one canvas: what opens is written, until nothing is masked. Probabilities are whole numbers of
1/4096, divergences of 1/1024 (-1 = infinite: the first step, and positions that were not in the pass before), entropies of 1/64.
The reference gets the divergences of all steps so far; the first one is infinite everywhere.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(7)


def row(number):
    L = int(rng.integers(1, 15))
    S = int(rng.integers(1, L + 3))
    options = {"conf_threshold": float(rng.choice([0, 0.5, 0.75, 0.9])), "kl_threshold": float(rng.choice([0.01, 0.0625, 0.25, 1, 50])),
               "history_length": int(rng.integers(1, 4)), "unmask": str(rng.choice(["all", "all", "max_conf", "min_kl"])),
               "alg": str(rng.choice(["confidence", "margin", "entropy"]))}
    if number % 5 == 0:
        options = {}
    tau, eps, n = options.get("conf_threshold", 0.9), options.get("kl_threshold", 0.01), options.get("history_length", 2)
    counts = ref.llada_transfer_counts(L, S)
    masked, offset = np.ones(L, bool), int(rng.integers(0, 3))
    history, steps = [], []
    for i in range(40):
        eligible = masked & (rng.random(L) < 0.85)
        if not eligible.any():
            eligible = masked.copy()
        unit = 512 if number % 3 == 2 else 1  # coarse values tie
        p1 = np.clip(rng.integers(2048, 4097, L) // unit * unit, 64, 4096)
        p2 = np.minimum(rng.integers(0, 4097, L) // unit * unit, 4096 - p1)
        entropy = rng.integers(0, 256, L) // (1 + unit // 16)
        kl = rng.integers(0, 8, L) * int(rng.choice([1, 1, 40]))
        if i == 0:
            kl[:] = -1
        kl[rng.random(L) < 0.05] = -1
        history.append(np.where(kl < 0, np.inf, kl / 1024))
        conf = p1 / 4096
        k = max(counts[i] if i < S else int(masked.sum()), 1)
        err = {"confidence": -conf, "margin": -(p1 - p2) / 4096, "entropy": entropy / 64}[options.get("alg", "confidence")]
        ready = np.zeros(L, bool)
        if len(history) >= n:  # where nothing falls back, the reference opens exactly what is at rest
            ready[ref.klass_select(conf, history, eligible, tau, eps, n, fallback_k=0)] = True
        if ready.any():
            chosen = {"all": lambda: np.flatnonzero(ready), "max_conf": lambda: ref.topk_select(-conf, ready, 1),
                      "min_kl": lambda: ref.topk_select(history[-1], ready, 1)}[options.get("unmask", "all")]()
        else:
            chosen = ref.topk_select(err, eligible, k)
            if options.get("alg", "confidence") == "confidence":
                assert chosen.tolist() == ref.klass_select(conf, history, eligible, tau, eps, n, fallback_k=k).tolist()
        steps.append({"flags": (masked + 4 * eligible).tolist(), "p1": p1.tolist(), "p2": p2.tolist(), "entropy": entropy.tolist(), "kl": kl.tolist(),
                      "open": sorted(chosen.tolist()), "rest": bool(ready.any())})
        masked[chosen] = False
        if not masked.any() or i == S - 1:
            break
    return {"options": options, "blanks": L, "cap": S, "offset": offset, "steps": steps}


json.dump([row(n) for n in range(160)], sys.stdout, separators=(",", ":"))
