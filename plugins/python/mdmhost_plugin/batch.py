"""Work on all rows of a step at once, without a loop in Python per row and position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .decisions import Decision, numbers
from .errors import violation

if TYPE_CHECKING:
    from .step import Step


class Decisions(list):
    """One decision per row. Its verbs take positions of the whole batch and hand each row its own; decisions[i] is row i's."""

    def __init__(self, step: "Step") -> None:
        super().__init__(Decision(row) for row in step.rows)
        self._step = step

    def open(self, positions: Any) -> "Decisions":
        """Writes the host's proposals at masked positions."""
        return self._hand_out("open", positions)

    def remask(self, positions: Any) -> "Decisions":
        """Masks written positions again."""
        return self._hand_out("remask", positions)

    def overwrite(self, positions: Any, tokens: Any) -> "Decisions":
        """Puts tokens at positions, one for each."""
        if len(positions) != len(tokens):
            raise violation(f"overwrite: {len(positions)} positions and {len(tokens)} tokens, expected as many")
        for decision, at, some in zip(self, *self._split(positions, np.asarray(tokens))):
            if at:
                decision.overwrite(at, some)
        return self

    def metric(self, name: str, values: Any) -> "Decisions":
        """Records a number per row: [rows]."""
        if len(values) != len(self):
            raise violation(f"metric {name}: {len(values)} numbers, expected {len(self)} rows")
        for decision, value in zip(self, np.asarray(values).tolist()):
            decision.metric(name, value)
        return self

    def _hand_out(self, verb: str, positions: Any) -> "Decisions":
        for decision, at in zip(self, self._split(positions)[0]):
            if at:
                getattr(decision, verb)(at)
        return self

    def _split(self, positions: Any, *beside: np.ndarray) -> list[list[list[int]]]:
        """The positions of each row, counted within the row, and the same parts of the arrays beside them. The order stays."""
        at = np.asarray(positions)
        numbers("positions of the batch", at[:1])
        if at.size and (at.min() < 0 or at.max() >= self._step.positions):
            raise violation(f"positions of the batch from {at.min()} to {at.max()}, expected 0 to {self._step.positions - 1}")
        at = at.astype(np.int64, copy=False)
        row = self._step.row_of[at]
        order = np.argsort(row, kind="stable")
        bounds = np.searchsorted(row[order], np.arange(len(self) + 1)).tolist()
        lists = [(values[order]).tolist() for values in (at - self._step.start[row], *beside)]
        return [[values[a:b] for a, b in zip(bounds, bounds[1:])] for values in lists]


def smallest_per_row(step: "Step", positions: Any, score: Any, k: Any) -> np.ndarray:
    """Per row, the k positions of smallest score, smallest first, one row after the other; see Step.smallest."""
    at, score = np.asarray(positions), np.asarray(score)
    if len(score) != step.positions:
        raise violation(f"the scores have {len(score)} entries, expected {step.positions}, one per position of the batch")
    keys, row = score[at], step.row_of[at]
    if np.isnan(keys).any():
        raise violation(f"the score of position {at[np.isnan(keys)][0]} of the batch is NaN; scores must be numbers")
    wanted = np.broadcast_to(np.asarray(k), (len(step),))
    most = int(wanted.max(initial=0))
    if most <= 0 or at.size == 0:
        return at[:0]
    widest = max(step.scalars["n"])
    if most < widest:  # only what is not above a row's k-th smallest key needs sorting
        grid = np.full((len(step), widest), np.inf, keys.dtype if keys.dtype.kind == "f" else np.float64)
        grid[row, at - step.start[row]] = keys
        few = np.flatnonzero(keys <= np.partition(grid, most - 1, axis=1)[:, most - 1][row])
        at, keys, row = at[few], keys[few], row[few]
    order = np.lexsort((at, keys, row))
    row = row[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    return at[order[rank < wanted[row]]]
