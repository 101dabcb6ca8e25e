"""Losses, bounds, metrics and gradients of FlexMDM by the numpy reference, on fixed noise and fixed outputs of the network.

Run from this folder: python golden.py REFERENCE_FOLDER        (REFERENCE_FOLDER holds flexmdm.py)
It writes golden.json.gz.
"""
import sys

import numpy as np

sys.path.insert(1, "../../internal/interpolant/testdata")
from insertion import Batch, Times, called, case, gradient, heads, metrics, objective, sample, terms, write  # noqa: E402

rng = np.random.default_rng(26)
cases = []


def both(name, alphabet=4, pads=True, rates=False, suppressed=(0, 1), t=None, **o):
    batch = Batch(rng, alphabet, pads)
    if t is not None:
        batch.t[:] = np.float32(t)
    a, norm = o.get("a", 1.0), o.get("normalise", "sum")
    suppressed = list(suppressed)
    one = np.ones((batch.B, batch.L))
    n = batch.free.sum(1)
    for graph, stretch in (("training", o.get("stretch", 2.0)), ("eval", 2.0)):
        times = Times(batch.t, a, stretch)
        q_in, q_um, z = sample(rng, batch.x1, batch.fixed, times.t, a, one, one)
        gives = heads(rng, batch.B, batch.L, batch.V, rates)
        parts = lambda: terms(z, batch.x1, gives, times, a, one, suppressed)
        rows = lambda: objective(parts(), norm, batch.L)
        loss = lambda: rows().mean() if norm == "code" else rows().sum() / max(n.sum(), 1)
        want = metrics(parts(), batch) | called(z, times.t)
        if graph == "eval":
            want |= {"bound": parts()["total"], "count": n}
        else:
            want |= {"loss": loss(), "metric.nll.sum": parts()["total"], "metric.nll.count": n}
            want |= {"grad." + k: gradient(loss, gives[k]) for k in gives}
        cases.append(case(name + ", eval" * (graph == "eval"), graph, o, batch, suppressed, batch.feeds() | {"q_in": q_in, "q_um": q_um}, gives, want))


both("plain")
both("rows of one length", pads=False)
both("a network that rates masks", rates=True)
both("code", normalise="code")
both("a 2", a=2.0)
both("uniform times", stretch=1.0)
both("a 2, far times", a=2.0, stretch=3.0)
both("a 0.5, code, rates", a=0.5, normalise="code", rates=True)
both("one token", alphabet=1, suppressed=(0, 1, 2))
both("almost nothing", t=1e-4)
both("almost everything", t=1 - 1e-4)
write(cases)
