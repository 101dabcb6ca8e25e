"""Prints golden.json: for every operator, inputs, a cotangent of each output, and the cotangents of the inputs by PyTorch in
float64.   python golden.py | gzip -9n >golden.json.gz"""
import base64
import json
import math

import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(7)
CASES = []
TYPES = {"float32": 1, "int64": 7, "bool": 9, "int32": 6}


def b64(a):
    return base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()


class In:
    """One input: kind is grad (differentiated), fed (not), or const (stored in the graph)."""

    def __init__(self, a, kind):
        self.a, self.kind = np.asarray(a), kind


def x(*shape, low=None, high=None):
    a = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
    return In(a.astype("f4"), "grad")


def fed(a):
    return In(a, "fed")


def const(a, dtype="i8"):
    return In(np.asarray(a, dtype), "const")


def away(*shape):
    """Not near zero, where a slope jumps."""
    a = rng.standard_normal(shape)
    return In((a + np.sign(a) * 0.1).astype("f4"), "grad")


def case(op, inputs, f, name="", since=17, until=23, dynamic=True, **attributes):
    """since and until are the opsets that have this form. f gets one float64 (or other) tensor an input, None where it is left out, and returns the output or a list of them."""
    tensors = []
    for i in inputs:
        if i is None:
            tensors.append(None)
            continue
        t = torch.from_numpy(i.a.copy())
        tensors.append(t.double().requires_grad_(i.kind == "grad") if i.a.dtype == np.float32 else t)
    y = f(*tensors)
    ys = list(y) if isinstance(y, (list, tuple)) else [y]
    cots = [rng.standard_normal(tuple(v.shape)).astype("f4") if v is not None else None for v in ys]
    sum((v * torch.from_numpy(c).double()).sum() for v, c in zip(ys, cots) if v is not None).backward()
    ins = []
    for i, t in zip(inputs, tensors):
        if i is None:
            ins.append(None)
            continue
        e = {"kind": i.kind, "type": TYPES[str(i.a.dtype)], "dims": list(i.a.shape), "data": b64(i.a)}
        if i.kind == "grad":
            g = t.grad if t.grad is not None else torch.zeros_like(t)
            e["grad"] = b64(g.numpy().astype("f4"))
        ins.append(e)
    CASES.append({"op": op, "name": name, "opsets": [v for v in (17, 18, 20, 23) if since <= v <= until], "attributes": attributes, "inputs": ins, "outputs": len(ys), "dynamic": dynamic,
                  "cotangents": [None if c is None else b64(c) for c in cots], "shapes": [None if c is None else list(c.shape) for c in cots]})


# elementwise
for op, f in {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div}.items():
    divisor = (lambda *s: away(*s)) if op == "Div" else x
    case(op, [x(3, 4), divisor(3, 4)], f, "same")
    case(op, [x(2, 3, 4), divisor(4)], f, "vector")
    case(op, [x(3, 1), divisor(2, 1, 4)], f, "both ways")
    case(op, [x(1, 3, 1), divisor(2, 3, 4)], f, "kept ones")
    case(op, [x(2, 3, 4), divisor(2, 1, 4)], f, "middle")
    case(op, [x(2, 3, 4), divisor()], f, "scalar")
    case(op, [x(5, 2, 3, 4), divisor(3, 4)], f, "two leading")
case("Sum", [x(2, 3), x(3), x(1, 3)], lambda a, b, c: a + b + c)
case("Mean", [x(2, 3), x(3)], lambda a, b: (a + b) / 2)
case("Max", [x(2, 3), x(3)], torch.maximum)
case("Max", [In(np.float32([1, 2, 3]), "grad"), In(np.float32([1, 0, 5]), "grad")], torch.maximum, "ties")
case("Max", [x(2, 3), x(3), x(2, 1)], lambda a, b, c: torch.maximum(torch.maximum(a, b), c), "three")
case("Min", [x(2, 3), x(2, 1)], torch.minimum)
for op, f in {"Neg": torch.neg, "Exp": torch.exp, "Sin": torch.sin, "Cos": torch.cos, "Erf": torch.erf, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid,
              "Softplus": F.softplus, "Identity": lambda v: v * 1, "mdm.Silu": F.silu, "Gelu": F.gelu, "Atan": torch.atan, "Mish": F.mish, "Softsign": F.softsign}.items():
    case(op, [x(3, 5)], f, since={"Gelu": 20, "Mish": 18}.get(op, 17))
