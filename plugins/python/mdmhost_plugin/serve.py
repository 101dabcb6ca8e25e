"""The main function of a plugin."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .byhand import by_hand
from .definition import Plugin, fresh
from .errors import UNSUPPORTED_PROTOCOL, PluginError
from .handshake import greet, socket_path, started_by_host, take_stdout


def serve(plugin: Plugin | type[Plugin]) -> NoReturn:
    """Serves a planner, sampler or trainer until the host is done; it ends the process. Of a class, every run gets a value of its own.

    Started by hand, the process says what it is and how it is used; with the argument `describe` it prints its description as JSON, with
    `--debug` it waits for a host that is told where it is.
    """
    make, args = fresh(plugin), sys.argv[1:]
    try:
        said = make()
        if sys.byteorder != "little":
            raise PluginError(UNSUPPORTED_PROTOCOL, "the protocol is little-endian and this machine is not", "run on amd64 or arm64", "plugins")
        said.check()
    except PluginError as e:
        print(e, file=sys.stderr)
        sys.exit(1)
    if started_by_host():
        _serve_host(make, said)
    if args and args[-1] == "--debug":
        from .debug import debug

        sys.exit(debug(make, said))
    sys.exit(by_hand(said, sys.argv[0], args))


def _serve_host(make: object, said: Plugin) -> NoReturn:
    """Serves the host that started this process."""
    import faulthandler
    import signal
    import threading

    stdout = take_stdout()
    faulthandler.enable(all_threads=False)  # the thread that failed; the host quotes the first lines
    from .lifeline import watch_lifeline
    from .logs import log_to_host

    log_to_host(said.name)
    watch_lifeline()
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    from .certificates import certificates
    from .memory import shared_memory
    from .server import Server

    try:
        proof = certificates()
    except PluginError as e:
        print(e, file=sys.stderr)
        sys.exit(1)
    path = socket_path()
    server = Server(make, path, shared_memory(), proof)  # type: ignore[arg-type]
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: server.stopping.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the host's
    server.start()
    greet(stdout, path, proof.handshake if proof else "")
    server.stopping.wait()
    # Whatever holds the process up, such as a thread of the author's, it is gone before the host would kill it.
    last = threading.Timer(1.5, os._exit, (0,))
    last.daemon = True
    last.start()
    server.stop()
    sys.exit(0)
