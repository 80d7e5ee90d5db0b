"""What was counted and measured of a kernel, as records: counters by line, times, series of them, wrong elements."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.message import Message

BackendName = Literal["emulator", "gpu"]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: immutable, fields by name, unknown fields refused when read."""


# Counted work of a launch: totals, and the memory requests of each source line.


class WarpArray(Record, frozen=True):
    """An array that a warp accesses, as the student calls it ("" where that is not known).

    start: where it begins, in bytes: in the block's shared memory, or after the start of a sector of global memory.
    shape: its sizes, slowest axis first, in elements of `element_bytes`; [] where they are not known.
    """

    name: str
    element_bytes: int
    start: int = 0
    shape: list[int] = []


class WarpRequest(Record, frozen=True):
    """One request of the warp.

    cost: its wavefronts (shared memory) or sectors (global memory).  ideal: the fewest that its bytes need.
    at_once: how many neighbouring lanes shared memory serves together: 32, or 16 or 8 where they want 8 or 16 bytes.
    runs: (array, lane, lanes, element, step): of so many lanes from `lane` on the first accesses that element of that
    array, each next one the element `step` further on.  Lanes in no run take no part.
    """

    cost: int
    ideal: int
    runs: list[tuple[int, int, int, int, int]]
    at_once: int = 32


class WarpSteps(Record, frozen=True):
    """What one warp does at a source line, request by request: the first warp that makes the worst request there.

    warp: its number in `block`.  first: number, from 1, of the first of `requests` (at most 8) among the `total` that
    the warp makes there; total is null where it was not watched to its end.
    """

    block: tuple[int, int, int]
    warp: int
    arrays: list[WarpArray]
    requests: list[WarpRequest]
    first: int = 1
    total: int | None = None


class LineCounters(Record, frozen=True):
    """Memory requests of one source line: a request is one instruction of one warp.

    wavefronts, ways: shared memory only (ways: the worst request's wavefronts over the least it could take).
    sectors: global memory only, 32 bytes each.  ideal: the fewest wavefronts or sectors these bytes need.
    lanes: thread accesses, summed over requests.
    few_requests, few_lanes: requests in which so few lanes took part that their bytes fit into one sector of 32 (8
    lanes of 4 bytes), and the lanes of these.
    lane_words: the 32-bit word of shared memory that each of the 32 lanes addresses in the worst request,
    null for a lane that takes no part, [] where not recorded; bank = word mod 32.
    steps: a warp's requests, lane by lane, where these accesses cost points; else null.
    file: that the line is in, "" for the variant's own.
    """

    line: int
    space: Literal["shared", "global", "local"]
    op: Literal["load", "store", "atomic"]
    requests: int
    width_bytes: int = 4
    wavefronts: int = 0
    sectors: int = 0
    ideal: int = 0
    ways: int = 1
    unique_bytes: int = 0
    lanes: int = 0
    lane_words: list[int | None] = []
    few_requests: int = 0
    few_lanes: int = 0
    steps: WarpSteps | None = None
    file: str = ""


class Counters(Record, frozen=True):
    """Totals over one launch at `size`, counted on addresses alone (no arbitration noise).

    shared_excess = shared_wavefronts − shared_ideal.
    shared_efficiency_pct = 100 · distinct bytes / (128 · wavefronts), nvprof's `shared_efficiency`;
    null when shared memory is not used.  The per-request figures are null where there is no such request.
    sampled_blocks < total_blocks: only that many blocks were watched.
    """

    size: dict[str, int]
    shared_requests: int
    shared_wavefronts: int
    shared_ideal: int
    shared_excess: int
    worst_conflict_ways: int
    shared_efficiency_pct: float | None
    global_load_requests: int
    global_load_sectors_per_request: float | None
    global_load_ideal_per_request: float | None
    global_store_requests: int
    global_store_sectors_per_request: float | None
    global_store_ideal_per_request: float | None
    by_line: list[LineCounters]
    thread_instructions: int | None = None
    sampled_blocks: int = 0
    total_blocks: int = 0