for op, f in {"Abs": torch.abs, "Relu": F.relu, "LeakyRelu": lambda v: F.leaky_relu(v, 0.01), "Elu": F.elu, "Reciprocal": torch.reciprocal, "HardSwish": F.hardswish}.items():
    case(op, [away(3, 5)], f)
case("HardSigmoid", [x(3, 5)], lambda v: torch.clamp(0.2 * v + 0.5, 0, 1))
case("Tan", [x(3, 5, low=-1, high=1)], torch.tan)
case("LeakyRelu", [away(3, 5)], lambda v: F.leaky_relu(v, 0.3), "alpha", alpha=0.3)
case("Elu", [away(3, 5)], lambda v: F.elu(v, 0.5), "alpha", alpha=0.5)
case("Log", [x(3, 5, low=0.2, high=3)], torch.log)
case("Sqrt", [x(3, 5, low=0.2, high=3)], torch.sqrt)
case("Gelu", [x(3, 5)], lambda v: F.gelu(v, approximate="tanh"), "tanh", since=20, approximate="tanh")
case("com.microsoft.QuickGelu", [x(3, 5)], lambda v: v * torch.sigmoid(1.702 * v))
case("com.microsoft.QuickGelu", [x(3, 5)], F.silu, "alpha", alpha=1.0)
case("com.microsoft.FastGelu", [x(3, 5)], lambda v: F.gelu(v, approximate="tanh"))
case("com.microsoft.FastGelu", [x(3, 5), x(5)], lambda v, b: F.gelu(v + b, approximate="tanh"), "bias")
case("mdm.SwiGLU", [x(3, 5), x(3, 5)], lambda u, v: F.silu(u) * v)
for n in (0, 0.5, 1, 2, 3, -1.5):
    case("Pow", [x(3, 4, low=0.3, high=2), const(n, "f4")], lambda v, e: v**e if n else v * 0 + 1, f"constant {n}")
case("Pow", [x(3, 4), const(2)], lambda v, e: v**2, "integer 2")
case("Pow", [x(3, 4, low=0.3, high=2), x(4)], torch.pow, "exponent")
case("Pow", [In(np.float32([0, 0, 2, 3]), "grad"), In(np.float32([2, 0, 0, 1.5]), "grad")], torch.pow, "zeros")
case("Clip", [x(3, 5), const(-0.5, "f4"), const(0.8, "f4")], lambda v, a, b: v.clamp(-0.5, 0.8))
case("Clip", [x(3, 5), None, const(0.3, "f4")], lambda v, a, b: v.clamp(max=0.3), "above")
case("Clip", [x(3, 5), x(low=-0.6, high=-0.4), x(low=0.4, high=0.6)], lambda v, a, b: torch.clamp(v, a, b), "bounds")
m = rng.random((2, 3)) < 0.5
case("Where", [fed(m), x(2, 3), x(3)], torch.where)
case("Where", [fed(m[:1]), x(2, 1), x()], torch.where, "scalar")
case("Where", [fed(np.array([[True], [False]])), x(3), x(1, 3)], torch.where, "condition is wider")
case("Cast", [x(2, 3)], lambda v: v * 1, to=1)

