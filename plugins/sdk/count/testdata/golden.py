"""Counts of every schedule, from the numpy references: how many positions stay masked after each step.

Run from this folder: python golden.py REFERENCE_FOLDER > counts.json
REFERENCE_FOLDER holds samplers.py and p2_papl.py.
"""
import json
import math
import sys

sys.path.insert(0, sys.argv[1])
import p2_papl as p2  # noqa: E402
import samplers as ref  # noqa: E402

SIZES = [(n, steps) for n in (1, 2, 3, 5, 10, 16, 31, 100) for steps in (1, 2, 3, 4, 5, 8, 16, 50, 120)]


def stay_uniform(n, steps):
    left, out = n, []
    for k in ref.llada_transfer_counts(n, steps):
        left -= k
        out.append(left)
    return out


def stay_linear(n, steps):
    return [p2.num_masked_after(n, i, steps, "linear") for i in range(1, steps + 1)]


def stay_dream(n, steps):
    left, out = n, []
    for i in range(steps):
        left -= ref.dream_transfer_count(left, i, steps)
        out.append(left)
    return out


def maskgit(schedule):
    """MaskGIT's mask_schedule; the reference has those without a logarithm."""
    def length(n0, now, i, steps):
        if schedule not in ("log", "exp"):
            return ref.maskgit_mask_len(n0, now, i, steps, schedule)
        if i == steps - 1:
            return 0
        r, n = (i + 1) / steps, math.log2(n0)
        g = (-math.log2(r) / n if n else math.inf) if schedule == "log" else 1 - 2 ** (-n * (1 - r))
        return int(max(1, min(now - 1, math.floor(n0 * min(max(g, 1e-6), 1.0)))))

    def stay(n, steps):
        left, out = n, []
        for i in range(steps):
            left = min(left, length(n, left, i, steps))
            out.append(left)
        return out
    return stay


def stay_arccos(n, steps):
    left, out = n, []
    for i in range(steps):
        r = 1 - math.acos((i + 1) / steps) / (math.pi * 0.5)
        left = 0 if i == steps - 1 else max(0, min(left, n - max(i + 1, int(r * n + 1e-6))))
        out.append(left)
    return out


def open_alpha(n, steps):
    return ref.alpha_transfer_counts(n, steps)


def rows():
    for n, steps in SIZES:
        for name, f in (("uniform", stay_uniform), ("linear", stay_linear), ("dream", stay_dream), ("arccos", stay_arccos),
                        *((name, maskgit(name)) for name in ("cosine", "pow2", "pow3", "pow0.5", "log", "exp"))):
            stay = f(n, steps)
            before = [n] + stay[:-1]
            yield {"schedule": name, "blanks": n, "steps": steps,
                   "open": [b - a for b, a in zip(before, stay) if b > a]}
        yield {"schedule": "alpha", "blanks": n, "steps": steps, "open": open_alpha(n, steps)}


print("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows()) + "\n]")
