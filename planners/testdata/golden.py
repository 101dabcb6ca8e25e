"""What the numpy references open, for random states of a row: one file for the planners that open positions.

Run from this folder: python golden.py REFERENCE_FOLDER > golden.json        (REFERENCE_FOLDER holds samplers.py)

Every planner sees the same states, each with options of its own, so a state is written once. Statistics are whole numbers
of units (1/4096 for probabilities and uniforms, 1/64 for logarithms, entropies and Gumbel noise), which float32 holds exactly, and coarse ones
make real ties. States lie on LLaDA's schedule: n blanks, after i of its S steps. A step whose count is zero is skipped, as
the planners do.
"""
import json
import math
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(41)
STATES, V = 240, 30


def state(number):
    while True:
        L = int(rng.integers(1, 15))
        fixed = rng.random(L) < 0.15
        n = int((~fixed).sum())
        S = int(rng.integers(1, 2 * n + 2))
        counts = ref.llada_transfer_counts(n, S)
        busy = [i for i, k in enumerate(counts) if k > 0]
        if busy:
            break
    i = int(rng.choice(busy))
    masked = np.zeros(L, bool)
    masked[rng.permutation(np.flatnonzero(~fixed))[: n - sum(counts[:i])]] = True
    eligible = masked.copy()
    if number % 5 == 4:  # a block that is not the whole row
        eligible &= rng.random(L) < 0.7
        if not eligible.any():
            eligible = masked.copy()
    unit = 512 if number % 3 == 2 else 1  # coarse values tie
    p1 = np.clip(rng.integers(1, 4097, L) // unit * unit, 64, 4096)
    p2 = np.minimum(np.minimum(rng.integers(0, 4097, L) // unit * unit, p1), 4096 - p1)
    if number % 4 == 1:  # nearly certain everywhere, where adaptive planners open many
        p1 = 4096 - rng.integers(0, 300, L)
        p2 = np.minimum(p2, 4096 - p1)
    logp = rng.integers(0, 200, L) // (1 + unit // 16)
    if number % 4 == 1:
        logp = rng.integers(0, 12, L)
    return {"step": i, "steps": S, "offset": int(rng.integers(0, 4)), "flags": (masked + 2 * fixed + 4 * eligible).tolist(),
            "p1": p1.tolist(), "p2": p2.tolist(), "logp": logp.tolist(), "entropy": (rng.integers(0, 256, L) // (1 + unit // 16)).tolist(),
            "uniform": rng.integers(1, 4096, L).tolist(), "gumbel": rng.integers(-100, 400, L).tolist(),
            "proposal": rng.integers(0, V, L).tolist(), "times": sorted(rng.choice(np.arange(1, 4096), 2, replace=False).tolist())}


class View:
    """A state in numbers."""

    def __init__(self, s):
        f = np.array(s["flags"])
        self.masked, self.fixed, self.eligible = f & 1 > 0, f & 2 > 0, f & 4 > 0
        self.L, self.i, self.S, self.offset = len(f), s["step"], s["steps"], s["offset"]
        self.blanks, self.now = int((~self.fixed).sum()), int(self.masked.sum())
        self.p1, self.p2 = np.array(s["p1"]) / 4096, np.array(s["p2"]) / 4096
        self.logp, self.entropy = -np.array(s["logp"]) / 64, np.array(s["entropy"]) / 64
        self.uniform, self.gumbel = np.array(s["uniform"]) / 4096, np.array(s["gumbel"]) / 64
        self.proposal = np.array(s["proposal"])
        self.alpha_t, self.alpha_s = s["times"][0] / 4096, s["times"][1] / 4096
        self.last = self.i >= self.S - 1

    def confidence(self, kind):
        return self.p1 if kind == "max" else np.exp(self.logp)

    def scheduled(self, count):
        """(k, step acted as): the first step from the present on that opens something."""
        for i in range(self.i, self.S):
            if (k := count(i)) > 0:
                return k, i
        raise AssertionError("a schedule that never ends")


def llada(v):
    return lambda i: ref.llada_transfer_counts(v.blanks, v.S)[i] if i == v.i else 0


def dream(v, eps):
    return lambda i: ref.dream_transfer_count(v.now, i, v.S, eps)


def maskgit_len(n0, n_now, step, steps, schedule):
    if schedule in ("log", "exp"):
        if step == steps - 1:
            return 0
        r, n = (step + 1) / steps, math.log2(n0)
        g = (-math.log2(r) / n if n else math.inf) if schedule == "log" else 1 - 2 ** (-n * (1 - r))
        return int(max(1, min(n_now - 1, math.floor(n0 * min(max(g, 1e-6), 1.0)))))
    return min(ref.maskgit_mask_len(n0, n_now, step, steps, schedule), n_now)


def maskgit(v, schedule):
    return lambda i: v.now - maskgit_len(v.blanks, v.now, i, v.S, schedule)


def arccos(v):
    def count(i):
        if i >= v.S - 1:
            return v.now
        r = 1 - math.acos((i + 1) / v.S) / (math.pi * 0.5)
        return v.now - max(0, min(v.now, v.blanks - max(i + 1, int(r * v.blanks + 1e-6))))
    return count


def halton_sequence(base, n):
    out = []
    for i in range(1, n + 1):
        digits, scale = 0, 1
        while i:
            digits, scale, i = digits * base + i % base, scale * base, i // base
        out.append((digits, scale))
    return out


def halton_order(rows, cols):
    seen = {}
    for (a, b), (c, d) in zip(halton_sequence(2, 4000), halton_sequence(3, 4000)):
        seen.setdefault((a * rows // b) * cols + c * cols // d, len(seen))
    assert len(seen) == rows * cols
    return seen


def pick(*values):
    return values[rng.integers(len(values))]


# Each planner: options drawn at random, and what the reference opens with them. Returns options, positions, step acted as.


def low_confidence(v):
    c = pick("drawn", "max")
    k, at = v.scheduled(llada(v))
    return {"confidence": c}, ref.topk_select(-v.confidence(c), v.eligible, k), at


def dream_planner(v):
    alg, eps, tau = pick("origin", "maskgit_plus", "topk_margin", "entropy"), pick(1e-3, 1e-5, 0.25), pick(0, 0, 0.5, 2.0)
    o = {"alg": alg, "eps": eps, "alg_temp": tau}
    if alg == "origin":
        t, s = 1 + (eps - 1) * v.i / v.S, 1 + (eps - 1) * (v.i + 1) / v.S
        x = np.where(v.eligible, -1, 0)
        y = np.where(x == -1, 7, x) if v.last else ref.ancestral_step(x, np.full(v.L, 7), t, s, -1, v.uniform)
        return o, np.flatnonzero(y == 7), v.i
    score = {"maskgit_plus": np.exp(v.logp), "topk_margin": v.p1 - v.p2, "entropy": -v.entropy}[alg]
    k, at = v.scheduled(dream(v, eps))
    if tau:
        return o, ref.gumbel_topk_select(score / tau, v.eligible, k, 1.0, v.gumbel), at
    return o, ref.topk_select(-score, v.eligible, k), at


def maskgit_planner(v):
    schedule, temperature = pick("cosine", "linear", "pow2", "pow3", "pow0.5", "log", "exp"), pick(4.5, 1.0, 0)
    k, at = v.scheduled(maskgit(v, schedule))
    noise = temperature * (1 - (at + 1) / v.S)
    return {"schedule": schedule, "choice_temperature": temperature}, ref.gumbel_topk_select(v.logp, v.eligible, k, noise, v.gumbel), at


def threshold(v):
    c, tau, strict, least = pick("max", "drawn"), pick(0.0, 0.125, 0.5, 0.9, 0.95, 1.0), bool(rng.integers(2)), int(pick(1, 1, 2, 3))
    o = {"confidence": c, "threshold": tau, "strict": strict, "minimal_topk": least}
    if rng.integers(3) == 0:
        o["fallback"] = "scheduled"
        least = max(least, ref.llada_transfer_counts(v.blanks, v.S)[v.i])
    open_ = ref.threshold_select(v.confidence(c), v.eligible, tau, strict, fallback_k=least)
    if rng.integers(4) == 0:
        o["max_per_step"] = int(pick(3, 4))
        open_ = open_[: o["max_per_step"]]  # the reference's order is by confidence
    return o, open_, v.i


def factor(v):
    c, f = pick("max", "drawn"), pick(0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
    o, open_ = {"confidence": c, "factor": f}, ref.factor_select(v.confidence(c), v.eligible, f)
    if rng.integers(4) == 0:
        o["max_per_step"] = int(pick(1, 2, 3))
        open_ = open_[: o["max_per_step"]]
    return o, open_, v.i


def hierarchy(v):
    kind, low, high = pick("drawn", "max"), pick(0.0, 0.25, 0.4, 0.9, 1.0), pick("inf", 0.5, 0.9)
    c, open_ = v.confidence(kind), set()
    at = np.flatnonzero(v.eligible)
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1):
        best = run[np.argmax(c[run])]  # the lower index wins ties
        if c[best] > low:
            open_.add(int(best))
    open_ |= {int(l) for l in at if c[l] > float(high)}
    if not open_:
        open_ = {int(l) for l in ref.topk_select(-c, v.eligible, 1)}
    return {"confidence": kind, "low_threshold": low, "threshold": high}, np.array(sorted(open_)), v.i


def pc_sampler(v):
    kind, lam, alpha, k = pick("drawn", "max"), pick(0, 0.25, 0.5), pick(10, 0.75, 2), int(pick(1, 2, 3))
    o = {"confidence": kind, "lambda": lam, "alpha": alpha, "k": k, "schedule": "k"}
    f = np.full(V, 1 / V)
    if rng.integers(2):
        o["frequencies"] = "testdata/frequencies.json"
        f = np.full(V, 1 / FREQUENCIES["num_token"])
        for token, count in FREQUENCIES["p_baseline_dict"].items():
            f[int(token)] = count / FREQUENCIES["num_token"]
    prompt = int(np.flatnonzero(~v.fixed)[0])
    score = np.exp(-lam * (np.arange(v.L) - prompt)) * np.minimum(alpha, -v.confidence(kind) * np.log(f[v.proposal]))
    return o, ref.topk_select(-score, v.eligible, v.now if v.last else k), v.i


def density(v):
    kind, sigma, k = pick("max", "drawn"), pick(0.5, 2, 10), int(pick(1, 2, 3))
    radius = int(4 * sigma + 0.5)
    kernel = np.exp(-0.5 * np.arange(-radius, radius + 1) ** 2 / sigma ** 2)
    known = np.concatenate([np.ones(radius), ~v.masked, np.zeros(radius)])
    near = np.convolve(known, kernel / kernel.sum(), "valid")
    o = {"confidence": kind, "sigma": sigma, "k": k, "schedule": "k"}
    return o, ref.topk_select(-v.confidence(kind) * near, v.eligible, v.now if v.last else k), v.i


def halton(v):
    n = v.offset + v.L
    rows, cols, start = 0, 0, int(pick(0, 0, 2))
    shape = rng.integers(3)
    if shape == 1:
        rows, cols = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    elif shape == 2:
        cols = int(rng.integers(1, 6))
    o = {"rows": rows, "cols": cols, "start": start}
    need = max(n - start, 1)
    if not rows and not cols:
        cols = math.ceil(math.sqrt(need))
    rows = rows or -(-need // cols)
    order = halton_order(rows, cols)
    err = np.array([order.get(v.offset + l - start, 1e9) if v.offset + l >= start else 1e9 for l in range(v.L)], float)
    k, at = v.scheduled(arccos(v))
    return o, ref.topk_select(err, v.eligible, k), at


def ancestral(v):
    form = pick("coin", "count")
    t, s = 1 - v.alpha_t, 1 - v.alpha_s
    if form == "coin":
        x = np.where(v.eligible, -1, 0)
        y = np.where(x == -1, 7, x) if v.last else ref.ancestral_step(x, np.full(v.L, 7), t, s, -1, v.uniform)
        return {"form": form}, np.flatnonzero(y == 7), v.i
    p = 1.0 if v.last else (v.alpha_s - v.alpha_t) / (1 - v.alpha_t)
    return {"form": form}, ref.topk_select(v.uniform, v.eligible, int(np.round(v.now * p))), v.i


def stochastic_transfer(v):
    p = 1.0 if v.last else (v.alpha_s - v.alpha_t) / (1 - v.alpha_t)
    k = int((v.eligible & (v.uniform < p)).sum())
    return {"schedule": "stochastic_transfer"}, ref.topk_select(-v.p1, v.eligible, k), v.i


def by_proxy(proxy):
    def choose(v):
        k = int(pick(1, 2, 5))
        err = v.uniform if proxy == "random" else ref.error_proxy({"entropy": v.entropy, "p_max": v.p1, "margin": v.p1 - v.p2}, proxy)
        return {"k": k, "schedule": "k"}, ref.topk_select(err, v.eligible, v.now if v.last else k), v.i
    return choose


def sequential(v):
    k = int(pick(1, 2, 5))
    return {"k": k, "schedule": "k"}, np.flatnonzero(v.eligible)[: v.now if v.last else k], v.i


PLANNERS = [("low_confidence", low_confidence), ("dream", dream_planner), ("maskgit", maskgit_planner), ("threshold", threshold),
            ("factor", factor), ("hierarchy", hierarchy), ("pc_sampler", pc_sampler), ("density", density), ("halton", halton),
            ("ancestral", ancestral), ("confidence", stochastic_transfer), ("confidence", by_proxy("confidence")),
            ("margin", by_proxy("margin")), ("entropy", by_proxy("entropy")), ("random", by_proxy("random")), ("sequential", sequential)]

with open("frequencies.json") as f:
    FREQUENCIES = json.load(f)

states = [state(i) for i in range(STATES)]
cases = []
for name, choose in PLANNERS:
    for number, s in enumerate(states):
        options, opened, acted = choose(View(s))
        cases.append([name, number, options, np.sort(opened).tolist(), acted])
print('{"v":%d,"states":[\n%s\n],"cases":[\n%s\n]}' % (V, ",\n".join(json.dumps(s, separators=(",", ":")) for s in states),
                                                      ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)))
