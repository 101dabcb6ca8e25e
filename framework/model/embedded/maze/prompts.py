#!/usr/bin/env python3
"""Writes prompts.jsonl: the first four mazes of the validation set.

    python3 prompts.py maze7_valid.csv.gz > prompts.jsonl
"""
import csv, gzip, json, sys

rows = csv.DictReader(gzip.open(sys.argv[1], "rt"))
for maze in [next(rows)["maze"] for _ in range(4)]:
    print(json.dumps({"infill": maze}))