# products
case("MatMul", [x(3, 4), x(4, 5)], torch.matmul, "matrices")
case("MatMul", [x(2, 3, 4), x(4, 5)], torch.matmul, "rows")
case("MatMul", [x(2, 3, 2, 4), x(4, 5)], torch.matmul, "rows of rank 4")
case("MatMul", [x(2, 3, 4), x(2, 4, 5)], torch.matmul, "batch")
case("MatMul", [x(2, 1, 3, 4), x(5, 4, 2)], torch.matmul, "broadcast")
case("MatMul", [x(3, 4), x(2, 4, 5)], torch.matmul, "left matrix")
case("MatMul", [x(4), x(4)], torch.matmul, "vectors")
case("MatMul", [x(4), x(4, 3)], torch.matmul, "vector, matrix")
case("MatMul", [x(2, 3, 4), x(4)], torch.matmul, "batch, vector")
case("MatMul", [x(4), x(2, 4, 3)], torch.matmul, "vector, batch")
T = lambda v, on: v.transpose(-1, -2) if on else v
for ta in (0, 1):
    for tb in (0, 1):
        case("com.microsoft.FusedMatMul", [x(*((2, 4, 3) if ta else (2, 3, 4))), x(*((2, 5, 4) if tb else (2, 4, 5)))],
             lambda a, b, ta=ta, tb=tb: 0.7 * T(a, ta) @ T(b, tb), f"{ta}{tb}", transA=ta, transB=tb, alpha=0.7)
        case("Gemm", [x(*((4, 3) if ta else (3, 4))), x(*((5, 4) if tb else (4, 5))), x(5)],
             lambda a, b, c, ta=ta, tb=tb: 0.7 * T(a, ta) @ T(b, tb) + 1.3 * c, f"{ta}{tb}", transA=ta, transB=tb, alpha=0.7, beta=1.3)
case("com.microsoft.FusedMatMul", [x(2, 3, 4), x(5, 4)], lambda a, b: a @ b.T, "shared right", transB=1)
case("Gemm", [x(3, 4), x(4, 5)], torch.matmul, "no bias")
case("Gemm", [x(3, 4), x(4, 5), x(3, 1)], lambda a, b, c: a @ b + c, "column")
case("Gemm", [x(3, 4), x(4, 5), x()], lambda a, b, c: a @ b + c, "scalar")
for eq, s in {"bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "bhld,bhmd->bhlm": [(2, 2, 3, 4), (2, 2, 5, 4)], "ij,kj->ki": [(3, 4), (2, 4)], "ij,j->i": [(3, 4), (4,)],
              "ijk,j->i": [(2, 3, 4), (3,)], "ij,kl->il": [(2, 3), (4, 5)], "ij->ji": [(2, 3)], "ij->i": [(2, 3)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)]}.items():
    case("Einsum", [x(*v) for v in s], lambda *v, eq=eq: torch.einsum(eq, *v), eq, equation=eq)

# norms
ln = lambda v, w, b=None, e=1e-5: F.layer_norm(v, (v.shape[-1],), w, b, e)
case("LayerNormalization", [x(4, 6), x(6), x(6)], ln, axis=-1)
case("LayerNormalization", [x(2, 3, 6), x(6), x(6)], ln, "three dimensions", axis=2)
case("LayerNormalization", [x(2, 3, 6), x(6)], ln, "no bias, epsilon", epsilon=1e-5)
case("LayerNormalization", [x(2, 3, 4), x(3, 4), x(3, 4)], lambda v, w, b: F.layer_norm(v, (3, 4), w, b), "two axes", axis=1, dynamic=False)
rms = lambda v, w, e=1e-5: v * torch.rsqrt((v * v).mean(-1, keepdim=True) + e) * w
case("SimplifiedLayerNormalization", [x(2, 3, 6), x(6)], rms, axis=-1, epsilon=1e-5)
case("SimplifiedLayerNormalization", [x(2, 3, 6), x(6)], lambda v, w: rms(v, w, 0.1), "epsilon", axis=-1, epsilon=0.1)
case("RMSNormalization", [x(2, 3, 6), x(6)], rms, since=23, axis=-1, epsilon=1e-5)

