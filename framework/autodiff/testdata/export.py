"""Exports a small BERT by both exporters of PyTorch, and prints export.json: the gradients of a weighted cross-entropy by every
weight, as PyTorch gives them for the module that was exported.   python export.py FOLDER | gzip -9n >export.json.gz"""
import base64
import json
import os
import sys
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from transformers import BertConfig, BertForMaskedLM

warnings.filterwarnings("ignore")
B, L, V = 3, 6, 11


class Wrap(torch.nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, input_ids, attention_mask):
        return self.m(input_ids=input_ids, attention_mask=attention_mask).logits


def model(attention):
    torch.manual_seed(0)
    m = BertForMaskedLM(BertConfig(vocab_size=V, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16, max_position_embeddings=L,
                                   hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, tie_word_embeddings=False, attn_implementation=attention))
    with torch.no_grad():
        for p in m.parameters():  # exporters merge equal weights
            p.add_(0.1 * torch.randn_like(p))
    return m.eval()


torch.manual_seed(1)
ids, targets = torch.randint(0, V, (2, B, L))
mask = torch.ones(B, L, dtype=torch.int64)
mask[1, 4:] = 0
mask[2, 2:] = 0
w = torch.rand(B, L) * mask
out = []
for name, attention, dynamo, opset, dynamic in [("legacy17", "eager", False, 17, False), ("legacy17dynamic", "eager", False, 17, True),
                                                ("dynamo18", "eager", True, 18, False), ("dynamo18dynamic", "sdpa", True, 18, True),
                                                ("dynamo23", "sdpa", True, 23, False), ("dynamo23dynamic", "sdpa", True, 23, True)]:
    m = model(attention)
    f = os.path.join(sys.argv[1], name + ".onnx")
    ports = {"input_names": ["input_ids", "attention_mask"], "output_names": ["logits"], "opset_version": opset}
    stdout, sys.stdout = sys.stdout, sys.stderr
    if dynamo:
        shapes = {"input_ids": {0: "B", 1: "L"}, "attention_mask": {0: "B", 1: "L"}} if dynamic else None
        torch.onnx.export(Wrap(m), (ids, mask), f, dynamo=True, external_data=False, dynamic_shapes=shapes, **ports)
    else:
        axes = {k: {0: "B", 1: "L"} for k in ("input_ids", "attention_mask", "logits")} if dynamic else None
        torch.onnx.export(Wrap(m), (ids, mask), f, dynamo=False, dynamic_axes=axes, **ports)
    sys.stdout = stdout
    x = onnx.load(f)
    for n in list(x.graph.node) + [n for g in x.functions for n in g.node]:  # what tells where a node comes from is most of the file
        n.doc_string = ""
        del n.metadata_props[:]
    for v in list(x.graph.value_info) + list(x.graph.input) + list(x.graph.output) + list(x.graph.initializer):
        v.doc_string = ""
        del v.metadata_props[:]
    del x.graph.metadata_props[:], x.metadata_props[:], x.graph.value_info[:]
    onnx.save(x, f)

    d = model(attention).double()
    d.load_state_dict(m.state_dict())
    logits = Wrap(d)(ids, mask)
    loss = (F.cross_entropy(logits.reshape(-1, V), targets.flatten(), reduction="none") * w.double().flatten()).sum() / 5
    loss.backward()
    gradients, left = {}, dict(m.named_parameters())
    for t in x.graph.initializer:
        a = numpy_helper.to_array(t)
        for k in list(left):
            p = left[k].detach().numpy()
            for turned in (False, True):
                if a.shape == (p.T if turned else p).shape and np.array_equal(a, p.T if turned else p):
                    g = dict(d.named_parameters())[k].grad
                    g = torch.zeros(p.shape) if g is None else g
                    g = (g.T if turned else g).numpy().astype("f4")
                    at = sorted({int(np.abs(g).argmax()), *np.random.default_rng(g.size).integers(0, g.size, 9).tolist()})
                    gradients[t.name] = {"max": float(np.abs(g).max()), "at": at, "values": [float(f"{v:.8g}") for v in g.flatten()[at]]}
                    del left[k]
                    break
            else:
                continue
            break
    print(name, os.path.getsize(f), len(gradients), "left", list(left), file=sys.stderr)
    out.append({"name": name, "rows": B, "length": L, "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(), "targets": targets.flatten().tolist(),
                "weights": w.flatten().tolist(), "loss": loss.item(), "gradients": gradients})
json.dump(out, sys.stdout, separators=(",", ":"))