# What was measured on a GPU: times, copies, resources, and what other tools say.


class Ratio(Record, frozen=True):
    """How many times as fast as something else, with its interval."""

    value: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval tells which of the two is faster."""
        return self.low > 1 or self.high < 1


class Timing(Record, frozen=True):
    """Time of a kernel at one size: median with its 99 % confidence interval, µs.

    speedup: over what the lab's check measures it by.  Ratios are medians of ratios taken within a round, in which
    all kernels ran next to one another.
    over_baseline: over the student's own kernel of the lab's first variant; over_reference: over the reference kernel
    of the same variant; over_cpu: over the lab's NumPy oracle, which kept `cpu_threads` threads busy.
    gb_per_s: bytes that have to be moved over the time; gflop_per_s: likewise operations (one of the two is null);
    pct_of_device: that over the most the device was seen to do.
    copies_us, reference_copies_us: of a function or a program, its copies between host and device, which are in none of
    the other times; null where it has none.
    launch_bound: hardly longer than the launch of an empty kernel takes: shown, not marked.
    rounds: those that count; dropped: others, in which the device ran below its usual clock.  batch: launches in one.
    undecided: the interval straddles what is asked for, after all the rounds that were allowed.
    """

    size: dict[str, int]
    median_us: float | None = None
    ci_low_us: float | None = None
    ci_high_us: float | None = None
    quartile_low_us: float | None = None
    quartile_high_us: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    reference_us: float | None = None
    copies_us: float | None = None
    reference_copies_us: float | None = None
    over_baseline: Ratio | None = None
    over_reference: Ratio | None = None
    over_cpu: float | None = None
    cpu_us: float | None = None
    cpu_threads: int | None = None
    gb_per_s: float | None = None
    gflop_per_s: float | None = None
    pct_of_device: float | None = None
    launch_bound: bool = False
    rounds: int = 0
    dropped: int = 0
    batch: int = 1
    undecided: bool = False


class LineTime(Record, frozen=True):
    """What a source line takes of a predicted time.

    share: of the time, 0 to 1.  predicted_us: that in µs.  shares: of the time by what it goes to.
    """

    line: int
    share: float
    predicted_us: float
    shares: dict[str, float]


class PredictedTime(Record, frozen=True):
    """Time of one launch, or of all that a function or a program makes, on a GPU that is not there, predicted from what
    blocks do on the emulator; µs.

    predicted_us: expected, from empty caches.  predicted_low_us, predicted_high_us: between them lie 85 % of launches,
    where times on that device were compared (`is_checked`); else the interval is twice as wide on a logarithmic scale.
    shares: of the time by what it goes to, together 1: "issue", "arithmetic", "shared" (wavefronts of shared memory),
    "l1", "l2", "dram", "atomics", "barriers", "block_starts", "latency", "tail" (multiprocessors idle while the last
    blocks end), "launch".  limiter: the largest of them.
    predicted_without_us: the time without "bank_conflicts", were each warp's bytes next to one another ("uncoalesced"),
    or were no atomics of a warp at one address ("same_address"): of these what costs something.
    by_line: lines of the kernel's file, the most expensive first.
    predicted_over_baseline: over the student's own kernel of the lab's first variant; predicted_speedup: over what the
    lab's check measures by, the reference kernel of the variant `against`; null where there is none.
    """

    device: str
    size: dict[str, int]
    predicted_us: float
    predicted_low_us: float
    predicted_high_us: float
    is_checked: bool
    shares: dict[str, float]
    limiter: str
    predicted_without_us: dict[str, float] = {}
    by_line: list[LineTime] = []
    predicted_over_baseline: Ratio | None = None
    predicted_speedup: Ratio | None = None
    against: str = ""


FasterKind = Literal[
    "padding",
    "axes",
    "neighbours",
    "unrolled",
    "restrict",
    "elements",
    "launch",
    "register",
    "precision",
    "powers",
    "quotients",
]


class FasterChange(Record, frozen=True):
    """The smallest change that was found with which a right kernel is predicted to be faster: compiled, run and graded.

    file, line: where.  kind: "padding" (rows of shared arrays an element longer), "axes" (x and y of threads in each
    other's place), "neighbours" (elements in steps of all threads), "unrolled" (a loop), "restrict" (pointers that no
    other one overlaps), "elements" (several for each thread of a smaller block), "launch" (another block), "register"
    (what a loop adds to global memory kept in a variable), "precision" (float for double), "powers" (products and roots
    for `pow`, `rsqrtf` for 1 over a root), "quotients" (one for several with the same divisor).
    diff: lines of a unified diff without its head; [] where the lab file keeps it from who reads this.
    effect: what it does to the accesses of a line, or to instructions, as it was counted; "" where the worst line is as
    it was.
    predicted_us: on `device` at `size` with the change; predicted_times: how many times as fast as without it.
    measured_times: that on the GPU `measured_on`, both timed in turns at `size`; null where it was not.
    """

    file: str
    line: int
    kind: FasterKind
    device: str
    size: dict[str, int]
    predicted_us: float
    predicted_times: Ratio
    measured_on: str = ""
    measured_times: Ratio | None = None
    diff: list[str] = []
    effect: str = ""
    effect_said: Message | None = None


class Resources(Record, frozen=True):
    """What a kernel takes on the GPU it was compiled for, by compiler and driver.

    shared_bytes: of a block, static and dynamic.  local_bytes: of a thread, its stack and spills included.
    blocks_per_sm: blocks that fit on a multiprocessor; occupancy_pct: their warps, of those it can hold.
    """

    architecture: str
    registers: int
    shared_bytes: int
    local_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    blocks_per_sm: int | None = None
    occupancy_pct: float | None = None


class HostMemory(Record, frozen=True):
    """A launch with its copies, for one kind of host memory; medians, µs.

    cpu_read_us: the CPU reading up to 1 MiB of the output's buffer.
    """

    mode: Literal["pageable", "pinned", "write_combined", "mapped"]
    size: dict[str, int]
    copy_in_us: float
    kernel_us: float
    copy_out_us: float
    total_us: float
    cpu_read_us: float


class Witness(Record, frozen=True):
    """What another tool says of the kernel; never part of a mark.

    tool: "ncu" or "compute-sanitizer".  name: the metric or the kind of finding; value: null for a finding.
    emulator: the emulator's figure for the same thing, null where it has none.
    """

    tool: str
    name: str
    value: float | None = None
    emulator: float | None = None
    text: str = ""
    text_said: Message | None = None
    line: int | None = None


# Why an output is wrong, as records.


class Element(Record, frozen=True):
    """An element of an array; index: slowest axis first."""

    array: str
    index: list[int]


class ElementRange(Record, frozen=True):
    """Elements of an array: for each axis, slowest first, the first and the last index."""

    array: str
    ranges: list[tuple[int, int]]


class ElementWriter(Record, frozen=True):
    """A thread that wrote an element, and the source line at which it did."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    op: Literal["store", "atomic"] = "store"


