#!/usr/bin/env python3
"""Writes prompts.jsonl: the first four graphs of the validation set whose path has two edges.

    python3 prompts.py data/stars/valid.jsonl > prompts.jsonl
"""
import itertools, json, sys

with open(sys.argv[1]) as lines:
    rows = (row for row in map(json.loads, lines) if len(row["text"]) == 4)
    for row in itertools.islice(rows, 4):
        print(json.dumps({"prompt": row["prompt"]}))
