"""Golden rows: a Python loop over the same ONNX file, planners confidence, eb and p2 at temperature 0.

Run from this folder, with numpy, onnxruntime and tokenizers at hand:

    python golden.py SHARED          # writes golden.json.gz

SHARED holds models/{rxnfp-bert,rxnmapper-albert} and data/mol. The loop is written from the papers, one row at a time and
without padding; statistics are numpy float64 of ONNX Runtime's float32 logits. Blanks come from a fixed seed. Every
result carries `margin`: the smallest distance of any decision of its run (a token, a cut in an order, a bound) from the
opposite one. Below 1e-5 another correct implementation may differ.
"""
import csv
import gzip
import json
import math
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

SEED = 3
MODELS = ["rxnfp-bert", "rxnmapper-albert"]
RUNS = [  # planner, its options, steps (0 = one per blank)
    ("confidence", {}, 0),
    ("confidence", {"k": 2}, 0),
    ("confidence", {}, 3),
    ("eb", {}, 0),
    ("eb", {"gamma": 1.0, "proxy": "confidence"}, 0),
    ("eb", {"gamma": 0.01, "proxy": "margin"}, 0),
    ("p2", {}, 0),
    ("p2", {"eta": 2.0}, 12),
    ("p2", {"eta": 1.5, "eta_mode": "paper", "kappa": "cosine"}, 5),
]


def denoiser(folder):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(folder / "onnx/model.onnx"), options, providers=["CPUExecutionProvider"])

    def logits(x):  # [L] -> [L, V]
        ids = np.array([x], dtype=np.int64)
        return session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]

    return logits


def statistics(z, mask_id):
    """logits [L, V] -> log-probabilities, argmax, p1, p2, entropy; the mask id is suppressed."""
    z = z.astype(np.float64)
    z[:, mask_id] = -np.inf
    m = z.max(1, keepdims=True)
    logp = z - m - np.log(np.exp(z - m).sum(1, keepdims=True))
    p = np.exp(logp)
    top = np.sort(p, 1)[:, ::-1]
    h = -(p * np.where(p > 0, logp, 0)).sum(1)
    return logp, z.argmax(1), top[:, 0], top[:, 1], np.maximum(h, 0)


class Margin:
    """The smallest distance from another decision, and the row's picks."""

    def __init__(self):
        self.value = math.inf

    def see(self, gap):
        self.value = min(self.value, float(abs(gap)))

    def cut(self, ordered, k):  # between the k-th and the next
        if 0 < k < len(ordered):
            self.see(ordered[k] - ordered[k - 1])


