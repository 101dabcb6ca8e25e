"""Bounds of planned sampling and exact laws of the samplers for tiny formula denoisers, from the numpy reference.

Run from this folder: python planned.py REFERENCE_FOLDER | gzip -9n > planned.json.gz
REFERENCE_FOLDER holds p2_papl.py. The formulas stand in planned_test.go, too.
"""
import itertools
import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as papl  # noqa: E402


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


def held(s, m):
    return sum((t + 1) * (j + 1) for j, t in enumerate(s) if t != m)


def denoiser(toy, k):
    out = np.zeros((len(toy.states), toy.L, toy.V))
    for at, s in enumerate(toy.states):
        for i in range(toy.L):
            out[at, i] = softmax(np.array([k * math.cos(1 + i + 2 * v + 0.5 * held(s, toy.m)) for v in range(toy.V)]))
    return out


def bert(toy, z):
    return np.array([softmax(np.array([1.5 * math.cos(0.3 + 1.7 * i + 1.1 * v + 0.7 * held(z, toy.m)) for v in range(toy.V)]))
                     for i in range(toy.L)])


def wave(z, s, a, b, c):
    return np.array([0.5 + 0.45 * math.cos(a + 0.9 * i + b * sum((t + 1) * (j + 2) for j, t in enumerate(z))
                                           + c * sum((t + 1) * (j + 1) for j, t in enumerate(s))) for i in range(len(z))])


def toy(L, V, k):
    t = papl.Toy(np.ones((V,) * L))
    D = denoiser(t, k)
    one = lambda z, s: np.ones(L)
    selfm = lambda z, s: np.array([D[t.index[s], i, z[i]] if z[i] < V else 1.0 for i in range(L)])
    berts = lambda z, s: np.array([bert(t, z)[i, z[i]] if V not in z else 1.0 for i in range(L)])
    planners = {
        "wave": (lambda z, s: wave(z, s, 1, 0.7, 0.3), lambda z, s: wave(z, s, 2, 0.4, 0.6)),
        "one": (one, one), "keep": (selfm, one), "self": (selfm, selfm), "bert": (selfm, berts), "both": (berts, berts),
    }
    laws = {name: papl.p2_ctmc_law(t, D, *g) for name, g in planners.items()}
    uni = lambda z, s: np.array([(s[i] == t.m) / len(t.masked(s)) for i in range(L)])
    orders = {"uniform": uni, "greedy": papl.hard_greedy(t, D)}
    taus = (0.1, 0.3, 1.0, 2.5)
    for tau in taus:
        orders[f"soft {tau}"] = papl.soft_greedy(t, D, tau)
    etas = (0.7, 1.0, 1.5)
    kept = {eta: papl.law_topk(t, D, D, eta) for eta in etas}
    rows = []
    for x in itertools.islice(itertools.product(range(V), repeat=L), 0, None, 3 if V**L < 30 else 11):
        row = {"x": x, "p2": {}, "pelbo": {}, "topk": {}}
        for name, (gm, gu) in planners.items():
            row["p2"][name] = [*papl.p2_elbo_exact(t, D, gm, gu, x)[:3], math.log(laws[name][x])]
        for name, G in orders.items():
            e1, e2 = papl.p_elbo_exact(t, D, G, x)
            low = e1
            if name == "greedy":
                low = papl.greedy_bound(t, D, x)
            if name.startswith("soft"):
                low = papl.soft_greedy_bound(t, D, x, float(name[5:]))
            row["pelbo"][name] = [e1, e2, low, math.log(papl.law_planned(t, D, G, x))]
        for eta in etas:
            row["topk"][str(eta)] = [papl.topk_bound(t, D, D, x, eta), math.log(kept[eta][x])]
        rows.append(row)
    return {"L": L, "V": V, "k": k, "rows": rows}


print(json.dumps([toy(2, 2, 2.0), toy(3, 3, 2.0), toy(4, 2, 3.0), toy(3, 4, 1.0)], separators=(",", ":")))
