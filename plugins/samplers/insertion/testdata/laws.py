"""Writes laws.json.gz: how often flexmdm.py's own sampler ends at which string when the model is the exact posterior of the sheet's toy.

    python laws.py REFERENCE | gzip -9n > laws.json.gz
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import flexmdm as f

ROWS, V, CAP = 20000, 3, 6
S, P = f.toy()
b_in, b_um = f.hetero(S)
exact = {"equal": f.Exact(S, P, V), "unequal": f.Exact(S, P, V, b_in, b_um)}


def law(speeds, events, grid, steps, confidence=None):
    g = np.random.default_rng(3 + steps)
    xt, n = f.sample(exact[speeds].as_model(CAP, V + 1), ROWS, CAP, f.time_grid(steps, grid), lambda _, s: g.random(s), V, V + 1, events=events,
                     confidence=confidence, final="sample")
    ends = {}
    for row, k in zip(xt, n):
        s = "".join("abc?"[x] for x in row[:k])
        ends[s] = ends.get(s, 0) + 1
    return dict(speeds=speeds, events=events, grid=grid, steps=steps, confidence=confidence or "none", ends=ends)


laws = []
for steps in (8, 32, 128):
    for events, grid in (("poisson", "code"), ("poisson", "clock"), ("integrated", "clock"), ("euler", "uniform")):
        laws.append(law("equal", events, grid, steps))
for confidence in (None, "top_prob"):
    laws.append(law("unequal", "integrated", "clock", 32, confidence))
laws.append(law("equal", "integrated", "clock", 32, "top_prob"))
json.dump(dict(rows=ROWS, strings=["".join("abc"[c] for c in s) for s in S], p=P.tolist(), b_in=[b.tolist() for b in b_in],
               b_um=[b.tolist() for b in b_um], laws=laws), sys.stdout)
