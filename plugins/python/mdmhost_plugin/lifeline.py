"""The pipe that the host holds open as long as it lives."""

from __future__ import annotations

import os
import shutil
import threading

from .handshake import SOCKET_DIR
from .memory import inherited

LIFELINE = "MDMHOST_LIFELINE_FD"


def watch_lifeline() -> None:
    """Ends the process when the host is gone, however it went, and removes the folder of its sockets."""
    fd = inherited(LIFELINE)
    if fd is None:
        return

    def watch() -> None:
        try:
            os.read(fd, 1)  # the host never writes: this returns when the last holder of the other end has gone
        except OSError:
            pass
        folder = os.environ.get(SOCKET_DIR)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
