"""Planners: a decorated function, or a class where a run has state."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterable, Sequence

from .decisions import Decision, locate
from .definition import Plugin
from .needs import Needs, VocabDot
from .rows import Row
from .run import Run
from .step import Step

Asked = Iterable["str | VocabDot"] | Needs | None


class Planner(Plugin):
    """A planner as a class. Set name, needs, options and what else Plugin has; override plan_row, or plan for the whole batch at once.

    Where the class is served, every run gets a value of its own.
    """

    kind = "planner"

    def start(self, run: Run, options: Any) -> Asked:
        """Begins a run. Returns the needs of these options, within the declared ones, or None for all of them."""
        return None

    def plan(self, step: Step) -> Sequence[Decision]:
        """Decides for all rows of a step: one decision per row, in their order."""
        out = []
        for row in step:
            try:
                out.append(self.plan_row(row))
            except BaseException as e:
                locate(e, row)
                raise
        return out

    def plan_row(self, row: Row) -> Decision:
        """Decides for one row."""
        raise NotImplementedError(f"{type(self).__name__} has neither plan_row nor plan")

    def end(self) -> None:
        """Ends the run."""


class FunctionPlanner(Planner):
    """A planner made of a function; calling it calls the function."""

    def __init__(self, function: Callable[..., Decision], needs_for: Callable[[Any], Asked] | None, **said: Any) -> None:
        self.function = function
        self.needs_for = needs_for
        self.__doc__ = function.__doc__
        for name, value in said.items():
            setattr(self, name, value)
        self._plain = len(inspect.signature(function).parameters) < 2  # a function of the row alone
        self._options: Any = None

    def __call__(self, row: Row, options: Any = None) -> Decision:
        if options is None and self.options is not None:
            options = self.options()
        return self.function(row) if self._plain else self.function(row, options)

    def start(self, run: Run, options: Any) -> Asked:
        self._options = options
        return self.needs_for(options) if self.needs_for is not None else None

    def plan_row(self, row: Row) -> Decision:
        return self.function(row) if self._plain else self.function(row, self._options)


def planner(
    name: str,
    *,
    needs: Iterable[str | VocabDot] = (),
    options: type | None = None,
    needs_for: Callable[[Any], Asked] | None = None,
    version: str = "0.0.0",
    summary: str = "",
    can_remask: bool = False,
    can_insert: bool = False,
    adaptive: bool = False,
    pure: bool = False,
) -> Callable[[Callable[..., Decision]], FunctionPlanner]:
    """Makes a planner of a function of a row and the options, which returns the row's decision. needs_for returns the needs of given
    options, within needs. See Plugin for the rest."""

    def make(function: Callable[..., Decision]) -> FunctionPlanner:
        return FunctionPlanner(function, needs_for, name=name, needs=(needs,) if isinstance(needs, str) else tuple(needs), options=options, version=version,
                               summary=summary, can_remask=can_remask, can_insert=can_insert, adaptive=adaptive, pure=pure)

    return make
