"""ONNX graphs, written node by node."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """A graph that grows. Values are the names of tensors. g.Add(x, y) writes the operator Add of ONNX, and so on; numbers become float32
    constants."""

    def __init__(self, name, task):
        self.name, self.task = name, task
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []

    def __getattr__(self, kind):
        if not kind[:1].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    def op(self, kind, *inputs, domain="", **attributes):
        """Writes an operator and returns its first output."""
        out = f"{kind.lower()}{len(self.nodes)}"
        node = helper.make_node(kind, [x if isinstance(x, str) else self.constant(x) for x in inputs], [out], domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return out

    def constant(self, value, dtype=np.float32):
        """A number, or an array of them."""
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def input(self, what):
        """What the host fills in every step: task.tokens(), task.free(), task.time(...), task.uniform(...) and so on."""
        self.inputs[what.name] = what
        return what.name

    def network(self, noised, time):
        """The logits of the denoiser, float32 [B, L, V]: noised are tokens, int64 [B, L], time is float32 [B], 1 where all is masked. What the
        network does not take is not given to it."""
        task = self.task
        given = {"input_ids": noised, "timesteps": time, "attention_mask": task.attention_mask()}
        given = {p.name: given[p.name] for p in task.denoiser.inputs if p.name in given}
        if "attention_mask" in given:
            given["attention_mask"] = self.input(given["attention_mask"])
        logits = self.op("Network", *given.values(), domain="mdm", name="denoiser", inputs=list(given), outputs=["logits"])
        never = np.zeros(task.v, np.float32)
        never[list(task.suppressed)] = -1e9  # tokens that cannot be, the mask among them
        return self.Add(self.Cast(logits, to=TensorProto.FLOAT), self.constant(never))

    def cross_entropy(self, logits, tokens):
        """-log p of tokens [B, L] under logits [B, L, V], in nats [B, L]."""
        last = self.constant([2], np.int64)
        logp = self.GatherElements(self.LogSoftmax(logits, axis=-1), self.Unsqueeze(tokens, last), axis=2)  # [B, L, 1]
        return self.Neg(self.Squeeze(logp, last))

    def row_sum(self, x):
        """[B, L] -> [B]."""
        return self.ReduceSum(x, self.constant([1], np.int64), keepdims=0)

    def total(self, x):
        """[B] -> []."""
        return self.ReduceSum(x, keepdims=0)

    def squeeze(self, x):
        """[B, 1] -> [B]."""
        return self.Squeeze(x, self.constant([1], np.int64))

    def output(self, name, value, *shape):
        """Names a value of the graph, float32: loss [], or bound and count [B]."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def metric(self, name, total, count):
        """The host reports the total of total, [B], divided by that of count, [B]."""
        self.output(f"metric.{name}.sum", total, self.task.B)
        self.output(f"metric.{name}.count", count, self.task.B)

    def model(self):
        """The finished graph, an onnx.ModelProto."""
        inputs = [helper.make_tensor_value_info(i.name, i.type, i.shape) for i in self.inputs.values()]
        graph = helper.make_graph(self.nodes, self.name, inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.task.opset), helper.make_opsetid("mdm", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
