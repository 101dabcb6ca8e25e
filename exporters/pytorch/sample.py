"""Samples a masked diffusion model: `python sample.py --infill 'text with [MASK]' --num 4 --seed 1`.

All begins with masks. In each step the network proposes a token for every mask, and a planner says which of them open: confidence, EB
or P2, see planners.py. The same text, length and seed give the same rows as `mdmhost sample`, but for near-ties.
"""
from types import SimpleNamespace as State

import numpy as np

from denoiser import load
from noise import DRAW, draw, uniforms
from planners import FLAGS, chosen, statistics
from rows import DRAWING, HERE, Rows, arguments, show


def start(ids, index, mask, steps):
    """A row whose masks are to be written, number index of the run."""
    r = State(index=index, step=0, tokens=np.array(ids))
    r.masked = r.tokens == mask
    r.fixed, r.blanks = ~r.masked, int(r.masked.sum())
    r.steps = steps or r.blanks
    return r


def sample(denoise, rows, requests, seed, plan, steps=0, batch=8, drawing=DRAWING):
    """Writes all masks of the requests, lists of ids; row i has the noise of row i of a run. Yields the ids in order."""
    suppress = rows.suppress()
    for first in range(0, len(requests), batch):
        rs = [start(ids, first + i, rows.mask, steps) for i, ids in enumerate(requests[first : first + batch])]
        while live := [r for r in rs if r.masked.any()]:
            ids, seen = rows.padded([r.tokens for r in live])
            logits = denoise(ids, seen, rows.times([1 - r.step / r.steps for r in live]))["logits"]
            for r, z in zip(live, logits):
                z = np.where(suppress, -np.inf, z[: len(r.tokens)].astype(np.float64))  # [n, V]
                r.proposal = draw(z, uniforms(seed, r.index, r.step, len(z), DRAW), **drawing)
                statistics(r, z)
                opened, again = plan(r)
                if r.step + 1 >= r.steps:
                    opened, again = np.flatnonzero(r.masked), []
                r.tokens[opened], r.masked[opened] = r.proposal[opened], False
                r.tokens[again], r.masked[again] = rows.mask, True
                r.step += 1
        yield from (r.tokens.tolist() for r in rs)


def main():
    rows = Rows(HERE)
    rows.sampler("masked")
    a = arguments(rows, **FLAGS)
    plan = chosen(rows, a)
    show(rows, a, sample(load(HERE, a.device), rows, [a.ids] * a.num, a.seed, plan, a.steps, a.batch, a.drawing))


if __name__ == "__main__":
    main()
