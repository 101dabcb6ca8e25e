"""A planner that scores proposals with a scikit-learn model: boosted trees that say how likely a proposal is right.

The model is fitted when a run starts, in less than a second, from the small table learned/steps.csv.gz. A stored model would be a pickle, and
loading a pickle runs whatever code its author put into it; a large model is better exported to ONNX or kept as plain numbers."""

import os

import numpy as np

os.environ["OMP_NUM_THREADS"] = "1"  # read when scikit-learn is imported: threads that wait for work would take the host's cores
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402

from learned_planner import WEIGHTS, Learned  # noqa: E402
from mdmhost_plugin import serve  # noqa: E402


class Sklearn(Learned):
    name, summary = "sklearn", "opens the proposals that boosted trees trust"

    def load(self):
        table = np.loadtxt(WEIGHTS.with_name("steps.csv.gz"), delimiter=",", skiprows=1)  # the columns of learned/record.py
        table[:, 1] = table[:, 0] - table[:, 1]
        trees = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=1)
        trees.fit(table[:, :-1], table[:, -1])
        return lambda x: trees.decision_function(x.T)  # [8, n] -> [n], logits


if __name__ == "__main__":
    serve(Sklearn)
