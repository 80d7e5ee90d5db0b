"""The result of grading one submission: the records of `result.json`, a contract (docs/result.md).

Everything that is shown to anybody, in a terminal, a page or a gradebook, is derived from these records and those of
`grader.measured`.  `null` stands for what was not measured; no number is ever made up.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader import measured
from grader.errors import UsageError
from grader.message import Message, msg

CaseKind = Literal["correct", "ragged", "observe", "large"]

HazardKind = Literal["race", "out_of_bounds", "uninitialized", "barrier_divergence", "warp_sync"]


# One check's verdict, and what a list of them comes to; what a teacher decided of them.


class Override(measured.Record, frozen=True):
    """Points that a teacher gives, in place of the grader's.

    was, was_pending, was_possible: what stood there.  outdated: what it replaces is no more what it was when that was
    decided.
    """

    points: float
    was: float
    was_pending: float
    was_possible: float
    reason: str
    outdated: bool = False


class Lateness(measured.Record, frozen=True):
    """Work that was handed in after its deadline.

    handed_in, deadline: ISO 8601; the student's extra time is part of the deadline.  days: begun days between them.
    penalty_pct: what is taken off the points, in per cent of them; lost: in points, lost_pending: of those pending.
    """

    handed_in: str
    deadline: str
    days: int
    penalty_pct: float
    lost: float
    lost_pending: float = 0.0


class Decisions(measured.Record, frozen=True):
    """What holds for the whole mark.

    late: null for work in time.  total: null where the sum of the checks stands.  note: "" where there is none.
    asks_time: there is a deadline, and nobody says when the work was handed in: no penalty is counted.
    """

    late: Lateness | None = None
    total: Override | None = None
    note: str = ""
    asks_time: bool = False


CheckStatus = Literal["pass", "fail", "borderline", "skip", "error"]
SkipReason = Literal["", "not_measured", "prerequisite", "not_applicable", "later"]
WAITING: tuple[SkipReason, ...] = ("not_measured", "prerequisite", "later")
"""Reasons for which a check's points are pending."""

ResultStatus = Literal["passed", "failed", "not_judged", "error"]

EXIT_CODES: dict[ResultStatus, int] = {"passed": 0, "failed": 1, "not_judged": 4, "error": 3}

_BY_WEIGHT = (0, 1, 4, 2, 3)
"""Exit codes, what weighs more later: 2 is for what the user gave, docs/result.md lists them."""

OF_TIME = frozenset({"speedup"})
"""Checks that no machine without a GPU can judge, which says nothing about the work."""


class Repair(measured.Record, frozen=True):
    """The smallest change that was found with which the kernel passes every check: compiled, run and graded.

    file, line: where the fault is.  kind: what is wrong there; docs/result.md lists the kinds.
    diff: lines of a unified diff without its head; [] where the lab file keeps it from who reads this.
    effect: what the change does to the accesses of a line, "" where that is not what the check is about.
    effect_said: the same as id and data.
    """

    file: str
    line: int
    kind: str
    diff: list[str] = []
    effect: str = ""
    effect_said: Message | None = None


class Check(measured.Record, frozen=True):
    """One check's verdict.

    message: what was found.  hint: why it matters and how to fix it, "" when there is nothing to fix.
    message_said, hint_said: the same as ids and data, null in results of version 1.
    line: where, in `file`; null when it concerns no line.
    file: that the line is in, where that is another than the variant's: a launch's; else "".
    skip_reason: why a check was skipped ("" unless status is "skip").
    data: the numbers the message is made of, by name.
    diagnosis: why the output is wrong, null unless that is what the check found.
    repair: the smallest change that makes the kernel right, null where none was looked for or found.
    override: what a teacher decided in place of the grader, whose points `earned` and `pending` then are not.
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
    message_said: Message | None = None
    hint_said: Message | None = None
    line: int | None = None
    skip_reason: SkipReason = ""
    data: dict[str, Any] = {}
    diagnosis: measured.Diagnosis | None = None
    repair: Repair | None = None
    override: Override | None = None
    file: str = ""


class Score(measured.Record, frozen=True):
    """Points.  earned + pending ≤ possible; what is neither earned nor pending is lost."""

    earned: float
    possible: float
    pending: float


def score_of(checks: Iterable[Check]) -> Score:
    """Sums of the checks' points, rounded to hundredths of a point."""
    rows = list(checks)
    return Score(
        earned=round(sum(c.earned for c in rows), 2),
        possible=round(sum(c.possible for c in rows), 2),
        pending=round(sum(c.pending for c in rows), 2),
    )


