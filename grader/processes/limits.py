"""What a process may use and touch, by what its operating system offers: bounds that a child sets before it imports
what it is for or sees a student's file.

Landlock (Linux 5.13) takes away every file but those named, and TCP, for good: `#include`, `__has_include` and friends
make a compiler read files, and its log, its output and its success tell what is in them; a sandbox that failed would
let a program do the same.  So a process that is handed a student's file confines itself before it sees that file.

Linux has all that is asked for here.  Native Windows has no limits on a process's resources, hands no descriptors over
and polls sockets only; there children connect back to their parent, and `grade doctor` says what is not bounded.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import json
import mmap
import os
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import resource
except ImportError:
    # Windows.
    resource = None  # type: ignore[assignment]

PAGE_BYTES = mmap.PAGESIZE
IS_LINUX = sys.platform == "linux" and resource is not None
"""Whether the kernel ends children with their parents and knows Landlock."""
INHERITS = hasattr(os, "fork") and hasattr(os, "set_inheritable")
"""Whether a child can be handed an open descriptor."""
POLL_READ, POLL_WRITE = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)


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
    """Wait until one of some descriptors is ready for what it is given with (`POLL_READ`, `POLL_WRITE`), or gone.

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
    reading = [descriptor for descriptor, events in wanted if events & POLL_READ]
    writing = [descriptor for descriptor, events in wanted if events & POLL_WRITE]
    return any(select.select(reading, writing, reading, seconds))


MANY = 4
"""Processes at once, with which it costs nothing to begin what may not be needed."""


def cores() -> int:
    """How many of the machine's cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def seldom_look_for_garbage() -> None:
    """Look for garbage in circles at every 20,000 objects, not 700: steps of programs, trees and records are many and
    stay, and looking through them takes a tenth of a long grading.  Arrays go with the last that knows them.
    """
    gc.set_threshold(20_000, 20, 20)


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


# Bounds.

# Same numbers on every architecture: the system calls are younger than the unified table.
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_RULE_PATH_BENEATH = 1
READ = 1 << 2 | 1 << 3
"""Reading files and listing folders."""
EXECUTE = 1 << 0
WRITE = 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14
"""Writing, making, truncating and removing plain files."""
WRITE_TO = 1 << 1 | 1 << 15
"""Writing to what is there, and ioctl on devices."""
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_PR_SET_NO_NEW_PRIVS = 38

# Rights on files that each version of the interface knows (linux/landlock.h): 13 in version 1, then refer, truncate,
# and ioctl on devices.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_RIGHTS_FROM, _NET_RIGHTS = 4, 0b11
_SCOPES_FROM, _SCOPES = 6, 0b11


def landlock_version() -> int:
    """Version of the kernel's Landlock interface, 0 where there is none."""
    if not IS_LINUX:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION)))


def confine_files(readable: Sequence[str]) -> bool:
    """Take from this process, for good, every file but what lies in the folders `readable`; False without Landlock.

    To be called before any thread starts: it holds for the calling thread and those it starts.
    """
    return confine(dict.fromkeys(readable, READ))


def confine(rights: Mapping[str, int]) -> bool:
    """The same with rights (`READ`, `EXECUTE`, `WRITE`) by folder or file."""
    version = landlock_version()
    if version < 1:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    files = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("<Q", files)
    if version >= _NET_RIGHTS_FROM:
        attributes += struct.pack("<Q", _NET_RIGHTS)
    if version >= _SCOPES_FROM:
        attributes += struct.pack("<Q", _SCOPES)
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        for place, granted in rights.items():
            descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = struct.pack(
                    "<Qi",
                    granted & files & (-1 if stat.S_ISDIR(os.fstat(descriptor).st_mode) else _FILE_ONLY),
                    descriptor,
                )
                if libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, 0) != 0:
                    return False
            finally:
                os.close(descriptor)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


_PR_SET_PDEATHSIG = 1
ONE_BLAS_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""Variables that the libraries that NumPy multiplies with read when they are loaded: see `one_blas_thread`."""
_ENOUGH_DESCRIPTORS = 256
_ENOUGH_ADDRESS_BYTES = 8 << 30
_set_here: dict[int, int] = {}
"""Limits that this process has lowered for itself, by kind: they are not the shell's."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends; at once where `parent` is gone already.

    parent: the process id that `os.getppid` gives while that process lives.

    Other systems than Linux have nothing of the kind: there a child ends when it next listens to its parent.
    """
    if not IS_LINUX:
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def one_blas_thread() -> None:
    """Have NumPy multiply in one thread in this process and those that it starts; called before NumPy is imported.

    OpenBLAS otherwise starts a thread for each core as soon as it is loaded, which waits for work for some milliseconds
    at full speed and holds 40 MB: with 32 cores an import costs four seconds of processor time, with 64 it fails where
    memory is bounded.  One thread also adds in the same order on every machine.
    """
    os.environ.update(ONE_BLAS_THREAD)


def bound_memory(data_bytes: int) -> None:
    """Let this process have at most `data_bytes` of memory of its own, or what the shell allows if that is less.

    Beyond it, allocating fails, which Python tells as `MemoryError`.  What is only reserved does not count, as it would
    for the address space, of which CUDA and WebAssembly take many times what they use.
    """
    if resource is not None:
        _lower(resource.RLIMIT_DATA, data_bytes)


@contextmanager
def bounded_memory(data_bytes: int) -> Iterator[None]:
    """Let this process have at most `data_bytes` more than it has while the block runs; no bound for 0.

    What the process holds already is not the block's: a bound below it fails whatever is begun, and a thread that has
    no memory to begin with keeps the one that starts it waiting for ever.
    """
    if resource is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if data_bytes:
        bound_memory(_held_bytes() + data_bytes)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _held_bytes() -> int:
    """Return this process's memory of its own, as `bound_memory` counts it; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[5]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def no_core_dumps() -> None:
    if resource is not None:
        _lower(resource.RLIMIT_CORE, 0)


