"""The memory that the host shares, through which logits come without being sent or copied."""

from __future__ import annotations

import mmap
import os

import numpy as np

from .errors import violation

SHARED = "MDMHOST_SHARED_FD"


class SharedMemory:
    """The host's memory, mapped read-only. It only grows; arrays that were read stay valid as long as somebody holds them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._map: mmap.mmap | None = None

    def floats(self, size: int, offset: int, n: int) -> np.ndarray:
        """n float32 that begin at a byte offset, when the memory has size bytes: a read-only view. Raises PluginError for places outside."""
        if n == 0:
            return np.empty(0, np.float32)
        if offset < 0 or n < 0 or offset % 4 or offset > size or n > (size - offset) // 4:
            raise violation(f"{n} numbers at byte {offset}, expected them within {size} bytes")
        if self._map is None or len(self._map) < size:
            has = os.fstat(self._fd).st_size
            if has < size:
                raise violation(f"mapping {size} bytes of shared memory: it has {has} bytes")
            self._map = mmap.mmap(self._fd, size, prot=mmap.PROT_READ)  # the old one goes with the last array that is laid over it
        return np.frombuffer(self._map, "<f4", n, offset)


def inherited(name: str) -> int | None:
    """The number of the file descriptor that an environment variable names, or None. Children of this process do not inherit it."""
    text = os.environ.get(name, "")
    if not text.isdigit() or int(text) <= 2:
        return None
    fd = int(text)
    os.set_inheritable(fd, False)
    return fd


def shared_memory() -> SharedMemory | None:
    """The memory that the host handed down, or None where there is none."""
    fd = inherited(SHARED)
    return None if fd is None else SharedMemory(fd)
