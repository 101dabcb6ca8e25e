"""Losses, bounds, metrics and gradients of FlexMDM by the numpy reference, on fixed noise and fixed outputs of the network.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds flexmdm.py)
It writes golden.json.gz.
"""
import sys

import numpy as np

sys.path.insert(1, "../../internal/interpolant/testdata")
from insertion import Batch, called, case, gradient, heads, metrics, objective, sample, terms, write  # noqa: E402

rng = np.random.default_rng(26)
cases = []


def both(name, alphabet=4, pads=True, rates=False, suppressed=(0, 1), t=None, **o):
    batch = Batch(rng, alphabet, pads)
    if t is not None:
        batch.t[:] = np.float32(t)
    a, norm = o.get("a", 1.0), o.get("normalise", "sum")
    suppressed = list(suppressed)
    one = np.ones((batch.B, batch.L))
    q_in, q_um, z = sample(rng, batch.x1, batch.fixed, batch.t, a, one, one)
    gives = heads(rng, batch.B, batch.L, batch.V, rates)
    n = batch.free.sum(1)
    parts = lambda: terms(z, batch.x1, gives, batch.t, a, one, suppressed)
    rows = lambda: objective(parts(), norm, batch.L)
    loss = lambda: rows().mean() if norm == "code" else rows().sum() / max(n.sum(), 1)
    feeds = batch.feeds() | {"q_in": q_in, "q_um": q_um}
    want = {"loss": loss(), "metric.nll.sum": parts()["total"], "metric.nll.count": n, **metrics(parts()), **called(z, batch.t)}
    for k in gives:
        want["grad." + k] = gradient(loss, gives[k])
    cases.append(case(name, "training", o, batch, suppressed, feeds, gives, want))
    want = {"bound": parts()["total"], "count": n, **metrics(parts()), **called(z, batch.t)}
    cases.append(case(name + ", eval", "eval", o, batch, suppressed, feeds, gives, want))


both("plain")
both("rows of one length", pads=False)
both("a network that rates masks", rates=True)
both("code", normalise="code")
both("a 2", a=2.0)
both("a 0.5, code, rates", a=0.5, normalise="code", rates=True)
both("one token", alphabet=1, suppressed=(0, 1, 2))
both("almost nothing", t=1e-4)
both("almost everything", t=1 - 1e-4)
write(cases)
