"""The result of grading one submission: the records of `result.json`, a contract (docs/result.md).

Everything that is shown to anybody, in a terminal, a page or a gradebook, is derived from these records.
`null` stands for what was not measured; no number is ever made up.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.errors import UsageError

SCHEMA_VERSION: Literal[1] = 1

CheckStatus = Literal["pass", "fail", "borderline", "skip", "error"]
SkipReason = Literal["", "not_measured", "prerequisite", "not_applicable"]
ResultStatus = Literal["passed", "failed", "error"]
BackendName = Literal["emulator", "gpu"]
CaseKind = Literal["correct", "ragged", "observe"]
HazardKind = Literal["race", "out_of_bounds", "uninitialized", "barrier_divergence", "warp_sync"]

EXIT_CODES: dict[ResultStatus, int] = {"passed": 0, "failed": 1, "error": 3}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: immutable, fields by name, unknown fields refused when read."""


class Student(Record, frozen=True):
    """Who handed the work in; `id` is the folder's name."""

    id: str
    name: str = ""
    group: str = ""


class Score(Record, frozen=True):
    """Points.  earned + pending ≤ possible; what is neither earned nor pending is lost."""

    earned: float
    possible: float
    pending: float


class Environment(Record, frozen=True):
    """What the result was made with: enough to make it again.

    backend: "gpu" when results come from a GPU as well as from the emulator, whose counters stand in either case.
    device, driver: the GPU's, null without one.  copy_gb_s, fp32_gflop_s: the most that it was seen to do,
    in 10⁹ bytes read and written a second and 10⁹ float32 operations a second; null when nothing was timed.
    architecture: what the code was compiled for.
    command: the command line that repeats this grading, "" when graded through the Python interface.
    """

    backend: str
    grader: str
    seed: int
    device: str | None = None
    driver: str | None = None
    copy_gb_s: float | None = None
    fp32_gflop_s: float | None = None
    nvrtc: str | None = None
    architecture: str = ""
    python: str = ""
    numpy: str = ""
    command: str = ""


class Source(Record, frozen=True):
    """A graded file as text (line ends `\\n`, no byte order mark); `sha256` is of the file's bytes."""

    file: str
    text: str
    encoding: str = "utf-8"
    sha256: str = ""


class Launch(Record, frozen=True):
    """The launch a kernel was graded with; `from` tells who said so.

    tile: elements that one block covers along x, y; shared_bytes: dynamic shared memory.
    line: where the student's host code says so, null where it does not.
    requested: the block that the host code asks for where it is impossible, else null.
    """

    block: tuple[int, int, int]
    origin: Literal["submission", "lab", "inferred"] = msgspec.field(name="from")
    tile: list[int] = []
    shared_bytes: int = 0
    line: int | None = None
    requested: tuple[int, int, int] | None = None


class Case(Record, frozen=True):
    """One run of a kernel at one size; numbers are null where the run gave no output.

    first_wrong: index of the first wrong element of the output, slowest axis first.
    backend: what ran it.
    """

    size: dict[str, int]
    status: Literal["pass", "fail", "error"]
    kind: CaseKind = "correct"
    backend: BackendName = "emulator"
    max_abs_error: float | None = None
    mismatches: int | None = None
    first_wrong: list[int] | None = None
    message: str = ""


class LineCounters(Record, frozen=True):
    """Memory requests of one source line: a request is one instruction of one warp.

    wavefronts, ways: shared memory only (ways: the worst request's wavefronts over the least it could take).
    sectors: global memory only, 32 bytes each.  ideal: the fewest wavefronts or sectors these bytes need.
    lanes: thread accesses, summed over requests.
    lane_words: the 32-bit word of shared memory that each of the 32 lanes addresses in the worst request,
    null for a lane that takes no part, [] where not recorded; bank = word mod 32.
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


class Hazard(Record, frozen=True):
    """A fault seen while the kernel ran: the first thread that did it; `count` says how many times it was seen.

    other_*: the access that it collides with (races).
    """

    kind: HazardKind
    line: int
    message: str
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    detail: str = ""
    array: str = ""
    count: int = 1
    other_line: int | None = None
    other_thread: tuple[int, int, int] | None = None
    other_block: tuple[int, int, int] | None = None


class Ratio(Record, frozen=True):
    """How many times as fast as something else, with its interval."""

    value: float
    low: float
    high: float


class Timing(Record, frozen=True):
    """Time of a kernel at one size: median with its 99 % confidence interval, µs.

    speedup: over what the lab's check measures it by.  Ratios are medians of ratios taken within a round, in which
    all kernels ran next to one another.
    over_baseline: over the student's own kernel of the lab's first variant; over_reference: over the reference kernel
    of the same variant; over_cpu: over the lab's NumPy oracle, which kept `cpu_threads` threads busy.
    gb_per_s: bytes that have to be moved over the time; gflop_per_s: likewise operations (one of the two is null);
    pct_of_device: that over the most the device was seen to do.
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
    line: int | None = None


