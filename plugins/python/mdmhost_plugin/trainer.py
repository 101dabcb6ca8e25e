"""Trainers: what turns a task into graphs."""

from __future__ import annotations

import threading
from typing import Any, Callable

from .definition import Plugin
from .errors import violation
from .graphs import Graphs
from .task import Task


class Trainer(Plugin):
    """A trainer as a class. build is called once per run and depends on nothing but its arguments."""

    kind = "trainer"
    pure = True

    def build(self, task: Task, options: Any) -> Graphs:
        """Writes the graphs of a run; PluginError refuses it."""
        raise NotImplementedError(f"{type(self).__name__} has no method build")


class FunctionTrainer(Trainer):
    """A trainer made of a function; calling it calls the function."""

    def __init__(self, function: Callable[[Task, Any], Graphs], **said: Any) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        for name, value in said.items():
            setattr(self, name, value)

    def __call__(self, task: Task, options: Any) -> Graphs:
        return self.function(task, options)

    def build(self, task: Task, options: Any) -> Graphs:
        return self.function(task, options)


def trainer(name: str, *, options: type | None = None, version: str = "0.0.0", summary: str = "") -> Callable[[Callable[[Task, Any], Graphs]], FunctionTrainer]:
    """Makes a trainer of a function of a task and the options, which returns the run's graphs."""

    def make(function: Callable[[Task, Any], Graphs]) -> FunctionTrainer:
        return FunctionTrainer(function, name=name, options=options, version=version, summary=summary)

    return make


class TrainerCalls:
    """The service mdmhost.v1.Trainer."""

    service = "mdmhost.v1.Trainer"

    def __init__(self, make: Callable[[], Trainer]) -> None:
        from .v1 import plugin_pb2

        self._pb = plugin_pb2
        self._make, self._said = make, make()
        self._lock = threading.Lock()

    def describe(self, request: Any, context: Any) -> Any:
        """Says what the plugin is."""
        return self._said.description(self._pb)

    def build(self, request: Any, context: Any) -> Any:
        """Writes the graphs of a run."""
        with self._lock:
            trainer, task = self._make(), Task.of(request)
            graphs = trainer.build(task, trainer.parse_options(request.options))
            if not isinstance(graphs, Graphs):
                raise violation(f"build returned {type(graphs).__name__}, expected Graphs")
            return graphs.message(task, self._pb)

    def end(self, request: Any, context: Any) -> Any:
        """Ends the run."""
        return self._pb.EndReply()

    def methods(self) -> dict[str, tuple[Any, Any]]:
        """The calls by name, and the types of their messages."""
        pb = self._pb
        return {"Describe": (self.describe, pb.DescribeRequest), "Build": (self.build, pb.BuildRequest), "End": (self.end, pb.EndRequest)}
