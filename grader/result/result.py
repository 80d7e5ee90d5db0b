"""The result of grading one submission: everything below it, and the exit code of several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from grader.message import Message
from grader.result.check import EXIT_CODES, Check, ResultStatus, Score, score_of, status_of, weightier
from grader.result.decisions import Decisions
from grader.result.record import Record
from grader.result.sweep import SweepRecord
from grader.result.variant import Variant

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
