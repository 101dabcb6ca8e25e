"""Trajectories of the numpy reference of P2 under given scores.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds p2_papl.py)

Scores are drawn afresh every step, from a grid (so that ties occur) and exact in float32; they stand for both the
log-probability of the proposal and that of the present token. Proposals are drawn afresh as well.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as ref  # noqa: E402

MASK, V = 99, 6
KAPPAS = ["linear", "cosine", "sine", "half_cosine", "quad", "sqrt", "geometric", "log"]
rng = np.random.default_rng(23)
rows = []
for case in range(96):
    L = int(rng.integers(1, 11))
    x = np.full((1, L), MASK)
    fixed = rng.random(L) < 0.2
    fixed[rng.integers(L)] = False
    x[0, fixed] = rng.integers(0, V, fixed.sum())
    n = int((~fixed).sum())
    steps = int(rng.integers(1, 2 * n + 2))
    eta = [1.0, 0.5, 2.0, 0.0][case % 4]
    mode = ["code", "paper"][case // 4 % 2]
    kappa = KAPPAS[case // 8 % 8]
    proposals = rng.integers(0, V, (steps, L))
    scores = -rng.integers(1, 12, (steps, L)) / 4
    at = iter(range(steps))
    call = iter(range(steps))

    def denoise(x):
        return np.eye(V)[proposals[next(at)]][None] * 5.0

    spec = ref.special_case("p2_self", eta=eta, eta_mode=mode, kappa=kappa, token_temperature=0.0,
                            mask_score="planner", unmask_score="planner")
    trace = []
    ref.p2_sample(x, denoise, steps, spec, MASK, {"tok": np.full((steps, 1, L, 1), 0.5)},
                  lambda z, x: scores[next(call)][None], trace)
    rows.append({"options": {"eta": eta, "eta_mode": mode, "kappa": kappa}, "steps": steps, "tokens": x[0].tolist(),
                 "fixed": np.flatnonzero(fixed).tolist(), "proposals": proposals.tolist(), "scores": scores.tolist(),
                 "after": [t[0][0].tolist() for t in trace]})
print("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]")