# softmax and loss
for op, f in {"Softmax": torch.softmax, "LogSoftmax": torch.log_softmax}.items():
    case(op, [x(2, 3, 5)], lambda v: f(v, -1))
    case(op, [x(2, 3, 5)], lambda v: f(v, 1), "axis 1", axis=1)
    case(op, [x(2, 3, 5)], lambda v: f(v, 2), "axis 2", axis=2)
ids = rng.integers(0, 5, 7)
ce = lambda z, t: F.cross_entropy(z, t, reduction="none")
case("mdm.CrossEntropy", [x(7, 5), fed(ids)], ce)
case("mdm.CrossEntropy", [x(7, 5), fed(ids)], lambda z, t: [ce(z, t), torch.logsumexp(z, -1)], "with log-sum-exp")
z = rng.standard_normal((7, 5)).astype("f4")
z[:, 4] = -np.inf
case("mdm.CrossEntropy", [In(z, "grad"), fed(ids % 4)], ce, "a token that cannot be")

# reductions
R = {"ReduceSum": torch.sum, "ReduceMean": torch.mean, "ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceSumSquare": lambda v, d, keepdim: (v * v).sum(d, keepdim=keepdim),
     "ReduceL2": lambda v, d, keepdim: torch.linalg.vector_norm(v, 2, d, keepdim=keepdim), "ReduceL1": lambda v, d, keepdim: v.abs().sum(d, keepdim=keepdim),
     "ReduceLogSumExp": torch.logsumexp, "ReduceLogSum": lambda v, d, keepdim: v.sum(d, keepdim=keepdim).log()}
for op, f in R.items():
    pos = {"low": 0.3, "high": 2} if op == "ReduceLogSum" else {}
    since = 17 if op == "ReduceSum" else 18
    case(op, [x(2, 3, 4, **pos), const([1])], lambda v, a: f(v, [1], keepdim=True), "kept", since=since)
    case(op, [x(2, 3, 4, **pos), const([-1, 0])], lambda v, a: f(v, [0, 2], keepdim=False), "two axes", since=since, keepdims=0)
    case(op, [x(2, 3, 4, **pos)], lambda v: f(v, [0, 1, 2], keepdim=False), "all", keepdims=0)
    if op != "ReduceSum":
        case(op, [x(2, 3, 4, **pos)], lambda v: f(v, [2], keepdim=False), "axes as attribute", until=17, axes=[2], keepdims=0)
case("ReduceSum", [x(2, 3), const([])], lambda v, a: v * 1, "over nothing", noop_with_empty_axes=1)
case("ReduceSum", [x(2, 3, 4), fed(np.int64([0, 2]))], lambda v, a: v.sum([0, 2], keepdim=True), "axes at the run", keepdims=1)
case("ReduceMax", [In(np.float32([[1, 3, 3], [2, 2, 2]]), "grad"), const([1])], lambda v, a: torch.amax(v, 1, keepdim=True), "ties", since=18)
case("ReduceL2", [In(np.float32([[0, 0], [3, 4]]), "grad"), const([1])], lambda v, a: torch.linalg.vector_norm(v, 2, 1, keepdim=True), "zero", since=18)
for name, v in {"": rng.uniform(0.5, 2, (3, 4)), "a zero": [[1, 0, 2], [3, 4, 5]], "two zeros": [[0, 0, 2], [0, 4, 5]]}.items():
    case("ReduceProd", [In(np.float32(v), "grad"), const([1])], lambda v, a: v.prod(1, keepdim=True), name, since=18)
case("ReduceProd", [x(2, 3)], lambda v: v.prod(), "all", keepdims=0)

