"""The services that every go-plugin process has: health, controller, broker and stdio."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator

import grpc

from .errors import INTERNAL, PluginError
from .v1.link_pb2 import ConnInfo, Empty, HealthReply, HealthRequest


class Broker:
    """go-plugin's broker: the host tells under which number it serves a connection, and where."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._known: dict[int, Any] = {}

    def stream(self, infos: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """The stream of a host; it ends when the host goes."""
        try:
            for info in infos:
                with self._news:
                    self._known[info.service_id] = info
                    self._news.notify_all()
        except grpc.RpcError:
            pass
        except Exception:
            if context.is_active():
                raise
        return
        yield  # nothing is sent: the plugin serves no connections

    def address(self, id: int, timeout: float = 5.0) -> str:
        """The address of a connection; PluginError where the host does not tell it within timeout seconds."""
        with self._news:
            if not self._news.wait_for(lambda: id in self._known, timeout):
                raise PluginError(INTERNAL, f"the host did not say where its session {id} is within {timeout:g} s", "run it again; report it to mdmhost")
            info = self._known.pop(id)
        if info.network != "unix":
            raise PluginError(INTERNAL, f"the host serves its session over {info.network}, expected unix", "use this plugin on the host's machine")
        return info.address


def handlers(broker: Broker, closing: threading.Event, shutdown: Callable[[], None]) -> list[grpc.GenericRpcHandler]:
    """The services. shutdown is called when the host asks the process to end."""

    def check(request: Any, context: grpc.ServicerContext) -> Any:
        if request.service not in ("", "plugin"):
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no service {request.service}")
        return HealthReply(status=1)

    def stop(request: Any, context: grpc.ServicerContext) -> Any:
        shutdown()
        return Empty()

    def stdio(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """What is printed goes to standard error, which loses nothing in a crash; the stream stays silent."""
        gone = threading.Event()
        if context.add_callback(gone.set):
            while not (gone.wait(0.2) or closing.is_set()):
                pass
        return
        yield

    def unary(call: Any, request: Any) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(call, request.FromString, lambda m: m.SerializeToString())

    empty = Empty.FromString
    return [
        grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": unary(check, HealthRequest)}),
        grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": unary(stop, Empty)}),
        grpc.method_handlers_generic_handler("plugin.GRPCStdio", {"StreamStdio": grpc.unary_stream_rpc_method_handler(stdio, empty)}),
        grpc.method_handlers_generic_handler(
            "plugin.GRPCBroker", {"StartStream": grpc.stream_stream_rpc_method_handler(broker.stream, ConnInfo.FromString)}),
    ]
