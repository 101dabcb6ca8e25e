"""Prints heads.json: what networks give beside logits, by twin.py, with the weights of golden.py.
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
        W = {k: weights(k, s) for k, s in shapes(config).items()}
        for part in ("insertion", "unmask"):  # some scores near the bound
            if part + ".down.weight" in W:
                W[part + ".down.weight"] *= 12
        forward = build(config, W)
        ids = torch.randint(0, config["vocab_size"], (B, L))
        mask = torch.ones(B, L, dtype=torch.int64)
        mask[1, L - 3:] = 0
        mask[2, 1:] = 0
        t = torch.tensor([0.0, 0.5, 0.90625])
        with torch.no_grad():
            got = forward(ids, attention_mask=mask, timesteps=t if config["time"] == "adaln" else None)
        out.append({"name": name, "config": config, "shapes": {k: list(s) for k, s in shapes(config).items()}, "rows": B, "length": L,
                    "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(), "timesteps": t.tolist(),
                    "outputs": {k: [float(f"{x:.7g}") for x in v.flatten().tolist()] for k, v in got.items()}})
    json.dump(out, sys.stdout)
