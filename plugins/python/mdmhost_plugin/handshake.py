"""go-plugin's handshake: how the host knows a plugin, and where it finds it."""

from __future__ import annotations

import os
import sys

from .definition import PROTOCOL

COOKIE = ("MDMHOST_PLUGIN", "9d2cbd5a4c1a4a2a-mdmhost")  # it tells that mdmhost started us; it protects nothing
SOCKET_DIR = "PLUGIN_UNIX_SOCKET_DIR"
MESSAGE_CAP = 256 << 20  # the largest message that either side accepts, in bytes


def started_by_host() -> bool:
    """Tells whether mdmhost started this process."""
    return os.environ.get(COOKIE[0]) == COOKIE[1]


def socket_path() -> str:
    """A free path for a unix socket, in the host's private folder."""
    folder = os.environ.get(SOCKET_DIR) or "/tmp"
    return os.path.join(folder, f"plugin-{os.getpid()}.sock")


def take_stdout() -> int:
    """Makes standard output the log, for Python and for C libraries, and returns a descriptor of what it was. What was printed before and
    is still in Python's buffer goes to the log, too, and does not break the handshake."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        sys.stdout.flush()
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        pass  # somebody has put something else in its place, or closed it
    return kept


def greet(stdout: int, path: str, certificate: str = "") -> None:
    """Prints the handshake and closes the descriptor."""
    line = f"1|{PROTOCOL}|unix|{path}|grpc" + (f"|{certificate}" if certificate else "")
    os.write(stdout, (line + "\n").encode())
    os.close(stdout)
