"""Prints alone.json: what twin.py, in float64, thinks of the token at each written position where that position cannot see
itself. Each is asked in a run of its own: behind the row stands one mask that has the place of the position and attends to
everything in the row but it, and nothing in the row attends to the mask.   python alone.py | gzip -9n >alone.json.gz"""
import json
import sys

import numpy as np
import torch

from golden import BASE, VARIANTS, weights
from twin import build, shapes

MASK, PAD = 10, 0


def logits(forward, row, at, t):
    """[V] logits of the shadow of position `at` of a row."""
    n = len(row)
    bias = torch.zeros(1, 1, n + 1, n + 1, dtype=torch.float64)
    bias[..., :n, n] = -3e4
    bias[..., n, at] = -3e4
    ids = torch.tensor([[*row, MASK]])
    places = torch.tensor([[*range(n), at]])
    times = None if t is None else torch.tensor([t], dtype=torch.float64)
    return forward(ids, timesteps=times, position_ids=places, attention_bias=bias)[0, n]


def cases():
    rng = np.random.default_rng(5)
    one_layer = {"one layer": {"num_hidden_layers": 1}}
    names = ["layer gelu rope", "rms swiglu rope bias tied", "layer relu2 learned", "layer silu none tied", "grid 4x3, boxes 2x3", "adaln layer"]
    for name, change in {**{k: VARIANTS[k] for k in names}, **one_layer}.items():
        config = {**BASE, **change}
        if config["tie_word_embeddings"]:
            del config["head_init"]
        if config["positions"] != "rope":
            del config["rope_base"]
        forward = build(config, {k: weights(k, s).double() for k, s in shapes(config).items()})
        timed = config["time"] == "adaln"
        rows, without, alone = [], [], {"0": [], "1.5": []}
        for n in (12, 7, 1):  # 12: as long as there are positions
            row = [int(x) for x in rng.integers(0, MASK, n)]
            for i in range(n):
                if rng.random() < 0.3 and n > 1:
                    row[i] = MASK
            rows.append(row)
            without.append([MASK if i < n // 2 else x for i, x in enumerate(row)])
        times = [0.25, 0.5, 0.75]
        for row, bare, t in zip(rows, without, times):
            for w, out in alone.items():
                values = []
                for at, token in enumerate(row):
                    if token == MASK:
                        values.append(0.0)
                        continue
                    with torch.no_grad():
                        z = logits(forward, row, at, t if timed else None)
                        un = logits(forward, bare, at, t if timed else None)
                    z = un + (float(w) + 1) * (z - un)
                    z[MASK] = -torch.inf
                    values.append(float(f"{z.log_softmax(-1)[token].item():.9g}"))
                out.append(values)
        yield {"name": name, "config": config, "rows": rows, "without": without, "times": times, "alone": alone}


if __name__ == "__main__":
    json.dump(list(cases()), sys.stdout)