def bound_for_good(
    *,
    file_bytes: int,
    descriptors: int | None = None,
    address_bytes: int | None = None,
    data_bytes: int | None = None,
    cpu_seconds: int | None = None,
) -> None:
    """Bound what this process uses, or by what the shell allows if that is less, and let it dump no core.

    Nothing of it on a system without such limits; the wall clock, which the parent watches, holds there too.

    file_bytes: of a file that it writes.  data_bytes: memory of its own.  cpu_seconds: SIGXCPU comes then, SIGKILL a
    second later.  None: as before.
    """
    if resource is None:
        return
    wanted = {
        resource.RLIMIT_AS: address_bytes,
        resource.RLIMIT_DATA: data_bytes,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: descriptors,
        resource.RLIMIT_CPU: cpu_seconds,
    }
    for kind, value in wanted.items():
        if value is not None:
            hard = resource.getrlimit(kind)[1]
            most = value + 1 if kind == resource.RLIMIT_CPU else value
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (min(value, most), most))


def allow_cpu_seconds(seconds: float) -> None:
    """Have the kernel end this process after `seconds` more of processor time, rounded up; may be called again.

    Earlier where the shell that all was started from allows less.
    """
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def allow_data_bytes(size: int) -> None:
    """Let this process have so much memory of its own, or what it was bounded to for good if that is less."""
    if resource is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


def _lower(kind: int, value: int) -> None:
    """Lower a limit: never above what holds already, and never the hard one, which could not be raised again."""
    soft, hard = resource.getrlimit(kind)
    held = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
    if value < min(held, default=value + 1):
        _set_here[kind] = value
    resource.setrlimit(kind, (min([value, *held]), hard))


def shortage() -> str:
    """The bounds of the shell that are tight enough to stop a process, as commands name them; "" when there is none."""
    if resource is None:
        return ""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limits = [f"ulimit -n {descriptors}"] if 0 <= descriptors < _ENOUGH_DESCRIPTORS else []
    for kind, option in ((resource.RLIMIT_AS, "v"), (resource.RLIMIT_DATA, "d")):
        size = resource.getrlimit(kind)[0]
        if size != resource.RLIM_INFINITY and size < _ENOUGH_ADDRESS_BYTES and _set_here.get(kind) != size:
            limits.append(f"ulimit -{option} {size // 1024}")
    seconds = resource.getrlimit(resource.RLIMIT_CPU)[0]
    if seconds != resource.RLIM_INFINITY:
        limits.append(f"ulimit -t {seconds}")
    file_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if file_bytes != resource.RLIM_INFINITY:
        limits.append(f"ulimit -f {file_bytes // 1024}")
    return ", ".join(limits)


def enter(descriptor: str, parent: str, data_bytes: str, module: str, *arguments: str) -> None:
    """Bind this process to its parent, bound its memory, and run `main` of `module`; see `grader.processes.child`."""
    die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    no_core_dumps()
    one_blas_thread()
    if int(data_bytes):
        bound_memory(int(data_bytes))
    # A crash of the interpreter says where, in what the parent reads of a dead child.
    faulthandler.enable()
    importlib.import_module(module).main(_connection(descriptor), *arguments)


def _connection(descriptor: str) -> socket.socket:
    """Return the socket that was inherited, or one to the port that the parent listens at (`Child`)."""
    if not descriptor.startswith("port:"):
        return socket.socket(fileno=int(descriptor))
    connection = socket.create_connection(("127.0.0.1", int(descriptor.removeprefix("port:"))))
    connection.sendall(sys.stdin.buffer.read())
    return connection


# -- a process that becomes a command -----------------------------------------------------------------------


def prepare() -> None:
    """Do nothing: all that `become` needs is imported here."""


def main(connection: socket.socket, order: str) -> None:
    """Do the same as `become` in a forked child: what it says on its output is the command's errors."""
    # The one descriptor that the command would have and need not.
    os.set_inheritable(connection.fileno(), False)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir(json.loads(order)["folder"])
    become(order)


def become(order: str) -> None:
    """Give up every right but those that an order names as JSON (`zig.run_confined`), then become its command."""
    asked = json.loads(order)
    die_with_parent(os.getppid())
    confine(asked["rights"])
    bound_for_good(**asked["limits"])
    os.execve(asked["command"][0], asked["command"], {"PATH": ""})
