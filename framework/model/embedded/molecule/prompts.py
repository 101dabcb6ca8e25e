#!/usr/bin/env python3
"""Writes prompts.jsonl: six empty molecules, as long as the first of the validation set, and two with their middle left out.

    python3 prompts.py moses_valid.csv.gz > prompts.jsonl
"""
import gzip, json, re, sys

token = re.compile(json.load(open("tokenizer.json"))["pre_tokenizer"]["pattern"]["Regex"])
molecules = [token.findall(m) for m in gzip.open(sys.argv[1], "rt").read().split()[1:9]]
for i, tokens in enumerate(molecules):
    keep = (8, 8) if i >= 6 else (0, 0)
    middle = len(tokens) - sum(keep)
    print(json.dumps({"infill": "".join(tokens[: keep[0]]) + "[MASK]" * middle + "".join(tokens[keep[0] + middle :])}))
