"""What the training operators of ONNX Runtime compute, for the tests of their functions: operators.json.gz.

    python operators.py        (Python 3.11, onnxruntime-training-cpu 1.19.2, onnx 1.16.2, numpy 1.26)
"""
import gzip, json, os

import numpy as np
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(1)
KINDS = {"float32": T.FLOAT, "int64": T.INT64, "int32": T.INT32, "bool": T.BOOL}


def f(*s):
    return rng.normal(size=s).astype("f4")


def i(*v, shape=None):
    a = np.array(v, "i8")
    return a.reshape(shape) if shape else a


def ints(high, *s):
    return rng.integers(0, high, s)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype("f4")


def norm(x, k):
    axes = tuple(range(x.ndim - k, x.ndim))
    mean = x.mean(axes, keepdims=True)
    return mean.astype("f4"), (1 / np.sqrt(x.var(axes, keepdims=True) + 1e-5)).astype("f4")


def cases():
    x = f(3, 5)
    yield "ReluGrad", {}, [f(3, 5), np.maximum(x, 0)], 1
    yield "LeakyReluGrad", {"alpha": 0.2}, [f(3, 5), x], 1
    yield "SigmoidGrad", {}, [f(3, 5), 1 / (1 + np.exp(-x))], 1
    yield "TanhGrad", {}, [f(3, 5), np.tanh(x)], 1
    yield "GeluGrad", {}, [f(3, 5), 2 * x], 1
    yield "FastGeluGrad", {}, [f(3, 5), 2 * x], 1
    yield "BiasGeluGrad_dX", {}, [f(3, 5), 2 * x, f(5)], 1
    yield "BiasFastGeluGrad_dX", {}, [f(3, 5), 2 * x, f(5)], 1
    yield "QuickGeluGrad", {}, [f(3, 5), 2 * x], 1
    yield "QuickGeluGrad", {"alpha": 1.0}, [f(3, 5), 2 * x], 1
    mask = rng.random((3, 5)) > 0.3
    yield "DropoutGrad", {}, [f(3, 5), mask, np.float32(0.3), np.bool_(True)], 1
    yield "DropoutGrad", {}, [f(3, 5), np.ones((3, 5), bool), np.float32(0), np.bool_(True)], 1
    yield "DropoutGrad", {}, [f(3, 5), mask], 1
    for shape, k, axis in [((2, 3, 8), 1, -1), ((4, 6), 1, 1), ((2, 3, 4), 2, 1)]:
        x = f(*shape) + 0.5
        mean, inv = norm(x, k)
        yield "LayerNormalizationGrad", {"axis": axis}, [f(*shape), x, f(*shape[-k:]), mean, inv], 3
        inv = (1 / np.sqrt((x * x).mean(tuple(range(x.ndim - k, x.ndim)), keepdims=True) + 1e-5)).astype("f4")
        yield "SimplifiedLayerNormalizationGrad", {"axis": axis}, [f(*shape), x, f(*shape[-k:]), inv], 2
    for axis in (-1, 1, 0):
        y = softmax(f(2, 3, 4), axis)
        yield "SoftmaxGrad_13", {"axis": axis}, [f(2, 3, 4), y], 1
        yield "LogSoftmaxGrad_13", {"axis": axis}, [f(2, 3, 4), np.log(y)], 1
    for kind in ("i8", "i4"):
        yield "GatherGrad", {"axis": 0}, [i(7, 4), ints(7, 3, 6).astype(kind), f(3, 6, 4)], 1
    yield "GatherGrad", {"axis": 1}, [i(2, 5, 3), ints(5, 4), f(2, 4, 3)], 1
    yield "GatherGrad", {"axis": -1}, [i(2, 3, 5), ints(5, 2, 2), f(2, 3, 2, 2)], 1
    yield "GatherGrad", {"axis": 2}, [i(2, 3, 1), np.array(0), f(2, 3)], 1
    yield "GatherGrad", {}, [i(9), ints(9, 4), f(4)], 1
    for axis in (0, 1, 2, -1):
        yield "GatherElementsGrad", {"axis": axis}, [f(2, 2, 2), i(3, 4, 5), ints(2, 2, 2, 2)], 1
    yield "GatherNDGrad", {"batch_dims": 0}, [i(3, 4, 2), np.stack([ints(3, 5), ints(4, 5)], -1), f(5, 2)], 1
    yield "GatherNDGrad", {"batch_dims": 1}, [i(2, 5), ints(5, 2, 3, 1), f(2, 3)], 1
    yield "SliceGrad", {}, [f(2, 2), i(4, 5), i(1, 0), i(3, 4), i(0, 1), i(1, 2)], 1
    yield "SliceGrad", {}, [f(3, 5), i(4, 5), i(0), i(-1), i(0)], 1
    yield "SliceGrad", {}, [f(3, 4), i(4, 5), i(1, 1), i(9, 9)], 1
    yield "ConcatTraining", {"axis": 1}, [f(2, 3), f(2, 1), f(2, 4)], 2
    yield "ConcatTraining", {"axis": -1}, [f(2, 3), f(2, 1)], 2
    yield "SplitTraining", {"axis": 1}, [f(2, 8), i(3, 1, 4)], 3
    yield "SplitTraining", {"axis": -1}, [f(2, 3), i(1, 2)], 2
    yield "ReduceSumTraining", {"keepdims": 1}, [f(2, 3, 4), i(0, 2)], 1
    yield "ReduceSumTraining", {"keepdims": 0}, [f(2, 3, 4), i(1)], 1
    yield "ReduceSumTraining", {"noop_with_empty_axes": 1}, [f(2, 3), i()], 1
    yield "Scale", {"scale_down": 1}, [f(2, 3), np.float32(4)], 1
    yield "Scale", {"scale_down": 1}, [f(2, 3), np.array(3)], 1
    yield "Scale", {}, [f(2, 3), np.float32(4)], 1
    for a, b in [((2, 3, 4), (3, 4)), ((4,), (2, 3, 4)), ((2, 1, 4), (1, 3, 4)), ((1, 4), (3, 5, 1)), ((2, 3), (2, 3)), ((1, 1, 2), (2,))]:
        yield "BroadcastGradientArgs", {}, [i(*a), i(*b)], 2
    for reduction, dy in [("mean", np.float32(0.7)), ("sum", np.float32(0.7)), ("none", f(6))]:
        logp = np.log(softmax(f(6, 5), 1))
        labels = ints(5, 6)
        yield "SoftmaxCrossEntropyLossGrad", {"reduction": reduction}, [dy, logp, labels], 1
        yield "SoftmaxCrossEntropyLossGrad", {"reduction": reduction}, [dy, logp, labels, rng.random(5).astype("f4")], 1
        ignored = labels.copy()
        ignored[2] = -100
        yield "SoftmaxCrossEntropyLossGrad", {"reduction": reduction, "ignore_index": -100}, [dy, logp, ignored], 1
        yield "SoftmaxCrossEntropyLossGrad", {"reduction": reduction, "ignore_index": -100}, [dy, logp, ignored.astype("i4"), rng.random(5).astype("f4")], 1
    logp = np.log(softmax(f(2, 5, 3), 1))
    yield "SoftmaxCrossEntropyLossGrad", {"reduction": "mean"}, [np.float32(0.7), logp, ints(5, 2, 3)], 1


def main():
    out = []
    for op, attributes, inputs, n in cases():
        inputs = [np.asarray(a) for a in inputs]
        names = [f"x{k}" for k in range(len(inputs))]
        outs = [f"y{k}" for k in range(n)]
        g = h.make_graph([h.make_node(op, names, outs, domain="com.microsoft", **attributes)], "g",
                         [h.make_tensor_value_info(k, KINDS[str(a.dtype)], a.shape) for k, a in zip(names, inputs)],
                         [h.make_empty_tensor_value_info(k) for k in outs])
        m = h.make_model(g, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8)
        got = ort.InferenceSession(m.SerializeToString()).run(None, dict(zip(names, inputs)))
        pack = lambda a: {"type": str(a.dtype), "dims": list(a.shape), "data": [round(float(v), 8) for v in a.flatten()]}
        out.append({"op": op, "attributes": attributes, "inputs": [pack(a) for a in inputs], "outputs": [pack(np.asarray(a)) for a in got]})
    with gzip.GzipFile(os.path.join(HERE, "operators.json.gz"), "wb", mtime=0) as file:
        file.write(json.dumps(out, separators=(",", ":")).encode())
    print(len(out), "cases of", len({c["op"] for c in out}), "operators")


if __name__ == "__main__":
    main()
