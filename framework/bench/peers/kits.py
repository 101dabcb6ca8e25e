"""Planners written with the Python kit: kits.py NAME. Each opens one position of every row, as those of kits_planner.go do."""

import sys

from mdmhost_plugin import planner, serve, smallest


@planner("entropy", needs=["entropy"], version="0.1.0", pure=True)
def entropy(row):
    return row.open(smallest(row.eligible, row.entropy, 1))


@planner("touch", needs=["logits"], version="0.1.0", pure=True)
def touch(row):
    """Reads one logit of every position."""
    return row.open(smallest(row.eligible, row.logits[:, 0], 1))


@planner("largest", needs=["logits"], version="0.1.0", pure=True)
def largest(row):
    """Reads all logits."""
    return row.open(smallest(row.eligible, row.logits.max(axis=1), 1))


serve({"entropy": entropy, "touch": touch, "largest": largest}[sys.argv[1]])
