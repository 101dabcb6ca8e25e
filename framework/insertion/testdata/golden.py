"""Writes golden.json.gz: what flexmdm.py says of the quantities of this package.

    python golden.py REFERENCE | gzip -9n > golden.json.gz
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import flexmdm as f

rng = np.random.default_rng(20)


def js(o):
    if isinstance(o, dict):
        return {k: js(v) for k, v in o.items()}
    if isinstance(o, (list, tuple)):
        return [js(v) for v in o]
    return o.tolist() if isinstance(o, (np.ndarray, np.generic)) else o


out = {}
n = 60
t = np.concatenate([rng.random(n - 4), [1e-6, 1e-3, .999, 1 - 1e-5]])
a = np.exp(rng.normal(0, .5, n)) * (np.arange(n) % 3 != 0) + (np.arange(n) % 3 == 0)
out["clock"] = dict(t=t, a=a, u=f.clock(t, a), back=f.clock_inv(f.clock(t, a), a),
                    hazard=[f.base_hazard(x, y) for x, y in zip(t, a)])
u = np.exp(rng.uniform(-14, 3, n))
bi, bu = np.exp(rng.normal(0, 1.5, n)), np.exp(rng.normal(0, 1.5, n))
bu[::4] = bi[::4]
bu[1::4] = bi[1::4] * (1 + 1e-7)
d, m, c = f.log_state_probs_u(u, bi, bu)
out["state"] = dict(u=u, b_in=bi, b_um=bu, dropped=d, masked=m, clean=c)
L, V = 7, 5
rows = []
for _ in range(40):
    x = rng.integers(0, V, L)
    s = rng.integers(0, 3, L)
    k = rng.integers(0, L + 1)
    x[k:], s[k:] = 9, 3
    b = np.round(rng.random(L), 6)
    z = f.contract(x[None], s[None].astype(np.int8), b[None], 8, 9)
    k = int(z["n"][0])
    rows.append(dict(tokens=x, states=s, b_in=b, xt=z["xt"][0, :k], st=z["st"][0, :k], gap_n=z["gap_n"][0, :k + 1], gap_b=z["gap_b"][0, :k + 1]))
out["contract"] = rows
p, q = np.append(rng.random(20) * 5, 0), rng.random(21) * 5 + 1e-3
out["bregman"] = dict(p=p, q=q, d=f.bregman(p, q))
lam, q = np.exp(rng.uniform(-6, 5, 300)), rng.random(300)
out["poisson"] = dict(lam=lam, q=q, k=f.poisson_icdf(q, lam))
out["grid"] = [dict(kind=k, steps=N, a=y, u_max=um or 0, t=f.time_grid(N, k, y, um))
               for k, um in (("code", None), ("uniform", None), ("clock", None), ("clock", 7.5)) for N in (1, 5, 32) for y in (1.0, 2.5)]
S, P = f.toy()
bi, bu = f.hetero(S)
heads = []
for speeds in (None, 1):
    e = f.Exact(S, P, 3, bi if speeds else None, bu if speeds else None)
    for u in (1e-3, .4, 2.0, 7.0):
        um, K, ins, known = e.heads(u)
        for x in range(0, e.n_x, 9):
            k = len(e.states[x])
            heads.append(dict(unequal=bool(speeds), u=u, row=e.states[x], um=um[x, :k], k=K[x, :k], ins=ins[x, :k + 1]))
out["exact"] = dict(b_in=bi, b_um=bu, heads=heads)
json.dump(js(out), sys.stdout)
