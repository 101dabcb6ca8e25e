"""What the numpy reference opens and overwrites in a step of token editing.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds samplers.py)

Probabilities are whole numbers of 1/4096, coarse in a third of the cases so that some tie with thresholds and each other.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(13)
MASK = 99


def case(number):
    L = int(rng.integers(1, 15))
    x = rng.integers(0, 4, L)
    x[rng.random(L) < 0.5] = MASK
    x[rng.integers(L)] = MASK
    fixed = (x != MASK) & (rng.random(L) < 0.3)
    p1, best = rng.integers(1, 4097, L), rng.integers(0, 4, L)
    if number % 3 == 0:
        p1 = np.maximum(p1 // 512 * 512, 512)
    o = {"threshold": float(rng.choice([0, 0.25, 0.5, 0.95])), "editing_threshold": float(rng.choice([0, 0.25, 0.5, 0.9, 1])),
         "strict": bool(rng.integers(2)), "max_post_steps": 0}
    open_ = ref.threshold_select(p1 / 4096, x == MASK, o["threshold"], o["strict"])
    at = ref.edit_select(x, best, p1 / 4096, fixed, MASK, o["editing_threshold"])
    return {"options": o, "row": x.tolist(), "fixed": np.flatnonzero(fixed).tolist(), "p1": p1.tolist(), "best": best.tolist(),
            "open": np.sort(open_).tolist(), "overwrite": [[int(l), int(best[l])] for l in at]}


print("[\n" + ",\n".join(json.dumps(case(i), separators=(",", ":")) for i in range(260)) + "\n]")
