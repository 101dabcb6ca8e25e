"""What WINO opens and masks again, by numpy: whole rows of steps, so that what a step opened counts in the next.

Run from this folder: python golden.py | gzip -9n >golden.json.gz

Log-probabilities are whole numbers of -1/64 and p1 of 1/4096, coarse in a third of the cases so that some tie.
"""
import json
import sys

import numpy as np

rng = np.random.default_rng(29)
MASK = 99


def wino(masked, free, confidence, alone, o, before):
    """Positions to open and to mask again, and how many were opened. masked, free [L]; confidence, alone [L] probabilities;
    before: positions that the step before opened, None in the first."""
    index = np.arange(len(masked))
    accept = min(max(int(o["accept_ratio"] * masked.sum()), o["min_accept"]), o["max_accept"])
    take = index[masked & (confidence > o["wide_in"])]
    if len(take) == 0:
        take = index[masked]
        accept = 1
    if len(take) > accept:
        take = take[np.argsort(-confidence[take], kind="stable")[:accept]]
    back = np.array([], int)
    if len(take) > 1 and o["narrow_out"] > 0:
        limit = len(take) - 1
        if o["remask_limit"] == "opened_before":
            limit = (30 if before is None else before) - 1
        back = index[free & ~masked & (alone < o["narrow_out"])]
        if len(back) > limit:
            back = back[np.argsort(alone[back], kind="stable")[:limit]]
    return np.sort(take), np.sort(back), len(take)


def case(number):
    L = int(rng.integers(1, 60))
    tokens = rng.integers(0, 5, L)
    tokens[rng.random(L) < 0.6] = MASK
    tokens[rng.integers(L)] = MASK
    fixed = (tokens != MASK) & (rng.random(L) < 0.3)
    o = {"wide_in": float(rng.choice([0, 0.25, 0.6, 0.9])), "narrow_out": float(rng.choice([0, 0.5, 0.9, 0.9, 1])),
         "accept_ratio": float(rng.choice([0.1, 0.7, 1])), "min_accept": int(rng.choice([1, 5])), "max_accept": int(rng.choice([6, 20])),
         "remask_limit": str(rng.choice(["opened", "opened_before"])), "confidence": str(rng.choice(["drawn", "max"]))}
    steps, before = [], None
    while (tokens == MASK).any() and len(steps) < 6:
        p1, drawn, alone = rng.integers(1, 4097, L), rng.integers(0, 128, L), rng.integers(0, 40, L)
        if number % 3 == 0:
            p1, drawn, alone = np.maximum(p1 // 1024 * 1024, 512), drawn // 32 * 32, alone // 8 * 8
        masked = tokens == MASK
        alone = np.where(masked, 0, alone)
        confidence = np.exp(-drawn / 64) if o["confidence"] == "drawn" else p1 / 4096
        take, back, before = wino(masked, ~fixed, confidence, np.exp(-alone / 64), o, before)
        steps.append({"row": tokens.tolist(), "p1": p1.tolist(), "drawn": drawn.tolist(), "alone": alone.tolist(), "open": take.tolist(), "remask": back.tolist()})
        tokens = tokens.copy()
        tokens[take] = 1
        tokens[back] = MASK
    return {"options": o, "fixed": np.flatnonzero(fixed).tolist(), "steps": steps}


json.dump([case(i) for i in range(150)], sys.stdout, separators=(",", ":"))
