"""What a sampler knows of a row, and what it asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence


@dataclass(frozen=True)
class RowState:
    """A row. Rows that are opened block by block look like the active block."""

    slot: int
    index: int  # number of the row in the run
    step: int  # steps done
    steps: int  # steps allowed
    blanks: int  # blank at the start
    masked: int  # masked now
    length: int  # of the whole row
    done: bool
    next_t: float  # 0, or the time that the planner asked the row to go on from
    room: int  # insertion models: positions that the row may still grow by


@dataclass
class Advance:
    """One step of one row: from time t to s, 1 >= t >= s >= 0, and the share of positions that is written at both."""

    slot: int
    t: float
    s: float
    alpha_t: float
    alpha_s: float
    ahead: Sequence[tuple[float, float]] = ()  # (t, alpha) at the end of each further step; with them the host goes on by itself
    trial: Sequence[tuple[int, int]] = ()  # (position of the row, token): what the pass finds written beside the row's own


def by_masks(row: RowState) -> Advance:
    """The step of a row to the time at which one blank less is masked on average than now (alpha = 1 - t), for samplers whose steps follow
    what is masked instead of a grid of times."""
    blanks = max(row.blanks, 1)
    t, s = (min(max(m / blanks, 0.0), 1.0) for m in (row.masked, row.masked - 1))
    return Advance(row.slot, t, s, 1 - t, 1 - s)


def drive(session: Any, step: Callable[[list[RowState]], list[RowState]]) -> None:
    """The life of a session whose rows step together: admits rows, has step take all that are on their way one step further, and emits
    those that are done, until no rows are left. step returns the rows as advance or apply left them."""
    active: list[RowState] = []
    while True:
        active += session.admit()
        if not active:
            return
        after = step(active)
        ended = [r.slot for r in after if r.done]
        active = [r for r in after if not r.done]
        if ended:
            session.emit(ended)
