"""Exports tiny denoisers with every exporter of PyTorch, for the tests of this package.

    python export.py          (torch 2.15, onnx 1.23, onnxscript)

Each file is a masked-language model as people export it; golden.json.gz holds logits for one batch, and the gradients of sum_i sin(i) logits_i. The models
are as initialised (norms of ones, biases of zeros) but for those named "trained", whose parameters were all moved a little.
"""
import gzip, json, math, os, warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
V, D, H, FF, POS, B, L = 13, 8, 2, 12, 16, 3, 10


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, x, mask):
        q, k, v = (f(x).view(x.shape[0], x.shape[1], H, D // H).transpose(1, 2) for f in (self.query, self.key, self.value))
        p = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(D // H) + mask, -1)
        return (p @ v).transpose(1, 2).reshape(x.shape)


class Output(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, D), nn.LayerNorm(D, eps=1e-12)

    def forward(self, y, x):
        return self.LayerNorm(self.dense(y) + x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.self, self.output = SelfAttention(), Output(D)

    def forward(self, x, mask):
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(D, FF)

    def forward(self, x):
        return nn.functional.gelu(self.dense(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.intermediate, self.output = Attention(), Intermediate(), Output(FF)

    def forward(self, x, mask):
        y = self.attention(x, mask)
        return self.output(self.intermediate(y), y)


class Encoder(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.layer = nn.ModuleList([Layer() for _ in range(1 if shared else 2)])

    def forward(self, x, mask):
        for i in range(2):
            x = self.layer[i % len(self.layer)](x, mask)
        return x


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings, self.position_embeddings, self.token_type_embeddings = nn.Embedding(V, D), nn.Embedding(POS, D), nn.Embedding(2, D)
        self.LayerNorm = nn.LayerNorm(D, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(POS)[None], persistent=False)

    def forward(self, ids, types, positions):
        if types is None:
            types = torch.zeros_like(ids)
        if positions is None:
            positions = self.position_ids[:, : ids.shape[1]]
        return self.LayerNorm(self.word_embeddings(ids) + self.token_type_embeddings(types) + self.position_embeddings(positions))


class Bert(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.embeddings, self.encoder = Embeddings(), Encoder(shared)

    def forward(self, ids, mask, types, positions):
        m = (1.0 - mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        return self.encoder(self.embeddings(ids, types, positions), m)


class Transform(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(D, D), nn.LayerNorm(D, eps=1e-12)

    def forward(self, x):
        return self.LayerNorm(nn.functional.gelu(self.dense(x)))


class Predictions(nn.Module):
    def __init__(self, word):
        super().__init__()
        self.transform, self.decoder, self.bias = Transform(), nn.Linear(D, V, bias=False), nn.Parameter(torch.zeros(V))
        self.decoder.weight = word.weight

    def forward(self, x):
        return self.decoder(self.transform(x)) + self.bias


class Cls(nn.Module):
    def __init__(self, word):
        super().__init__()
        self.predictions = Predictions(word)

    def forward(self, x):
        return self.predictions(x)


class Model(nn.Module):
    def __init__(self, shared=False, trained=False):
        super().__init__()
        torch.manual_seed(1)
        self.bert = Bert(shared)
        self.cls = Cls(self.bert.embeddings.word_embeddings)
        with torch.no_grad():
            for n, p in self.named_parameters():
                p.zero_().add_(1 if "LayerNorm.weight" in n else 0) if p.dim() == 1 else p.normal_(0, 0.3)
                if trained:
                    p.add_(0.1 * torch.randn_like(p))

    def forward(self, input_ids, attention_mask, token_type_ids=None, position_ids=None):
        return self.cls(self.bert(input_ids, attention_mask, token_type_ids, position_ids))


def main():
    torch.manual_seed(5)
    ids, mask = torch.randint(0, V, (B, L)), torch.ones(B, L, dtype=torch.int64)
    mask[1, 6:] = 0
    mask[2, 3:] = 0
    golden = {"rows": B, "length": L, "ids": ids.flatten().tolist(), "mask": mask.flatten().tolist(), "models": {}}
    for name, exporter, opset, dynamic, fold, more, kind in [
        ("legacy17", "legacy", 17, True, True, False, {}),
        ("legacy17_static", "legacy", 17, False, True, False, {}),
        ("legacy17_nofold", "legacy", 17, True, False, False, {}),
        ("legacy17_shared", "legacy", 17, True, True, False, {"shared": True}),
        ("legacy17_shared_trained", "legacy", 17, True, True, False, {"shared": True, "trained": True}),
        ("dynamo18_static", "dynamo", 18, False, True, False, {}),
        ("dynamo18_shared", "dynamo", 18, True, True, False, {"shared": True}),
        ("dynamo23_trained", "dynamo", 23, True, True, True, {"trained": True}),
    ]:
        model = Model(**kind).eval()
        args, names = (ids, mask), ["input_ids", "attention_mask"]
        if more:
            args, names = (ids, mask, torch.zeros_like(ids), torch.arange(L).expand(B, L)), names + ["token_type_ids", "position_ids"]
        path = os.path.join(HERE, name + ".onnx")
        kw = dict(input_names=names, output_names=["logits"], opset_version=opset)
        axes = {0: "batch", 1: "sequence"}
        if exporter == "dynamo":
            torch.onnx.export(model, args, path, dynamo=True, external_data=False, verbose=False,
                              dynamic_shapes=tuple(axes for _ in args) if dynamic else None, **kw)
        else:
            torch.onnx.export(model, args, path, dynamo=False, do_constant_folding=fold,
                              dynamic_axes={n: axes for n in names + ["logits"]} if dynamic else None, **kw)
        strip(path)
        out = model(ids, mask)
        weights = torch.sin(torch.arange(out.numel(), dtype=torch.float32)).view(out.shape)
        (out * weights).sum().backward()
        golden["models"][name] = {"logits": [round(x, 8) for x in out.flatten().tolist()],
                                  "gradients": {n: [float(f"{x:.7g}") for x in p.grad.flatten().tolist()] for n, p in model.named_parameters()},
                                  "shapes": {n: list(p.shape) for n, p in model.named_parameters()}}
    with gzip.GzipFile(os.path.join(HERE, "golden.json.gz"), "wb", mtime=0) as f:
        f.write(json.dumps(golden, separators=(",", ":")).encode())


def strip(path):
    """Takes out where the exporter found things: stack traces with paths of this machine."""
    import onnx
    m = onnx.load(path)
    for n in m.graph.node:
        n.doc_string = ""
        kept = [p for p in n.metadata_props if p.key == "pkg.torch.onnx.name_scopes"]
        del n.metadata_props[:]
        n.metadata_props.extend(kept)
    for v in list(m.graph.value_info) + list(m.graph.input) + list(m.graph.output):
        del v.metadata_props[:]
    for t in m.graph.initializer:
        del t.metadata_props[:]
    del m.graph.value_info[:]
    onnx.save(m, path)


if __name__ == "__main__":
    main()
