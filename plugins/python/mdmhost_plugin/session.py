"""The host's session, as a sampler in its own process drives it."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

import grpc

from .calls import RunCalls, encode, fill
from .certificates import Certificates
from .decisions import Decision
from .errors import CODES, INTERNAL, Cancelled, PluginError, violation
from .handshake import MESSAGE_CAP
from .link import Broker
from .memory import SharedMemory
from .needs import Needs
from .rowstate import Advance, RowState
from .step import Step
from .v1 import link_pb2
from .v1 import plugin_pb2 as pb
from .v1.plugin_pb2_grpc import SessionStub

_OPTIONS = [("grpc.max_receive_message_length", MESSAGE_CAP), ("grpc.max_send_message_length", MESSAGE_CAP), ("grpc.enable_http_proxy", 0)]


class Session:
    """What the host offers to a sampler. A slot is valid from admit until emit. What the host refuses raises PluginError with its code."""

    def __init__(self, stub: Any, needs: Needs, memory: SharedMemory | None) -> None:
        self._stub, self._needs, self._memory = stub, needs, memory
        self._last: Step | None = None  # of the last denoise
        self._step: Step | None = None  # of the last denoise without trials, to which decisions belong

    def admit(self) -> list[RowState]:
        """Fills free slots with waiting rows. No rows and no slot in use means that the run is over."""
        return _rows(self._call(self._stub.Admit, pb.AdmitRequest()))

    def advance(self, rows: Iterable[Advance]) -> list[RowState]:
        """Runs one forward pass, has the planner decide, applies, and returns the rows after the step."""
        return _rows(self._call(self._stub.Advance, _advances(rows)))

    def denoise(self, rows: Iterable[Advance]) -> Step:
        """Runs one forward pass and returns the statistics that the sampler declared. They are valid until the next call."""
        asked = list(rows)
        step = Step(self._call(self._stub.Denoise, _advances(asked)), self._needs, self._memory)
        trial = any(a.trial for a in asked)
        for old in (self._last, None if trial else self._step):
            if old is not None and not (trial and old is self._step):
                old.release()
        self._last, self._step = step, self._step if trial else step
        return step

    def plan(self) -> list[Decision]:
        """Asks the planner about the statistics of the last denoise: one decision per row."""
        reply = self._call(self._stub.Plan, pb.SessionPlanRequest())
        rows = self._step.rows if self._step is not None else []
        if len(rows) != len(reply.decisions):
            raise violation(f"{len(reply.decisions)} decisions, expected {len(rows)}, one per row of the last denoise")
        return [_decision(m, row) for m, row in zip(reply.decisions, rows)]

    def apply(self, decisions: Sequence[Decision]) -> list[RowState]:
        """Applies the sampler's decisions, one per row of the last denoise, and returns the rows after the step."""
        request = pb.ApplyRequest()
        if self._step is not None:
            encode(decisions, self._step, request)
        else:  # the host says what is wrong
            for d in decisions:
                fill(request.decisions.add(), d)
        return _rows(self._call(self._stub.Apply, request))

    def emit(self, slots: Iterable[int]) -> None:
        """Hands finished rows over and frees their slots."""
        self._call(self._stub.Emit, pb.EmitRequest(slots=list(slots)))

    def _call(self, method: Callable[[Any], Any], request: Any) -> Any:
        try:
            return method(request)
        except grpc.RpcError as e:
            raise from_host(e) from None


def _advances(rows: Iterable[Advance]) -> Any:
    request = pb.AdvanceRequest()
    for a in rows:
        m = request.rows.add(slot=a.slot, t=a.t, s=a.s, alpha_t=a.alpha_t, alpha_s=a.alpha_s)
        for time in a.ahead:
            m.ahead.extend(time)
        for position, token in a.trial:
            m.trial_position.append(position)
            m.trial_token.append(token)
    return request


def _rows(m: Any) -> list[RowState]:
    return [RowState(r.slot, r.index, r.step, r.steps, r.blanks, r.masked, r.length, r.done, r.next_t, r.room) for r in m.rows]


def _decision(m: Any, row: Any) -> Decision:
    d = Decision(row).open(list(m.open)).remask(list(m.remask)).delete(list(m.delete))
    if m.overwrite_position:
        d.overwrite(list(m.overwrite_position), list(m.overwrite_token))
    if m.insert_gap:
        d.insert(list(m.insert_gap), list(m.insert_count))
    d.act_as(m.acted_as).next_t(m.next_t).refused(m.refused).metrics(m.metrics)
    d._fill, d._done, d._go_on = m.fill, m.done, m.go_on
    return d


def from_host(e: Any) -> Exception:
    """Gives an error of the host its code back."""
    for name, value in e.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            for detail in link_pb2.Status.FromString(value).details:
                if detail.type_url.endswith("/mdmhost.v1.Error"):
                    m = pb.Error.FromString(detail.value)
                    return PluginError(m.code if m.code in CODES else INTERNAL, m.problem, m.hint, m.object or "host")
    if e.code() == grpc.StatusCode.CANCELLED:
        return Cancelled(e.details())
    return PluginError(INTERNAL, f"the session ended: {e.code().name.lower()}: {e.details()}", object="host")


class SamplerCalls(RunCalls):
    """The service mdmhost.v1.Sampler."""

    service = "mdmhost.v1.Sampler"

    def __init__(self, make: Callable[[], Any], memory: SharedMemory | None, broker: Broker, proof: Certificates | None) -> None:
        super().__init__(make, memory)
        self._broker, self._proof = broker, proof

    def sample(self, request: Any, context: Any) -> Any:
        """Drives one session."""
        with self._lock:
            sampler = self._running("Sample")
            address = "unix:" + self._broker.address(request.session)
            with self._proof.channel(address, _OPTIONS) if self._proof else grpc.insecure_channel(address, _OPTIONS) as channel:
                sampler.sample(Session(SessionStub(channel), self._needs, self._memory))
            return pb.SampleReply()

    def methods(self) -> dict[str, tuple[Any, Any]]:
        """The calls by name, and the types of their messages."""
        return {"Describe": (self.describe, pb.DescribeRequest), "Start": (self.start, pb.StartRequest), "Sample": (self.sample, pb.SampleRequest),
                "End": (self.end, pb.EndRequest)}
