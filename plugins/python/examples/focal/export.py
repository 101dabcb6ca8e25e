#!/usr/bin/env python3
"""Writes the loss of torch_trainer.py: PyTorch modules, exported to training.onnx and eval.onnx beside this file.

    python3 export.py          (torch 2.15, onnx 1.23)

The loss is MD4's with a focal weight, as in plugins/examples/focal-trainer. The denoiser is a placeholder here: the exporter writes the
operator mdm.Network, and the host fills its inside in. Width, mask and gamma are buffers, which the trainer sets to those of its task."""

import pathlib

import onnx
import torch
from torch import nn

V = 4  # of the placeholder


class Network(torch.autograd.Function):
    """Calls the denoiser: an operator whose inputs and outputs are named."""

    @staticmethod
    def forward(ctx, input_ids, attention_mask, timesteps):
        return torch.zeros(*input_ids.shape, V)

    @staticmethod
    def symbolic(g, *inputs):
        return g.op("mdm::Network", *inputs, name_s="denoiser", inputs_s=["input_ids", "attention_mask", "timesteps"], outputs_s=["logits"])


class StopGradient(torch.autograd.Function):
    """x.detach(), which would vanish from the file."""

    @staticmethod
    def forward(ctx, x):
        return x.detach()

    @staticmethod
    def symbolic(g, x):
        return g.op("mdm::StopGradient", x)


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask_id", torch.tensor(V - 1))
        self.register_buffer("suppress", torch.zeros(V))  # -1e9 at tokens that no data holds
        self.register_buffer("gamma", torch.tensor(2.0))

    def lost(self, tokens, masked, attention_mask, time):
        """The cross-entropy at masked positions, 0 elsewhere: [B, L]."""
        noised = torch.where(masked, self.mask_id, tokens)
        logits = Network.apply(noised, attention_mask, time[:, 0]) + self.suppress
        nll = -torch.log_softmax(logits, -1).gather(-1, tokens[..., None])[..., 0]
        return torch.where(masked, nll, torch.zeros(()))


class Training(Loss):
    inputs = ["tokens", "attention_mask", "free", "u", "time"]
    outputs = ["loss", "metric.nll.sum", "metric.nll.count", "metric.weight.sum", "metric.weight.count"]

    def forward(self, tokens, attention_mask, free, u, time):
        masked = free & (u < time)
        nll = self.lost(tokens, masked, attention_mask, time)
        weight = StopGradient.apply((1 - torch.exp(-nll)).clamp(min=1e-6) ** self.gamma)
        row, n = (weight * nll / time).sum(1), free.float().sum(1)
        weights = torch.where(masked, weight, torch.zeros(())).sum(1)
        return row.sum() / n.sum().clamp(min=1), (nll / time).sum(1), n, weights, masked.float().sum(1)


class Evaluation(Loss):
    """The bound with an exact count of masks: k of n, k uniform on 1..n, weighted with n/k."""

    inputs = ["tokens", "attention_mask", "free", "rank", "time2"]
    outputs = ["bound", "count"]

    def forward(self, tokens, attention_mask, free, rank, time2):
        n = free.float().sum(1)
        k = n - torch.minimum((time2[:, 0] * n).floor(), (n - 1).clamp(min=0))
        masked = rank < k.long()[:, None]
        nll = self.lost(tokens, masked, attention_mask, (k / n.clamp(min=1))[:, None])
        return n / k.clamp(min=1) * nll.sum(1), n


def main():
    long, number = torch.zeros(2, 3, dtype=torch.int64), torch.full((2, 3), 0.5)
    values = {"tokens": long, "attention_mask": long + 1, "free": long == 0, "u": number, "rank": long, "time": number[:, :1], "time2": number[:, :1]}
    for module, name in (Training(), "training"), (Evaluation(), "eval"):
        path = pathlib.Path(__file__).with_name(name + ".onnx")
        axes = {i: {0: "B"} if i.startswith("time") else {0: "B", 1: "L"} for i in module.inputs} | {o: {0: "B"} for o in module.outputs if o != "loss"}
        torch.onnx.export(module, tuple(values[i] for i in module.inputs), path, dynamo=False, opset_version=17, custom_opsets={"mdm": 1},
                          do_constant_folding=False, input_names=module.inputs, output_names=module.outputs, dynamic_axes=axes)
        model = onnx.load(path)
        del model.graph.value_info[:]  # sizes of the placeholder
        for node in model.graph.node:
            node.doc_string = ""
        onnx.save(model, path)


if __name__ == "__main__":
    main()
