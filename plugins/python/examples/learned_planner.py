"""A planner that has learned whom to believe: a small network, trained on recorded steps (learned/train.py), says how likely the model's
proposal at a position is right, and the positions that it trusts open. plugins/examples/learned-planner is the same in Go."""

import json
import math
import pathlib
from dataclasses import dataclass

import numpy as np

from mdmhost_plugin import Planner, PluginError, descending, option, serve

WEIGHTS = pathlib.Path(__file__).parent / "learned" / "weights.json"


@dataclass
class Options:
    sure: float = option(0.9, min=0, max=1, help="proposals open that are right with at least this probability; 1 trusts none")
    least: int = option(1, min=1, help="where fewer are trusted, so many of the most trusted open")
    most: int = option(0, min=0, help="positions opened in a step at most, the most trusted; 0 = no limit")


class Learned(Planner):
    name, version, summary = "learned", "0.1.0", "opens the proposals that a trained network trusts"
    needs, options = ["p1", "p2", "entropy", "logp_proposal"], Options
    adaptive = pure = True

    def start(self, run, o):
        if 0 < o.most < o.least:
            raise PluginError("INVALID_CONFIG", f"most {o.most}: expected at least least {o.least}", "raise it, or set 0 for no limit")
        self.o, self.limit = o, logit(o.sure)
        self.trust = self.load()

    def load(self):
        """Returns the function from features [F, n] to logits [n]."""
        w = json.loads(WEIGHTS.read_text())
        return lambda x: network(w, x)

    def plan_row(self, row):
        if not len(row.eligible):
            return row.open(row.eligible)
        trust = self.trust(features(row))
        order = descending(row.eligible, trust)
        sure = int((trust[order] >= self.limit).sum())
        if self.o.most:
            sure = min(sure, self.o.most)
        order = order[: max(sure, self.o.least)]
        return row.open(order).metric("trust", float(trust[order[-1]]))


def features(row):
    """What the network sees of every position, float64 [8, n]; weights.json has the names."""
    p1, masked = row.p1.astype(float), np.zeros(row.n + 2)
    masked[row.masked + 1] = 1
    masks, every = len(row.masked), np.ones(row.n)
    return np.stack([p1, p1 - row.p2.astype(float), row.entropy.astype(float), row.logp_proposal.astype(float),
                     masks / row.n * every, masks / max(row.blanks, 1) * every, masked[:-2], masked[2:]])


def network(w, x):
    """The logits [n] of "the proposal is right". Sums run in the order of the weights, as in Go: `w @ x` would add in another order
    and round otherwise."""
    z = np.full(x.shape[1], w["b2"])
    for weights, bias, out in zip(w["w1"], w["b1"], w["w2"]):
        h = np.full(x.shape[1], bias)
        for weight, feature in zip(weights, x):
            h += weight * feature
        z += out * np.maximum(h, 0)
    return z


def logit(p):
    """The logit of a probability; 0 and 1 are beyond all others."""
    return -math.inf if p == 0 else math.inf if p == 1 else math.log(p / (1 - p))


if __name__ == "__main__":
    serve(Learned)
