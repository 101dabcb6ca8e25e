"""What stands around every call: exceptions of an author's code become errors of the protocol, and the process lives on."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from typing import Any, Callable

import grpc

from .errors import EXHAUSTED, INTERNAL, Cancelled, PluginError
from .logs import one_line
from .v1 import link_pb2, plugin_pb2

_HERE = os.path.dirname(os.path.abspath(__file__))
_LONGEST = 8 << 10  # statuses are headers, which have limits
_STATUS = {
    "INVALID_CONFIG": grpc.StatusCode.INVALID_ARGUMENT, "UNSUPPORTED_PROTOCOL": grpc.StatusCode.FAILED_PRECONDITION,
    "CONTRACT_VIOLATION": grpc.StatusCode.FAILED_PRECONDITION, "TIMEOUT": grpc.StatusCode.DEADLINE_EXCEEDED,
    "EXHAUSTED": grpc.StatusCode.RESOURCE_EXHAUSTED, "CRASHED": grpc.StatusCode.UNAVAILABLE, "INTERNAL": grpc.StatusCode.INTERNAL,
}


class Guard:
    """Wraps the calls of a plugin's service. It knows how many of them are on their way."""

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin  # such as "planner calm"
        self._log = logging.getLogger(plugin.split(" ", 1)[-1])
        self._count = threading.Condition()
        self._active = 0

    def __call__(self, name: str, answer: Callable[[Any, grpc.ServicerContext], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
        """The guarded call."""

        def guarded(request: Any, context: grpc.ServicerContext) -> Any:
            with self._count:
                self._active += 1
            try:
                return answer(request, context)
            except SystemExit as e:
                self._leave(e)
            except Cancelled as e:
                context.abort(grpc.StatusCode.CANCELLED, _clip(str(e)))
            except BaseException as e:  # also KeyboardInterrupt and CancelledError, which gRPC would leave unanswered
                error = self.explain(name, e)
            finally:
                with self._count:
                    self._active -= 1
                    self._count.notify_all()
            context.set_trailing_metadata((("grpc-status-details-bin", details(error)),))
            context.abort(_STATUS[error.code], _clip(error.problem))

        return guarded

    def idle(self, timeout: float) -> bool:
        """Waits until no call is on its way; false where one still is after timeout seconds."""
        with self._count:
            return self._count.wait_for(lambda: self._active == 0, timeout)

    def explain(self, name: str, e: BaseException) -> PluginError:
        """The error that the host gets. What is no PluginError is logged with its traceback."""
        row = getattr(e, "mdmhost_row", None)
        where = self._plugin + (f", row {row[0]}, step {row[1]}" if row else "")
        if isinstance(e, PluginError):
            if not e.object:
                e.object = where
                if _kit_raised(e):
                    e.problem += author_line(e)
            if e.code == INTERNAL and e.__cause__ is not None:
                self._log.error("error in %s", name, exc_info=e)
            return e
        self._log.error("exception in %s", name, exc_info=e)
        if isinstance(e, MemoryError):
            return PluginError(EXHAUSTED, f"the plugin has no memory left{author_line(e)}", "use a smaller batch, or allow more with plugins.memory", where)
        return PluginError(INTERNAL, f"exception in the plugin: {one_line(e)}{author_line(e)}",
                           "the plugin's log has the stack; report it to the plugin's author", where)

    def _leave(self, e: SystemExit) -> None:
        """Ends the process as sys.exit does outside of a call."""
        status = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
        sys.stderr.flush()
        os._exit(status)


def author_line(e: BaseException) -> str:
    """The innermost line of code that is neither the kit's nor an installed package's, as " (calm.py:16 in calm)"; "" where there is none."""
    own = [f for f in traceback.extract_tb(e.__traceback__) if not _of_kit(f) and "site-packages" not in f.filename]
    return f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno} in {own[-1].name})" if own else ""


def _kit_raised(e: BaseException) -> bool:
    """Tells whether the kit itself found the mistake; what authors raise on purpose speaks for itself."""
    frames = traceback.extract_tb(e.__traceback__)
    return bool(frames) and _of_kit(frames[-1])


def _of_kit(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_HERE + os.sep)


def details(error: PluginError) -> bytes:
    """The error as a google.rpc.Status."""
    m = plugin_pb2.Error(code=error.code, object=_clip(error.object), problem=_clip(error.problem), hint=_clip(error.hint))
    any = link_pb2.Any(type_url="type.googleapis.com/mdmhost.v1.Error", value=m.SerializeToString())
    return link_pb2.Status(code=_STATUS[error.code].value[0], message=_clip(error.problem), details=[any]).SerializeToString()


def _clip(text: str) -> str:
    raw = text.encode(errors="replace")
    return raw.decode() if len(raw) <= _LONGEST else raw[:_LONGEST].decode(errors="ignore") + " ..."
