"""Planners: which masks of a row open in a step, and which written tokens become masks again.

A planner takes a row and returns two arrays of positions, those that open and those that are masked again. Of the row it reads
masked, fixed  bool [n], where it holds the mask, and what was given;   step, steps, blanks  the step from 0, all steps, the masks at the start
p1, entropy, logp, logp_current  float32 [n], as statistics writes them. They need numpy alone.
"""
from functools import partial

import numpy as np


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
    score = np.where(r.masked, r.logp, np.where(written, r.logp_current, 0).astype(np.float64) * eta)
    score[r.fixed | (written if eta == 0 else False)] = np.inf
    worst = np.lexsort((-np.arange(len(score)), score))  # of equal scores the last position first
    falls = np.zeros_like(r.masked)
    falls[worst[: min(left(r.step), np.isfinite(score).sum())]] = True
    return np.flatnonzero(r.masked & ~falls), np.flatnonzero(written & falls)


PLANNERS = {"confidence": (confidence, {"k": int}), "eb": (eb, {"gamma": float, "max_entropy": float}), "p2": (p2, {"eta": float})}


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


FLAGS = {
    "planner": {"choices": sorted(PLANNERS), "help": "which masks open; the model's own choice, with its options, where it is not given"},
    "set": {"action": "append", "default": [], "metavar": "planner.OPTION=VALUE",
            "help": "option of the planner: " + "; ".join(f"{name}: {', '.join(sorted(known))}" for name, (_, known) in PLANNERS.items())},
}


def chosen(rows, a):
    """The planner that the command line a asks for, or the model's own, with its options."""
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
        options[option] = known[option](value)
    return partial(plan, **options)
