"""Samples a masked diffusion model: `python sample.py --infill 'text with [MASK]' --num 4 --seed 1`.

All begins with masks. In each step the model proposes a token for every mask, and a planner says which of them open. Only PyTorch,
safetensors, tokenizers and numpy are needed. The same seed gives the same rows as `mdmhost sample`, but for near-ties.
"""
from types import SimpleNamespace as State

import numpy as np
import torch

from model import Denoiser
from noise import DRAW, draw, uniforms
from rows import DRAWING, HERE, Rows, arguments, show



def confidence(r, k=1):
    """Opens the k positions with the largest top probability first; more where steps are few (LLaDA's transfer schedule)."""
    left = r.masked.sum()
    if r.steps * k < r.blanks:
        base, more = divmod(r.blanks, r.steps)
        k = left - (r.blanks - (r.step + 1) * base - min(r.step + 1, more))
    if r.step >= r.steps - 1:
        k = left
    order = np.flatnonzero(r.masked)
    return order[np.argsort(-r.p1[order], kind="stable")[:k]], []


def eb(r, gamma=0.1, max_entropy=np.inf):
    """Opens the longest prefix, the smallest entropy first, with sum H - max H <= gamma nats (EB-Sampler, Ben-Hamu et al. 2025)."""
    order = np.flatnonzero(r.masked & (r.entropy <= max_entropy))
    wait = len(order) == 0  # positions that are less certain open one by one
    order = np.flatnonzero(r.masked) if wait else order
    order = order[np.argsort(r.entropy[order], kind="stable")]
    h = np.maximum(r.entropy[order].astype(np.float64), 0)
    most = np.maximum.accumulate(h)
    bound = np.cumsum(np.minimum(h, np.concatenate([[0], most[:-1]])))
    return order[: 1 if wait else max(1, (bound <= gamma).sum())], []


def p2(r, eta=1.0):
    """Path planning (P2, Peng et al. 2025), self-planning: masked and written positions are ranked together, the worst are masked again."""
    def left(step):  # masked after the step
        return r.blanks * (r.steps - step - 1) // r.steps if step + 1 < r.steps else 0

    written = ~r.masked & ~r.fixed
    while (eta == 0 or not written.any()) and left(r.step) >= r.masked.sum() and r.step < r.steps - 1:
        r.step += 1  # nothing would change
    score = np.where(r.masked, r.logp.astype(np.float64), r.logp_current.astype(np.float64) * eta)
    score[r.fixed | (written if eta == 0 else False)] = np.inf
    worst = np.lexsort((-np.arange(len(score)), score))  # of equal scores the last position first
    falls = np.zeros_like(r.masked)
    falls[worst[: min(left(r.step), np.isfinite(score).sum())]] = True
    return np.flatnonzero(r.masked & ~falls), np.flatnonzero(written & falls)


PLANNERS = {"confidence": (confidence, {"k"}), "eb": (eb, {"gamma", "max_entropy"}), "p2": (p2, {"eta"})}


def statistics(r, z):
    """Of the model's distributions, z float64 [n, V] with -inf where nothing may be written: p1, entropy in nats and log-probabilities."""
    at, top = np.arange(len(z)), z.argmax(-1)
    d = z[at, top][:, None] - z
    e = np.exp(-d)
    e[at, top] = 0
    rest, cross = e.sum(-1), (e * np.where(e > 0, d, 0)).sum(-1)
    log_z = z[at, top] + np.log1p(rest)
    r.p1, r.entropy = np.float32(1 / (1 + rest)), np.float32(np.log1p(rest) + cross / (1 + rest))
    r.logp, r.logp_current = np.float32(z[at, r.proposal] - log_z), np.float32(z[at, r.tokens] - log_z)


@torch.inference_mode()
def sample(model, rows, requests, seed, planner=confidence, options={}, steps=0, batch=8, device="cpu", drawing=DRAWING):
    """Writes all masks of the requests, lists of ids; row i has the noise of row i of a run. Yields the ids in order."""
    suppress, timed = rows.suppress(), rows.config.get("time") == "adaln"
    for first in range(0, len(requests), batch):
        rs = [State(index=first + i, step=0, tokens=np.array(ids)) for i, ids in enumerate(requests[first : first + batch])]
        for r in rs:
            r.masked = r.tokens == rows.mask
            r.fixed, r.blanks = ~r.masked, int(r.masked.sum())
            r.steps = steps or r.blanks
        while live := [r for r in rs if r.masked.any()]:
            L = max(len(r.tokens) for r in live)
            ids = torch.tensor(np.array([np.pad(r.tokens, (0, L - len(r.tokens)), constant_values=rows.pad) for r in live]), device=device)
            seen = torch.tensor([[i < len(r.tokens) for i in range(L)] for r in live], device=device).long()
            t = [1 - r.step / r.steps for r in live]
            t = torch.tensor(t if rows.manifest.get("time", {}).get("noise_at", 1) else [1 - x for x in t], dtype=torch.float32, device=device)
            logits = model(ids, seen, timesteps=t if timed else None)["logits"].float().cpu().numpy()
            for r, z in zip(live, logits):
                z = np.where(suppress, -np.inf, z[: len(r.tokens)].astype(np.float64))  # [n, V]
                r.proposal = draw(z, uniforms(seed, r.index, r.step, len(z), DRAW), **drawing)
                statistics(r, z)
                opened, again = planner(r, **options)
                if r.step + 1 >= r.steps:
                    opened, again = np.flatnonzero(r.masked), []
                r.tokens[opened], r.masked[opened] = r.proposal[opened], False
                r.tokens[again], r.masked[again] = rows.mask, True
                r.step += 1
        yield from (r.tokens.tolist() for r in rs)


def main():
    rows = Rows(HERE)
    a = arguments(rows, planner={"choices": sorted(PLANNERS), "help": "which masks open; the model's own choice, with its options, where it is not given"},
                  set={"action": "append", "default": [], "metavar": "planner.OPTION=VALUE", "help": "option of the planner: " +
                       "; ".join(f"{name}: {', '.join(sorted(known))}" for name, (_, known) in PLANNERS.items())})
    own = rows.generation.get("planner", {})
    name = a.planner or own.get("name", "confidence")
    if name not in PLANNERS:
        raise SystemExit(f"generation_config.json: planner {name}: expected one of {', '.join(sorted(PLANNERS))}; give --planner, or use mdmhost sample")
    plan, known = PLANNERS[name]
    options = {} if a.planner else {k: v for k, v in rows.settings("planner", known).items() if k != "name"}
    for text in a.set:
        option, _, value = text.removeprefix("planner.").partition("=")
        if option not in known:
            raise SystemExit(f"--set {text}: planner {name} has no option {option}, expected {', '.join(sorted(known))}")
        options[option] = int(value) if option == "k" else float(value)
    model = Denoiser.load(HERE, device=a.device)
    show(rows, a, sample(model, rows, [a.ids] * a.num, a.seed, plan, options, a.steps, a.batch, a.device, a.drawing))


if __name__ == "__main__":
    main()
