"""Writing a loss with `onnx`: a graph that grows node by node, and calls the networks of a task."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """An ONNX graph. Values are names of tensors; an operator is a method, g.Add(x, y), and numbers among its inputs are constants."""

    def __init__(self, name, task):
        self.name, self.task = name, task
        self.nodes, self.inputs, self.constants, self.outputs = [], {}, [], []

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    def op(self, kind, *inputs, results=1, **attributes):
        """Adds a node and returns the name of its first result."""
        names = [f"{kind.lower()}{len(self.nodes)}.{i}" for i in range(results)]
        values = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(kind, values, names, **attributes))
        return names[0]

    def constant(self, value, type=np.float32):
        self.constants.append(numpy_helper.from_array(np.asarray(value, type), f"constant{len(self.constants)}"))
        return self.constants[-1].name

    def input(self, port):
        """A value that the host fills: of task.tokens(), task.time() and so on, which belong into Graphs.inputs, too."""
        self.inputs[port.name] = helper.make_tensor_value_info(port.name, port.type, port.shape)
        return port.name

    def network(self, name, **given):
        """Calls a network by name and returns its first output. The host fills its inside in."""
        inputs = [p.name for p in self.task.denoiser.inputs if p.name in given]
        outputs = [p.name for p in self.task.denoiser.outputs]
        first = self.op("Network", *(given[i] for i in inputs), domain="mdm", results=len(outputs))
        self.nodes[-1].attribute.extend([helper.make_attribute("name", name), helper.make_attribute("inputs", inputs),
                                         helper.make_attribute("outputs", outputs)])
        return first

    def possible(self, logits):
        """Takes out the tokens that no data holds: they get probability 0 and no gradient, but no infinity."""
        row = np.zeros(self.task.v)
        row[list(self.task.suppressed)] = -1e9
        return self.Add(logits, row)

    def cross_entropy(self, logits, tokens):
        """-log p of the tokens in nats: [B, L, V] and [B, L] -> [B, L]."""
        last = self.constant([-1], np.int64)
        nll = self.Neg(self.GatherElements(self.LogSoftmax(logits, axis=-1), self.Unsqueeze(tokens, last), axis=-1))
        return self.Squeeze(nll, last)

    def double(self, x):
        return self.Cast(x, to=TensorProto.DOUBLE)

    def float(self, x):
        return self.Cast(x, to=TensorProto.FLOAT)

    def row_sum(self, x):
        """[B, L] -> [B]."""
        return self.ReduceSum(x, self.constant([1], np.int64), keepdims=0)

    def total(self, x):
        """[B] -> []."""
        return self.ReduceSum(x, keepdims=0)

    def output(self, name, value, *shape):
        self.op("Identity", value)
        self.nodes[-1].output[0] = name
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def metric(self, name, sum, count):
        """The host reports the total of sum over all rows, divided by that of count; both are [B]."""
        self.output(f"metric.{name}.sum", sum, self.task.B)
        self.output(f"metric.{name}.count", count, self.task.B)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, list(self.inputs.values()), self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.task.opset), helper.make_opsetid("mdm", 1)], ir_version=9)
