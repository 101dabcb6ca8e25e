"""Samples the model: `python sample.py --infill 'text with [MASK]' --num 4 --seed 1`.

All begins with masks. In each step every mask has a proposal, and a planner opens those that the model is sure of. The same seed gives the
same rows as `mdmhost sample`, but for near-ties.
"""
import argparse
import os
import secrets
import sys

import numpy as np

from engine import load
from noise import DRAW, draw, uniforms
from rows import Rows

HERE = os.path.dirname(os.path.abspath(__file__))
DRAWING = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "top_p_rule": "cross"}


def confidence(masked, out, last, k=1):
    """The k masks with the largest top probability, or all in the last step."""
    return masked[np.argsort(-out["p1"][masked], kind="stable")[: None if last else int(k)]]


def eb(masked, out, last, gamma=0.1, max_entropy=np.inf):
    """As many masks as an entropy bound allows, the calmest first (EB-Sampler, Ben-Hamu et al. 2025)."""
    calm = masked[out["entropy"][masked] <= max_entropy]
    order = calm if len(calm) else masked
    order = order[np.argsort(out["entropy"][order], kind="stable")]
    h = np.maximum(out["entropy"][order].astype(np.float64), 0)
    bound = np.cumsum(np.minimum(h, np.concatenate([[0], np.maximum.accumulate(h)[:-1]])))
    return masked if last else order[: max(1, (bound <= gamma).sum()) if len(calm) else 1]


def statistics(z):
    """What a graph with the statistics head gives by itself: the largest probability and the entropy in nats of z [n, V]."""
    e = np.exp(z - z.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return {"p1": np.float32(p.max(-1)), "entropy": np.float32(-(p * np.log(np.where(p > 0, p, 1))).sum(-1))}


def sample(model, rows, ids, index, seed, plan, options, drawing):
    """Writes the masks of one row of ids, row index of a run."""
    run, inputs = model
    B, L = (fixed or own for fixed, own in zip(inputs["input_ids"], (1, len(ids))))
    tokens, n, steps, suppress = np.array(ids), len(ids), ids.count(rows.mask), rows.suppress()
    for step in range(steps):
        masked = np.flatnonzero(tokens == rows.mask)
        if len(masked) == 0:
            break
        uniform = uniforms(seed, index, step, n, DRAW)
        time = 1 - step / steps if rows.manifest.get("time", {}).get("noise_at", 1) else step / steps
        feeds = {"input_ids": np.pad(tokens, (0, L - n), constant_values=rows.pad)[None], "attention_mask": (np.arange(L) < n).astype(np.int64)[None],
                 "timesteps": np.float32([time]), "temperature": np.float32([drawing["temperature"]]), "uniform": np.pad(uniform, (0, L - n)).astype(np.float32)[None],
                 "token_type_ids": np.zeros((1, L), np.int64), "position_ids": np.arange(L)[None]}
        feeds["attention_bias"] = np.broadcast_to(np.float32(feeds["attention_mask"] - 1)[:, None, None] * 3e4, (1, 1, L, L)).astype(np.float32)
        out = run({name: np.repeat(feeds[name], B, 0) for name in inputs})
        out = {name: value[0, :n] for name, value in out.items()}
        z = np.where(suppress, -np.inf, out["logits"].astype(np.float64))  # [n, V]
        if "proposal" not in out or drawing["top_k"] or drawing["top_p"] < 1 or drawing["min_p"]:  # the head does not cut
            out = {**statistics(z), **out, "proposal": draw(z, uniform, **drawing)}
        opened = plan(masked, out, step + 1 == steps, **options)
        tokens[opened] = out["proposal"][opened]
    return tokens.tolist()


def main():
    rows = Rows(HERE)
    own = rows.generation.get("planner", {})
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--prompt", default="", help="text that the samples begin with")
    p.add_argument("--infill", help=f"text whose blanks {rows.mask_text} are filled")
    p.add_argument("--length", type=int, default=rows.generation.get("length", 0), help="positions to write; 0: as many as fit")
    p.add_argument("--num", type=int, default=1, help="samples")
    p.add_argument("--seed", type=int, default=secrets.randbits(64), help="of all noise; drawn where it is not given")
    p.add_argument("--temperature", type=float, help="0: the most probable token")
    p.add_argument("--planner", choices=["confidence", "eb"], default=own["name"] if own.get("name") in ("confidence", "eb") else "confidence")
    a = p.parse_args()
    drawing = {**DRAWING, **{k: v for k, v in rows.settings("sampling", DRAWING).items() if k in DRAWING}}
    if a.temperature is not None:
        drawing["temperature"] = a.temperature
    known = {"confidence": {"k"}, "eb": {"gamma", "max_entropy"}}[a.planner]
    options = {k: v for k, v in rows.settings("planner", known).items() if k in known} if a.planner == own.get("name") else {}
    ids = rows.prompt(a.prompt, a.length) if a.infill is None else rows.infill(a.infill)
    model = load(os.path.join(HERE, "onnx", "model.onnx"))
    for index in range(a.num):
        print(rows.text(sample(model, rows, ids, index, a.seed, globals()[a.planner], options, drawing)), flush=True)
    print(f"seed {a.seed}", file=sys.stderr)


if __name__ == "__main__":
    main()
