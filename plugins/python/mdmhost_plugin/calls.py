"""The service of a planner: messages in, messages out."""

from __future__ import annotations

import threading
from typing import Any, Callable, Sequence

from .decisions import Decision, locate, numbers, within
from .definition import Plugin
from .errors import CONTRACT_VIOLATION, PluginError, violation
from .memory import SharedMemory
from .needs import Needs
from .planner import Planner
from .run import Run
from .step import Step
from .v1 import plugin_pb2 as pb


class RunCalls:
    """Describe, Start and End, which planners and samplers have in common. Calls of a run come one at a time."""

    def __init__(self, make: Callable[[], Plugin], memory: SharedMemory | None) -> None:
        self._make = make
        self._said = make()
        self._memory = memory
        self._lock = threading.Lock()
        self._plugin: Any = None  # of the run
        self._needs = Needs()

    def describe(self, request: Any, context: Any) -> Any:
        """Says what the plugin is."""
        return self._said.description(pb)

    def start(self, request: Any, context: Any) -> Any:
        """Begins a run."""
        with self._lock:
            plugin: Any = self._make()
            run = Run.of(request)
            options = plugin.parse_options(run.options)
            self._needs = plugin.narrowed(plugin.start(run, options))
            self._plugin = plugin
            return pb.StartReply(needs=self._needs.proto(pb))

    def end(self, request: Any, context: Any) -> Any:
        """Ends the run."""
        with self._lock:
            plugin, self._plugin = self._plugin, None
            if plugin is not None:
                plugin.end()
            return pb.EndReply()

    def _running(self, call: str) -> Any:
        if self._plugin is None:
            raise PluginError(CONTRACT_VIOLATION, f"{call} came before Start", "start the run first")
        return self._plugin


class PlannerCalls(RunCalls):
    """The service mdmhost.v1.Planner."""

    service = "mdmhost.v1.Planner"

    def plan(self, request: Any, context: Any) -> Any:
        """Decides for a step."""
        with self._lock:
            planner: Planner = self._running("Plan")
            step = Step(request.step, self._needs, self._memory)
            try:
                return encode(planner.plan(step), step, pb.PlanReply()) if len(step) else pb.PlanReply()
            finally:
                step.release()

    def methods(self) -> dict[str, tuple[Any, Any]]:
        """The calls by name, and the types of their messages."""
        return {"Describe": (self.describe, pb.DescribeRequest), "Start": (self.start, pb.StartRequest), "Plan": (self.plan, pb.PlanRequest),
                "End": (self.end, pb.EndRequest)}


def encode(decisions: Sequence[Decision], step: Step, to: Any) -> Any:
    """Writes decisions, one per row of the step, into a message; PluginError, which names the row, where they cannot be meant."""
    if not isinstance(decisions, (list, tuple)):
        raise violation(f"plan returned {type(decisions).__name__}, expected a list of decisions, one per row")
    if len(decisions) != len(step):
        raise violation(f"plan returned {len(decisions)} decisions, expected {len(step)}, one per row of the step")
    add = to.decisions.add
    for row, d in zip(step.rows, decisions):
        try:
            if not isinstance(d, Decision):
                raise violation(f"the planner returned {type(d).__name__}, expected a decision", "return what a verb returns, such as row.open(positions)")
            if d._row is not row:
                _check(d, row)
            fill(add(), d)
        except PluginError as e:
            locate(e, row)
            raise
    return to


def _check(d: Decision, row: Any) -> None:
    """Checks a decision that was made without its row."""
    if d._row is not None and d._row.batch is row.batch:
        raise violation(f"the decision is that of row {d._row.index}", "return the decisions in the order of the step's rows")
    for verb, at, more in (("open", d._open, 0), ("remask", d._remask, 0), ("delete", d._delete, 0), ("overwrite", d._written, 0), ("insert: gap", d._gaps, 1)):
        within(verb, numbers(verb, at), row.n + more)


def fill(m: Any, d: Decision) -> None:
    """Writes a decision into a message."""
    if d._open:
        m.open.extend(d._open)
    if d._remask:
        m.remask.extend(d._remask)
    if d._written:
        m.overwrite_position.extend(d._written)
        m.overwrite_token.extend(d._tokens)
    if d._delete:
        m.delete.extend(d._delete)
    if d._gaps:
        m.insert_gap.extend(d._gaps)
        m.insert_count.extend(d._counts)
    if d._metrics:
        m.metrics.update(d._metrics)
    if d._fill:
        m.fill = d._fill
    if d._next_t:
        m.next_t = d._next_t
    if d._acted_as:
        m.acted_as = d._acted_as
    if d._refused:
        m.refused = d._refused
    if d._done:
        m.done = True
    if d._go_on:
        m.go_on = True