# picking
case("Gather", [x(7, 4), fed(rng.integers(0, 7, (2, 3)))], lambda v, i: v[i], "embedding")
case("Gather", [x(300, 2), fed(rng.integers(0, 300, (2, 5)))], lambda v, i: v[i], "embedding of many")
case("Gather", [x(7, 4), fed(np.int64([-1, 2, -7, 2]))], lambda v, i: v[i], "from the end")
case("Gather", [x(300, 2), fed(np.int64([-1, 2, -300, 2]))], lambda v, i: v[i], "from the end of many")
case("Gather", [x(2, 5, 3), fed(np.int64([[1, 1], [0, 4]]))], lambda v, i: v[:, i], "axis 1", axis=1)
case("Gather", [x(2, 3, 270), fed(np.int64([[1, 1], [0, 260]]))], lambda v, i: v[:, :, i], "last axis of many", axis=-1)
case("Gather", [x(2, 5, 3), const(0)], lambda v, i: v[:, 0], "scalar", axis=1)
case("Gather", [x(5, 3), const(-1)], lambda v, i: v[-1], "scalar from the end")
case("Gather", [x(6), fed(np.int64([0, 5, 5]))], lambda v, i: v[i], "vector")
case("Gather", [x(7, 2, 3), fed(np.int32([1, 0, 1]))], lambda v, i: v[i.long()], "int32")
case("GatherElements", [x(3, 5), fed(rng.integers(0, 5, (3, 4)))], lambda v, i: torch.gather(v, 1, i), axis=1)
case("GatherElements", [x(3, 5), fed(rng.integers(0, 3, (4, 5)))], lambda v, i: torch.gather(v, 0, i), "axis 0")
nd = np.int64([[0, 1], [1, 2], [0, 1], [-1, -1]])
case("GatherND", [x(2, 3, 4), fed(nd)], lambda v, i: v[i[:, 0], i[:, 1]])
case("GatherND", [x(2, 3), fed(nd.reshape(2, 2, 2))], lambda v, i: v[i[..., 0], i[..., 1]], "elements")
case("GatherND", [x(2, 3, 4), fed(np.int64([[1], [2]]))], lambda v, i: v[[0, 1], [1, 2]], "batch", batch_dims=1)
case("GatherND", [x(20, 30, 2), fed(rng.integers(0, 20, (9, 2)))], lambda v, i: v[i[:, 0], i[:, 1]], "of many")
si = np.int64([[1, 0, 2], [0, 2, 1]])
case("ScatterElements", [x(3, 3), fed(si), x(2, 3)], lambda v, i, u: v.scatter(0, i, u))
case("ScatterElements", [x(2, 5), fed(si), x(2, 3)], lambda v, i, u: v.scatter_add(1, i, u), "add", axis=1, reduction="add")
case("ScatterND", [x(4, 3), fed(np.int64([[2], [0]])), x(2, 3)], lambda v, i, u: v.index_put((i[:, 0],), u))
case("ScatterND", [x(4, 3), fed(np.int64([[2, 1], [0, 0]])), x(2)], lambda v, i, u: v.index_put((i[:, 0], i[:, 1]), u, accumulate=True), "add", reduction="add")
case("TopK", [x(3, 6), const([2])], lambda v, k: [v.topk(2, -1)[0], None], dynamic=False)
case("TopK", [x(6, 3), const([2])], lambda v, k: [v.topk(2, 0, largest=False)[0], None], "smallest", axis=0, largest=0)
case("OneHot", [fed(np.int64([[0, 2], [1, 3]])), const(4), x(2)], lambda i, d, v: F.one_hot(i, 4).double() * (v[1] - v[0]) + v[0])