class Variant(Record, frozen=True):
    """What was found out about the kernel of one variant; `kernel` is null when none was found."""

    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    launch: Launch | None = None
    cases: list[Case] = []
    counters: Counters | None = None
    hazards: list[Hazard] = []
    remarks: list[str] = []
    timing: list[Timing] = []
    resources: Resources | None = None
    host_memory: list[HostMemory] = []
    witnesses: list[Witness] = []


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
    sentences: all of this in words.  picture: a string for each row along the last axis, a character for each
    element: "." right, "x" wrong, "o" wrong because nobody wrote it; [] for large outputs.
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
    picture: list[str] = []


class Check(Record, frozen=True):
    """One check's verdict.

    message: what was found.  hint: why it matters and how to mend it, "" when there is nothing to mend.
    line: where, in `file` of the variant; null when it concerns no line.
    skip_reason: why a check was skipped ("" unless status is "skip").
    data: the numbers the message is made of, by name.
    diagnosis: why the output is wrong, null unless that is what the check found.
    """

    id: str
    variant: str
    check: str
    status: CheckStatus
    earned: float
    possible: float
    pending: float = 0.0
    message: str = ""
    hint: str = ""
    line: int | None = None
    skip_reason: SkipReason = ""
    data: dict[str, Any] = {}
    diagnosis: Diagnosis | None = None


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
    """

    variant: str
    of: Literal["submission", "reference"]
    x: int
    line: int | str | None = None
    size: dict[str, int] = {}
    block: tuple[int, int, int] | None = None
    status: Literal["ok", "impossible", "fixed", "wrong", "failed"] = "ok"
    reason: str = ""
    values: dict[str, Estimate] = {}


class SweepRecord(Record, frozen=True):
    """A series of runs that a graph is drawn of, as the lab file declares it.

    backend: "gpu" when times were measured, "emulator" when work was counted.
    x, lines: names of what is swept and of the second parameter ("" without one, "host_memory" for kinds of memory).
    metrics: what each point has values of: on a GPU "time" and "total_time" (with the copies), µs, "gflop_per_s",
    "gb_per_s"; on the emulator, for each element of the output: "sectors" of global memory, "wavefronts" of shared
    memory, "instructions" of threads, "bus_bytes" between host and device.
    left_out: variants of the submission that were not swept, and why.
    """

    id: str
    backend: BackendName
    x: str
    lines: str
    metrics: list[str]
    points: list[SweepPoint]
    left_out: dict[str, str] = {}


class Result(Record, frozen=True):
    """All that is known about one student's work for one lab."""

    student: Student
    lab: str
    status: ResultStatus
    score: Score
    environment: Environment
    variants: dict[str, Variant]
    checks: list[Check]
    sources: list[Source] = []
    remarks: list[str] = []
    sweeps: list[SweepRecord] = []
    schema_version: Literal[1] = SCHEMA_VERSION


def score_of(checks: Iterable[Check]) -> Score:
    """Sums of the checks' points, rounded to hundredths of a point."""
    rows = list(checks)
    return Score(
        earned=round(sum(c.earned for c in rows), 2),
        possible=round(sum(c.possible for c in rows), 2),
        pending=round(sum(c.pending for c in rows), 2),
    )


def status_of(checks: Iterable[Check]) -> ResultStatus:
    """`error` when any check could not be judged (the mark is not final), else `failed` when any failed."""
    statuses = {c.status for c in checks}
    if "error" in statuses:
        return "error"
    return "failed" if "fail" in statuses else "passed"


def exit_code(results: Iterable[Result]) -> int:
    """The process's exit code for some results: 0 all passed, 1 some failed, 3 the grader failed somewhere."""
    return max((EXIT_CODES[r.status] for r in results), default=0)


def encode(result: Result) -> bytes:
    """The result as indented UTF-8 JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def decode(data: bytes, path: Path | str = "result.json") -> Result:
    """The result in `data`.

    Raises
    ------
    UsageError : not JSON, or not of this schema; names `path` and the offending place.
    """
    try:
        return msgspec.json.decode(data, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a result of schema version {SCHEMA_VERSION}: {error}") from error


def json_schema() -> dict[str, object]:
    """JSON Schema of `result.json`; the package carries it as `result.schema.json`."""
    schema = msgspec.json.schema(Result)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "CUDA lab result", **schema}


def write_schema(path: Path) -> None:
    """Write `json_schema()` to `path` (run it after a change of the records; a test compares)."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2) + b"\n")
