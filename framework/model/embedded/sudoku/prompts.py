#!/usr/bin/env python3
"""Writes prompts.jsonl: the first eight puzzles of the validation set.

    python3 prompts.py sudoku_valid.csv.gz > prompts.jsonl
"""
import csv, gzip, json, sys

rows = csv.DictReader(gzip.open(sys.argv[1], "rt"))
for puzzle in [next(rows)["puzzle"] for _ in range(8)]:
    print(json.dumps({"infill": puzzle.replace("0", ".")}))
