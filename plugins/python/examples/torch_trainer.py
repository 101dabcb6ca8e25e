"""A trainer whose loss was written in PyTorch: MD4 with a focal weight, exported by focal/export.py. Serving the files needs no torch: the
numbers of the task (mask, tokens that no data holds, gamma, opset) are written into them, and nothing else changes."""

import pathlib
from dataclasses import dataclass

import numpy as np
import onnx

from mdmhost_plugin import Graphs, option, serve, trainer

FOLDER = pathlib.Path(__file__).parent / "focal"


@dataclass
class Options:
    gamma: float = option(2, min=0, max=10, help="how much less a known token counts; 0 is MD4")


@trainer("torch-focal", options=Options, version="0.1.0", summary="MD4 with a focal weight, written in PyTorch")
def focal(task, o):
    suppress = np.zeros(task.v, np.float32)
    suppress[list(task.suppressed)] = -1e9
    buffers = {"mask_id": np.int64(task.mask_id), "suppress": suppress, "gamma": np.float32(o.gamma)}
    inputs = [task.tokens(), task.attention_mask(), task.free(), task.rank(), task.uniform("u", "B", "L"),
              task.time("shared_offset", eps=1e-4), task.time("stratified", name="time2")]
    return Graphs(adapted("training.onnx", task, buffers), adapted("eval.onnx", task, buffers), inputs, summary=f"focal MD4 from PyTorch, gamma {o.gamma:g}")


def adapted(file, task, buffers):
    """The exported graph with the task's buffers and without the network's inputs that the denoiser does not take."""
    model = onnx.load(FOLDER / file)
    model.opset_import[0].version = task.opset  # the operators of these files are the same from opset 17, which they were exported with, to 23
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.asarray(buffers[tensor.name]), tensor.name))
    for call in (n for n in model.graph.node if n.op_type == "Network"):
        names = next(a for a in call.attribute if a.name == "inputs")
        taken = [(port, value) for port, value in zip(names.strings, call.input) if task.denoiser.takes(port.decode())]
        names.strings[:], call.input[:] = zip(*taken)
    return model


if __name__ == "__main__":
    serve(focal)
