"""Samples an insertion model: `python sample_insertion.py --prompt 'text' --num 4 --seed 1`. Rows grow while their masks open.

Tau-leaping (FlexMDM, LoFlexMDM): m_in, the model's rates of gaps, and m_um, those of masks, are per unit of the clock
U(t) = -log(1 - t^a). In a step of length dU a mask opens with probability 1 - exp(-m_um dU), and a gap receives
Poisson(m_in (1 - exp(-dU))) masks, by the rates of the row before the step. The last step opens what is left. The same text and
seed give the same rows as `mdmhost sample`, but for near-ties.
"""
import math
from types import SimpleNamespace as State

import numpy as np

from denoiser import load
from noise import DRAW, GAP, UNIFORM, draw, uniforms
from rows import DRAWING, HERE, Rows, arguments, show


def poisson(q, mean, limit):
    """The smaller of limit and the smallest k with P(N <= k) > q: a draw from one uniform q in (0, 1)."""
    if not mean > 0:
        return 0
    x = float(limit)
    if x < mean and (mean if x <= 0 or math.isinf(mean) else mean - x + x * math.log(x / mean)) > 45:  # Chernoff: P(N <= limit) < exp(-45)
        return limit
    k = int(max(mean - math.sqrt(90 * mean), 0)) if mean > 500 else 0  # exp(-mean) would vanish
    term = math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
    below = term
    while q >= below and k < limit:
        k += 1
        term *= mean / k
        if k > mean and below + term == below:
            break
        below += term
    return k


def stride(rate, left, most, moves):
    """Of a step in the clock, of which left is left for moves steps: rate times it is at most most, unless the end would not be reached."""
    rest = (moves - 1) * most
    return min(left, max(most / rate if rate * left > most else left, left / moves if rest + most < left else left - rest))


def fastest(r):
    """The largest rate of the row's masks and of its gaps that may grow."""
    return float(max(r.m_in[~r.frozen].max(initial=0), r.m_um[r.masked].max(initial=0)))


def leap(r, dU):
    """Opens masks and returns the masks that each gap receives, for a step of length dU in the clock; inf opens all and ends the row."""
    if math.isinf(dU):
        r.opened, r.frozen = r.masked, np.ones_like(r.frozen)
        return np.zeros(len(r.frozen), int)
    r.opened = r.masked & (uniforms(r.seed, r.index, r.step, len(r.tokens), UNIFORM) < -np.expm1(-r.m_um * dU))
    means = np.where(r.frozen, 0, r.m_in * -math.expm1(-dU))
    room = r.cap - len(r.tokens)
    counts = np.array([poisson(q, mean, room + 1) for q, mean in zip(uniforms(r.seed, r.index, r.step, len(means), GAP), means)])
    return counts if counts.sum() <= room else counts * 0  # more than there is room for: none


def apply(r, counts, mask):
    """Writes what opened and inserts masks. A frozen gap stays with the token on its right; gaps of new masks are free."""
    r.tokens[r.opened], r.masked = r.proposal[r.opened], r.masked & ~r.opened
    at = np.repeat(np.arange(len(counts)), counts)
    r.tokens, r.masked = np.insert(r.tokens, at, mask), np.insert(r.masked, at, True)
    r.frozen = np.insert(r.frozen, at, False)
    r.still = not r.opened.any() and len(at) == 0


def start(ids, index, seed, rows, grow):
    """A row that grows where masks stand in ids, by grow positions at most; number index of the run."""
    ids = np.array(ids)
    free = ids == rows.mask
    tokens, gaps = ids[~free], np.cumsum(~free)[free]
    r = State(seed=seed, index=index, tokens=tokens, masked=np.zeros(len(tokens), bool), frozen=np.ones(len(tokens) + 1, bool), still=False, U=0.0)
    r.frozen[gaps] = False
    if rows.manifest.get("gap", "n+1") == "eos" and not r.frozen[-1]:
        raise SystemExit("the row ends with a blank, and rows of this model end with a fixed token; let a token stand last")
    r.cap = min(len(tokens) + grow if grow else rows.cap, rows.cap or len(tokens) + grow)
    return r


def sample(denoise, rows, requests, seed, grow=0, u_max=0.0, max_rate_step=0.0, steps=0, batch=8, drawing=DRAWING):
    """Lets requests grow, lists of ids in which masks stand where text may grow, by grow positions at most. Yields the ids in order.

    Steps have equal lengths in the clock, up to u_max, or such that no rate times the length is above max_rate_step, where that is not 0."""
    suppress, n = rows.suppress(), steps or 128
    schedule = rows.manifest.get("schedule", {})
    a = schedule.get("a") or 1.0 if schedule.get("kind") == "kumaraswamy" else 1.0
    end = u_max or math.log(n) + 4
    for first in range(0, len(requests), batch):
        rs = [start(ids, first + i, seed, rows, grow) for i, ids in enumerate(requests[first : first + batch])]
        for k in range(n):
            live = [r for r in rs if r.masked.any() or len(r.tokens) < r.cap and not r.frozen.all()]
            for r in live:
                r.step, r.U = k, r.U if max_rate_step else k / n * end
            if ask := [r for r in live if denoise.timed or not r.still]:  # else the model would say the same again
                left = [math.exp(-r.U) if a == 1 else -math.expm1(math.log(-math.expm1(-r.U)) / a) if r.U else 1.0 for r in ask]  # 1 - t
                out = denoise(*rows.padded([r.tokens for r in ask]), rows.times(left))
            for i, r in enumerate(ask):
                size = len(r.tokens)
                z = np.where(suppress, -np.inf, out["logits"][i, :size].astype(np.float64))
                r.proposal = draw(z, uniforms(seed, r.index, k, size, DRAW), **drawing)
                r.m_in = out["insertion_rate"][i, : size + 1].astype(np.float64)
                r.m_um = out["unmask_rate"][i, :size].astype(np.float64) if "unmask_rate" in out else np.ones(size)
            for r in live:
                to = (k + 1) / n * end
                if max_rate_step:
                    to = min(end, r.U + stride(fastest(r), end - r.U, max_rate_step, n - 1 - k)) if k < n - 1 else end
                last = k == n - 1 or max_rate_step and r.U >= end
                apply(r, leap(r, math.inf if last else to - r.U), rows.mask)
                r.U = to
        yield from (r.tokens.tolist() for r in rs)


def main():
    rows = Rows(HERE)
    options = rows.sampler("insertion", {"u_max", "max_rate_step"})
    a = arguments(rows)
    clock = [options.get(name, 0.0) for name in ("u_max", "max_rate_step")]
    show(rows, a, sample(load(HERE, a.device), rows, [a.ids] * a.num, a.seed, a.length, *clock, a.steps, a.batch, a.drawing))


if __name__ == "__main__":
    main()
