"""What numpy says of logits that are edited and remembered: golden values for sampling.Memory.

Run from this folder: python memory.py REFERENCE_FOLDER > memory.json        (REFERENCE_FOLDER holds samplers.py)

A case is a list of passes over one row. The divergence is kl_rows of the reference without its 1e-12, which the probabilities
here do not need; CreditDecoding is written as in samplers.md, section 4. Logits are whole numbers of 1/16.
"""
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import samplers as ref  # noqa: E402

rng = np.random.default_rng(11)
L, V, MASK = 5, 7, 6


def case(number):
    edits = {"bias": [[2, -1.5], [4, 0.75]] if number % 2 else [], "repetition": [1, 1.25, 0.5][number % 3], "left": [0, 1.5][number // 2 % 2],
             "alpha": [0, 0.75][number // 3 % 2], "gamma": 0.25, "beta": 0.75}
    params = {"temperature": [0, 0.5, 1][number % 3], "top_p": [1, 0.625, 0.875][number // 3 % 3], "below": bool(number % 2)}
    base = rng.integers(-48, 49, (L, V))
    tokens, credit, before, passes = np.full(L, MASK), np.zeros((L, V)), None, []
    for step in range(4):
        fresh = step == 0 or (number % 7 == 3 and step == 2)
        if fresh:
            credit[:], before = 0, None
        raw = base + rng.integers(-6, 7, (L, V)) * (step % 3 > 0)
        if step:
            tokens[rng.integers(0, L)] = rng.integers(0, MASK)
        z = raw / 16
        for t, x in edits["bias"]:
            z[:, t] += x
        for t in set(tokens.tolist()) - {MASK}:
            z[:, t] = np.where(z[:, t] > 0, z[:, t] / edits["repetition"], z[:, t] * edits["repetition"])
        for i in range(1, L):
            if tokens[i - 1] != MASK:
                z[i, tokens[i - 1]] -= edits["left"]
        z = ref.apply_forbid(z, [MASK])
        if edits["alpha"]:
            p = ref.probs(z)
            credit *= edits["beta"]
            for i in range(L):
                if tokens[i] == MASK:
                    credit[i, p[i].argmax()] += p[i].max() ** edits["gamma"]
            z += edits["alpha"] * np.log1p(credit)
        p, u = ref.probs(z), rng.random(L)
        kl = [None] * L
        if before is not None:
            live = p > 0
            kl = np.where(live, p * (np.log(np.where(live, p, 1)) - np.log(np.where(live, before, 1))), 0).sum(-1).tolist()
        before = p
        rule = "below" if params["below"] else "cross"
        token = ref.draw_tokens(z, temperature=params["temperature"], u=u, top_p=params["top_p"], top_p_rule=rule)
        drawn = p if params["temperature"] == 0 else ref.probs(ref.filter_top_p(z / params["temperature"], params["top_p"], rule))
        passes.append({"fresh": fresh, "tokens": tokens.tolist(), "logits": raw.tolist(), "uniform": u.tolist(), "kl": kl, "p1": p.max(-1).tolist(),
                       "proposal": token.tolist(), "logp": np.log(drawn[np.arange(L), token]).tolist()})
    return {"edits": edits, "params": params, "passes": passes}


json.dump([case(n) for n in range(42)], sys.stdout, separators=(",", ":"))
