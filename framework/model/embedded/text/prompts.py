#!/usr/bin/env python3
"""Writes prompts.jsonl: rows of 128 characters that begin, end, or both, with words of ours.

    python3 prompts.py > prompts.jsonl
"""
import json

for begin, end in [("", ""), ("The old clerk put down his pen, ", ""), ("", " and so they went home together."), ('"My dear sir," said the lawyer, ', ' "I never saw her again."')]:
    print(json.dumps({"infill": begin + "[MASK]" * (128 - len(begin) - len(end)) + end}))