def status_of(checks: Iterable[Check]) -> ResultStatus:
    """`error` when the grader failed on any check (the mark is not final), `not_judged` when too little was judged for
    a verdict, else `failed` when any check failed."""
    rows = list(checks)
    statuses = {c.status for c in rows}
    if "error" in statuses:
        return "error"
    judged, asked = judged_points(rows)
    if 2 * judged < asked:
        return "not_judged"
    return "failed" if "fail" in statuses else "passed"


def judged_points(checks: Iterable[Check]) -> tuple[float, float]:
    """Points of the checks that were judged, and of all that can be judged without measuring time.

    What waits for a failed check is judged with it; what a teacher gave points for is judged too.
    """
    asked = [c for c in checks if c.check not in OF_TIME]
    return (sum(c.possible for c in asked if not is_unjudged(c)), sum(c.possible for c in asked))


def is_unjudged(check: Check) -> bool:
    """Whether nobody has judged a check that could have been judged without measuring time."""
    is_left = check.status == "error" or check.skip_reason == "not_measured"
    return is_left and check.check not in OF_TIME and check.override is None


def gravest_code(codes: Iterable[int]) -> int:
    """The exit code of several: that of the gravest outcome, 0 for none."""
    return max(codes, default=0, key=_BY_WEIGHT.index)


# What was graded, and how.


class Launch(measured.Record, frozen=True):
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


class Case(measured.Record, frozen=True):
    """One run of a kernel at one size; numbers are null where the run gave no output.

    first_wrong: index of the first wrong element of the output, slowest axis first.
    backend: what ran it.
    drawn: its sizes and data were drawn from the submission, and from the course's secret where there is one.
    """

    size: dict[str, int]
    status: Literal["pass", "fail", "error"]
    kind: CaseKind = "correct"
    backend: measured.BackendName = "emulator"
    max_abs_error: float | None = None
    mismatches: int | None = None
    first_wrong: list[int] | None = None
    message: str = ""
    message_said: Message | None = None
    drawn: bool = False


class Hazard(measured.Record, frozen=True):
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


class Variant(measured.Record, frozen=True):
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
    counters: measured.Counters | None = None
    hazards: list[Hazard] = []
    remarks: list[str] = []
    remarks_said: list[Message] = []
    timing: list[measured.Timing] = []
    resources: measured.Resources | None = None
    host_memory: list[measured.HostMemory] = []
    witnesses: list[measured.Witness] = []
    predicted: measured.PredictedTime | None = None
    unpredicted: str = ""
    unpredicted_said: Message | None = None
    faster: measured.FasterChange | None = None


SCHEMA_VERSION: Literal[3] = 3


class TitlePage(measured.Record, frozen=True):
    """What a student's university wants on a title page; "" for what was not given."""

    university: str = ""
    department: str = ""
    course: str = ""
    teacher: str = ""
    city: str = ""
    year: str = ""


class Student(measured.Record, frozen=True):
    """Who handed the work in; `id` is the folder's name, title_page what `submission.yaml` gives for it."""

    id: str
    name: str = ""
    group: str = ""
    title_page: TitlePage = TitlePage()


class Environment(measured.Record, frozen=True):
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


class Source(measured.Record, frozen=True):
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


class Result(measured.Record, frozen=True):
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
    sweeps: list[measured.SweepRecord] = []
    decisions: Decisions | None = None
    schema_version: Literal[1, 2, 3] = SCHEMA_VERSION

    def file_of(self, check: Check) -> str | None:
        """The file that a check's line is in."""
        return check.file or self.variants.get(check.variant, Variant()).file


def exit_code(results: Iterable[Result]) -> int:
    """The process's exit code for some results: 0 all passed, 1 some failed, 4 some were not judged, 3 the grader
    failed somewhere; of several the gravest (`gravest_code`)."""
    return gravest_code(EXIT_CODES[r.status] for r in results)


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

    Raises UsageError: not JSON, or not of this schema; names `path` and the offending place.
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
    try:
        return msgspec.json.decode(data, type=_Versioned).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def json_schema() -> dict[str, object]:
    """JSON Schema of `result.json`; the package carries it as `result.schema.json`."""
    schema = msgspec.json.schema(Result)
    # Some versions of msgspec leave the docstrings as indented as they stand here.
    for record in schema["$defs"].values():
        if "description" in record:
            record["description"] = cleandoc(record["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "CUDA lab result", **schema}


def write_schema(path: Path) -> None:
    """Write `json_schema()` to `path` (run it after a change of the records; a test compares)."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2) + b"\n")
