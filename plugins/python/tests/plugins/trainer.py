"""A trainer whose ONNX is written byte by byte, for the kit does not need the package onnx. Its loss is noise: the mean of a uniform."""

from dataclasses import dataclass

from mdmhost_plugin import Graphs, option, serve, trainer


@dataclass
class Options:
    scale: float = option(1.0, min=0, help="factor of the loss")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """One field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def value_info(name, type, shape):
    dims = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, type) + field(2, dims)))


def node(kind, inputs, output, **ints):
    attributes = b"".join(field(5, field(1, k) + field(3, v) + field(20, 2)) for k, v in ints.items())
    return field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, kind) + attributes)


def model(opset, inputs, nodes, outputs, scale):
    import struct

    constants = field(5, field(2, 1) + field(8, "scale") + field(9, struct.pack("<f", scale))) + field(5, field(1, 1) + field(2, 7) + field(8, "axis") + field(9, struct.pack("<q", 1)))
    graph = b"".join(nodes) + field(2, "scaled") + constants + b"".join(field(11, value_info(i.name, i.type, i.shape)) for i in inputs)
    graph += b"".join(field(12, value_info(name, 1, shape)) for name, shape in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


@trainer("scaled", options=Options, version="0.1.0", summary="a loss of noise")
def scaled(task, o):
    u, free = task.uniform("u", "B", "L"), task.free()
    rows = [node("Mul", ["u", "scale"], "scaled"), node("ReduceSum", ["scaled", "axis"], "row", keepdims=0)]
    training = model(task.opset, [u], [*rows, node("ReduceMean", ["row"], "loss", keepdims=0)], [("loss", ())], o.scale)
    count = [node("Cast", ["free"], "f", to=1), node("ReduceSum", ["f", "axis"], "count", keepdims=0)]
    evaluation = model(task.opset, [u, free], [*rows, node("Identity", ["row"], "bound"), *count], [("bound", (task.B,)), ("count", (task.B,))], o.scale)
    return Graphs(training, evaluation, inputs=[u, free], bound="estimate", summary=f"scaled by {o.scale}")


if __name__ == "__main__":
    serve(scaled)
