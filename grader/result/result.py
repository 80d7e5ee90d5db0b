"""The result of grading one submission: everything below it, and the exit code of several.

`result.json` is these records as bytes, and back.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from grader.errors import UsageError
from grader.message import Message, msg
from grader.result.check import EXIT_CODES, Check, Decisions, ResultStatus, Score, score_of, status_of, weightier
from grader.result.measured import Counters, FasterChange, HostMemory, PredictedTime, Record, Resources, Timing, Witness

BackendName = Literal["emulator", "gpu"]
CaseKind = Literal["correct", "ragged", "observe", "large"]

HazardKind = Literal["race", "out_of_bounds", "uninitialized", "barrier_divergence", "warp_sync"]


class Launch(Record, frozen=True):
    """The launch a kernel was graded with; `from` tells who said so.

    tile: elements that one block covers along x, y; shared_bytes: dynamic shared memory.
    line: where the student's host code says so, null where it does not.
    requested: the block that the host code asks for where it is impossible, else null.
    by: how it is known: "stated" in submission.yaml, "observed" when the program was run, "read" from its text,
      "inferred" from the kernel, or the "lab"'s own; "" in results of before there was this field.
    """

    block: tuple[int, int, int]
    origin: Literal["submission", "lab", "inferred"] = msgspec.field(name="from")
    tile: list[int] = []
    shared_bytes: int = 0
    line: int | None = None
    requested: tuple[int, int, int] | None = None
    by: Literal["", "stated", "observed", "read", "inferred", "lab"] = ""


class Case(Record, frozen=True):
    """One run of a kernel at one size; numbers are null where the run gave no output.

    first_wrong: index of the first wrong element of the output, slowest axis first.
    backend: what ran it.
    drawn: its sizes and data were drawn from the submission, and from the course's secret where there is one.
    """

    size: dict[str, int]
    status: Literal["pass", "fail", "error"]
    kind: CaseKind = "correct"
    backend: BackendName = "emulator"
    max_abs_error: float | None = None
    mismatches: int | None = None
    first_wrong: list[int] | None = None
    message: str = ""
    message_said: Message | None = None
    drawn: bool = False


class Hazard(Record, frozen=True):
    """A fault seen while the kernel ran: the first thread that did it; `count` says how many times it was seen.

    other_*: the access that it collides with (races).
    file: that the line is in, "" for the variant's own.
    """

    kind: HazardKind
    line: int
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    message: str = ""
    message_said: Message | None = None
    detail: str = ""
    array: str = ""
    count: int = 1
    other_line: int | None = None
    other_thread: tuple[int, int, int] | None = None
    other_block: tuple[int, int, int] | None = None
    file: str = ""


class Variant(Record, frozen=True):
    """What was found out about the kernel of one variant; `kernel` is null when none was found.

    predicted: its time on a GPU that is not there; unpredicted: why there is none, "" where none was asked for.
    faster: the smallest change with which it is predicted to take less; null where none was looked for or found.
    """

    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    launch: Launch | None = None
    cases: list[Case] = []
    counters: Counters | None = None
    hazards: list[Hazard] = []
    remarks: list[str] = []
    remarks_said: list[Message] = []
    timing: list[Timing] = []
    resources: Resources | None = None
    host_memory: list[HostMemory] = []
    witnesses: list[Witness] = []
    predicted: PredictedTime | None = None
    unpredicted: str = ""
    unpredicted_said: Message | None = None
    faster: FasterChange | None = None


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
    "gb_per_s"; on the emulator, for each element of the output: "sectors" of global memory, "wavefronts" of shared
    memory, "instructions" of threads, "bus_bytes" between host and device.
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


SCHEMA_VERSION: Literal[3] = 3


class TitlePage(Record, frozen=True):
    """What a student's university wants on a title page; "" for what was not given."""

    university: str = ""
    department: str = ""
    course: str = ""
    teacher: str = ""
    city: str = ""
    year: str = ""


class Student(Record, frozen=True):
    """Who handed the work in; `id` is the folder's name, title_page what `submission.yaml` gives for it."""

    id: str
    name: str = ""
    group: str = ""
    title_page: TitlePage = TitlePage()


