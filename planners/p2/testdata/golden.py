"""What the numpy reference of P2 does under given noise.

Run from this folder: python golden.py REFERENCE_FOLDER | gzip -9n > golden.json.gz   (REFERENCE_FOLDER holds p2_papl.py)

trajectories  whole runs under scores that are drawn afresh every step from a grid, so that ties occur; they stand for
              the log-probability of the proposal and that of the present token.
states, cases single steps from random states with all statistics, in every combination of scores: what is masked then.
rdm           whole runs of the RDM loop with a network and noise that are formulas.
vectors       GOLDEN of p2_papl.py, under the same formulas.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import p2_papl as ref  # noqa: E402

KAPPAS = ["linear", "cosine", "sine", "half_cosine", "quad", "sqrt", "geometric", "log"]


def trajectories(mask=99, v=6):
    rng = np.random.default_rng(23)
    for case in range(96):
        L = int(rng.integers(1, 11))
        x = np.full((1, L), mask)
        fixed = rng.random(L) < 0.2
        fixed[rng.integers(L)] = False
        x[0, fixed] = rng.integers(0, v, fixed.sum())
        n = int((~fixed).sum())
        steps = int(rng.integers(1, 2 * n + 2))
        eta = [1.0, 0.5, 2.0, 0.0][case % 4]
        mode = ["code", "paper"][case // 4 % 2]
        kappa = KAPPAS[case // 8 % 8]
        proposals = rng.integers(0, v, (steps, L))
        scores = -rng.integers(1, 12, (steps, L)) / 4
        at, call, trace = iter(range(steps)), iter(range(steps)), []
        spec = ref.special_case("p2_self", eta=eta, eta_mode=mode, kappa=kappa, token_temperature=0.0,
                                mask_score="planner", unmask_score="planner")
        ref.p2_sample(x, lambda x: np.eye(v)[proposals[next(at)]][None] * 5.0, steps, spec, mask,
                      {"tok": np.full((steps, 1, L, 1), 0.5)}, lambda z, x: scores[next(call)][None], trace)
        yield {"options": {"eta": eta, "eta_mode": mode, "kappa": kappa}, "steps": steps, "tokens": x[0].tolist(),
               "fixed": np.flatnonzero(fixed).tolist(), "proposals": proposals.tolist(), "scores": scores.tolist(),
               "after": [t[0][0].tolist() for t in trace]}


# ---- single steps ------------------------------------------------------------------------------------------------------
V = 4  # the mask is id V
PAIRS = [  # mask_score, unmask_score, unmask_token
    ("denoiser", "denoiser", "current"), ("denoiser", "denoiser", "redrawn"), ("denoiser", "keep", "current"),
    ("uniform", "keep", "current"), ("uniform", "uniform", "current"), ("margin", "margin", "current"),
    ("neg_entropy", "neg_entropy", "current"), ("margin", "denoiser", "current"), ("uniform", "denoiser", "redrawn"),
    ("denoiser", "bert", "current"), ("trained", "trained", "current"), ("neg_entropy", "keep", "current")]


def draw_state(rng):
    """Integers: logits in 1/64, uniforms in 1/4096, planner scores in -1/64. Some positions repeat others: ties."""
    L = int(rng.integers(1, 11))
    s = {"T": [0.0, 0.5, 1.0, 2.0][int(rng.integers(4))], "x": rng.integers(0, V, L), "fixed": rng.random(L) < 0.15,
         "logits": rng.integers(-256, 257, (L, V)), "tok": rng.integers(1, 4096, (L, V)), "u": rng.integers(1, 4096, L),
         "plan": rng.integers(1, 4096, L), "net": rng.integers(1, 400, L)}
    s["x"][(rng.random(L) < 0.6) & ~s["fixed"]] = V
    for i in range(1, L):
        if rng.random() < 0.3:
            j = int(rng.integers(i))
            for key in ("logits", "tok", "u", "plan", "net"):
                s[key][i] = s[key][j]
            if s["x"][i] < V:
                s["x"][i] = s["x"][j] if s["x"][j] < V else s["x"][i]
    s["steps"] = int(rng.integers(1, 2 * L + 2))
    s["step"] = int(rng.integers(s["steps"]))
    return s


def near(values):
    """Whether two values are so close, and yet differ, that float32 statistics may order them otherwise."""
    v = np.sort(np.asarray(values).ravel())
    gap = np.diff(v[np.isfinite(v)])
    return bool(np.any((gap > 0) & (gap < 1e-5)))


def single(s, pair, rng):
    eta = [1.0, 0.5, 2.0, 0.0][int(rng.integers(4))]
    mode = ["code", "paper", "code_masked"][int(rng.integers(3))]
    if eta == 0.0 and mode == "code_masked":
        eta = 1.5
    kappa = KAPPAS[int(rng.integers(8))]
    temperature = [0.0, 0.7, 4.5][int(rng.integers(3))]
    anneal = ["none", "linear", "kappa"][int(rng.integers(3))]
    tempered = pair[:2] == ("denoiser", "keep") or pair[2] == "redrawn"
    logits = ["clean", "tempered", "noised"][int(rng.integers(3))] if tempered else "clean"
    options = {"mask_score": pair[0], "unmask_score": pair[1], "unmask_token": pair[2], "eta": eta, "eta_mode": mode,
               "kappa": kappa, "planner_temperature": temperature, "planner_anneal": anneal, "score_logits": logits}
    keep = pair[1] == "keep" or eta == 0.0  # eta 0 never masks again: the same group rule
    name = {"bert": "planner", "trained": "planner", "redrawn": "resampled"}
    spec = ref.P2Spec(name.get(pair[0], pair[0]), "keep" if keep else name.get(pair[1], pair[1]), eta or 1.0, mode,
                      s["T"], logits, name.get(pair[2], pair[2]), temperature, anneal != "none")
    x, fixed, masked = s["x"][None], s["fixed"][None], int((s["x"] == V).sum())
    n, step = int((~s["fixed"]).sum()), s["step"]

    def left(step):
        k = ref.num_masked_after(n, step + 1, s["steps"], kappa)
        return max(k, min(1, n)) if kappa == "cosine" and step + 1 < s["steps"] else k

    # A step that changes nothing acts as the next that does.
    while (keep or masked == n) and left(step) >= masked and step < s["steps"] - 1:
        step += 1
    t = (step + 1) / s["steps"]
    factor = {"none": 1.0, "linear": 1.0 - t, "kappa": 1.0 - ref.kappa(kappa, t)}[anneal]
    u = s["u"][None] / 4096
    new, z, info = ref.p2_step(x, s["logits"][None] / 64, [left(step)], spec, V, fixed, s["tok"][None] / 4096, u, u,
                               s["plan"][None] / 4096, lambda z, x: -s["net"][None] / 64, factor)
    for group in np.unique(info["group"][~fixed]):
        if near(info["score"][(info["group"] == group) & ~fixed]):
            return None
    defaults = {"mask_score": "denoiser", "unmask_score": "denoiser", "unmask_token": "current", "eta": 1.0,
                "eta_mode": "code", "kappa": "linear", "planner_temperature": 0.0, "planner_anneal": "none",
                "score_logits": "clean"}
    return {k: v for k, v in options.items() if v != defaults[k]}, step, int(((new[0] == V) * 2 ** np.arange(x.size)).sum())


def singles(count=280):
    rng = np.random.default_rng(41)
    states, cases = [], []
    while len(states) < count:
        s = draw_state(rng)
        _, noised = ref.sample_tokens(s["logits"] / 64, s["tok"] / 4096, s["T"])
        top = np.sort(noised, axis=-1)
        if not (s["x"] == V).any() or np.any(top[:, -1] - top[:, -2] < 1e-6):
            continue
        for pair in PAIRS:
            case = single(s, pair, rng)
            if case is not None:
                cases.append([len(states), *case])
        states.append({k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in s.items()})
    return states, cases


# ---- whole runs under formulas -----------------------------------------------------------------------------------------
def formula(L, phase):
    """logits = 2 cos(1 + i + 2 v + s/2 + phase), s = sum over unmasked j of (x_j + 1)(j + 1); V = 3, mask 3."""
    def denoise(x):
        s = ((x + 1) * (np.arange(L) + 1) * (x != 3)).sum(1)
        return 2.0 * np.cos(1 + np.arange(L)[None, :, None] + 2 * np.arange(3)[None, None, :] + 0.5 * s[:, None, None] + phase)
    return denoise


def frac(shape, c, phase):
    return (((np.arange(int(np.prod(shape))).reshape(shape) + 1) * c) + phase) % 1.0


def rdm():
    for case in range(240):
        L, T, phase = 1 + case % 7, 1 + case // 3 % 9, case / 64
        condition, schedule = ["uncond", "cond"][case % 2], ["linear", "cosine"][case // 2 % 2]
        scale = [0.0, 1.0, 0.3][case // 4 % 3]
        if schedule == "cosine" and any(np.floor(L * np.cos(np.pi / 2 * t / T) + 1e-6) == 0 for t in range(1, T)):
            continue  # the cosine schedule of P2 keeps one masked until the end
        seen, denoise = [], formula(L, phase)

        def watch(x):
            seen.append(x[0].tolist())
            return denoise(x)

        end = ref.rdm_sample(np.full((1, L), 3), watch, T, 3, frac((T, 1, L, 3), 0.6180339887498949, phase), schedule, condition,
                             "stochastic" if scale else "deterministic", frac((T, 1, L), 0.4142135623730951, phase), scale,
                             noised_scores=case % 5 > 2)
        options = {"unmask_token": "redrawn", "condition": condition, "kappa": schedule}
        if case % 5 > 2:
            options["score_logits"] = "noised"
        if scale:
            options |= {"planner_temperature": scale, "planner_anneal": "kappa"}
        yield {"options": options, "steps": T, "length": L, "phase": phase, "after": seen[1:] + [end[0].tolist()]}


def vectors():
    for (name, eta), after in ref.GOLDEN.items():
        assert ref.golden_run(name, eta) == after
        s = ref.special_case(name, eta=eta)
        token = {"current": "current", "resampled": "redrawn"}[s.unmask_token]
        yield {"options": {"mask_score": s.mask_score, "unmask_score": s.unmask_score, "eta": s.eta, "eta_mode": s.eta_mode, "kappa": s.kappa,
                           "planner_temperature": s.planner_temperature, "planner_anneal": "linear" if s.planner_anneal else "none",
                           "score_logits": s.score_logits, "unmask_token": token},
               "steps": 3, "length": 6, "phase": 0, "after": after}


states, cases = singles()
json.dump({"trajectories": list(trajectories()), "states": states, "cases": cases, "rdm": list(rdm()), "vectors": list(vectors())},
          sys.stdout, separators=(",", ":"))
