#!/usr/bin/env python3
"""Writes prompts.jsonl: eight MOSES test molecules with four to seven of their inner tokens masked.

    python3 prompts.py moses_test.csv.gz > prompts.jsonl     (needs numpy, onnxruntime, tokenizers)

Kept are those that the model fills, one token a time, in nine draws of nine with nothing but the atoms of MOSES (the
model has read patents, and likes selenium more than a first impression should).
"""
import gzip, json, random, re, sys
import numpy as np, onnxruntime, tokenizers

tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
token = re.compile(json.load(open("tokenizer.json"))["pre_tokenizer"]["pattern"]["Regex"])
session = onnxruntime.InferenceSession("onnx/model.onnx")
random.seed(7)
draw = np.random.default_rng(7)


def fill(text):
    ids = np.array([tokenizer.encode(text).ids])
    while (blank := np.flatnonzero(ids[0] == 14)).size:
        logits = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].astype(float)
        logits[:, :15] = -1e9
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        best = blank[p[blank].max(1).argmax()]
        ids[0, best] = draw.choice(p.shape[1], p=p[best])
    return tokenizer.decode(ids[0])


molecules = gzip.open(sys.argv[1], "rt").read().split()[1:]
plain = {t for m in molecules for t in token.findall(m)}
kept = 0
for molecule in random.sample([m for m in molecules if 24 <= len(token.findall(m)) <= 40], 400):
    tokens = token.findall(molecule)
    for i in random.sample(range(3, len(tokens) - 3), random.randint(4, 7)):
        tokens[i] = "[MASK]"
    text = "".join(tokens)
    filled = {fill(text) for _ in range(9)}
    if len(filled) >= 3 and all(plain.issuperset(token.findall(f)) for f in filled):
        print(json.dumps({"infill": text}))
        if (kept := kept + 1) == 8:
            break