class Environment(Record, frozen=True):
    """What the result was made with: enough to make it again.

    backend: "gpu" when results come from a GPU as well as from the emulator, whose counters stand in either case.
    device, driver: the GPU's, null without one.  copy_gb_s, fp32_gflop_s: the most that it was seen to do,
    in 10⁹ bytes read and written a second and 10⁹ float32 operations a second; null when nothing was timed.
    architecture: what the code was compiled for.
    drawn_seed: of the drawn case's sizes and data, null where none was run; drawn_by: what it was drawn from, "secret"
    of the course or "submission" alone (docs/teachers.md).
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
    drawn_seed: int | None = None
    drawn_by: Literal["", "submission", "secret"] = ""


class Source(Record, frozen=True):
    """A graded file as text (line ends `\\n`, no byte order mark); `sha256` is of the file's bytes.

    notebook: the notebook that the text is taken from, "" for a file of its own.  cells: of such a text the first line
    of each cell in it, and the cell's number in the notebook, from 1.
    """

    file: str
    text: str
    encoding: str = "utf-8"
    sha256: str = ""
    notebook: str = ""
    cells: list[tuple[int, int]] = []

    def cell_at(self, line: int) -> tuple[int, int] | None:
        """The cell that a line of the text stands in, and its number there, both from 1; None where there are none."""
        before = [(first, number) for first, number in self.cells if first <= line]
        return (before[-1][1], line - before[-1][0] + 1) if before else None


class Result(Record, frozen=True):
    """All that is known about one student's work for one lab.

    Beside a text `x` its message stands as `x_said`, so that it can be said in another language; results of version 1
    have texts alone.  Results before version 3 have no status `not_judged`.

    decisions: what a teacher decided of the whole mark; `score` is what comes of it, null where nothing was decided.
    """

    student: Student
    lab: str
    status: ResultStatus
    score: Score
    environment: Environment
    variants: dict[str, Variant]
    checks: list[Check]
    sources: list[Source] = []
    remarks: list[str] = []
    remarks_said: list[Message] = []
    sweeps: list[SweepRecord] = []
    decisions: Decisions | None = None
    schema_version: Literal[1, 2, 3] = SCHEMA_VERSION

    def file_of(self, check: Check) -> str | None:
        """The file that a check's line is in."""
        return check.file or self.variants.get(check.variant, Variant()).file


def exit_code(results: Iterable[Result]) -> int:
    """The process's exit code for some results: 0 all passed, 1 some failed, 4 some were not judged, 3 the grader
    failed somewhere; of several the gravest (`weightier`)."""
    return weightier(EXIT_CODES[r.status] for r in results)


def marked(result: Result, checks: list[Check]) -> Result:
    """The result with other checks, its points and status those that follow from them.

    Before version 3 no status said that too little was judged: such a result keeps to those that there were.
    """
    status = status_of(checks)
    if status == "not_judged" and result.schema_version < 3:
        status = "failed" if any(check.status == "fail" for check in checks) else "passed"
    return msgspec.structs.replace(result, checks=checks, score=score_of(checks), status=status)


# `result.json`: results as bytes and back, and the schema of it.


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        version = _version(data)
        if version > SCHEMA_VERSION:
            what = msg("session.newer_result", path=str(path), found=version, known=SCHEMA_VERSION)
        else:
            what = msg("session.no_result", path=str(path), known=SCHEMA_VERSION, reason=str(error))
        raise UsageError(what) from error


class _Versioned(msgspec.Struct):
    schema_version: int = 0


def _version(data: bytes) -> int:
    """The version of the schema that `data` names, 0 for none."""
    try:
        return msgspec.json.decode(data, type=_Versioned).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def json_schema() -> dict[str, object]:
    """JSON Schema of `result.json`; the package carries it as `result.schema.json`."""
    schema = msgspec.json.schema(Result)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "CUDA lab result", **schema}


def write_schema(path: Path) -> None:
    """Write `json_schema()` to `path` (run it after a change of the records; a test compares)."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2) + b"\n")
