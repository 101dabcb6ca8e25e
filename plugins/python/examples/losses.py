"""Writing a loss with `onnx`: a graph whose nodes are methods, and what the two trainers here have in common."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, INT64, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.BOOL


class Graph:
    """An ONNX graph that grows node by node. Values are the names of tensors; numbers become constants."""

    def __init__(self, name, task):
        self.name, self.task = name, task
        self.nodes, self.inputs, self.constants, self.outputs = [], {}, [], []

    def constant(self, value, dtype=np.float32):
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, *inputs, domain="", outputs=1, **attributes):
        """Adds a node and returns the name of its first output."""
        names = [f"{kind.lower()}{len(self.nodes)}" + f"_{i}" * (i > 0) for i in range(outputs)]
        ins = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(kind, ins, names, domain=domain, **attributes))
        return names[0]

    def __getattr__(self, kind):
        """g.Add(x, y) is g.op("Add", x, y)."""
        if not kind[:1].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    def input(self, name, type, *shape):
        """An input that the host fills; it must stand in the trainer's list of inputs, too."""
        self.inputs[name] = helper.make_tensor_value_info(name, type, shape)
        return name

    def output(self, name, value, *shape):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, shape))

    def metric(self, name, sum, count):
        """The host reports the total of sum, [B], divided by that of count."""
        self.output(f"metric.{name}.sum", sum, "B")
        self.output(f"metric.{name}.count", count, "B")

    def row_sum(self, x):
        """[B, L] -> [B]."""
        return self.ReduceSum(x, self.constant([1], np.int64), keepdims=0)

    def total(self, x):
        """[B] -> []."""
        return self.ReduceSum(x, keepdims=0)

    def squeeze(self, x):
        """[B, 1] -> [B]."""
        return self.Squeeze(x, self.constant([1], np.int64))

    def unsqueeze(self, x):
        """[B] -> [B, 1]."""
        return self.Unsqueeze(x, self.constant([1], np.int64))

    def network(self, name, **given):
        """Calls a network of the task: the operator mdm.Network, whose inside the host fills in."""
        ports = [p.name for p in self.task.denoiser.inputs if p.name in given]
        names = [p.name for p in self.task.denoiser.outputs]
        first = self.op("Network", *(given[p] for p in ports), domain="mdm", outputs=len(names), name=name, inputs=ports, outputs_=names)
        return first

    def model(self):
        """The finished model."""
        graph = helper.make_graph(self.nodes, self.name, list(self.inputs.values()), self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.task.opset), helper.make_opsetid("mdm", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)