class ElementRead(Record, frozen=True):
    """An element that a thread read, and how it had come there.

    origin: "input" (it was there before the launch), "written" (by `put_by`, who had made it from `put_from`), or
    "nothing" (nobody had written it by then; `put_by` is who wrote it later, null when nobody ever did).
    """

    array: str
    space: Literal["shared", "global"]
    index: list[int]
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    origin: Literal["input", "written", "nothing"]
    put_by: ElementWriter | None = None
    put_from: list[Element] = []


class WrongPattern(Record, frozen=True):
    """A rule that the wrong elements follow: it holds for `holds` of `of` of them; `data` are its numbers.

    docs/result.md lists the ids.
    """

    id: str
    holds: int
    of: int
    data: dict[str, int | float | str] = {}


class Diagnosis(Record, frozen=True):
    """Why an output is wrong, told of its first wrong element at the smallest size that goes wrong.

        shape, tile: of the output, slowest axis first (tile: elements that a block covers; [] when unknown).
        inputs: shapes of the inputs by name.
        total, wrong, unwritten: counts of elements; unwritten ones still hold what was there before the launch.
        first: index of the first wrong element; expected, got: its values, null where they are no finite number.
        expected_at, got_at: where these values stand in an input, null when nowhere or in several places.
        writer: who wrote it last, null when nobody did or it is not known (`traced` tells which).  writers: how many
        threads wrote it.  overwritten: who had written the right value there before, else null.
        reads: what the writer had read to make it (at most 64).  read: the input elements that it came to be made from
        (at most 64 ranges, like the next two).  uses: how many readings of them it was made from.
        missing, surplus: those that it should have been made from as well, or should not have been; found out from the
        oracle where `compared`.
        values: the rule of the wrong values.  region: where they lie.
        sentences: all of this in words; sentences_said: as ids and data.
    picture: a string for each row along the last axis, a character for each element: "." right, "x" wrong, "o" wrong
    because nobody wrote it; [] for large outputs.
    """

    size: dict[str, int]
    output: str
    shape: list[int]
    total: int
    wrong: int
    unwritten: int
    first: list[int]
    expected: float | int | None
    got: float | int | None
    tile: list[int] = []
    inputs: dict[str, list[int]] = {}
    expected_at: Element | None = None
    got_at: Element | None = None
    traced: bool = False
    writer: ElementWriter | None = None
    writers: int = 0
    overwritten: ElementWriter | None = None
    reads: list[ElementRead] = []
    read: list[ElementRange] = []
    uses: int = 0
    compared: bool = False
    missing: list[ElementRange] = []
    surplus: list[ElementRange] = []
    values: WrongPattern | None = None
    region: WrongPattern | None = None
    sentences: list[str] = []
    sentences_said: list[Message] = []
    picture: list[str] = []


