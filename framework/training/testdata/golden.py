"""Prints golden.json: the losses of PyTorch for the runs of curve_test.go, step by step. From this folder:

    go test .. -run TestCurve -count 1 -args -feeds /tmp/feeds && python golden.py /tmp/feeds >golden.json

The losses are those of float32. The same training in float64 must not drift away from them: what a curve can be held to.
"""
import json
import pathlib
import sys

import torch

from run import Run

torch.set_num_threads(1)
out = {}
for dir in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    losses, double = Run(dir).train(), Run(dir, torch.float64).train()
    drift = max(abs(a - b) / abs(b) for a, b in zip(losses, double))
    print(f"{dir.name}: {losses[0]:.6f} to {losses[-1]:.6f}, drift of float32 {drift:.1e}", file=sys.stderr)
    assert drift < 5e-5, drift
    out[dir.name] = [float(f"{x:.8g}") for x in losses]
print(json.dumps(out, indent=0))
