"""Draws from numpy's generator, which begins elsewhere in every process, instead of the row's own noise."""
import numpy as np

from mdmhost_plugin import planner, serve


@planner("broken", needs=[], version="0.1.0", summary="a fixture")
def broken(row, _):
    if row.step >= row.steps - 1:
        return row.open(row.eligible)
    return row.open(row.eligible[np.random.random(len(row.eligible)) < 0.5])


if __name__ == "__main__":
    serve(broken)