# Series of runs that graphs are drawn of.


class Estimate(Record, frozen=True):
    """A measured number with its 99 % confidence interval; low and high are null for what was counted."""

    value: float
    low: float | None = None
    high: float | None = None


class SweepPoint(Record, frozen=True):
    """One run of a sweep.

    of: whose kernel ran, the submission's or the lab's own.
    x: value of what is swept; line: value of the second parameter, or the kind of host memory, null without either.
    status: "ok"; "impossible" (no device can run it: too many threads or too much shared memory), "fixed" (the program
    cannot be changed that way), "wrong" (it ran, with a wrong result), "failed" (it did not end well).
    reason: why there are no values, "" when there are.
    values: by metric.
    conflict_ways: the worst bank conflict of the run, 1 without any; null where shared memory is not used, or on a GPU.
    """

    variant: str
    of: Literal["submission", "reference"]
    x: int
    line: int | str | None = None
    size: dict[str, int] = {}
    block: tuple[int, int, int] | None = None
    status: Literal["ok", "impossible", "fixed", "wrong", "failed"] = "ok"
    reason: str = ""
    reason_said: Message | None = None
    values: dict[str, Estimate] = {}
    conflict_ways: int | None = None


class SweepRecord(Record, frozen=True):
    """A series of runs that a graph is drawn of, as the lab file declares it.

    backend: "gpu" when times were measured, "emulator" when work was counted.
    x, lines: names of what is swept and of the second parameter ("" without one, "host_memory" for kinds of memory).
    metrics: what each point has values of: on a GPU "time" and "total_time" (with the copies), µs, "gflop_per_s",
    "gb_per_s"; on the emulator, for each element of the output, of functions of the largest array: "sectors" of
    global memory, "wavefronts" of shared memory, "instructions" of threads, "bus_bytes" between host and device.
    left_out: variants of the submission that were not swept, and why.
    predicted: the points that a GPU is asked for, with times predicted for `predicted_device`: of a point that is "ok"
    the metrics of a GPU as "predicted_time" and so on; what has no prediction is "failed".
    """

    id: str
    backend: BackendName
    x: str
    lines: str
    metrics: list[str]
    points: list[SweepPoint]
    left_out: dict[str, str] = {}
    left_out_said: dict[str, Message] = {}
    predicted: list[SweepPoint] = []
    predicted_device: str = ""
