"""One row of a step as a planner sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import COLUMNS
from .decisions import Decision

if TYPE_CHECKING:
    from .step import Step

MASKED, FIXED, ELIGIBLE = 1, 2, 4  # bits of the column flags


class _Scalar:
    """A number per row."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, row: "Row | None", owner: type) -> Any:
        if row is None:
            return self
        value = row.__dict__[self.name] = row.batch.scalars[self.name][row.at]
        return value


class _Part:
    """A row's part of a column: a read-only view."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, row: "Row | None", owner: type) -> Any:
        if row is None:
            return self
        value = row.__dict__[self.name] = row.batch.part(COLUMNS[self.name], row.at)
        return value


def _number() -> Any:  # of any type, so that Row says what it reads as
    return _Scalar()


def _part() -> Any:
    return _Part()


class Row:
    """One row of a step. n is the number of positions of the window; columns that the plugin did not ask for raise, and name the need.

    Arrays are read-only views of the message, valid during the call; copy what you keep.
    """

    batch: "Step"
    at: int  # the row's place in the step

    index: int = _number()  # number of the row in the run
    slot: int = _number()  # where the row lives; reused when it is finished
    offset: int = _number()  # first position of the window in the whole row
    n: int = _number()  # positions of the window
    blanks: int = _number()  # positions of the window that were blank when it was first reached
    step: int = _number()  # steps done in the window
    steps: int = _number()  # steps allowed in it
    t: float = _number()  # time before the step, 1 where all is masked
    s: float = _number()  # time after the step
    alpha_t: float = _number()  # share of positions that are written at t
    alpha_s: float = _number()
    length: int = _number()  # positions of the whole row
    behind: int = _number()  # positions behind the window that are still masked
    room: int = _number()  # insertion models: positions that the row may still grow by

    token: np.ndarray = _part()  # int32 [n]
    flags: np.ndarray = _part()  # uint8 [n]: 1 masked, 2 fixed, 4 eligible
    proposal: np.ndarray = _part()  # int32 [n], -1 where none
    logp_proposal: np.ndarray = _part()  # float32 [n], nats
    p1: np.ndarray = _part()  # float32 [n]
    p2: np.ndarray = _part()  # float32 [n]
    entropy: np.ndarray = _part()  # float32 [n], nats
    logp_current: np.ndarray = _part()  # float32 [n], 0 at masked positions
    kl_prev: np.ndarray = _part()  # float32 [n], nats
    planner_score: np.ndarray = _part()  # float32 [n]
    uniform: np.ndarray = _part()  # float64 [n] in (0, 1)
    gumbel: np.ndarray = _part()  # float64 [n]
    top_ids: np.ndarray = _part()  # int32 [n, k]
    top_logp: np.ndarray = _part()  # float32 [n, k]
    vocab_dot: np.ndarray = _part()  # float32 [c, n]
    unmask_rate: np.ndarray = _part()  # float32 [n]
    logp_leave_one_out: np.ndarray = _part()  # float32 [n]
    insertion_rate: np.ndarray = _part()  # float32 [n+1]: before each position, and after the last
    frozen_gap: np.ndarray = _part()  # uint8 [n+1]
    gap_uniform: np.ndarray = _part()  # float64 [n+1] in (0, 1)

    def __init__(self, batch: "Step", at: int) -> None:
        self.batch = batch
        self.at = at

    @property
    def k(self) -> int:
        """Tokens of top_ids and top_logp per position."""
        return self.batch.k

    @property
    def c(self) -> int:
        """Vectors of vocab_dot."""
        return self.batch.c

    @property
    def v(self) -> int:
        """Width of the logits."""
        return self.batch.v

    @property
    def logits(self) -> np.ndarray:
        """float32 [n, V], laid over the host's memory: nothing is copied."""
        return self.batch.logits_of(self.at)

    @property
    def eligible(self) -> np.ndarray:
        """The masked positions that may be opened in this step, ascending: int32 [m]."""
        return self._having(ELIGIBLE, ELIGIBLE)

    @property
    def masked(self) -> np.ndarray:
        """All masked positions of the window, eligible or not."""
        return self._having(MASKED, MASKED)

    @property
    def written(self) -> np.ndarray:
        """The positions that hold a token and are not fixed: those that may be masked again or overwritten."""
        return self._having(MASKED | FIXED, 0)

    def _having(self, mask: int, want: int) -> np.ndarray:
        return ((self.flags & mask) == want).nonzero()[0].astype(np.int32)

    def decide(self) -> Decision:
        """A decision that changes nothing yet."""
        return Decision(self)

    nothing = decide

    def open(self, positions: Any) -> Decision:
        """Writes the host's proposals at masked positions."""
        return Decision(self).open(positions)

    def remask(self, positions: Any) -> Decision:
        """Masks written positions again."""
        return Decision(self).remask(positions)

    def overwrite(self, positions: Any, tokens: Any) -> Decision:
        """Puts tokens of the planner's choice at positions."""
        return Decision(self).overwrite(positions, tokens)

    def delete(self, positions: Any) -> Decision:
        """Removes positions; insertion models only."""
        return Decision(self).delete(positions)

    def insert(self, gaps: Any, counts: Any) -> Decision:
        """Puts new masks into gaps; insertion models only."""
        return Decision(self).insert(gaps, counts)

    def fill(self, how: str) -> Decision:
        """Opens every eligible position at once: "argmax" or "draw"."""
        return Decision(self).fill(how)

    def done(self) -> Decision:
        """Finishes the row, even with masks left."""
        return Decision(self).done()
