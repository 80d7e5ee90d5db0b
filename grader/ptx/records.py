"""What a launch on the emulator reports: plain records, no behaviour beyond sums.

Conventions: `block` and `thread` are (x, y, z); bytes and counts are Python ints;
lines are 1-based lines of the CUDA source (0: unknown).
"""

from __future__ import annotations

from dataclasses import dataclass, field

Index3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Hazard:
    """One fault found while a kernel ran: the first thread that did it, and how many did.

    kind:
      "out_of_bounds" (detail "before" | "after" | "unmapped"; "null": by a pointer parameter `array` that a program
        launched as null, "" where several are; misaligned accesses have detail "misaligned"; of the
        device's heap "freed" (used or freed after it had been freed) and "not_allocated" (freed, not from there)),
      "uninitialized" (read of memory that nothing wrote),
      "race" (detail "write_write" | "write_write_same_value" | "read_write" | "scope": atomics of different blocks, one
        of which is of scope `.cta` | "unfinished_copy", "late_copy": the other access
        is an asynchronous copy that its thread has not waited for, or there is no barrier between its wait and this
        access; `within_warp` tells a missing __syncwarp() from a missing __syncthreads()),
      "barrier_divergence" (detail "different_barriers" | "bypassed": some threads wait, others went on),
      "warp_sync" (detail "missing_lanes": a *_sync member mask names lanes that never come; "not_a_member": it leaves
        the calling lane out; "inactive_source": a shuffle reads from a lane that does not take part).
    `array` is the buffer's or shared array's name; `offset_bytes` the access's byte offset in it, which may be
    negative or past `array_bytes`.  For races the `other_*` fields name the conflicting access.
    `file` is what the module calls the file that `line` is in, "" where nothing is known of it.
    """

    kind: str
    detail: str
    line: int
    space: str
    op: str
    array: str
    offset_bytes: int
    width_bytes: int
    array_bytes: int
    block: Index3
    thread: Index3
    count: int = 1
    within_warp: bool = False
    other_line: int = 0
    other_op: str = ""
    other_block: Index3 | None = None
    other_thread: Index3 | None = None
    file: str = ""


@dataclass(slots=True)
class LineCounter:
    """Counts of one memory instruction kind at one source line, summed over all warps.

    For shared memory `wavefronts`, `ideal` and `ways` (the worst request's wavefronts over its ideal) are set;
    for global memory `sectors` and `ideal` (the sectors that the requested unique bytes need at least).
    `unique_bytes` sums, request by request, the distinct bytes that active lanes addressed.
    `worst_words` (shared memory only): the 32-bit word index, within the block's shared memory, that each of the 32
    lanes addressed in the (first) request with the most ways, -1 for a lane that took no part; () when not recorded.
    `same_address` (atomics only): the most lanes of one request that went to one address.
    `few_requests`: those in which so few lanes took part that their bytes fit into one sector (8 lanes of 4 bytes), and
    `few_lanes` the lanes of these.
    `file`: as of `Hazard`.
    """

    line: int
    space: str
    op: str
    width_bytes: int
    requests: int = 0
    wavefronts: int = 0
    sectors: int = 0
    ideal: int = 0
    ways: int = 1
    unique_bytes: int = 0
    lanes: int = 0
    worst_words: tuple[int, ...] = ()
    few_requests: int = 0
    few_lanes: int = 0
    same_address: int = 0
    file: str = ""


@dataclass(slots=True)
class LineWork:
    """What threads executed at one source line, summed over a launch.

    instructions: of all threads.  executed: of these, what is no jump and no return; places: what these would be if
    every thread of each warp that executed them had: what is missing are lanes that stood idle, having gone another
    way or returned before.  additions: of data, see `grader.ptx.work`.
    uses: executions by what they use: "shared", "constant", "textures", "atomics", "float_atomics", "shuffles" (and
    sums over a warp), "votes", "barriers", "fences", "tensor_cores".
    file: as of `Hazard`.
    """

    line: int
    instructions: int = 0
    executed: int = 0
    places: int = 0
    additions: int = 0
    uses: dict[str, int] = field(default_factory=dict)
    file: str = ""


@dataclass(slots=True)
class Counters:
    """All counters of a launch; totals are sums over `by_line`."""

    by_line: list[LineCounter] = field(default_factory=list)
    sampled_blocks: int = 0
    total_blocks: int = 0

    def total(self, field_name: str, space: str, op: str | None = None) -> int:
        """Sum of a field over the lines of a space ("shared", "global"), of all ops or "load", "store" or "atomic"."""
        return sum(getattr(c, field_name) for c in self.by_line if c.space == space and op in (None, c.op))


