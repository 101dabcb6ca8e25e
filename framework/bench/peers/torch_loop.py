"""Peer: the same loop in PyTorch eager mode, with the weights of the ONNX file. Usage: torch_loop.py MODEL.onnx

The network is BERT as its users run it: post-norm layers, fused attention (scaled_dot_product_attention), inference mode.
It refuses to serve unless its logits agree with ONNX Runtime's to 1e-4.
"""
import json
import sys

import numpy as np
import onnxruntime as ort
from serve import MASK, canvas, serve

try:
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()

HEADS, EPS = 4, 1e-12


def weights(path):
    """Parameters by their names in the exporting module; matrices that the exporter renamed are found by the node that
    uses them."""
    graph = onnx.load(path).graph
    values = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1].startswith("onnx::"):
            values[node.output[0].removeprefix("/").removesuffix("/MatMul_output_0").replace("/", ".") + ".weight"] = (
                values[node.input[1]].T.contiguous())
    return values


class Loop:
    name = f"torch {torch.__version__} eager"

    def __init__(self, path):
        w = weights(path)
        self.embed = [w[f"m.bert.embeddings.{k}_embeddings.weight"] for k in ("word", "position", "token_type")]
        self.embed_norm = self.pair(w, "m.bert.embeddings.LayerNorm")
        self.layers = []
        while f"m.bert.encoder.layer.{len(self.layers)}.output.dense.bias" in w:
            at = f"m.bert.encoder.layer.{len(self.layers)}."
            self.layers.append([self.pair(w, at + k) for k in (
                "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")])
        self.head = [self.pair(w, "m.cls.predictions.transform.dense"), self.pair(w, "m.cls.predictions.transform.LayerNorm"),
                     (w["m.cls.predictions.decoder.weight"], w["m.cls.predictions.bias"])]
        self.check(path)

    @staticmethod
    def pair(w, name):
        return w[name + ".weight"], w[name + ".bias"]

    def check(self, path):
        x = canvas(2, 20)
        x[1, 3:9] = 20 + np.arange(6)
        want = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
            ["logits"], {"input_ids": x, "attention_mask": np.ones_like(x)})[0]
        worst = np.abs(self.bare(x).numpy() - want).max()
        if not worst < 1e-4:
            sys.exit(f"torch_loop: logits differ from ONNX Runtime's by {worst}, expected less than 1e-4")

    def use(self, n, spinning):
        torch.set_num_threads(n)

    @torch.inference_mode()
    def bare(self, x):  # [B, L] -> [B, L, V]
        ids = torch.from_numpy(x)
        b, l = ids.shape
        word, position, kind = self.embed
        norm = lambda h, p: F.layer_norm(h, h.shape[-1:], *p, EPS)
        h = norm(F.embedding(ids, word) + F.embedding(torch.arange(l), position) + kind[0], self.embed_norm)
        split = lambda h: h.view(b, l, HEADS, -1).transpose(1, 2)
        for q, k, v, out, norm1, up, down, norm2 in self.layers:
            a = F.scaled_dot_product_attention(split(F.linear(h, *q)), split(F.linear(h, *k)), split(F.linear(h, *v)))
            h = norm(F.linear(a.transpose(1, 2).reshape(b, l, -1), *out) + h, norm1)
            h = norm(F.linear(F.gelu(F.linear(h, *up)), *down) + h, norm2)
        dense, norm3, decoder = self.head
        return F.linear(norm(F.gelu(F.linear(h, *dense)), norm3), *decoder)

    @torch.inference_mode()
    def step(self, x, k):
        masked = torch.from_numpy(x == MASK)
        z = self.bare(x)[masked]  # [N, V]
        z[:, MASK] = -torch.inf
        logp = torch.log_softmax(z, -1)
        p = logp.exp()
        top, best = p.topk(2, -1)
        entropy = -(p * logp.clamp_min(-1e30)).sum(-1)  # noqa: F841
        chosen = logp.gather(1, best[:, :1])  # of the greedy proposal  # noqa: F841
        score = torch.full(x.shape, -1.0).masked_scatter_(masked, top[:, 0])
        token = torch.zeros(x.shape, dtype=torch.long).masked_scatter_(masked, best[:, 0])
        at = score.topk(k, -1).indices  # [B, k]
        torch.from_numpy(x).scatter_(1, at, token.gather(1, at))


if __name__ == "__main__":
    serve(Loop(sys.argv[1]))
