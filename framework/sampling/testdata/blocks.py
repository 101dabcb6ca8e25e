"""LLaDA's low_confidence with blocks: a numpy loop over a model made of a hash, for random rows.

Run from this folder: python blocks.py REFERENCE_FOLDER > blocks.json        (REFERENCE_FOLDER holds samplers.py)

LLaDA's generate at temperature 0, one row at a time: blocks of block_length from the prompt's end, steps / num_blocks steps
a block (where that divides), llada_transfer_counts of the block's masks, and the most probable ones open. A count of zero
runs no forward. The logits are a hash of the visible tokens (FNV-1a, then a 64-bit congruential generator), so that they
depend on everything written so far and are the same in Go. Rows in which two confidences at a cut lie closer than 1e-6 are
drawn anew.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(11)
ROWS, V = 240, 9  # the last id is the mask
MASK, WORD = V - 1, (1 << 64) - 1


def logits(tokens):
    h = 14695981039346656037
    for t in tokens:
        h = ((h ^ int(t)) * 1099511628211) & WORD
    out = np.empty(len(tokens) * V, np.float32)
    for i in range(len(out)):
        h = (h * 6364136223846793005 + 1442695040888963407) & WORD
        out[i] = np.float32(h >> 40) / np.float32(1 << 22)
    return out.reshape(len(tokens), V).astype(np.float64)


def generate(prompt, length, block, steps):
    x = np.array(list(prompt) + [MASK] * length)
    first, blocks = len(prompt), -(-length // block)
    opened, nfe, margin = [], 0, np.inf
    for b in range(blocks):
        lo, hi = first + b * block, min(first + (b + 1) * block, len(x))
        share = steps // blocks + (b < steps % blocks) if steps else hi - lo
        for k in ref.llada_transfer_counts(hi - lo, max(share, 1)):
            if k == 0:
                continue
            z = logits(x)[:, :MASK]
            nfe += 1
            p = np.exp(z - z.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            eligible = (x == MASK) & (np.arange(len(x)) >= lo) & (np.arange(len(x)) < hi)
            at = [int(i) for i in ref.topk_select(-p.max(-1), eligible, k)]
            left = [i for i in np.flatnonzero(eligible) if i not in at]
            if left:
                margin = min(margin, p.max(-1)[at].min() - p.max(-1)[left].max())
            x[at] = z.argmax(-1)[at]
            opened.append(sorted(at))
    return x.tolist(), opened, nfe, margin


rows = []
while len(rows) < ROWS:
    prompt = rng.integers(0, MASK, rng.integers(0, 4)).tolist()
    length = int(rng.integers(1, 13))
    block = int(rng.integers(1, length + 3))
    steps = int(rng.choice([0, *range(1, 15)]))
    tokens, opened, nfe, margin = generate(prompt, length, block, steps)
    if margin > 1e-6:
        rows.append({"prompt": prompt, "length": length, "block": block, "steps": steps, "tokens": tokens, "opened": opened, "nfe": nfe})
json.dump(rows, sys.stdout, separators=(",", ":"))
