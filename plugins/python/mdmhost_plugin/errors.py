"""Errors that reach the user of a plugin with a code, an object, a problem and a hint."""

from __future__ import annotations

INVALID_CONFIG = "INVALID_CONFIG"
UNSUPPORTED_PROTOCOL = "UNSUPPORTED_PROTOCOL"
CONTRACT_VIOLATION = "CONTRACT_VIOLATION"
TIMEOUT = "TIMEOUT"
EXHAUSTED = "EXHAUSTED"
CRASHED = "CRASHED"
INTERNAL = "INTERNAL"

CODES = (INVALID_CONFIG, UNSUPPORTED_PROTOCOL, CONTRACT_VIOLATION, TIMEOUT, EXHAUSTED, CRASHED, INTERNAL)


class PluginError(Exception):
    """An error that the host reports as it is: `raise PluginError(INVALID_CONFIG, "what was expected and found", "what to do")`.

    Any other exception of an author's code is reported as INTERNAL, with its traceback in the log.
    """

    def __init__(self, code: str, problem: str, hint: str = "", object: str = "") -> None:
        if code not in CODES:
            raise ValueError(f"error code {code!r}: expected one of {', '.join(CODES)}")
        super().__init__(problem)
        self.code = code
        self.problem = problem
        self.hint = hint
        self.object = object  # what failed; empty: the kit says which plugin, row and step

    def __str__(self) -> str:
        start = f"{self.object}: " if self.object else ""
        return f"{start}{self.code}: {self.problem}" + (f"; {self.hint}" if self.hint else "")


class Cancelled(Exception):
    """The host has given the call up: whoever waits for it may leave."""


def violation(problem: str, hint: str = "") -> PluginError:
    """A message or an answer that breaks the protocol."""
    return PluginError(CONTRACT_VIOLATION, problem, hint)
