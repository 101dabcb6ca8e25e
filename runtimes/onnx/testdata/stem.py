"""Logits and statistics behind guidance and the shift of right-shifted models, by the numpy reference.

Run from this folder: python stem.py REFERENCE_FOLDER | gzip -9n >stem.json.gz      (REFERENCE_FOLDER holds samplers.py)

The model gives token t row t of a table, in whole numbers of 1/64, with -inf for one token throughout.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(3)
V, MASK, PAD, B, L = 9, 8, 0, 3, 6
table = rng.integers(-256, 257, (V, V))
BARRED = 4  # -inf throughout
logits_of = table / 64.0
logits_of[:, BARRED] = -np.inf
tokens = rng.integers(0, V, (B, L))
tokens[tokens == BARRED] = 5
without = np.where(rng.random((B, L)) < 0.5, MASK, tokens)
without[1] = tokens[1]  # a row without a prompt
cases = []
for w in (0.0, 0.5, 2.0):
    for shift in (0, 1):
        out = {"w": w, "shift": shift, "logits": [], "p1": [], "entropy": [], "current": []}
        for row, bare in zip(tokens, without):
            with np.errstate(invalid="ignore"):
                z = ref.cfg_combine(logits_of[row], logits_of[bare], w)
            z[:, BARRED] = -np.inf
            if shift:
                z = ref.shift_right(z)
            st = ref.position_stats(z, (MASK,), current=row)
            out["logits"] += [None if np.isneginf(x) else float(f"{x:.9g}") for x in z.ravel()]
            out["p1"] += [float(f"{x:.9g}") for x in st["p_max"]]
            out["entropy"] += [float(f"{x:.9g}") for x in st["entropy"]]
            out["current"] += [0.0 if t == MASK else float(f"{np.log(x):.9g}") for t, x in zip(row, st["p_current"])]
        cases.append(out)
json.dump({"v": V, "mask": MASK, "rows": B, "length": L, "barred": BARRED, "table": table.ravel().tolist(), "tokens": tokens.ravel().tolist(),
           "without": without.ravel().tolist(), "cases": cases}, sys.stdout)
