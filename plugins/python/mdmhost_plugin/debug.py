"""A plugin under a debugger: started by hand, it waits for hosts that are told where it is."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from typing import Callable

from .definition import PROTOCOL, Plugin


def debug(make: Callable[[], Plugin], said: Plugin) -> int:
    """Serves until Ctrl-C and returns the exit status. A host cannot end the process. Logits come as bytes."""
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    from .server import Server

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    folder = tempfile.mkdtemp(prefix="mdmhost-debug-", dir=None if len(tempfile.gettempdir()) < 60 else "/tmp")  # a socket's path has 108 bytes
    try:
        path = os.path.join(folder, "plugin.sock")
        server = Server(make, path, None, stays=True)
        for ended in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ended, lambda *_: server.stopping.set())
        server.start()
        where = {said.name: {"kind": said.kind, "pid": os.getpid(), "addr": path, "protocol": PROTOCOL}}
        command = "train" if said.kind == "trainer" else "sample"
        print("MDMHOST_REATTACH='" + json.dumps(where, separators=(",", ":")) + "'", flush=True)
        print(f"{said.object()} waits for a host until Ctrl-C. In another terminal:\n"
              f"  export MDMHOST_REATTACH=...   (the line above)\n  mdmhost {command} --{said.kind} {said.name}", file=sys.stderr, flush=True)
        server.stopping.wait()
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0
