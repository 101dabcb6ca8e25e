"""Golden rows of P2 with a network of the planner's own: a Python loop over two ONNX files at temperature 0.

Run from this folder, with numpy, onnxruntime and tokenizers at hand:

    python network.py SHARED          # writes network.json.gz

rxnfp-bert proposes, rxnmapper-albert (nothing masked) scores: written positions (p2-bert) or all (p2-ddpd). The loop is that
of section 3.4 of the sheet p2.md, one row at a time and without padding; the statistics, the counts and the inputs are those of
framework/sampling/testdata/golden.py, which says what `margin` is.
"""
import gzip
import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sampling/testdata"))
import golden  # noqa: E402

RUNS = [  # options, steps
    ({"unmask_score": "bert"}, 12),
    ({"unmask_score": "bert", "eta": 2.0}, 24),
    ({"unmask_score": "bert", "eta": 0.5, "eta_mode": "paper", "kappa": "cosine"}, 8),
    ({"mask_score": "bert", "unmask_score": "bert"}, 12),
    ({"mask_score": "trained", "unmask_score": "trained", "eta": 1.5}, 20),
]


def p2(z, network, x, free, mask_id, i, steps, margin, mask_score="denoiser", unmask_score="bert", eta=1.0, eta_mode="code", kappa="linear"):
    logp, best, p1, second, _ = golden.statistics(z, mask_id)
    left = golden.masked_after(int(free.sum()), i, steps, kappa)
    was = x == mask_id
    candidate = np.where(was, best, x)
    there = golden.statistics(network(candidate), mask_id)[0][np.arange(len(x)), candidate]
    score = np.where(was, logp[np.arange(len(x)), best] if mask_score == "denoiser" else there, there)
    if eta_mode == "code":
        score[~was] *= eta
    else:
        score[was] += math.log(eta)
    pos = np.flatnonzero(free)
    order = pos[np.lexsort((-pos, score[pos]))]  # the higher index is masked first
    margin.cut(score[order], left)
    for j in np.flatnonzero(was & free):  # a proposal that flips changes what the network reads
        margin.see(p1[j] - second[j])
    y = candidate.copy()
    y[order[:left]] = mask_id
    return y


def sample(logits, network, options, steps, tokens, mask_id):
    x = np.array(tokens)
    free = x == mask_id
    margin, nfe, step_map = golden.Margin(), 0, np.where(free, 0, -1)
    n, still = int(free.sum()), False  # still: a forward pass would tell what the last one told
    for i in range(steps):
        if (x == mask_id).sum() == n == golden.masked_after(n, i, steps, options.get("kappa", "linear")):
            continue  # nothing can open and nothing is written: no forward pass
        nfe += not still
        y = p2(logits(x), network, x, free, mask_id, i, steps, margin, **options)
        step_map[(x == mask_id) & (y != mask_id)] = i
        still = bool((x == y).all())
        x = y
        if not (x == mask_id).any():
            break
    return {"tokens": x.tolist(), "nfe": nfe, "step_map": step_map.tolist(), "margin": margin.value}


def main():
    shared = Path(sys.argv[1])
    denoiser, network = shared / "models/rxnfp-bert", shared / "models/rxnmapper-albert"
    mask_id = json.loads((denoiser / "config.json").read_text())["mask_token_id"]
    tokenizer = golden.Tokenizer.from_file(str(denoiser / "tokenizer.json"))
    inputs = list(golden.rows(shared, tokenizer, mask_id, np.random.default_rng(11)))[::2]
    logits, judge, runs = golden.denoiser(denoiser), golden.denoiser(network), []
    for options, steps in RUNS:
        got = [sample(logits, judge, options, steps, t, mask_id) for t in inputs]
        runs.append({"planner": "p2", "options": options, "steps": steps, "rows": got})
        near = sum(r["margin"] < 1e-5 for r in got)
        print(f"{options} steps {steps}: nfe {sum(r['nfe'] for r in got)}, near-ties {near}/{len(got)}", file=sys.stderr)
    text = json.dumps({"inputs": inputs, "runs": runs}, separators=(",", ":")).encode()
    Path(__file__).with_name("network.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
