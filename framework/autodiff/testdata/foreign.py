"""Prints foreign.json: gradients of a weighted cross-entropy by every weight of real exported models, in float64. The files are
run node by node in PyTorch, which differentiates them.   python foreign.py MODELS | gzip -9n >foreign.json.gz"""
import json
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

NP = helper.tensor_dtype_to_np_dtype


def tensor(t):
    a = numpy_helper.to_array(t)
    return torch.tensor(a).double() if a.dtype == np.float32 else torch.tensor(a)


def ints(t):
    return [int(v) for v in t.flatten()]


def slice_(x, start, end, axes, steps=None):
    for a, s, e, k in zip(ints(axes), ints(start), ints(end), ints(steps) if steps is not None else [1] * len(axes)):
        x = x.movedim(a, 0)[slice(s, e, k)].movedim(0, a)
    return x


OPS = {
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y if x.is_floating_point() else x // y, "MatMul": lambda a, x, y: x @ y, "Erf": lambda a, x: torch.erf(x),
    "Softmax": lambda a, x: torch.softmax(x, a["axis"]), "Identity": lambda a, x: x, "Shape": lambda a, x: torch.tensor(x.shape),
    "LayerNormalization": lambda a, x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, a["epsilon"]),
    "Gather": lambda a, x, i: torch.index_select(x, a.get("axis", 0), i.flatten() % x.shape[a.get("axis", 0)]).reshape(
        x.shape[:a.get("axis", 0)] + i.shape + x.shape[a.get("axis", 0) + 1:]),
    "GatherElements": lambda a, x, i: torch.gather(x, a.get("axis", 0), i), "Transpose": lambda a, x: x.permute(a["perm"]),
    "Reshape": lambda a, x, s: x.reshape([x.shape[i] if v == 0 else v for i, v in enumerate(ints(s))]),
    "Concat": lambda a, *x: torch.cat(x, a["axis"]), "Cast": lambda a, x: x.to(torch.float64 if a["to"] in (1, 11) else {7: torch.int64, 9: torch.bool}[a["to"]]),
    "Unsqueeze": lambda a, x, i: x.reshape(np.expand_dims(np.empty(x.shape), tuple(ints(i))).shape),
    "ConstantOfShape": lambda a, s: torch.full(ints(s), tensor(a["value"]).item()), "Where": lambda a, c, x, y: torch.where(c, x, y),
    "Equal": lambda a, x, y: x == y, "Expand": lambda a, x, s: x.expand(torch.broadcast_shapes(x.shape, tuple(ints(s)))),
    "Range": lambda a, s, e, d: torch.arange(s.item(), e.item(), d.item()), "And": lambda a, x, y: x & y, "GreaterOrEqual": lambda a, x, y: x >= y,
    "Slice": lambda a, *x: slice_(*x), "Flatten": lambda a, x: x.reshape(int(np.prod(x.shape[:a.get("axis", 1)])), -1),
}


def run(model, values):
    for n in model.graph.node:
        a = {p.name: helper.get_attribute_value(p) for p in n.attribute}
        values[n.output[0]] = tensor(a["value"]) if n.op_type == "Constant" else OPS[n.op_type](a, *[values[i] for i in n.input if i])
    return values[model.graph.output[0].name]


out = []
for name in ("rxnfp-bert", "rxnmapper-albert"):
    m = onnx.load(os.path.join(sys.argv[1], name, "onnx/model.onnx"))
    torch.manual_seed(2)
    B, L, V = 2, 20, 591
    ids = torch.randint(15, 75, (B, L))
    ids[:, ::5] = 14
    mask = torch.ones(B, L, dtype=torch.int64)
    mask[1, 13:] = 0
    ids[1, 13:] = 0
    targets, w = torch.randint(15, 75, (B, L)), torch.rand(B, L).double() * mask  # float32 numbers
    params = {t.name: tensor(t).requires_grad_() for t in m.graph.initializer}
    logits = run(m, {**params, "input_ids": ids, "attention_mask": mask})
    loss = (F.cross_entropy(logits.reshape(-1, V), targets.flatten(), reduction="none") * w.flatten()).sum() / 9
    loss.backward()
    grads = {}
    for k, p in params.items():
        g = torch.zeros(p.numel()) if p.grad is None else p.grad.flatten()
        at = sorted({int(g.abs().argmax()), *torch.randint(0, len(g), (3,)).tolist()})
        grads[k] = {"max": g.abs().max().item(), "norm": g.norm().item(), "at": at, "values": [float(f"{v:.8g}") for v in g[at].tolist()]}
    out.append({"name": name, "rows": B, "length": L, "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(),
                "targets": targets.flatten().tolist(), "weights": w.float().flatten().tolist(), "loss": loss.item(), "gradients": grads})
json.dump(out, sys.stdout, separators=(",", ":"))
