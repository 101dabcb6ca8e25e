"""Prints network.json: gradients of a weighted cross-entropy by every parameter of our networks, in float64, by the twin in
PyTorch of framework/network. Weights come from a formula (uniform below, and network_test.go); of each gradient, its greatest
magnitude and some entries are kept.   python network.py | gzip -9n >network.json.gz"""
import importlib.util
import json
import math
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../network/testdata"))
from twin import build, shapes  # noqa: E402

spec = importlib.util.spec_from_file_location("variants", os.path.join(sys.path[0], "golden.py"))
variants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(variants)


def uniform(n, seed):
    """n numbers in [-1, 1)."""
    x = [math.sin(12.9898 * (i + 1) + 78.233 * (seed + 1)) * 43758.5453 for i in range(n)]
    return torch.tensor([2 * (v - math.floor(v)) - 1 for v in x], dtype=torch.float64).float().double()


def weights(name, shape, seed):
    v = uniform(math.prod(shape), seed) * (math.sqrt(3 / shape[1]) if len(shape) == 2 else 0.3)
    return (v + (1 if name.endswith("norm.weight") else 0)).float().double().reshape(shape)


out = []
for name, change in variants.VARIANTS.items():
    c = {**variants.BASE, **change}
    B, L = 3, c.pop("length", 7)
    if L > 20:
        continue
    if c["tie_word_embeddings"]:
        del c["head_init"]
    if c["positions"] != "rope":
        del c["rope_base"]
    params = {k: weights(k, s, i).requires_grad_() for i, (k, s) in enumerate(shapes(c).items())}
    torch.manual_seed(1)
    ids, targets = torch.randint(0, c["vocab_size"], (2, B, L))
    mask = torch.ones(B, L, dtype=torch.int64)
    mask[1, L - 3:] = 0
    w = torch.rand(B, L).double() * mask  # float32 numbers
    t = torch.tensor([0.03125, 0.5, 0.90625]).double()
    logits = build(c, params)(ids, attention_mask=mask, timesteps=t if c["time"] == "adaln" else None)
    loss = (F.cross_entropy(logits.reshape(B * L, -1), targets.flatten(), reduction="none") * w.flatten()).sum() / 8
    loss.backward()
    grads = {}
    for k, p in params.items():
        g = p.grad.flatten()
        at = sorted({int(g.abs().argmax()), *torch.randint(0, len(g), (5,)).tolist()})
        grads[k] = {"max": g.abs().max().item(), "at": at, "values": [float(f"{v:.8g}") for v in g[at].tolist()]}
    out.append({"name": name, "config": c, "rows": B, "length": L, "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(),
                "targets": targets.flatten().tolist(), "weights": w.float().flatten().tolist(), "timesteps": t.tolist(), "loss": loss.item(), "gradients": grads})
json.dump(out, sys.stdout, separators=(",", ":"))
