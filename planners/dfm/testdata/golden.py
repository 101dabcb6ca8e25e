"""What the numpy reference opens and masks again in a step of the corrector of discrete flow matching, and its times.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds samplers.py)

Uniforms are whole numbers of 1/4096. A row at or below its last whole time step opens everything.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(11)


def case(number):
    L, n = int(rng.integers(1, 15)), int(rng.choice([1, 2, 8, 32, 128, 1024]))
    t = 1.0 if number % 10 == 0 else float(rng.integers(1, 4096)) / 4096
    x = rng.integers(0, 3, L)  # 0 fixed, 1 masked, 2 written
    if not (x == 1).any():
        x[0] = 1
    u = rng.integers(1, 4096, L)
    dt, p_open, p_remask = ref.dfm_corrector_rates(t, n)
    if t <= 1 / n:
        p_open, p_remask, dt = 1.0, 0.0, t
    pick = lambda which, p: np.flatnonzero((x == which) & (u / 4096 < p)).tolist()
    return {"t": t, "time_steps": n, "row": x.tolist(), "uniform": u.tolist(), "open": pick(1, p_open), "remask": pick(2, p_remask), "next": t - dt}


print("[\n" + ",\n".join(json.dumps(case(i), separators=(",", ":")) for i in range(260)) + "\n]")
