"""What a plugin learns of a run when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import violation
from .needs import Needs


@dataclass(frozen=True)
class Growth:
    """How the rows of an insertion model grow: rates are multipliers per unit of the clock -log(1 - t^a)."""

    gap: str  # "n+1": the gap behind the last position may grow; "eos": it never does
    cap: int  # most positions of a row
    a: float


@dataclass(frozen=True)
class Capabilities:
    """What the runtime and the run offer."""

    serves: Needs = field(default_factory=Needs)
    vocab_dots: int = 0
    state: bool = False
    max_rows: int = 0
    fixed_rows: int = 0
    max_length: int = 0
    fixed_length: int = 0
    padding: bool = False
    v: int = 0  # width of the logits
    runtime: str = ""
    provider: str = ""


@dataclass(frozen=True)
class Run:
    """A run."""

    id: str = ""
    options: bytes = b""  # JSON, as the user gave them
    mask_id: int = 0
    v: int = 0  # tokens that may be written have ids below v
    temperature: float = 0.0
    keeps_written: bool = False  # written positions stay as they are and have no statistics
    capabilities: Capabilities = field(default_factory=Capabilities)
    insertion: Growth | None = None  # of insertion models only
    exponents: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))  # float32 [v]: GenMD4's speed of every token, or empty

    @staticmethod
    def of(m: Any) -> "Run":
        """Reads a StartRequest; PluginError where it breaks the protocol."""
        if len(m.exponents) % 4:
            raise violation(f"start: the exponents have {len(m.exponents)} bytes, expected float32 for every token")
        c, g = m.capabilities, m.insertion
        offers = {name: getattr(c, name) for name in Capabilities.__dataclass_fields__ if name != "serves"}
        return Run(
            id=m.run, options=m.options, mask_id=m.mask_id, v=m.v, temperature=m.temperature, keeps_written=m.keeps_written,
            capabilities=Capabilities(serves=_needs(c.serves), **offers),
            insertion=Growth(g.gap, g.cap, g.a) if m.HasField("insertion") else None,
            exponents=np.frombuffer(m.exponents, "<f4"),
        )


def _needs(m: Any) -> Needs:
    values = {name: getattr(m, name) for name in Needs.__dataclass_fields__}
    return Needs(**{**values, "vocab_dot": tuple(values["vocab_dot"])})
