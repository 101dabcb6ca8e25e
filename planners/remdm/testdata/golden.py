"""Episodes of the numpy reference for ReMDM: what every step opens and masks again, with the noise written out.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds samplers.py)

Uniforms are whole numbers of 1/4096, log-probabilities of -1/64. An episode goes on where nothing is masked, as the
reference does. Two rules are ours: the last step masks nothing and opens the rest, and where a step of the loop crosses a
bend of its schedule each end has the alpha of its own phase (the public code takes both from the first).
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(7)
MASK, NEW = -1, 7
OWN = {"cap": 0.008, "rescale": 0.015, "loop": 0.02, "conf": 1.0}


def pick(*values):
    return values[rng.integers(len(values))]


def bends(o, t, s):
    loop = {k: o[k] for k in ("t_on", "t_off", "alpha_on")}
    kind, alpha_t, alpha_s = ref.remdm_loop_phase(t, t - s, **loop)
    own = 1.0 if s <= 0 else ref.remdm_loop_phase(s, 0.0, **loop)[1]
    same = sum(x > o["t_on"] for x in (t, s)) != 1 and sum(x > o["t_off"] for x in (t, s)) != 1
    assert not same or abs(alpha_s - own) < 1e-9
    return kind, alpha_t, own


def episode(strategy):
    L, T = int(rng.integers(1, 13)), int(rng.integers(2, 13))
    fixed = rng.random(L) < 0.15
    given = ~fixed & (rng.random(L) < 0.15)  # written when the row starts, and free
    x = np.where(fixed | given, 3, MASK)
    psi, o, steps = np.ones(L), {"strategy": strategy}, []
    eta = OWN.get(strategy, 0)
    if rng.integers(3):
        eta = o["eta"] = pick(0, 0.1, 0.5, 1)
    if strategy == "loop":
        o |= {"t_on": pick(0.55, 0.8), "t_off": pick(0.05, 0.3), "alpha_on": pick(0.9, 0.5)}
    elif rng.integers(3) == 0:
        o["t_switch"] = pick(0, 0.5)
    for i in range(T):
        t, s = 1 - i / T, 1 - (i + 1) / T
        alpha_t, alpha_s = 1 - t, 1 - s
        u, logp = rng.integers(1, 4096, L), rng.integers(0, 200, L)
        tokens = np.full(L, NEW)
        if i == T - 1:
            y = np.where(x == MASK, tokens, x)
        else:
            most = ref.remdm_sigma("rescale", alpha_t, alpha_s, 1.0)
            if strategy == "loop":
                kind, alpha_t, alpha_s = bends(o, t, s)
                sigma = ref.remdm_sigma("cap" if kind == "loop" else "mdlm", alpha_t, alpha_s, eta)
            elif t >= o.get("t_switch", 1):
                sigma = 0.0
            elif strategy == "forward_backward":
                sigma = min(ref.remdm_sigma("fb", alpha_t, alpha_s), most)
            elif strategy == "conf":
                weight = ref.remdm_conf_weight(psi, (x == MASK) | fixed)
                sigma = eta * ref.remdm_sigma("conf", alpha_t, alpha_s, conf_weight=weight)
            else:
                sigma = ref.remdm_sigma(strategy, alpha_t, alpha_s, eta)
            y = ref.remdm_step(x, tokens, alpha_t, alpha_s, sigma, MASK, u / 4096)
            y = np.where(fixed, x, y)
        opened = np.flatnonzero((x == MASK) & (y != MASK))
        psi[opened] = np.exp(-logp[opened] / 64)
        steps.append([u.tolist(), logp.tolist(), opened.tolist(), np.flatnonzero((x != MASK) & (y == MASK)).tolist()])
        x = y
    return {"options": o, "fixed": np.flatnonzero(fixed).tolist(), "given": np.flatnonzero(given).tolist(), "length": L, "steps": steps}


lines = [json.dumps(episode(k), separators=(",", ":")) for k in ("cap", "rescale", "conf", "loop", "forward_backward") for _ in range(40)]
print("[\n" + ",\n".join(lines) + "\n]")
