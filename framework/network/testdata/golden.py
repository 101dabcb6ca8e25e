"""Prints golden.json: logits of every variant of the network by twin.py. Weights come from a formula (weights below, and
golden_test.go), so that the file holds none.   python golden.py | gzip -9n >golden.json.gz"""
import json
import sys

import numpy as np
import torch

from twin import build, shapes

BASE = {"model_type": "mdm-transformer", "vocab_size": 11, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
        "intermediate_size": 40, "max_position_embeddings": 12, "norm": "layer", "activation": "gelu", "positions": "rope",
        "rope_base": 10000, "bias": True, "tie_word_embeddings": False, "head_init": "zeros", "time": "none", "layer_norm_eps": 1e-5}


def grid(rows, cols, box):
    cells = [(r, c) for r in range(rows) for c in range(cols)]
    tables = [{"name": "row", "size": rows, "index": [r for r, _ in cells]}, {"name": "column", "size": cols, "index": [c for _, c in cells]}]
    if box:
        across = cols // box[1]
        tables.append({"name": "box", "size": rows // box[0] * across, "index": [r // box[0] * across + c // box[1] for r, c in cells]})
    return {"positions": "grid", "grid": {"rows": rows, "cols": cols, **({"box": box} if box else {})}, "position_tables": tables,
            "max_position_embeddings": rows * cols}


VARIANTS = {
    "layer gelu rope": {},
    "rms swiglu rope": {"norm": "rms", "activation": "swiglu", "bias": False},
    "rms swiglu rope bias tied": {"norm": "rms", "activation": "swiglu", "tie_word_embeddings": True},
    "layer relu2 learned": {"activation": "relu2", "positions": "learned"},
    "layer silu none tied": {"activation": "silu", "positions": "none", "tie_word_embeddings": True},
    "layer without bias": {"bias": False, "positions": "learned"},
    "grid 4x3, boxes 2x3": grid(4, 3, [2, 3]),
    "grid 3x4 rms": {"norm": "rms", **grid(3, 4, None)},
    "sudoku": {**grid(9, 9, [3, 3]), "positions": "sudoku", "length": 81},
    "adaln layer": {"time": "adaln", "time_embedding_size": 16},
    "adaln rms swiglu tied": {"time": "adaln", "time_embedding_size": 8, "norm": "rms", "activation": "swiglu", "bias": False,
                              "tie_word_embeddings": True, "positions": "learned"},
    "one head, wide base, eps": {"num_attention_heads": 1, "rope_base": 500, "layer_norm_eps": 1e-2},
}


def mix(x):  # splitmix64
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def weights(name, shape):
    """Uniform in (-a, a), a = sqrt(3 / fan-in) for matrices, 0.3 for vectors, around 1 for scales."""
    h = 14695981039346656037
    for byte in name.encode():
        h = ((h ^ byte) * 1099511628211) % 2**64
    n = int(np.prod(shape))
    with np.errstate(over="ignore"):
        bits = mix(np.uint64(h) + np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    unit = (2 * bits.astype(np.float64) + 1) / 2**24 - 1
    values = unit * (np.sqrt(3 / shape[1]) if len(shape) == 2 else 0.3)
    if name.endswith("norm.weight"):
        values = values + 1
    return torch.tensor(values.astype(np.float32).reshape(shape))


if __name__ == "__main__":
    torch.manual_seed(0)
    out = []
    for name, change in VARIANTS.items():
        config = {**BASE, **change}
        L = config.pop("length", 7)
        B = 3
        if config["tie_word_embeddings"]:
            del config["head_init"]
        if config["positions"] != "rope":
            del config["rope_base"]
        forward = build(config, {k: weights(k, s) for k, s in shapes(config).items()})
        ids = torch.randint(0, config["vocab_size"], (B, L))
        mask = torch.ones(B, L, dtype=torch.int64)
        mask[1, L - 3:] = 0
        mask[2, :2] = 0
        places = torch.stack([torch.randperm(config["max_position_embeddings"])[:L] for _ in range(B)])
        t = torch.tensor([0.03125, 0.5, 0.90625])
        case = {"name": name, "config": config, "shapes": {k: list(s) for k, s in shapes(config).items()}, "rows": B, "length": L,
                "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(),
                "position_ids": places.flatten().tolist(), "timesteps": t.tolist(), "logits": {}}
        for key, extra in {"plain": {}, "masked": {"attention_mask": mask}, "placed": {"attention_mask": mask, "position_ids": places}}.items():
            if key != "masked" and L > 20 or key == "placed" and config["positions"] == "none":
                continue
            with torch.no_grad():
                logits = forward(ids, timesteps=t if config["time"] == "adaln" else None, **extra)
            case["logits"][key] = [float(f"{x:.7g}") for x in logits.flatten().tolist()]
        out.append(case)
    json.dump(out, sys.stdout)
