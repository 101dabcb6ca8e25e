#!/usr/bin/env python3
"""Writes the eight symmetries of every maze of a CSV file (columns maze, solution; square, row by row) to standard output,
in random order, start and goal exchanged in half of them.

    scripts/mirror-mazes.py maze7_train.csv.gz >mazes.csv
"""
import csv
import gzip
import math
import random
import sys


def turned(grid, k):
    """Symmetry k of 8: mirrored left to right, top to bottom, and along the diagonal, by the bits of k."""
    n = math.isqrt(len(grid))
    if n * n != len(grid):
        sys.exit(f"maze of {len(grid)} characters: expected a square, row by row")
    rows = [grid[i * n:(i + 1) * n] for i in range(n)]
    if k & 1:
        rows = [r[::-1] for r in rows]
    if k & 2:
        rows = rows[::-1]
    if k & 4:
        rows = ["".join(c) for c in zip(*rows)]
    return "".join(rows)


def main(path):
    random.seed(5)
    exchanged = str.maketrans("SG", "GS")
    out = []
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as f:
        for row in csv.DictReader(f):
            for k in range(8):
                pair = turned(row["maze"], k), turned(row["solution"], k)
                if random.random() < 0.5:
                    pair = tuple(s.translate(exchanged) for s in pair)
                out.append(",".join(pair))
    random.shuffle(out)
    print("maze,solution", *out, sep="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