# slices
S = lambda *v: [const([w]) if not isinstance(w, list) else const(w) for w in v]
case("Slice", [x(5, 6), *S(1, 4, 0)], lambda v, *_: v[1:4])
case("Slice", [x(5, 6), *S([1, -3], [2**62, -1], [0, 1])], lambda v, *_: v[1:, -3:-1], "two axes")
case("Slice", [x(5, 6), *S([1, 0], [3, 100])], lambda v, *_: v[1:3], "no axes")
case("Slice", [x(5, 7), *S([1, 0], [6, 5], [1, 0], [2, 1])], lambda v, *_: v[0:5, 1:6:2], "step 2")
case("Slice", [x(5, 7), *S([0, 1], [4, 7], [0, 1], [3, 2])], lambda v, *_: v[0:4:3, 1:7:2], "steps")
case("Slice", [x(4, 6), *S([-1], [-(2**62)], [1], [-1])], lambda v, *_: v.flip(1), "reversed")
case("Slice", [x(4, 6), *S([4], [0], [1], [-2])], lambda v, *_: v[:, [4, 2]], "step -2")
case("Slice", [x(300, 2), *S([0], [300], [0], [3])], lambda v, *_: v[::3], "step over many")
case("Slice", [x(5, 6), fed(np.int64([1])), fed(np.int64([-1])), const([1])], lambda v, *_: v[:, 1:-1], "bounds at the run")
case("Slice", [x(5, 6), fed(np.int64([-4])), fed(np.int64([9])), const([-1])], lambda v, *_: v[:, -4:], "bounds from the end at the run")

# shapes
case("Reshape", [x(2, 3, 4), const([6, 4])], lambda v, s: v.reshape(6, 4))
case("Reshape", [x(2, 3, 4), const([0, -1])], lambda v, s: v.reshape(2, 12), "open")
case("Reshape", [x(2, 3), fed(np.int64([3, 2]))], lambda v, s: v.reshape(3, 2), "at the run")
case("Flatten", [x(2, 3, 4)], lambda v: v.reshape(6, 4), axis=2)
case("Squeeze", [x(2, 1, 4), const([1])], lambda v, a: v.squeeze(1))
case("Unsqueeze", [x(2, 4), const([0, 2])], lambda v, a: v[None, :, None])
case("Transpose", [x(2, 3, 4)], lambda v: v.permute(2, 0, 1), perm=[2, 0, 1])
case("Transpose", [x(2, 3, 4)], lambda v: v.permute(2, 1, 0), "reversed")
case("Expand", [x(3, 1), const([2, 3, 4])], lambda v, s: v.expand(2, 3, 4))
case("Expand", [x(3, 4), const([1, 1])], lambda v, s: v * 1, "to less")
case("Expand", [x(3, 1), fed(np.int64([2, 3, 4]))], lambda v, s: v.expand(2, 3, 4), "at the run")
case("Tile", [x(2, 3), const([2, 3])], lambda v, r: v.repeat(2, 3))
case("Tile", [x(2, 3), fed(np.int64([1, 2]))], lambda v, r: v.repeat(1, 2), "at the run")
case("Concat", [x(2, 3), x(2, 1), x(2, 4)], lambda *v: torch.cat(v, 1), axis=1)
case("Concat", [x(2, 3), x(1, 3)], lambda *v: torch.cat(v, 0), "negative axis", axis=-2)
case("Split", [x(2, 6), const([1, 3, 2])], lambda v, s: v.split([1, 3, 2], 1), axis=1)
case("Split", [x(6, 2)], lambda v: v.split(3, 0), "even", since=18, num_outputs=2, dynamic=False)
case("Split", [x(2, 6), const([1, 3, 2])], lambda v, s: [v.split([1, 3, 2], 1)[0], None, v.split([1, 3, 2], 1)[2]], "one part unused", axis=1)
case("Pad", [x(2, 3), const([1, 0, 2, 1])], lambda v, p: F.pad(v, (0, 1, 1, 2)))
case("Pad", [x(2, 3), const([1, -1, 2, 1]), x()], lambda v, p, c: torch.cat([c.expand(1, 3), torch.cat([v[:, 1:], c.expand(2, 1)], 1), c.expand(2, 3)], 0), "value, negative")
case("Pad", [x(2, 3, 4), const([1, 2]), None, const([1])], lambda v, p, *_: F.pad(v, (0, 0, 1, 2)), "axes", since=18)
case("Trilu", [x(4, 5)], torch.triu)
case("Trilu", [x(2, 4, 4), const(1)], lambda v, k: torch.tril(v, 1), "lower", upper=0)
case("CumSum", [x(3, 4), const(1)], lambda v, a: v.cumsum(1))
case("CumSum", [x(3, 4), const(0)], lambda v, a: v.flip(0).cumsum(0).flip(0) - v, "exclusive, reverse", exclusive=1, reverse=1)
case("CumSum", [x(3, 4), const(-1)], lambda v, a: v.cumsum(1) - v, "exclusive", exclusive=1)
case("Dropout", [x(3, 4)], lambda v: v * 1)
case("Dropout", [x(3, 4), const(0.1, "f4"), In(np.array(False), "const")], lambda v, *_: v * 1, "evaluation")

