"""The graph in its stack (engine.py), for any number of rows and positions: what the graph fixes is filled up and cut away again."""
import os

import numpy as np

import engine


def load(folder, device="cpu"):
    """denoise(ids, seen, times), of int64 [B, L] tokens, int64 [B, L] with 0 at padding, float32 [B] in [0, 1]: the outputs by name.

    A graph with the statistics head takes temperature and uniform, too; without them it proposes the most probable tokens."""
    run, inputs = engine.load(os.path.join(folder, "onnx", "model.onnx"), device)
    rows, length = inputs["input_ids"]

    def denoise(ids, seen, times=None, temperature=0.0, uniform=None):
        B, L = ids.shape
        given = {"input_ids": ids, "attention_mask": seen, "temperature": np.full(B, temperature, np.float32),
                 "uniform": np.full((B, L), 0.5, np.float32) if uniform is None else uniform}
        if times is not None:
            given["timesteps"] = times
        parts = []
        for first in range(0, B, rows or B):
            part = {}
            for name, value in given.items():
                value = value[first : first + (rows or B)]
                value = np.concatenate([value, np.repeat(value[-1:], max(0, (rows or 0) - len(value)), 0)])
                part[name] = np.pad(value, ((0, 0), (0, max(0, (length or 0) - L)))) if value.ndim == 2 else value
            ids, real = part["input_ids"], part["attention_mask"]
            part["token_type_ids"], part["position_ids"] = np.zeros_like(ids), np.broadcast_to(np.arange(ids.shape[1]), ids.shape).copy()
            part["attention_bias"] = np.broadcast_to(np.where(real == 1, 0, -3e4)[:, None, None], (len(ids), 1, ids.shape[1], ids.shape[1])).astype(np.float32)
            parts.append(run({name: part[name] for name in inputs}))
        out = {name: np.concatenate([part[name] for part in parts])[:B] for name in parts[0]}
        return {name: value[:, : L + (name == "insertion_rate")] for name, value in out.items()}

    denoise.timed = "timesteps" in inputs  # else times change nothing
    denoise.head = "temperature" in inputs
    return denoise
