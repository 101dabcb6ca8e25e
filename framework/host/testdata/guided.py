"""Prints guided.json: rows that classifier-free guidance fills, one position at a time, the surest first, at temperature 0, by
ONNX Runtime and numpy alone.

Run from this folder: python guided.py REFERENCE_FOLDER | gzip -9n >guided.json.gz      (REFERENCE_FOLDER holds samplers.py)

In the pass without prompts special tokens stay. margin is how near the closest choice of a row was to
another: the smallest difference between the two surest positions, and between the logits of the two best tokens there.
"""
import json
import sys

import numpy as np
import onnxruntime as ort

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

MODEL, MASK, CLS, SEP, V = "rxnmapper-albert", 14, 12, 13, 591
SPECIAL = [0, CLS, SEP]
SUPPRESS = list(range(15))
session = ort.InferenceSession(f"../../model/embedded/{MODEL}/onnx/model.onnx")
rng = np.random.default_rng(8)


def logits(row):
    ids = np.array([row], np.int64)
    return session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].astype(np.float64)


def fill(row, w, keep):
    row, prompt = np.array(row), np.array(row) != MASK
    hidden = prompt & ~np.isin(row, SPECIAL + keep)
    steps, margin = np.full(len(row), -1), np.inf
    for step in range(int((row == MASK).sum())):
        z = ref.cfg_combine(logits(row), logits(np.where(hidden, MASK, row)), w)
        z[:, SUPPRESS] = -np.inf
        p = np.exp(z - z.max(1, keepdims=True))
        p1 = np.where(row == MASK, 1 / p.sum(1), -1)
        order = np.argsort(-p1, kind="stable")
        at = order[0]
        best = np.sort(z[at])[::-1]
        margin = min(margin, p1[at] - p1[order[1]], best[0] - best[1])
        row[at], steps[at] = z[at].argmax(), step
    return {"tokens": row.tolist(), "step_map": steps.tolist(), "margin": float(f"{margin:.3g}")}


rows = []
for n in (6, 9, 14, 20, 20, 11):
    row = rng.integers(15, 60, n)
    row[rng.random(n) < 0.5] = MASK
    rows.append([CLS, *map(int, row), SEP])
cases = [{"w": w, "keep": keep, "rows": [fill(r, w, keep) for r in rows]} for w, keep in ((0, []), (0.25, []), (0.5, []), (0.5, list(range(15, 38))))]
json.dump({"model": MODEL, "inputs": rows, "cases": cases}, sys.stdout)
