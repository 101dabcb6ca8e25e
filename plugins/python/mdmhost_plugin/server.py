"""The gRPC server of a plugin process."""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import grpc

from .certificates import Certificates
from .definition import Plugin
from .guard import Guard
from .handshake import MESSAGE_CAP
from .link import Broker, handlers
from .memory import SharedMemory

WORKERS = 12  # a host holds two streams and makes one call at a time; somebody who looks on needs some, too
OPTIONS = [("grpc.max_receive_message_length", MESSAGE_CAP), ("grpc.max_send_message_length", MESSAGE_CAP), ("grpc.so_reuseport", 0)]


class Server:
    """Serves a plugin on a unix socket until it is asked to stop."""

    def __init__(self, make: Callable[[], Plugin], path: str, memory: SharedMemory | None, proof: Certificates | None = None, stays: bool = False) -> None:
        """stays: the host cannot end the process."""
        said = make()
        self.stopping = threading.Event()  # set to end the process
        self._guard = Guard(said.object())
        self._closing = threading.Event()
        broker = Broker()
        calls = _calls(said.kind, make, memory, broker, proof)
        self._server = grpc.server(ThreadPoolExecutor(WORKERS, "call"), options=OPTIONS, handlers=[
            grpc.method_handlers_generic_handler(calls.service, {
                name: grpc.unary_unary_rpc_method_handler(self._guard(name, call), request.FromString, lambda m: m.SerializeToString())
                for name, (call, request) in calls.methods().items()
            }),
            *handlers(broker, self._closing, (lambda: None) if stays else self.stopping.set),
        ])
        if proof is None:
            self._server.add_insecure_port("unix:" + path)
        else:
            self._server.add_secure_port("unix:" + path, proof.server())
        os.chmod(path, 0o600)

    def start(self) -> None:
        """Begins to serve."""
        self._server.start()

    def stop(self, grace: float = 1.0) -> None:
        """Finishes calls on their way, for grace seconds at most, and stops."""
        if not self._guard.idle(grace):
            logging.getLogger(__name__).warning("a call was still on its way after %g s", grace)
        self._closing.set()
        self._server.stop(0.2).wait(1)


def _calls(kind: str, make: Callable[[], Plugin], memory: SharedMemory | None, broker: Broker, proof: Certificates | None) -> Any:
    """The service of the plugin's kind. Those of other kinds are not even imported."""
    if kind == "sampler":
        from .session import SamplerCalls

        return SamplerCalls(make, memory, broker, proof)
    if kind == "trainer":
        from .trainer import TrainerCalls

        return TrainerCalls(make)  # type: ignore[arg-type]
    from .calls import PlannerCalls

    return PlannerCalls(make, memory)
