"""What the grader and its GPU process say to each other: records, on a channel as all our processes have one.

Arrays do not travel in messages but in a memory file whose descriptor comes along.
"""

from __future__ import annotations

import socket

import msgspec

from grader.processes.channel import Channel
from grader.timing import HostTimes as HostTimes
from grader.timing import KernelFacts as KernelFacts
from grader.timing import Problem as Problem

PROGRESS_BYTES = 256
"""At the memory file's start: the name of the kernel at work, so that it is known which one did not end."""

SCRIPT_NAME = "launches.msgpack"

HELPERS = (
    "fill",
    "check_filled",
    "set_bytes",
    "check_bytes",
    "check_same",
    "compare",
    "read_all",
    "discard",
    "empty",
    "clock_probe",
    "multiply_add",
)
HELPERS_MODULE = "helpers"
"""The grader's own kernels (device/helpers.cu), and the name that their machine code is loaded under."""


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages; the class's name is its tag."""


class Array(msgspec.Struct, frozen=True, tag="array"):
    """A buffer.  offset: of its bytes in the memory file, input to be copied in and result copied out alike.

    width: bytes of an element; dtype: its NumPy name.
    is_zeroed: an output that the program sets to zero before each launch, as the kernel adds to it.
    """

    name: str
    dtype: str
    width: int
    count: int
    is_output: bool
    offset: int = 0
    is_zeroed: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return self.width * self.count


class Scalar(msgspec.Struct, frozen=True, tag="scalar"):
    """A value as its bytes in memory."""

    value: bytes


Argument = Array | Scalar


class Launch(msgspec.Struct, frozen=True):
    """One kernel with its launch configuration and arguments; `module` is the name it was loaded under.

    cooperative: its blocks may wait for each other, if there are no more than can be resident.
    """

    module: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: list[Argument]
    cooperative: bool = False


class Load(Message, frozen=True):
    """Load machine code under a name, replacing what had that name."""

    module: str
    cubin: bytes


class LaunchOnce(Message, frozen=True):
    """Launch once, on the arrays in the memory file that comes along."""

    launch: Launch


class Release(Message, frozen=True):
    """Give back the memory that launches have used, as others need theirs while this process waits."""


class WarmUp(Message, frozen=True):
    """Keep the device busy for so long, and measure what it can do."""

    busy_ms: float


class Target(msgspec.Struct, frozen=True):
    """A kernel that is timed.  checked_by: the one whose results on the same data its own are compared with."""

    name: str
    launch: Launch
    checked_by: str = ""


class Prepare(Message, frozen=True):
    """Get ready to time kernels side by side; pools of values to fill their inputs with are in the memory file.

    pools: for each "role:dtype", offset and number of values (a power of two).
    l2: "cold": evict the L2 cache before each sample; "warm": leave it as it is.
    clock_share: of a launch's time, what one tick of the events' clock may come to; shorter launches are batched.
    """

    targets: list[Target]
    pools: dict[str, tuple[int, int]]
    l2: str
    clock_share: float
    max_batch: int
    absolute: float
    relative: float


class Round(Message, frozen=True):
    """Time each kernel once, in this order, on data made from `key`."""

    order: list[str]
    key: int


class HostCopies(Message, frozen=True):
    """Time a launch with its copies to and from the host, with host memory of each of these kinds."""

    launch: Launch
    modes: list[str]
    repeats: int


Request = Load | LaunchOnce | Release | WarmUp | Prepare | Round | HostCopies


class Ready(Message, frozen=True):
    """The device is open.  Clocks in MHz, memory in bytes."""

    name: str
    uuid: str
    architecture: str
    driver: str
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    max_sm_mhz: float
    shared_optin_bytes: int


class NoDevice(Message, frozen=True):
    """There is no GPU that could be used; `reason` says why."""

    reason: str


class Loaded(Message, frozen=True):
    """The module is loaded."""


class Released(Message, frozen=True):
    """The memory is given back."""


class Failed(Message, frozen=True):
    """A driver call failed.  sticky: the context is lost with it, and the process ends.

    during: "load", "launch" (the launch was refused), "kernel" (it ran and failed), "grader" (everything else).
    """

    code: int
    name: str
    during: str
    sticky: bool
    kernel: str = ""


class Ran(Message, frozen=True):
    """The launch is done; its outputs, and inputs that it changed, are in the memory file.

    guards: names of the arrays beside which it wrote.
    """

    facts: KernelFacts
    changed: list[str]
    guards: list[str]
    elapsed_us: float
    printf: str = ""


class WarmedUp(Message, frozen=True):
    """What the device can do: bytes read and written per nanosecond, and 10⁹ float32 operations per second."""

    copy_gb_s: float
    fp32_gflop_s: float
    sm_mhz: float


class Prepared(Message, frozen=True):
    """Launches in one sample and the first estimate of the time of one, by kernel; time of an empty kernel."""

    batch: dict[str, int]
    estimate_us: dict[str, float]
    empty_us: float
    facts: dict[str, KernelFacts]
    problems: list[Problem]


class RoundDone(Message, frozen=True):
    """Time of one launch by kernel, µs; what was wrong; the SM clock after the round and the reasons of a low one."""

    times_us: dict[str, float]
    problems: list[Problem]
    sm_mhz: float
    reasons: int


class HostCopiesDone(Message, frozen=True):
    """A row per kind of host memory; kinds that the device lacks are left out."""

    rows: list[HostTimes]


Reply = Ready | NoDevice | Loaded | Released | Failed | Ran | WarmedUp | Prepared | RoundDone | HostCopiesDone


class Script(msgspec.Struct, frozen=True):
    """Launches to be carried out one after another, in a folder where a profiler's program finds them.

    modules: machine code by name, the grader's own among it.  Memory of launch i lies in the file `memory.i`.
    """

    modules: dict[str, bytes]
    launches: list[Launch]


def read_script(data: bytes) -> Script:
    return msgspec.msgpack.decode(data, type=Script)


def requests_on(connection: socket.socket) -> Channel[Request]:
    """The GPU process's end of the conversation."""
    return Channel(connection, msgspec.msgpack.Decoder(Request))


def replies_on(connection: socket.socket) -> Channel[Reply]:
    """The grader's end."""
    return Channel(connection, msgspec.msgpack.Decoder(Reply))
