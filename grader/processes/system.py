"""What an operating system may lack of what processes are bounded and watched by, and what stands in for it.

Linux has all of it.  Native Windows has no limits on a process's resources, hands no descriptors over and polls sockets
only; there children connect back to their parent, and what is not bounded is told by `grade doctor`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:
    # Windows.
    resource = None  # type: ignore[assignment]

__all__ = ["HAS_LIMITS", "INHERITS", "IS_LINUX", "PAGE_BYTES", "READ", "WRITE", "cores", "resident_bytes", "resource"]
__all__ += ["available_bytes", "isolated_python", "trim_heap", "wait_for"]

PAGE_BYTES = mmap.PAGESIZE
IS_LINUX = sys.platform == "linux" and resource is not None
"""Whether the kernel ends children with their parents and knows Landlock."""
HAS_LIMITS = resource is not None
INHERITS = hasattr(os, "fork") and hasattr(os, "set_inheritable")
"""Whether a child can be handed an open descriptor."""
READ, WRITE = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)


def available_bytes() -> int:
    """Memory that a process may still take, by what Linux and the control group that it is in say; 4 GiB if neither."""
    amounts = []
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        amounts.append(int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10)
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        amounts.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return max(0, min(amounts, default=4 << 30))


def isolated_python() -> list[str]:
    """The words that start this Python without what its user has set, but for whether it may write compiled modules.

    Where files may not grow, it would leave them cut off, and find no module in them from then on.
    """
    return [sys.executable, "-I", *(["-B"] if sys.dont_write_bytecode else [])]


def wait_for(descriptors: Iterable[tuple[int, int]], seconds: float) -> bool:
    """Wait until one of some descriptors is ready for what it is given with (`READ`, `WRITE`), or gone.

    Returns whether one is.
    """
    wanted = list(descriptors)
    if hasattr(select, "poll"):
        poll = select.poll()
        for descriptor, events in wanted:
            poll.register(descriptor, events)
        # Rounded up: a deadline that is almost there must not be asked for in a loop.
        return bool(poll.poll(int(seconds * 1000) + (1 if seconds else 0)))
    if not wanted:
        import time

        time.sleep(seconds)
        return False
    reading = [descriptor for descriptor, events in wanted if events & READ]
    writing = [descriptor for descriptor, events in wanted if events & WRITE]
    return any(select.select(reading, writing, reading, seconds))


def cores() -> int:
    """How many of the machine's cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def trim_heap() -> None:
    """Give pages of the heap back to the system that hold nothing; what makes and drops much keeps them otherwise."""
    if IS_LINUX:
        # The C library's own: others than GNU's have none and need none.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(ctypes.c_size_t(0))


def resident_bytes(process: int | str = "self") -> int:
    """Memory that a process holds now; 0 where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * PAGE_BYTES
