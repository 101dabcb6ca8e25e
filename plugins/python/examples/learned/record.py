#!/usr/bin/env python3
"""Writes steps.csv.gz: positions of half-filled Sudoku grids, what the model says of them, and whether its proposal is right.

    python3 record.py MODEL.onnx sudoku_valid.csv.gz > steps.csv.gz          (needs numpy and onnxruntime)

The puzzles are those that the model was validated with; it never trained on them. A state is a puzzle of which a random share of
the blanks is filled in rightly. One state in two has its proposals drawn at temperature 1, the other its likeliest tokens.
"""
import csv
import gzip
import io
import sys

import numpy as np
import onnxruntime as ort

COLUMNS = ["p1", "p2", "entropy", "logp_proposal", "masked", "blanks_left", "left_masked", "right_masked", "right"]
DIGITS, MASK, PER_STATE = 9, 10, 6


def statistics(logits, rng, draw):
    """Of logits [n, 9]: the proposal and what the host says of it, as float32."""
    logp = logits - logits.max(-1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(-1, keepdims=True))
    noise = rng.gumbel(size=logp.shape) if draw else 0
    proposal = (logp + noise).argmax(-1)
    p = np.exp(logp)
    ranked = np.sort(p, -1)
    entropy = -(p * logp).sum(-1)
    return proposal, ranked[:, -1], ranked[:, -2], entropy, logp[np.arange(len(p)), proposal]


def main(model, puzzles):
    rng = np.random.default_rng(1)
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(COLUMNS)
    for puzzle in list(csv.DictReader(gzip.open(puzzles, "rt"))):
        solution = np.array([int(c) - 1 for c in puzzle["solution"]])
        blank = np.array([c == "0" for c in puzzle["puzzle"]])
        masked = blank & (rng.random(81) < rng.random())
        if not masked.any():
            continue
        ids = np.where(masked, MASK, solution)[None].astype(np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        logits = session.run(["logits"], {i.name: feed[i.name] for i in session.get_inputs()})[0][0, :, :DIGITS]
        proposal, p1, p2, entropy, logp = statistics(logits.astype(np.float64), rng, draw=rng.random() < 0.5)
        around = np.pad(masked, 1)
        for i in rng.permutation(np.flatnonzero(masked))[:PER_STATE]:
            numbers = [p1[i], p2[i], entropy[i], logp[i], masked.mean(), masked.sum() / blank.sum()]
            out.writerow([f"{x:.4g}" for x in numbers] + [int(around[i]), int(around[i + 2]), int(proposal[i] == solution[i])])
    with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as f:
        f.write(text.getvalue().encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
