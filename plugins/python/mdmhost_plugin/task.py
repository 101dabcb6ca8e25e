"""What a trainer is told, and the inputs that the host fills."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

FLOAT, INT64, BOOL = 1, 7, 9  # ONNX's numbers of element types
_TYPES = {"tokens": INT64, "lengths": INT64, "attention_mask": INT64, "fixed": BOOL, "free": BOOL, "uniform": FLOAT, "time": FLOAT, "rank": INT64,
          "step": FLOAT, "progress": FLOAT}
_SHAPES = {"tokens": "B L", "lengths": "B", "attention_mask": "B L", "fixed": "B L", "free": "B L", "rank": "B L", "step": "", "progress": ""}
Dims = tuple["int | str", ...]


@dataclass(frozen=True)
class Port:
    """A named input or output of a network. Dimensions are numbers, names that all ports share, or "" where nothing is known."""

    name: str
    type: int  # ONNX's number: 1 float32, 7 int64, 9 bool
    shape: Dims = ()


@dataclass(frozen=True)
class Signature:
    """What a network takes and gives."""

    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()

    def takes(self, name: str) -> bool:
        """Tells whether there is an input of this name."""
        return any(p.name == name for p in self.inputs)


@dataclass(frozen=True)
class Network:
    """A network that the graphs call by name, with the operator mdm.Network."""

    name: str
    signature: Signature
    init: str = ""  # where its parameters come from: "" as the run says, "fresh", or the name of a network that is copied
    frozen: bool = False  # no gradients, no updates
    share_with: str = ""  # a network whose parameters of the same names and shapes are this one's, too


@dataclass(frozen=True)
class Input:
    """An input of the graphs that the host fills in every step. Both graphs may take it."""

    name: str  # of the graph's input
    kind: str
    shape: Dims
    sampler: str = ""  # of time: iid, shared_offset or stratified
    eps: float = 0.0  # of time: clamped to [eps, 1-eps]

    @property
    def type(self) -> int:
        """ONNX's number of the element type."""
        return _TYPES[self.kind]


@dataclass(frozen=True)
class Task:
    """What the host tells a trainer. The methods make inputs, in the shapes that the graphs declare."""

    v: int  # width of the denoiser's logits
    mask_id: int
    pad_id: int = -1  # -1 where nothing is padded
    suppressed: tuple[int, ...] = ()  # ids below v that no data holds; sorted
    rows: int = 0  # B, or 0: symbolic, named "B"
    length: int = 0  # L, or 0: symbolic, named "L"
    denoiser: Signature = field(default_factory=Signature)  # its time is 1 where everything is masked
    opset: int = 20  # of the graphs
    options: bytes = b""  # JSON, as the user gave them

    @staticmethod
    def of(m: Any) -> "Task":
        """Reads a BuildRequest."""
        return Task(m.v, m.mask_id, m.pad_id, tuple(m.suppressed), m.rows, m.length, _signature(m.denoiser), m.opset, m.options)

    @property
    def B(self) -> int | str:
        """The dimension of rows."""
        return self.rows or "B"

    @property
    def L(self) -> int | str:
        """The dimension of positions."""
        return self.length or "L"

    def network(self, name: str = "denoiser", *, init: str = "", frozen: bool = False, share_with: str = "", signature: Signature | None = None) -> Network:
        """A network; without a signature it has the denoiser's."""
        return Network(name, signature or self.denoiser, init, frozen, share_with)

    def tokens(self) -> Input:
        """int64 [B, L]: the rows, clean; padded at the end."""
        return self.input("tokens")

    def lengths(self) -> Input:
        """int64 [B]: real tokens of each row."""
        return self.input("lengths")

    def attention_mask(self) -> Input:
        """int64 [B, L]: 1 at real tokens, 0 at padding."""
        return self.input("attention_mask")

    def fixed(self) -> Input:
        """bool [B, L]: never masked nor scored, such as a prompt; padding is not."""
        return self.input("fixed")

    def free(self) -> Input:
        """bool [B, L]: real and not fixed, what is masked and scored."""
        return self.input("free")

    def rank(self) -> Input:
        """int64 [B, L]: a random permutation of 0, 1, ... over the free positions of each row, 2^30 elsewhere."""
        return self.input("rank")

    def step(self) -> Input:
        """float32 []: steps done before this one."""
        return self.input("step")

    def progress(self) -> Input:
        """float32 []: the part of the run that is done, in [0, 1)."""
        return self.input("progress")

    def time(self, sampler: str = "stratified", eps: float = 0.0, name: str = "time") -> Input:
        """float32 [B, 1]: a time for each row, inside (0, 1) and clamped to [eps, 1-eps]. sampler says how rows share their draws: iid,
        shared_offset or stratified."""
        return Input(name, "time", (self.B, 1), sampler, eps)

    def uniform(self, name: str, *dims: int | str) -> Input:
        """float32: noise inside (0, 1). Dimensions are "B" (the first), "L" and small numbers."""
        for d in dims:
            if not isinstance(d, int) and d not in ("B", "L"):
                raise ValueError(f'uniform {name!r}: dimension {d!r}; expected "B", "L" or a number')
        return Input(name, "uniform", tuple({"B": self.B, "L": self.L}.get(d, d) for d in dims))  # type: ignore[arg-type]

    def input(self, kind: str, name: str = "") -> Input:
        """An input of a kind that sets its shape; the name is the kind's unless one is given."""
        if kind not in _SHAPES:
            raise ValueError(f"input of kind {kind!r}: expected one of {', '.join(_SHAPES)}, or Task.time and Task.uniform")
        return Input(name or kind, kind, tuple({"B": self.B, "L": self.L}[d] for d in _SHAPES[kind].split()))


def _signature(m: Any) -> Signature:
    return Signature(*(tuple(Port(p.name, p.type, tuple(int(d) if d.isdigit() else d for d in p.shape)) for p in ports) for ports in (m.inputs, m.outputs)))


def dims(shape: Sequence[int | str]) -> list[str]:
    """Dimensions as the protocol writes them."""
    return [str(d) for d in shape]
