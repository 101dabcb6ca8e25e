"""What a planner decides for one row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from .errors import PluginError, violation

if TYPE_CHECKING:
    from .rows import Row

FILLS = {"none": 0, "argmax": 1, "draw": 2}
_NONE: Sequence[int] = ()


class Decision:
    """A decision for one row; a new one changes nothing. Every verb adds something and returns the decision: row.open(a).remask(b).

    Positions are those before the step, 0 to n-1: an array of whole numbers, a list or one number. The host applies overwrite and open,
    then remask, then delete, then insert. A decision of a row checks positions at once, so that the traceback names the author's line.
    """

    __slots__ = ("_row", "_open", "_remask", "_delete", "_written", "_tokens", "_gaps", "_counts", "_fill", "_acted_as", "_next_t",
                 "_done", "_go_on", "_metrics", "_refused")

    def __init__(self, row: "Row | None" = None) -> None:
        self._row = row
        self._open = self._remask = self._delete = self._written = self._tokens = self._gaps = self._counts = _NONE
        self._fill = self._acted_as = self._refused = 0
        self._next_t = 0.0
        self._done = self._go_on = False
        self._metrics: dict[str, float] | None = None

    def open(self, positions: Any) -> "Decision":
        """Writes the host's proposals at masked positions."""
        self._open = _join(self._open, self._at("open", positions))
        return self

    def remask(self, positions: Any) -> "Decision":
        """Masks written positions again."""
        self._remask = _join(self._remask, self._at("remask", positions))
        return self

    def delete(self, positions: Any) -> "Decision":
        """Removes positions; insertion models only."""
        self._delete = _join(self._delete, self._at("delete", positions))
        return self

    def overwrite(self, positions: Any, tokens: Any) -> "Decision":
        """Puts tokens of the planner's choice at positions: one token for each, or one for all."""
        at, values = self._at("overwrite", positions), numbers("overwrite: token", tokens)
        if len(values) == 1:
            values = values * len(at)
        if len(values) != len(at):
            raise self._wrong(f"overwrite: {len(at)} positions and {len(values)} tokens, expected as many")
        self._written, self._tokens = _join(self._written, at), _join(self._tokens, values)
        return self

    def insert(self, gaps: Any, counts: Any) -> "Decision":
        """Puts new masks into gaps, counts of them: gap g lies before position g, gap n behind the last. Insertion models only."""
        at, values = self._at("insert: gap", gaps, 1), numbers("insert: count", counts)
        if len(values) == 1:
            values = values * len(at)
        if len(values) != len(at):
            raise self._wrong(f"insert: {len(at)} gaps and {len(values)} counts, expected as many")
        _positive("insert count", values)
        self._gaps, self._counts = _join(self._gaps, at), _join(self._counts, values)
        return self

    def refused(self, count: int) -> "Decision":
        """Tells that the step would have inserted count masks more if the row had had room for them."""
        self._refused += _number("refused", count)
        return self

    def fill(self, how: str) -> "Decision":
        """Opens every eligible position at once: "argmax" with the most probable token, "draw" with a draw."""
        if how not in FILLS:
            raise self._wrong(f"fill {how!r}, expected none, argmax or draw")
        self._fill = FILLS[how]
        return self

    def act_as(self, step: int) -> "Decision":
        """Says that the steps up to the given one would have changed nothing, so that the row goes on after it."""
        self._acted_as = _number("act_as", step)
        return self

    def next_t(self, t: float) -> "Decision":
        """Sets the time at which the row goes on, 0 to 1; 0 leaves it to the sampler."""
        t = float(t)
        if not 0 <= t <= 1:
            raise self._wrong(f"next_t {t}, expected a time from 0 to 1")
        self._next_t = t
        return self

    def done(self) -> "Decision":
        """Finishes the row, even with masks left."""
        self._done = True
        return self

    def go_on(self) -> "Decision":
        """Keeps a row whose last mask is opened, as long as every decision says so. For planners that revise full rows."""
        self._go_on = True
        return self

    def metric(self, name: str, value: float) -> "Decision":
        """Records a finite number for traces; the name is the planner's own."""
        value = float(value)
        if not math.isfinite(value):
            raise self._wrong(f"metric {name} is {value}, expected a finite number")
        if self._metrics is None:
            self._metrics = {}
        self._metrics[str(name)] = value
        return self

    def metrics(self, values: Mapping[str, float]) -> "Decision":
        """Records several numbers."""
        for name, value in values.items():
            self.metric(name, value)
        return self

    def as_dict(self) -> dict[str, Any]:
        """What the decision says, without what it leaves alone; for tests and logs."""
        fields = {"open": self._open, "overwrite": dict(zip(self._written, self._tokens)), "remask": self._remask, "delete": self._delete,
                  "insert": list(zip(self._gaps, self._counts)), "fill": next(w for w, i in FILLS.items() if i == self._fill) if self._fill else "",
                  "act_as": self._acted_as, "next_t": self._next_t, "done": self._done, "go_on": self._go_on, "metrics": self._metrics,
                  "refused": self._refused}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items() if v}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and self.as_dict() == other.as_dict()

    def __repr__(self) -> str:
        return f"Decision({self.as_dict()})"

    def _wrong(self, problem: str) -> PluginError:
        return locate(violation(problem), self._row)

    def _at(self, verb: str, positions: Any, more: int = 0) -> list[int]:
        try:
            at = numbers(verb, positions)
            if self._row is not None:
                within(verb, at, self._row.n + more)
        except PluginError as e:
            raise locate(e, self._row)
        return at


def locate(error: BaseException, row: "Row | None") -> Any:
    """Notes the row in which an author's code failed, unless the error knows its own place, and returns the error."""
    if row is not None and not (isinstance(error, PluginError) and error.object):
        error.mdmhost_row = (row.index, row.step)  # type: ignore[attr-defined]
    return error


def _join(a: Any, b: list[int]) -> list[int]:
    return [*a, *b] if a else b


def numbers(what: str, values: Any) -> list[int]:
    """Whole numbers as a list of Python's; PluginError for anything else."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        hint = "; np.flatnonzero makes positions of a condition" if array.dtype.kind == "b" else ""
        raise violation(f"{what}: expected whole numbers, found {array.dtype}{hint}")
    if array.ndim > 1:
        raise violation(f"{what}: expected a list of whole numbers, found an array {list(array.shape)}")
    return array.reshape(-1).tolist() if array.size else []


def within(verb: str, at: list[int], n: int) -> None:
    """Raises PluginError unless all positions are below n."""
    if at and (min(at) < 0 or max(at) >= n):
        bad = next(p for p in at if not 0 <= p < n)
        raise violation(f"{verb} {bad}, expected a position from 0 to {n - 1}")


def _positive(what: str, values: list[int]) -> None:
    if values and min(values) < 0:
        raise violation(f"{what} {min(values)}, expected a number of at least 0")


def _number(what: str, value: Any) -> int:
    (n,) = numbers(what, value) or [0]
    _positive(what, [n])
    return n
