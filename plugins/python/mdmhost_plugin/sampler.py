"""Samplers: who owns the trajectory, which rows step when, at which times, with how many forward passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable

from .definition import Plugin
from .needs import Needs, VocabDot
from .run import Run

if TYPE_CHECKING:
    from .session import Session


class Sampler(Plugin):
    """A sampler as a class. Where the class is served, every run gets a value of its own."""

    kind = "sampler"

    def start(self, run: Run, options: Any) -> "Iterable[str | VocabDot] | Needs | None":
        """Begins a run. Returns the needs of session.denoise for these options, within the declared ones, or None for all of them."""
        return None

    def sample(self, session: "Session") -> None:
        """Drives the session until no rows are left; see drive."""
        raise NotImplementedError(f"{type(self).__name__} has no method sample")

    def end(self) -> None:
        """Ends the run."""


class FunctionSampler(Sampler):
    """A sampler made of a function; calling it calls the function."""

    def __init__(self, function: Callable[["Session", Run, Any], None], **said: Any) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        for name, value in said.items():
            setattr(self, name, value)
        self._run, self._options = Run(), None

    def __call__(self, session: "Session", run: Run, options: Any) -> None:
        self.function(session, run, options)

    def start(self, run: Run, options: Any) -> None:
        self._run, self._options = run, options

    def sample(self, session: "Session") -> None:
        self.function(session, self._run, self._options)


def sampler(
    name: str, *, needs: "Iterable[str | VocabDot]" = (), options: type | None = None, version: str = "0.0.0", summary: str = "", can_insert: bool = False,
    can_remask: bool = False, adaptive: bool = False,
) -> Callable[[Callable[["Session", Run, Any], None]], FunctionSampler]:
    """Makes a sampler of a function of a session, the run and the options, which drives the session until no rows are left. needs are what
    session.denoise returns."""

    def make(function: Callable[["Session", Run, Any], None]) -> FunctionSampler:
        return FunctionSampler(function, name=name, needs=(needs,) if isinstance(needs, str) else tuple(needs), options=options, version=version,
                               summary=summary, can_insert=can_insert, can_remask=can_remask, adaptive=adaptive)

    return make
