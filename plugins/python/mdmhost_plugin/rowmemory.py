"""What a planner remembers of a row from step to step."""

from __future__ import annotations

from typing import Callable, Generic, TypeVar

from .rows import Row

T = TypeVar("T")


class RowMemory(Generic[T]):
    """Keeps a value per row between the steps of a run. Make one in start and ask for the row's value with of. A planner with memory must
    not be declared pure."""

    def __init__(self, fresh: Callable[[], T]) -> None:
        """fresh makes the value of a row's first step."""
        self._fresh = fresh
        self._slots: dict[int, tuple[int, int, T]] = {}

    def of(self, row: Row) -> T:
        """The row's value: a fresh one in its first step, afterwards the same."""
        kept = self._slots.get(row.slot)
        if kept is None or kept[0] != row.index or row.step == 0 and kept[1] != row.batch.serial:
            return self.set(row, self._fresh())
        return kept[2]

    def set(self, row: Row, value: T) -> T:
        """Replaces the row's value, for values that cannot change by themselves, such as numbers."""
        self._slots[row.slot] = (row.index, row.batch.serial, value)
        return value
