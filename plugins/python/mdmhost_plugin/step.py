"""A step: every row that took part in a forward pass, as the message holds it."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, Iterator

import numpy as np

from .batch import Decisions, smallest_per_row
from .columns import COLUMNS, WIRE, Column
from .errors import CONTRACT_VIOLATION, PluginError, violation
from .memory import SharedMemory
from .needs import Needs
from .rows import ELIGIBLE, FIXED, MASKED, Row

LISTS = ("index", "slot", "offset", "blanks", "step", "steps", "t", "s", "alpha_t", "alpha_s")
_SERIAL = itertools.count()
LATER = ("length", "behind", "room")  # lists that hosts of the first days do not send


class Step:
    """Every row of a forward pass. Iterating gives its rows; for work on the whole batch at once there are

    - n, index, slot, offset, blanks, step, steps, t, s, alpha_t, alpha_s, length, behind, room: arrays [rows];
    - start: int64 [rows+1], row i has the positions start[i] to start[i+1] of the columns; row_of: int32 [N], the row of each position;
    - the columns under the protocol's names with all rows one after the other: [N], top_ids and top_logp [N, k], those of gaps
      [N + rows], vocab_dot flat, row by row [c, n];
    - eligible, masked and written: positions of the whole batch, ascending.

    Arrays are read-only views of the message and valid during the call.
    """

    def __init__(self, message: Any, needs: Needs, memory: SharedMemory | None = None) -> None:
        """Reads a message and raises PluginError where lists or columns have wrong lengths."""
        self.needs = needs
        self.serial = next(_SERIAL)  # tells steps apart
        self.run: str = message.run
        self.k: int = message.k
        self.c: int = message.c
        ns = list(message.n)
        if ns and min(ns) < 0:
            raise violation(f"step: a row has {min(ns)} positions, expected at least 0")
        if self.k < 0 or self.c < 0:
            raise violation(f"step: k {self.k}, c {self.c}, expected at least 0")
        self.positions = sum(ns)
        self.scalars = _Scalars(message, ns)
        self._starts = [0, *itertools.accumulate(ns)]
        entries = {"n": self.positions, "n,k": self.positions * self.k, "c,n": self.positions * self.c, "n+1": self.positions + len(ns)}
        self._columns: dict[str, np.ndarray] = {}
        for name, dtype, size, per, always in WIRE:
            raw = getattr(message, name)
            if raw or always:
                if len(raw) != entries[per] * size:
                    raise violation(f"step: column {name} has {len(raw)} bytes, expected {entries[per] * size} for {self.positions} positions")
                values = np.frombuffer(raw, dtype)
                self._columns[name] = values.reshape(self.positions, self.k) if per == "n,k" else values
        self.v: int = message.logits.v
        self._logits = self._read_logits(message.logits, ns, memory) if message.HasField("logits") else None

    def _read_logits(self, m: Any, ns: list[int], memory: SharedMemory | None) -> list[np.ndarray]:
        """Lays an array over each row's logits."""
        v = self.v
        if v <= 0:
            raise violation(f"logits: {v} tokens, expected at least 1")
        if m.shared_bytes == 0:
            if len(m.bytes) != 4 * self.positions * v:
                raise violation(f"logits: {len(m.bytes)} bytes, expected {self.positions} positions x {v} tokens")
            whole = np.frombuffer(m.bytes, "<f4").reshape(self.positions, v)
            starts = self._starts
            return [whole[starts[i] : starts[i + 1]] for i in range(len(ns))]
        if memory is None:
            raise violation("logits: they lie in shared memory, and this process has none; start it through mdmhost")
        if len(m.offset) != len(ns):
            raise violation(f"logits: {len(m.offset)} offsets, expected {len(ns)} rows")
        return [memory.floats(m.shared_bytes, at, n * v).reshape(n, v) for at, n in zip(m.offset, ns)]

    def __len__(self) -> int:
        return len(self.scalars["n"])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, at: int) -> Row:
        return self.rows[at]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows."""
        return [Row(self, i) for i in range(len(self))]

    def __getattr__(self, name: str) -> np.ndarray:
        if name in COLUMNS:
            return self.column(COLUMNS[name])
        if name not in ("n", *LISTS, *LATER) or "scalars" not in self.__dict__:
            raise AttributeError(f"a step has no {name!r}")
        values = self.__dict__[name] = np.array(self.scalars[name])
        return values

    def column(self, column: Column) -> np.ndarray:
        """A column of all rows; PluginError, which names the need, where it was not asked for."""
        values = self._columns.get(column.name)
        if values is None:
            if not column.needed(self.needs):
                raise undeclared(column.name, column.need)
            if self.positions + (len(self) if column.per == "n+1" else 0):
                raise violation(f"step: column {column.name} is empty, and the run needs it")
            values = self._columns[column.name] = np.empty((0, self.k) if column.per == "n,k" else 0, column.dtype)
        return values

    def part(self, column: Column, at: int) -> np.ndarray:
        """The part of row `at` of a column, in the shape that the row has."""
        values = self.column(column)
        starts, per = self._starts, column.per
        low, high = starts[at], starts[at + 1]
        if per == "n+1":
            return values[low + at : high + at + 1]
        if per == "c,n":
            return values[low * self.c : high * self.c].reshape(self.c, high - low)
        return values[low:high]

    def logits_of(self, at: int) -> np.ndarray:
        """float32 [n, V] of row `at`."""
        if self._logits is None:
            raise undeclared("logits", "logits")
        return self._logits[at]

    def release(self) -> None:
        """Lets go of the rows, which hold the step as it holds them, so that the message's memory is free as soon as nobody reads it."""
        self.__dict__.pop("rows", None)

    @cached_property
    def start(self) -> np.ndarray:
        """Where each row begins, and where the last ends: int64 [rows+1]."""
        return np.array(self._starts)

    @cached_property
    def row_of(self) -> np.ndarray:
        """The row of each position: int64 [N]."""
        return np.repeat(np.arange(len(self)), self.scalars["n"])

    @property
    def eligible(self) -> np.ndarray:
        """The positions of the batch that may be opened in this step: int64 [m]."""
        return (self.flags & ELIGIBLE).nonzero()[0]

    @property
    def masked(self) -> np.ndarray:
        """All masked positions of the batch."""
        return (self.flags & MASKED).nonzero()[0]

    @property
    def written(self) -> np.ndarray:
        """The positions of the batch that hold a token and are not fixed."""
        return np.flatnonzero((self.flags & (MASKED | FIXED)) == 0)

    def smallest(self, positions: np.ndarray, score: np.ndarray, k: Any) -> np.ndarray:
        """Per row, the k positions of smallest score, smallest first, one row after the other. positions are of the batch, score is indexed
        by them, k is a number or one per row. Ties and errors are those of `smallest`."""
        return smallest_per_row(self, positions, score, k)

    def largest(self, positions: np.ndarray, score: np.ndarray, k: Any) -> np.ndarray:
        """Step.smallest for the largest scores, largest first."""
        return smallest_per_row(self, positions, -np.asarray(score), k)

    def counts(self, positions: np.ndarray) -> np.ndarray:
        """How many of the positions each row has: int64 [rows]."""
        return np.bincount(self.row_of[positions], minlength=len(self))

    def decide(self) -> Decisions:
        """Decisions that change nothing yet, one per row."""
        return Decisions(self)

    def open(self, positions: np.ndarray) -> Decisions:
        """Writes the host's proposals at masked positions of the batch."""
        return Decisions(self).open(positions)


def undeclared(name: str, need: str) -> PluginError:
    """Says that a column was not asked for."""
    return PluginError(CONTRACT_VIOLATION, f"{name} did not come: the plugin's needs do not declare it", f'add "{need}" to needs')


class _Scalars(dict):
    """The lists of numbers per row. They are made when somebody reads them; their lengths are checked at once."""

    def __init__(self, message: Any, ns: list[int]) -> None:
        super().__init__(n=ns)
        self._message = message
        for name in LISTS + LATER:
            length = len(getattr(message, name))
            if not length and name in LATER:
                self[name] = [0] * len(ns)
            elif length != len(ns):
                raise violation(f"step: list {name} has {length} entries, expected {len(ns)} rows")

    def __missing__(self, name: str) -> list[Any]:
        if name not in LISTS + LATER:
            raise KeyError(name)
        values = self[name] = list(getattr(self._message, name))
        return values