@dataclass(slots=True)
class LaunchReport:
    """What one launch did.

    thread_instructions: instructions executed, summed over threads; charged: the same as limits count them.
    warp_instructions: the same, counted once per warp that executed it.
    issued: the same, counted once for all threads that execute one together, of several blocks too.
    steps: of the interpreter, `grader.ptx.limits.Budget.steps`.
    hazards: in order of (line, kind).
    remarks: (kind, line, count) worth knowing that cost nothing, e.g. ("exited_before_barrier", 12, 64).
    printf: what device code printed (capped).
    opcode_counts: thread-instructions per opcode.
    work: by line, where that was asked for.
    shared_bytes: of a block, static and dynamic.
    launched: what the kernel launched itself, in that order; `launch` has carried it out, and counted it in the first
      four, in hazards, in remarks and in what was printed.
    """

    thread_instructions: int = 0
    charged: int = 0
    warp_instructions: int = 0
    issued: int = 0
    steps: int = 0
    counters: Counters = field(default_factory=Counters)
    hazards: list[Hazard] = field(default_factory=list)
    remarks: list[tuple[str, int, int]] = field(default_factory=list)
    printf: str = ""
    opcode_counts: dict[str, int] = field(default_factory=dict)
    work: list[LineWork] = field(default_factory=list)
    shared_bytes: int = 0
    launched: list[DeviceLaunch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeviceLaunch:
    """A launch that a kernel made (dynamic parallelism).

    parameters: the arguments as they lie in memory.  launched_by: the number of the block that launched it.
    stream: the handle; 0, `TAIL_LAUNCH`, `FIRE_AND_FORGET`, or one that the kernel made.  line: where.
    """

    entry: str
    grid: Index3
    block: Index3
    shared_bytes: int
    parameters: bytes
    launched_by: int
    stream: int
    line: int


TAIL_LAUNCH, FIRE_AND_FORGET = 3, 4
"""Streams that every grid has: `cudaStreamTailLaunch`, `cudaStreamFireAndForget`."""


@dataclass(frozen=True, slots=True)
class Write:
    """One element stored by one thread; `event` numbers the launch's memory accesses in the order they were made.

    `op` is "store" or "atomic".  `element` is which of the values of a vector store it was (0 for plain ones).
    `bits` is the value stored, as an unsigned integer of its width; None for atomics.
    """

    array: str
    space: str
    offset_bytes: int
    width_bytes: int
    line: int
    op: str
    block: Index3
    thread: Index3
    event: int
    element: int = 0
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """One element loaded by one thread, and how it had come there.

    origin: "input" (it was there before the launch), "written" (by `put`, which had `reads` to make it) or "nothing"
    (nobody had written it by then; `later` is the first who did, None when nobody ever did).
    is_cut: `reads` were not looked for, since the chain that leads here is too long.
    """

    array: str
    space: str
    offset_bytes: int
    width_bytes: int
    line: int
    block: Index3
    thread: Index3
    origin: str
    put: Write | None = None
    reads: tuple[Read, ...] = ()
    later: Write | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """What a `LineCounter` counts: memory instructions of one kind at one source line."""

    line: int
    space: str
    op: str
    width_bytes: int


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """Where one lane goes.

    offset_bytes: in `array`.  start: where that begins, in bytes: in the block's shared memory, or after the start of
    a sector of global memory.
    """

    lane: int
    array: str
    start: int
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class WarpRequest:
    """One memory request of a warp, lane by lane, those left out that take no part.

    cost: its wavefronts (shared memory) or sectors (global memory).  ideal: the fewest that its bytes need.
    at_once: how many neighbouring lanes shared memory serves together: 32, 16 or 8.
    """

    cost: int
    ideal: int
    at_once: int
    lanes: tuple[LaneAccess, ...]


@dataclass(frozen=True, slots=True)
class WarpSteps:
    """Requests of one warp at one site, one after the other.

    warp: its number in `block`.  element_bytes: of what a lane loads or stores, of a vector each of its numbers.
    first: number, from 1, of the first of `requests` among all that the warp makes there.
    total: how many these are; None where the launch was not watched to the warp's end.
    """

    site: Site
    block: Index3
    warp: int
    element_bytes: int
    requests: tuple[WarpRequest, ...]
    first: int = 1
    total: int | None = None
