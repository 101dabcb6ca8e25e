"""Writes golden.json.gz: whole runs of flexmdm.py's sampler, row by row and step by step, with noise and a model that both sides compute.

    python golden.py REFERENCE | gzip -9n > golden.json.gz
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import flexmdm as f

V, MASK, PAD, L, B = 4, 4, 5, 9, 3


def frac(x):
    return x - np.floor(x)


def run(phase, grid="clock", steps=8, events="integrated", confidence=None, final="sample", overflow="reject", a=1.0, u_max=None,
        top_p=1.0, temperature=1.0, scale=0.0, start=None, fixed_gap=None):
    calls = {"tok": 0, "um": 0, "ins": 0}

    def draw(name, shape):
        k = {"tok": .6180339887498949, "um": .7548776662466927, "ins": .5698402909980532}[name]
        n = calls[name] * shape[0] * shape[1] + np.arange(shape[0] * shape[1]).reshape(shape)
        calls[name] += 1
        return frac((n + 1) * k + phase)

    def model(xt, n, t):
        lg, um, ins = np.zeros((B, L, V + 2)), np.ones((B, L)), np.zeros((B, L + 1))
        for r in range(B):
            s = sum((int(x) + 1) * (j + 1) for j, x in enumerate(xt[r, :n[r]]))
            i = np.arange(L)[:, None]
            lg[r] = 2 * np.cos(1 + i + 2 * np.arange(V + 2) + .5 * s + phase + t)
            um[r] = np.exp(.7 * np.cos(i[:, 0] + .3 * s + phase))
            ins[r] = np.exp(np.cos(2 * np.arange(L + 1) + .7 * s + phase) + scale)
        return lg, um, ins

    xt = np.full((B, L), PAD)
    if start is not None:
        for r, row in enumerate(start):
            xt[r, :len(row)] = row
    fz = None
    if fixed_gap is not None:
        fz = np.zeros((B, L + 1), bool)
        for r, g in enumerate(fixed_gap):
            fz[r, g] = True
    trace = []
    ends, n = f.sample(model, B, L, f.time_grid(steps, grid, a, u_max), draw, MASK, PAD, a=a, events=events, confidence=confidence, top_p=top_p,
                       temperature=temperature, final=final, start=xt, fixed_gap=fz, overflow=overflow, trace=trace)
    trace.append(ends)
    out = dict(phase=phase, grid=grid, steps=steps, events=events, confidence=confidence or "none", final="argmax" if final == "argmax" else "draw",
               overflow=overflow, a=a, u_max=u_max or 0, top_p=top_p, temperature=temperature, scale=scale,
               start=start or [[]] * B, frozen=fixed_gap or [[]] * B)
    out["seen"] = [[[int(x) for x in row if x != PAD] for row in step] for step in trace]
    return out


cases = []
for i, events in enumerate(("integrated", "poisson", "euler")):
    for j, grid in enumerate(("clock", "code", "uniform")):
        cases.append(run(.1 * i + .03 * j, grid, events=events, steps=12, final="argmax" if j == 1 else "sample"))
for i, c in enumerate(("top_prob", "prob_diff", "entropy", "rates", "top_rate")):
    cases.append(run(.4 + .07 * i, confidence=c, steps=16))
    cases.append(run(.6 + .07 * i, "code", confidence=c, steps=16, events="poisson", start=[[4, 1, 4, 4, 4], [4, 4, 4, 4, 4, 4], [4]]))
for i, o in enumerate(("reject", "truncate")):
    cases.append(run(.2 + i / 10, overflow=o, scale=1.2, steps=10))
    cases.append(run(.25 + i / 10, "code", events="poisson", overflow=o, scale=4.0, steps=10))
prompt = [[0, 1, 2], [3, 4, 0, 1], [2]]
frozen = [[0, 1, 2], [0, 2, 3, 4], [1]]
for i in range(4):
    cases.append(run(.15 * i, start=prompt, fixed_gap=frozen, steps=8 + i, overflow="truncate" if i % 2 else "reject", confidence="top_prob" if i > 1 else None))
cases.append(run(.33, a=2.0, steps=9, top_p=.7))
cases.append(run(.35, "code", events="poisson", a=3.0, steps=9, top_p=.5, temperature=.6))
cases.append(run(.37, u_max=3.0, steps=7, temperature=1.7, final="argmax"))
cases.append(run(.38, u_max=3.0, steps=7, final="argmax", confidence="prob_diff", top_p=.8, temperature=1.7))
cases.append(run(.39, steps=1))
cases.append(run(.41, steps=2, a=.5))
json.dump(cases, sys.stdout)
