"""What the numpy references open by statistics of the tempered distribution and of the one that tokens are drawn from.

Run from this folder: python distributions.py REFERENCE_FOLDER > distributions.json        (REFERENCE_FOLDER holds samplers.py)

Here states hold logits, in units of 1/8, and the parameters of the draw, so that the host's statistics are part of the check.
Token V - 1 is suppressed. States are drawn again where a choice hangs on less than 1e-4, which float32 may round away; real
ties, such as those of positions where truncation left one token, stay.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(43)
STATES, V, NEAR = 240, 9, 1e-4


def pick(*values):
    return values[rng.integers(len(values))]


class Unclear(Exception):
    pass


def clear(gaps):
    gaps = np.abs(np.asarray(gaps, float))
    if ((gaps > 0) & (gaps < NEAR)).any():
        raise Unclear


def ordered(err, eligible):
    clear(np.diff(np.sort(err[eligible])))
    return err


def state():
    L, S = int(rng.integers(1, 11)), int(rng.integers(1, 6))
    masked = rng.random(L) < 0.85
    masked[rng.integers(L)] = True
    eligible = masked & (rng.random(L) < 0.85)
    if not eligible.any():
        eligible = masked.copy()
    z = np.round(rng.normal(size=(L, V)) * pick(4, 16, 40)).astype(int)
    return {"step": int(rng.integers(S)), "steps": S, "flags": (masked + 4 * eligible).tolist(), "logits": z.ravel().tolist(),
            "uniform": (rng.integers(1, 4096, L) / 4096).tolist(), "temperature": pick(0, 0.25, 0.75, 1, 1, 1.5), "top_k": int(pick(0, 0, 1, 2, 3)),
            "top_p": pick(1, 1, 0.625, 0.90625), "min_p": pick(0, 0, 0.125)}


class View:
    """A state in numbers: the statistics by distribution, those of the drawn token among them."""

    def __init__(self, s):
        f = np.array(s["flags"])
        self.masked, self.eligible, self.i, self.S = f & 1 > 0, f & 4 > 0, s["step"], s["steps"]
        z = ref.apply_forbid(np.array(s["logits"]).reshape(-1, V) / 8, [V - 1])
        T = s["temperature"]
        tempered = z / T if T else z
        kept = ref.filter_min_p(ref.filter_top_p(ref.filter_top_k(tempered, s["top_k"]), s["top_p"]), s["min_p"]) if T else z
        drawn = ref.draw_tokens(z, temperature=T, u=np.array(s["uniform"]), top_k=s["top_k"], top_p=s["top_p"], min_p=s["min_p"])
        self.stats = {on: ref.position_stats(x, current=drawn) for on, x in (("model", z), ("tempered", tempered), ("sampling", kept))}


def eb(proxy, drawn=False):
    def choose(v):
        st, gamma = v.stats["sampling"], pick(0, 0.1, 0.5, 1.0, np.inf)
        o = {"stats_on": "sampling", "proxy": proxy, "gamma": "inf" if np.isinf(gamma) else gamma}
        err = ref.error_proxy(st, proxy)
        if drawn:
            o["confidence"], err = "drawn", -st["p_current"]
        order = ref.rank_positions(ordered(err, v.eligible), v.eligible)
        h = st["entropy"][order]
        clear(h.cumsum() - np.maximum.accumulate(h) - gamma if gamma < np.inf else [])
        return o, ref.eb_select(st, v.eligible, gamma, proxy, err=err)[0], v.i
    return choose


def dream(alg, on="sampling"):
    def choose(v):
        eps = pick(1e-3, 0.25)
        st, at = v.stats[on], v.i
        while (k := ref.dream_transfer_count(int(v.masked.sum()), at, v.S, eps)) == 0:
            at += 1
        err = {"topk_margin": -st["margin"], "maskgit_plus": -st["p_current"], "entropy": st["entropy"]}[alg]
        return {"alg": alg, "on": on, "eps": eps}, ref.topk_select(ordered(err, v.eligible), v.eligible, k), at
    return choose


def threshold(on):
    def choose(v):
        c, tau = v.stats[on]["p_max"], pick(0.5, 0.75, 0.9)
        clear(c - tau)
        ordered(c, v.eligible)
        return {"on": on, "threshold": tau}, ref.threshold_select(c, v.eligible, tau), v.i
    return choose


PLANNERS = [("eb", eb("entropy")), ("eb", eb("confidence")), ("eb", eb("margin")), ("eb", eb("confidence", drawn=True)), ("dream", dream("topk_margin")),
            ("dream", dream("topk_margin", "tempered")), ("dream", dream("maskgit_plus")), ("dream", dream("maskgit_plus", "tempered")),
            ("dream", dream("entropy")), ("threshold", threshold("tempered")), ("threshold", threshold("sampling"))]

states, cases = [], []
while len(states) < STATES:
    s = state()
    try:
        v = View(s)
        chosen = [(name, *choose(v)) for name, choose in PLANNERS]
    except Unclear:
        continue
    cases += [[name, len(states), options, np.sort(opened).tolist(), acted] for name, options, opened, acted in chosen]
    states.append(s)
print('{"v":%d,"states":[\n%s\n],"cases":[\n%s\n]}' % (V, ",\n".join(json.dumps(s, separators=(",", ":")) for s in states),
                                                      ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)))
