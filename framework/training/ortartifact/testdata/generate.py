"""Makes artifacts with ONNX Runtime's own generator, and PyTorch's gradients for them.

    python generate.py        (Python 3.11, onnxruntime-training-cpu 1.19.2, onnx 1.16.2, numpy 1.26, torch 2.15)

For each model: NAME.training.onnx and NAME.checkpoint as the generator writes them, gelu.eval.onnx, and golden.json.gz with the
batch, initial values, losses and gradients.
"""
import gzip, json, math, os, shutil, tempfile, warnings

import onnx
import torch
from onnx import TensorProto
from torch import nn
from torch.nn import functional as F

from onnxruntime.training import artifacts

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
V, D, H, FF, L, B = 11, 8, 2, 12, 6, 3


class Denoiser(nn.Module):
    """A transformer block with a loss: what masked diffusion models are made of."""

    def __init__(self, activation, weighting):
        super().__init__()
        self.activation, self.weighting = activation, weighting
        self.word, self.position = nn.Embedding(V, D), nn.Embedding(L, D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.up, self.down, self.head = nn.Linear(D, FF), nn.Linear(FF, D), nn.Linear(D, V)
        if activation == "swiglu":
            self.gate = nn.Linear(D, FF)
        if activation == "relu":
            self.drop = nn.Dropout(0.0)

    def act(self, y):
        if self.activation == "gelu":
            return F.gelu(self.up(y))
        if self.activation == "tanh":
            return F.gelu(self.up(y), approximate="tanh")
        if self.activation == "relu":
            return self.drop(F.relu(self.up(y)))
        return F.silu(self.gate(y)) * self.up(y)

    def forward(self, input_ids, targets, weights):
        b, l = input_ids.shape
        x = self.word(input_ids) + self.position.weight[:l]
        y = self.norm1(x)
        q, k, v = (t.view(b, l, H, D // H).transpose(1, 2) for t in self.qkv(y).split(D, -1))
        scores = q @ k.transpose(2, 3) / math.sqrt(D // H)
        if self.weighting == "dynamic":  # broadcasts that cannot be told before the run
            scores = scores + self.position.weight[:l, :1].view(1, 1, 1, l) * weights[:, None, :, None]
        p = torch.softmax(scores, -1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(b, l, D))
        x = x + self.down(self.act(self.norm2(x)))
        logits = self.head(self.norm3(x))
        if self.weighting in ("gather", "dynamic"):
            nll = -F.log_softmax(logits, -1).gather(2, targets[:, :, None])[:, :, 0]
            return (nll * weights).sum() / 7.0
        if self.weighting == "sigmoid":  # every elementwise operator that an author may put into a loss
            s = torch.sigmoid(logits).gather(2, targets[:, :, None])[:, :, 0]
            t = torch.tanh(torch.cat([logits[:, :, :2], logits[:, :, 3:5] * 0.5], -1)).mean(-1)
            return ((1 - s) ** 2 * weights + torch.sqrt(1 + t * t)).mean()
        return F.cross_entropy(logits.view(b * l, V), targets.view(b * l))


def export(model, args, path, dynamic):
    torch.onnx.export(model, args, path, dynamo=False, opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.EVAL,
                      dynamic_axes={n: {0: "batch", 1: "sequence"} for n in ("input_ids", "targets", "weights")} if dynamic else None,
                      input_names=["input_ids", "targets", "weights"], output_names=["loss"], keep_initializers_as_inputs=False)
    m = onnx.load(path)
    for n in m.graph.node:  # the generator wants them, and the exporter leaves them out
        if n.op_type == "LayerNormalization" and len(n.output) == 1:
            n.output.extend([n.output[0] + "_mean", n.output[0] + "_inv"])
        n.doc_string = ""
    onnx.save(m, path)
    return m


def main():
    golden = {"rows": B, "length": L, "models": {}}
    torch.manual_seed(3)
    ids, targets, weights = torch.randint(0, V, (B, L)), torch.randint(0, V, (B, L)), torch.rand(B, L)
    golden["input_ids"], golden["targets"], golden["weights"] = ids.flatten().tolist(), targets.flatten().tolist(), weights.flatten().tolist()
    for name, kind in {"gelu": ("gelu", "gather"), "tanh": ("tanh", "entropy"), "relu": ("relu", "sigmoid"), "swiglu": ("swiglu", "entropy"), "dynamic": ("relu", "dynamic")}.items():
        torch.manual_seed(7)
        model = Denoiser(*kind)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.05 * torch.randn_like(p))
        model.eval()
        with tempfile.TemporaryDirectory() as work:
            forward = export(model, (ids, targets, weights), os.path.join(work, "forward.onnx"), name == "dynamic")
            initializers = {t.name for t in forward.graph.initializer if t.data_type == TensorProto.FLOAT and len(t.dims)}
            names = [n for n, _ in model.named_parameters() if n in initializers]
            cwd = os.getcwd()
            os.chdir(work)
            artifacts.generate_artifacts(forward, requires_grad=names, frozen_params=[], optimizer=artifacts.OptimType.AdamW, artifact_directory=work)
            os.chdir(cwd)
            shutil.copy(os.path.join(work, "training_model.onnx"), os.path.join(HERE, name + ".training.onnx"))
            if name == "gelu":
                shutil.copy(os.path.join(work, "eval_model.onnx"), os.path.join(HERE, name + ".eval.onnx"))
            shutil.copy(os.path.join(work, "checkpoint"), os.path.join(HERE, name + ".checkpoint"))
        used = {i.name for i in onnx.load(os.path.join(HERE, name + ".training.onnx")).graph.input}
        loss = model(ids, targets, weights)
        loss.backward()
        golden["models"][name] = {
            "loss": loss.item(), "feeds": sorted(used & {"input_ids", "targets", "weights"}),
            "gradients": {n: [float(f"{x:.8g}") for x in p.grad.flatten().tolist()] for n, p in model.named_parameters()},
            "values": {n: [float(f"{x:.9g}") for x in p.detach().flatten().tolist()] for n, p in model.named_parameters()}}
    with gzip.GzipFile(os.path.join(HERE, "golden.json.gz"), "wb", mtime=0) as f:
        f.write(json.dumps(golden, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
