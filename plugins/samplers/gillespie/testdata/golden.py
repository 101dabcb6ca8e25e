"""What the numpy reference of the Gillespie forms does under given noise.

Run from this folder: python golden.py REFERENCE_FOLDER | gzip -9n > golden.json.gz   (REFERENCE_FOLDER holds p2_papl.py)

The network is logits = 2 cos(1 + i + 2 v + s/2 + phase), s = sum over unmasked j of (x_j + 1)(j + 1), V = 3, mask 3; noise
is frac((index + 1) c + phase). "seen" are the canvases of all forward passes, and the last one.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as ref  # noqa: E402

K, V = 60, 3  # steps at most


def frac(shape, c, phase):
    return (((np.arange(int(np.prod(shape))).reshape(shape) + 1) * c) + phase) % 1.0


def run(L, phase, mask_score, unmask_score):
    seen, close = [], []

    def logits(x):
        s = ((x + 1) * (np.arange(L) + 1) * (x != 3)).sum(1)
        return 2.0 * np.cos(1 + np.arange(L)[None, :, None] + 2 * np.arange(V)[None, None, :] + 0.5 * s[:, None, None] + phase)

    def watch(x):
        seen.append(x[0].tolist())
        return logits(x)

    pos = frac((K, 1), 0.4142135623730951, phase)

    def weights(z, x):
        p = np.exp(ref.log_softmax(logits(x)))
        top = np.sort(p, axis=-1)
        kinds = {"uniform": np.ones(x.shape), "keep": np.ones(x.shape), "denoiser": ref.gather_last(p, z),
                 "margin": top[..., -1] - top[..., -2], "neg_entropy": np.exp(np.sum(p * np.log(p), -1))}
        gm, gu = kinds[mask_score], kinds[unmask_score]
        if (x == 3).any():
            c = np.cumsum(np.where(x == 3, gm, 1 - gu)[0])
            close.append(np.min(np.abs(c - pos[len(close), 0] * c[-1])))
        return gm, gu

    x0 = np.full((1, L), 3)
    tok, again = frac((K, 1, L, V), 0.6180339887498949, phase), frac((K, 1, L, V), 0.7548776662466927, phase)
    if (mask_score, unmask_score) == ("uniform", "keep"):
        end = ref.mdm_gillespie(x0, watch, 3, pos, tok)
    else:
        end = ref.p2_gillespie(x0, watch, weights, 3, pos, tok, again)
    seen.append(end[0].tolist())
    clean = [i for i, x in enumerate(seen) if 3 not in x]
    if not clean or any(c < 1e-5 for c in close):
        return None
    return {"options": {"mask_score": mask_score, "unmask_score": unmask_score}, "phase": phase, "seen": seen[:clean[0] + 1]}


cases = []
for a in ("uniform", "denoiser", "margin", "neg_entropy"):
    for b in ("keep", "denoiser", "margin", "neg_entropy"):
        for n in range(48):
            case = run(1 + n % 8, n / 64, a, b)
            if case is not None:
                cases.append(case)
json.dump(cases, sys.stdout, separators=(",", ":"))
