"""Prints heads.json: what networks give beside logits, and the gradients of it, by twin.py, with the weights of golden.py.
python heads.py | gzip -9n >heads.json.gz"""
import json
import sys

import torch

from golden import BASE, weights
from twin import build, shapes

VARIANTS = {
    "insertion": {"gaps": "eos"},
    "insertion tied, unmask rate, timed": {"gaps": "eos", "unmask_rate": True, "time": "adaln", "time_embedding_size": 16, "norm": "rms",
                                           "activation": "swiglu", "tie_word_embeddings": True},
    "order": {"head": "order"},
    "order timed": {"head": "order", "time": "adaln", "time_embedding_size": 8, "positions": "learned"},
}


def waves(n):
    return torch.arange(1, n + 1, dtype=torch.float64).cos().float()


def numbers(x):
    return [float(f"{v:.7g}") for v in x.flatten().tolist()]


if __name__ == "__main__":
    torch.manual_seed(1)
    out = []
    for name, change in VARIANTS.items():
        config = {**BASE, **change}
        if config["tie_word_embeddings"]:
            del config["head_init"]
        if config["positions"] != "rope":
            del config["rope_base"]
        B, L = 3, 7
        ids = torch.randint(0, config["vocab_size"], (B, L))
        mask = torch.ones(B, L, dtype=torch.int64)
        mask[1, L - 3:] = 0
        mask[2, 1:] = 0
        t = torch.tensor([0.0, 0.5, 0.90625])
        inputs = {"attention_mask": mask, "timesteps": t if config["time"] == "adaln" else None}

        W = {k: weights(k, s).requires_grad_() for k, s in shapes(config).items()}
        heads = [v for k, v in build(config, W)(ids, **inputs).items() if k != "logits"]
        sum((waves(v.numel()) * v.flatten()).sum() for v in heads).backward()
        # of each parameter's gradient, its product with waves; none where only logits need the parameter
        gradients = {k: float((v.grad.flatten() * waves(v.numel())).sum()) for k, v in W.items() if v.grad is not None}

        W = {k: v.detach() * (12 if k in ("insertion.down.weight", "unmask.down.weight") else 1) for k, v in W.items()}  # some scores near the bound
        with torch.no_grad():
            got = build(config, W)(ids, **inputs)
        out.append({"name": name, "config": config, "shapes": {k: list(s) for k, s in shapes(config).items()}, "rows": B, "length": L,
                    "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(), "timesteps": t.tolist(),
                    "outputs": {k: numbers(v) for k, v in got.items()}, "gradients": gradients})
    json.dump(out, sys.stdout)
