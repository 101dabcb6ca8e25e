"""Samples an insertion model: `python sample_insertion.py --prompt 'text' --num 4 --seed 1`. Rows grow while their masks open.

Tau-leaping (FlexMDM, LoFlexMDM): m_in, the model's rates of gaps, and m_um, those of masks, are per unit of the clock
U(t) = -log(1 - t^a). In a step of length dU a mask opens with probability 1 - exp(-m_um dU), and a gap receives
Poisson(m_in (1 - exp(-dU))) masks, by the rates of the row before the step. The last step opens what is left. The same seed gives
the same rows as `mdmhost sample`, but for near-ties.
"""
import math
from types import SimpleNamespace as State

import numpy as np
import torch

from model import Denoiser
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


def leap(r, m_in, m_um, dU):
    """Opens masks and returns the masks that each gap receives, for a step of length dU in the clock; inf opens all and inserts nothing."""
    if math.isinf(dU):
        r.opened = r.masked
        return np.zeros(len(r.frozen), int)
    r.opened = r.masked & (uniforms(r.seed, r.index, r.step, len(r.tokens), UNIFORM) < -np.expm1(-m_um.astype(np.float64) * dU))
    means = np.where(r.frozen, 0, m_in.astype(np.float64) * -math.expm1(-dU))
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


@torch.inference_mode()
def sample(model, rows, requests, seed, length=0, u_max=0.0, steps=0, batch=8, device="cpu", drawing=DRAWING):
    """Lets requests grow, lists of ids in which masks stand where text may grow, by length positions at most. Yields the ids in order."""
    suppress, timed, n = rows.suppress(), rows.config.get("time") == "adaln", steps or 128
    schedule = rows.manifest.get("schedule", {})
    a = schedule.get("a") or 1.0 if schedule.get("kind") == "kumaraswamy" else 1.0
    clock = [k / n * (u_max or math.log(n) + 4) for k in range(n)] + [math.inf]
    for first in range(0, len(requests), batch):
        rs = []
        for i, ids in enumerate(requests[first : first + batch]):
            ids = np.array(ids)
            free = ids == rows.mask
            tokens, gaps = ids[~free], np.cumsum(~free)[free]
            r = State(seed=seed, index=first + i, step=0, tokens=tokens, masked=np.zeros(len(tokens), bool), frozen=np.ones(len(tokens) + 1, bool), still=False)
            r.frozen[gaps] = False
            if rows.manifest.get("gap", "n+1") == "eos" and not r.frozen[-1]:
                raise SystemExit("the row ends with a blank, and rows of this model end with a fixed token; let a token stand last")
            r.cap = min(len(tokens) + length if length else rows.cap, rows.cap or len(tokens) + length)
            rs.append(r)
        for k in range(n):
            live = [r for r in rs if r.masked.any() or len(r.tokens) < r.cap and not r.frozen.all()]
            ask = [r for r in live if timed or not r.still]  # else the model would say the same again
            if ask:
                L = max(len(r.tokens) for r in ask)
                ids = torch.tensor(np.array([np.pad(r.tokens, (0, L - len(r.tokens)), constant_values=rows.pad) for r in ask]), device=device)
                seen = torch.tensor([[i < len(r.tokens) for i in range(L)] for r in ask], device=device).long()
                left = math.exp(-clock[k]) if a == 1 else -math.expm1(math.log(-math.expm1(-clock[k])) / a) if k else 1.0  # 1 - t
                t = torch.full((len(ask),), left if rows.manifest["time"].get("noise_at") else 1 - left, dtype=torch.float32, device=device)
                out = {name: x.float().cpu().numpy() for name, x in model(ids, seen, timesteps=t if timed else None).items()}
            for i, r in enumerate(ask):
                size, r.step = len(r.tokens), k
                z = np.where(suppress, -np.inf, out["logits"][i, :size].astype(np.float64))
                r.proposal = draw(z, uniforms(seed, r.index, k, size, DRAW), **drawing)
                r.m_in, r.m_um = out["insertion_rate"][i, : size + 1], out["unmask_rate"][i, :size] if "unmask_rate" in out else np.ones(size)
            for r in live:
                r.step = k
                apply(r, leap(r, r.m_in, r.m_um, clock[k + 1] - clock[k]), rows.mask)
        yield from (r.tokens.tolist() for r in rs)


def main():
    rows = Rows(HERE)
    options = rows.settings("sampler", {"u_max"})
    if options.get("name", "insertion") != "insertion":
        raise SystemExit(f"generation_config.json: sampler {options['name']}: expected insertion; use mdmhost sample")
    a = arguments(rows)
    model = Denoiser.load(HERE, device=a.device)
    show(rows, a, sample(model, rows, [a.ids] * a.num, a.seed, a.length, options.get("u_max", 0.0), a.steps, a.batch, a.device, a.drawing))


if __name__ == "__main__":
    main()
