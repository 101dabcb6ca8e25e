"""Logs as the host reads them: one JSON object a line on standard error, in the form of hclog."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from typing import Any

LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"), (logging.DEBUG, "debug"))
LONGEST = 30 << 10  # characters of one text; the host takes lines of 64 KiB
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class HostHandler(logging.Handler):
    """Writes records of Python's logging for the host. What is given as extra comes as keys of its own."""

    def __init__(self, plugin: str) -> None:
        super().__init__()
        self._plugin = plugin

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.line(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)

    def line(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.created % 1 * 1e6):06d}Z"
        module = self._plugin if record.name in ("root", self._plugin) else f"{self._plugin}.{record.name}"
        out: dict[str, Any] = {
            "@level": next((word for least, word in LEVELS if record.levelno >= least), "trace"),
            "@message": _clip(record.getMessage()), "@module": module, "@timestamp": at,
        }
        for name, value in record.__dict__.items():
            if name not in _STANDARD and name not in out:
                out[name] = _plain(value)
        if record.exc_info and record.exc_info[1] is not None:
            out.setdefault("exception", _clip(one_line(record.exc_info[1])))
            out.setdefault("stack", stack(record.exc_info[1]))
        return json.dumps(out, default=str)


def one_line(error: BaseException) -> str:
    """An exception's type and text."""
    return "".join(traceback.format_exception_only(error)).strip()


def stack(error: BaseException) -> str:
    """An exception's traceback; of a long one, the end."""
    text = "".join(traceback.format_exception(error))
    return text if len(text) <= LONGEST else "...\n" + text[-LONGEST:]


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, type(None))) else _clip(str(value))


def log_to_host(plugin: str) -> None:
    """Sends logging, warnings and exceptions of threads to the host, which shows what its setting plugins.log asks for."""
    root = logging.getLogger()
    root.handlers[:] = [HostHandler(plugin)]
    root.setLevel(logging.DEBUG)
    logging.captureWarnings(True)

    def thread_failed(args: Any) -> None:
        if args.exc_type is not SystemExit and args.exc_value is not None:
            name = args.thread.name if args.thread is not None else "?"
            root.error("exception in thread %s", name, exc_info=(args.exc_type, args.exc_value, args.exc_traceback))

    threading.excepthook = thread_failed
