"""What a trainer makes of a task: ONNX graphs and what the host must know to run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from .errors import violation
from .task import Input, Network, Task, dims


@dataclass(frozen=True)
class Param:
    """A float32 parameter outside of the networks, and an input of the graphs."""

    name: str
    shape: tuple[int, ...]
    init: str = "constant"  # constant, normal or uniform
    value: float = 0.0  # the constant, or the mean
    scale: float = 0.0  # standard deviation, or half the width


@dataclass(frozen=True)
class Group:
    """A learning rate and a weight decay of its own; a parameter belongs to the first group that matches."""

    match: str  # "NETWORK.NAME" or a Param's name; "*" stands for anything
    lr: float = 1.0  # factor; 0 freezes
    decay: float = 1.0  # factor; 0 leaves it out


@dataclass(frozen=True)
class Schedule:
    """The noise schedule, as in mdm.json."""

    kind: str = "linear"
    c: float = 0.0
    b_min: float = 0.0
    b_max: float = 0.0
    a: float = 0.0
    b: float = 0.0
    eps: float = 0.0


@dataclass
class Graphs:
    """The graphs of a run. The training graph has the outputs `loss` (float32 scalar) and `metric.NAME.sum` with `metric.NAME.count` (float32 [B]
    each, or scalars); the eval graph has `bound` and `count` (float32 [B]) and metrics. Graphs are an onnx.ModelProto or its bytes.
    """

    training_graph: Any
    eval_graph: Any
    inputs: Sequence[Input]  # of both graphs
    networks: Sequence[Network] = ()  # none: the denoiser
    params: Sequence[Param] = ()
    groups: Sequence[Group] = ()
    bound: str = "bound"  # bound, path_bound or estimate
    summary: str = ""  # what is trained, one line
    schedule: Schedule = Schedule()

    def message(self, task: Task, pb: Any) -> Any:
        """The BuildReply; pb is the module of the protocol's messages. The host checks what the graphs say."""
        reply = pb.BuildReply(bound=self.bound, summary=self.summary, training_graph=_encoded("training_graph", self.training_graph),
                              eval_graph=_encoded("eval_graph", self.eval_graph), schedule=pb.Schedule(**vars(self.schedule)))
        for n in self.networks or (task.network(),):
            reply.networks.add(name=n.name, init=n.init, frozen=n.frozen, share_with=n.share_with, signature=pb.Signature(
                inputs=[_port(p, pb) for p in n.signature.inputs], outputs=[_port(p, pb) for p in n.signature.outputs]))
        for p in self.params:
            reply.params.add(name=p.name, shape=p.shape, init=p.init, value=p.value, scale=p.scale)
        for g in self.groups:
            reply.groups.add(match=g.match, lr=g.lr, decay=g.decay)
        for i in self.inputs:
            if not isinstance(i, Input):
                raise violation(f"inputs: found {i!r}, expected inputs of the task", "make them with task.tokens(), task.time() and so on")
            reply.inputs.add(name=i.name, kind=i.kind, shape=dims(i.shape), sampler=i.sampler, eps=i.eps)
        return reply


def _port(p: Any, pb: Any) -> Any:
    return pb.Port(name=p.name, type=p.type, shape=dims(p.shape))


def _encoded(which: str, graph: Any) -> bytes:
    """A graph's bytes."""
    if isinstance(graph, (bytes, bytearray, memoryview)):
        return bytes(graph)
    if hasattr(graph, "SerializeToString"):
        return graph.SerializeToString()
    raise violation(f"{which}: found {type(graph).__name__}, expected an onnx.ModelProto or its bytes")
