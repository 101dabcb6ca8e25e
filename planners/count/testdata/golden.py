"""Counts of every schedule, from the numpy references: how many positions stay masked after each step.

Run from this folder: python golden_counts.py REFERENCE_FOLDER > counts.json
REFERENCE_FOLDER holds samplers.py and p2_papl.py.
"""
import json
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


def stay_cosine(n, steps):
    left, out = n, []
    for i in range(steps):
        left = min(left, ref.maskgit_mask_len(n, left, i, steps))
        out.append(left)
    return out


def stay_dream(n, steps):
    left, out = n, []
    for i in range(steps):
        left -= ref.dream_transfer_count(left, i, steps)
        out.append(left)
    return out


def open_alpha(n, steps):
    return ref.alpha_transfer_counts(n, steps)


def rows():
    for n, steps in SIZES:
        for name, f in (("uniform", stay_uniform), ("linear", stay_linear), ("cosine", stay_cosine), ("dream", stay_dream)):
            stay = f(n, steps)
            before = [n] + stay[:-1]
            yield {"schedule": name, "blanks": n, "steps": steps,
                   "open": [b - a for b, a in zip(before, stay) if b > a]}
        yield {"schedule": "alpha", "blanks": n, "steps": steps, "open": open_alpha(n, steps)}


print("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows()) + "\n]")
