#!/usr/bin/env python3
"""Trains the network of the planner `learned` on steps.csv.gz: eight numbers of a position, and whether the proposal there is right.

    python3 train.py > weights.json                                       (needs scikit-learn)

The network is 8 numbers, 8 hidden units with ReLU, one logit: nothing in it but products, sums and comparisons, so that every
language computes the same bits.
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.neural_network import MLPClassifier

FEATURES = ["p1", "margin", "entropy", "logp_proposal", "masked", "blanks_left", "left_masked", "right_masked"]


def table(path):
    """Features [N, 8] and whether the proposal was right [N] of a recorded file."""
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)  # the columns of record.py
    numbers[:, 1] = numbers[:, 0] - numbers[:, 1]
    return numbers[:, :-1], numbers[:, -1].astype(int)


def main():
    x, right = table(pathlib.Path(__file__).with_name("steps.csv.gz"))
    mean, scale = x.mean(0), x.std(0)
    held = len(x) * 4 // 5  # the last puzzles are held out
    net = MLPClassifier((8,), alpha=1e-3, max_iter=2000, random_state=1)
    net.fit((x[:held] - mean) / scale, right[:held])
    p = net.predict_proba((x[held:] - mean) / scale)[:, 1]
    says = np.clip(np.exp(x[held:, 3]), 1e-6, 1 - 1e-6)  # what the model itself says of its proposal
    print(f"held out: {len(p)} positions, {1 - right[held:].mean():.3%} wrong", file=sys.stderr)
    print(f"  log loss {log_loss(right[held:], p):.4f}, area under the curve {roc_auc_score(right[held:], p):.4f}", file=sys.stderr)
    print(f"  the model's own probability: {log_loss(right[held:], says):.4f}, {roc_auc_score(right[held:], says):.4f}", file=sys.stderr)
    (w1, w2), (b1, b2) = net.coefs_, net.intercepts_
    w1 = w1 / scale[:, None]  # the inputs come as they are: their means and scales go into the weights
    b1 = b1 - mean @ w1
    weights = {"features": FEATURES, "w1": w1.T.tolist(), "b1": b1.tolist(), "w2": w2[:, 0].tolist(), "b2": float(b2[0])}
    print("{" + ",\n ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in weights.items()) + "}")


if __name__ == "__main__":
    main()