# attention
def rope(v, c, s):
    a, b = v.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


angle = rng.uniform(0, 3, (3, 2)).astype("f4")
cosine, sine = np.cos(angle), np.sin(angle)
case("RotaryEmbedding", [x(2, 2, 3, 4), fed(np.stack([cosine] * 2)), fed(np.stack([sine] * 2))], lambda v, c, s: rope(v, c[:, None], s[:, None]), since=23)
case("RotaryEmbedding", [x(2, 3, 8), fed(cosine), fed(sine), fed(np.int64([[0, 1, 2], [2, 0, 1]]))],
     lambda v, c, s, p: rope(v.reshape(2, 3, 2, 4).transpose(1, 2), c[p][:, None], s[p][:, None]).transpose(1, 2).reshape(2, 3, 8), "positions", since=23, num_heads=2)
case("com.microsoft.RotaryEmbedding", [x(2, 2, 3, 4), fed(np.int64([[0, 1, 2], [2, 0, 1]])), fed(cosine), fed(sine)],
     lambda v, p, c, s: rope(v, c[p][:, None], s[p][:, None]), dynamic=False)


def attend(q, k, v, m=None, scale=None, causal=False):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -math.inf)
    if m is not None:
        s = s.masked_fill(~m, -math.inf) if m.dtype == torch.bool else s + m
    return torch.softmax(s, -1) @ v


case("Attention", [x(2, 2, 3, 4), x(2, 2, 5, 4), x(2, 2, 5, 4)], attend, since=23, dynamic=False)
case("Attention", [x(2, 2, 3, 4), x(2, 2, 5, 4), x(2, 2, 5, 6)], lambda q, k, v: attend(q, k, v, scale=0.3), "scale, wide values", since=23, scale=0.3, dynamic=False)
case("Attention", [x(2, 4, 3, 4), x(2, 2, 5, 4), x(2, 2, 5, 4), x(2, 1, 3, 5)], attend, "groups, bias", since=23, dynamic=False)
keep = rng.random((2, 1, 1, 5)) < 0.6
keep[..., 0] = True
case("Attention", [x(2, 2, 3, 4), x(2, 2, 5, 4), x(2, 2, 5, 4), fed(np.broadcast_to(keep, (2, 1, 3, 5)).copy())], attend, "mask", since=23, dynamic=False)
case("Attention", [x(2, 2, 4, 4), x(2, 2, 4, 4), x(2, 2, 4, 4)], lambda q, k, v: attend(q, k, v, causal=True), "causal", since=23, is_causal=1, dynamic=False)
H = lambda v: v.reshape(2, v.shape[1], 2, -1).transpose(1, 2)
case("Attention", [x(2, 3, 8), x(2, 5, 8), x(2, 5, 8)], lambda q, k, v: attend(H(q), H(k), H(v)).transpose(1, 2).reshape(2, 3, 8), "three dimensions", since=23,
     q_num_heads=2, kv_num_heads=2, dynamic=False)

print(json.dumps(CASES, separators=(",", ":")))
