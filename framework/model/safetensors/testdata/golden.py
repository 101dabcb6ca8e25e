"""Writes golden.safetensors with the reference implementation (pip install safetensors torch numpy).

The Go tests read this file, and write the same tensors: every byte must be the same, so that what Go writes is read by
the reference implementation too.
"""
import pathlib

import torch
from safetensors.torch import load_file, save_file

path = pathlib.Path(__file__).with_name("golden.safetensors")
ramp = torch.arange(6, dtype=torch.float32).reshape(2, 3) / 3 - 0.5
tensors = {
    "embed.weight": ramp,
    "a<b>&é": ramp.to(torch.float16),
    "bfloat": ramp.to(torch.bfloat16),
    "double": ramp.to(torch.float64),
    "ids": torch.tensor([[-1, 2**40]], dtype=torch.int64),
    "mask": torch.tensor([True, False, True]),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 4),
    "bytes": torch.tensor([0, 255], dtype=torch.uint8),
}
save_file(tensors, path, metadata={"format": "pt"})
for name, t in load_file(path).items():
    assert torch.equal(t, tensors[name]), name
