"""Exact bounds and likelihoods of tiny denoisers, from the numpy references.

Run from this folder: python exact.py REFERENCE_FOLDER | gzip -9n > exact.json.gz
REFERENCE_FOLDER holds md4.py and p2_papl.py.
"""
import itertools
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import md4  # noqa: E402
import p2_papl as papl  # noqa: E402

SCHEDULES = [
    ({"Kind": "linear"}, md4.Schedule("linear")),
    ({"Kind": "linear", "Eps": 1e-3}, md4.Schedule("linear", eps=1e-3)),
    ({"Kind": "polynomial", "C": 2.5}, md4.Schedule("poly", 2.5)),
    ({"Kind": "cosine"}, md4.Schedule("cosine")),
    ({"Kind": "geometric", "BMin": 1e-5, "BMax": 20.0}, md4.Schedule("geometric")),
]


def toy(name, N, m, den, posterior):
    """Log mu of every state with a mask, and what follows for some sequences."""
    table = np.zeros([m + 1] * N + [N, m])
    states = [z for z in itertools.product(range(m + 1), repeat=N) if m in z]
    for z in states:
        table[z] = den(z)
    law = papl.Toy(np.ones([m] * N))
    D = table.reshape(-1, N, m)  # papl.Toy counts states in the same order
    logmu = {"".join(map(str, z)): [np.log(table[z][n]).tolist() if z[n] == m else None for n in range(N)] for z in states}
    rows = []
    for x in itertools.islice(itertools.product(range(m), repeat=N), 0, None, 2 if m**N < 30 else 7):
        rows.append({
            "x": x,
            "bound": md4.exact_nelbo(x, den, m),
            "elbo": papl.elbo_uniform(law, D, x),
            "loglik": float(np.log(papl.law_uniform(law, D, x))),
            "integrand": [[u, float(md4.g_of_u(x, den, m, u))] for u in (0.05, 0.3, 0.8, 1.0)],
            "finite": [{"schedule": spec, "grid": grid, "T": T,
                        "bound": float(md4.exact_discrete_nelbo(x, den, m, s, T, gridkind=grid))}
                       for spec, s in SCHEDULES for grid in ("uniform", "cosine") for T in (1, 3, 16)],
        })
    return {"name": name, "n": N, "m": m, "posterior": posterior, "logmu": logmu, "rows": rows}


rng = np.random.default_rng(5)
toys = []
for N, m in ((1, 3), (2, 3), (3, 2), (4, 2)):
    joint = md4.Joint.random(rng, N, m, 1.2)
    t = toy(f"posterior {N}x{m}", N, m, joint.denoiser(), True)
    for row in t["rows"]:
        assert abs(row["loglik"] - joint.logp(row["x"])) < 1e-12 and abs(row["bound"] + row["loglik"]) < 1e-12
    toys.append(t)
for N, m in ((1, 2), (3, 3), (4, 2)):
    toys.append(toy(f"random {N}x{m}", N, m, md4.random_denoiser(N, N, m, 1.3), False))
print(json.dumps(toys, separators=(",", ":")))