def transfer_counts(n, steps):  # LLaDA
    return [n // steps + (i < n % steps) for i in range(steps)]


def confidence(z, x, mask_id, i, n, steps, margin, k=1):
    _, best, p1, p2, _ = statistics(z, mask_id)
    pos = np.flatnonzero(x == mask_id)
    if k * steps < n:
        k = transfer_counts(n, steps)[i]
    order = pos[np.argsort(-p1[pos], kind="stable")]
    margin.cut(-p1[order], k)
    y = x.copy()
    for j in order[:k]:
        margin.see(p1[j] - p2[j])
        y[j] = best[j]
    return y


def eb(z, x, mask_id, i, n, steps, margin, gamma=0.1, proxy="entropy"):
    _, best, p1, p2, h = statistics(z, mask_id)
    e = {"entropy": h, "confidence": -p1, "margin": p2 - p1}[proxy]
    pos = np.flatnonzero(x == mask_id)
    order = pos[np.argsort(e[pos], kind="stable")]
    bound = np.cumsum(h[order]) - np.maximum.accumulate(h[order])
    k = 1
    while k < len(order) and bound[k] <= gamma:
        k += 1
    margin.cut(e[order], k)
    margin.cut(e[order], k + 1)  # who is refused decides as well
    for j in range(1, min(k + 1, len(order))):
        margin.see(bound[j] - gamma)
    y = x.copy()
    for j in order[:k]:
        margin.see(p1[j] - p2[j])
        y[j] = best[j]
    return y


def masked_after(n, i, steps, kappa):  # P2: of n free positions, after step i from 0
    if i + 1 >= steps:
        return 0
    if kappa == "linear":
        return n * (steps - 1 - i) // steps
    return max(1, math.floor(n * math.cos(math.pi / 2 * (i + 1) / steps) + 1e-6))


def p2(z, x, mask_id, i, n, steps, margin, eta=1.0, eta_mode="code", kappa="linear", free=None):
    logp, best, p1, second, _ = statistics(z, mask_id)
    left = masked_after(n, i, steps, kappa)
    was = x == mask_id
    score = np.where(was, logp[np.arange(len(x)), best], 0.0)
    held = np.flatnonzero(~was)
    score[held] = logp[held, x[held]] * (eta if eta_mode == "code" else 1.0)
    if eta_mode == "paper":
        score[was] += math.log(eta)
    pos = np.flatnonzero(free)
    order = pos[np.lexsort((-pos, score[pos]))]  # the higher index is masked first
    margin.cut(score[order], left)
    y = np.where(was, best, x)
    y[order[:left]] = mask_id
    for j in np.flatnonzero(was & (y != mask_id)):
        margin.see(p1[j] - second[j])
    return y


def sample(logits, planner, options, steps, tokens, mask_id):
    x = np.array(tokens)
    free = x == mask_id
    n = int(free.sum())
    adaptive = planner == "eb"
    steps = steps or n
    extra = {"free": free} if planner == "p2" else {}
    step_map, margin, nfe, changed = np.where(free, 0, -1), Margin(), 0, True
    for i in range(steps):
        if not (x == mask_id).any():
            break
        if planner == "p2" and (x == mask_id).sum() == n == masked_after(n, i, steps, options.get("kappa", "linear")):
            continue  # nothing can open and nothing is written: no forward pass
        if adaptive and i == steps - 1:
            assert i == n - 1, "an adaptive run met its cap"
        y = globals()[planner](logits(x), x, mask_id, i, n, steps, margin, **options, **extra)
        nfe += changed  # else the pass before said the same
        changed = bool((x != y).any())
        step_map[(x == mask_id) & (y != mask_id)] = i
        x = y
    assert not (x == mask_id).any()
    return {"tokens": x.tolist(), "nfe": nfe, "step_map": step_map.tolist(), "margin": margin.value}


def rows(shared, tokenizer, mask_id, rng):
    """[CLS] molecule [SEP] with blanks: scattered ones, spans, and molecules that are mostly or wholly masked."""
    with gzip.open(shared / "data/mol/moses_test.csv.gz", "rt") as f:
        smiles = [r["SMILES"] for r in csv.DictReader(f)]
    for i, s in enumerate(rng.choice(smiles, 40, replace=False)):
        ids = np.array(tokenizer.encode(str(s)).ids)
        inside = np.arange(1, len(ids) - 1)
        if i < 30:
            blanks = rng.choice(inside, 1 + i % 10, replace=False)
        elif i < 35:
            width = int(rng.integers(4, 13))
            start = int(rng.integers(1, len(ids) - 1 - width))
            blanks = np.arange(start, start + width)
        elif i < 38:
            blanks = rng.choice(inside, 2 * len(inside) // 3, replace=False)
        else:
            blanks = inside
        ids[blanks] = mask_id
        yield ids.tolist()


def main():
    shared = Path(sys.argv[1])
    out = []
    for name in MODELS:
        folder = shared / "models" / name
        mask_id = json.loads((folder / "config.json").read_text())["mask_token_id"]
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        inputs = list(rows(shared, tokenizer, mask_id, np.random.default_rng(SEED)))
        logits, runs = denoiser(folder), []
        for planner, options, steps in RUNS:
            got = [sample(logits, planner, options, steps, t, mask_id) for t in inputs]
            runs.append({"planner": planner, "options": options, "steps": steps, "rows": got})
            near = sum(r["margin"] < 1e-5 for r in got)
            print(f"{name} {planner} {options} steps {steps}: nfe {sum(r['nfe'] for r in got)}, near-ties {near}/{len(got)}",
                  file=sys.stderr)
        out.append({"model": name, "inputs": inputs, "runs": runs})
    text = json.dumps(out, separators=(",", ":")).encode()
    Path(__file__).with_name("golden.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
