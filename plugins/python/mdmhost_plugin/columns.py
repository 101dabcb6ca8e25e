"""The columns of a step: their names on the wire, what they hold, and which need brings them."""

from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np

from .needs import Needs


class Column(NamedTuple):
    """One column; rows lie one after the other."""

    name: str
    dtype: str  # of numpy, little-endian
    per: str  # what a row of n positions has: "n", "n,k", "c,n" or "n+1"
    need: str  # the text that brings it
    needed: Callable[[Needs], bool]

    def shape(self, n: int, k: int, c: int) -> tuple[int, ...]:
        """The shape of a row's part."""
        return {"n": (n,), "n,k": (n, k), "c,n": (c, n), "n+1": (n + 1,)}[self.per]


def _flag(name: str, dtype: str = "<f4", per: str = "n") -> Column:
    return Column(name, dtype, per, name, lambda n: bool(getattr(n, name)))


COLUMNS = {
    c.name: c
    for c in (
        Column("token", "<i4", "n", "", lambda n: True),
        Column("flags", "u1", "n", "", lambda n: True),
        _flag("proposal", "<i4"),
        _flag("logp_proposal"),
        _flag("p1"),
        _flag("p2"),
        _flag("entropy"),
        _flag("logp_current"),
        _flag("kl_prev"),
        _flag("planner_score"),
        _flag("uniform", "<f8"),
        _flag("gumbel", "<f8"),
        Column("top_ids", "<i4", "n,k", "topk(K)", lambda n: n.topk > 0),
        Column("top_logp", "<f4", "n,k", "topk(K)", lambda n: n.topk > 0),
        Column("vocab_dot", "<f4", "c,n", "vocab_dot(C)", lambda n: bool(n.vocab_dot)),
        _flag("unmask_rate"),
        _flag("logp_leave_one_out"),
        _flag("insertion_rate", per="n+1"),
        _flag("frozen_gap", "u1", "n+1"),
        Column("gap_uniform", "<f8", "n+1", "insertion_rate and uniform", lambda n: n.insertion_rate and n.uniform),
    )
}

# What reading a message needs of each column: name, type, bytes of an entry, entries, and whether it always comes.
WIRE = tuple((c.name, np.dtype(c.dtype), np.dtype(c.dtype).itemsize, c.per, not c.need) for c in COLUMNS.values())
