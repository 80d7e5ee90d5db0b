"""The page of a single grading: written with the marks, and once more when all that no mark depends on is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.course.decisions import find_decider
from grader.grading import session
from grader.grading.options import GradeOptions
from grader.grading.paths import Outputs
from grader.grading.students import Gathered, Work
from grader.grading.workers import GradeTask
from grader.lab import labs
from grader.processes.pool import Answer
from grader.report.job import ReportJob
from grader.report.rendering import Reply
from grader.result import Result
from tests import sample_results


class Renderers:
    """Write a job's page when they are asked for events, whatever is in it."""

    def __init__(self) -> None:
        self.jobs: list[ReportJob] = []
        self.unfinished: list[ReportJob] = []

    def submit(self, job: ReportJob, _message: object) -> None:
        self.jobs.append(job)
        self.unfinished.append(job)

    def events(self) -> Iterator[Answer[ReportJob, Reply]]:
        while self.unfinished:
            job = self.unfinished.pop(0)
            page = Path(job.directory) / "report.html"
            page.write_text(" ".join(job.result.remarks), "utf-8")
            yield Answer(job, Reply("html", job.result.student.id, str(page)), is_last=True)


def run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    rest: Callable[[Result, Path], Result],
    graphs: str = "",
    pdf: bool = True,
) -> Renderers:
    """graphs: what the result has before changes of kernels are looked for."""
    lab, result = labs.find("transpose"), msgspec.structs.replace(sample_results.passed(), remarks=["marks"])
    outputs = Outputs(folder, lab.id, [result.student.id])

    def grade_here(_task: GradeTask, _lab: object, judged: Callable[[Result], None], **more: Any) -> Result:
        judged(result)
        if graphs:
            more["swept"](msgspec.structs.replace(result, remarks=["marks", graphs]))
        return rest(result, folder / result.student.id / lab.id / "report.html")

    monkeypatch.setattr(session, "grade_here", grade_here)
    task = GradeTask(path=b"x", options=GradeOptions(lab=lab.id), student=result.student.id)
    renderers = Renderers()
    gathered = Gathered((Work(Path("x"), result.student.id),), is_single=True)
    session.grade_with_report(task, lab, outputs, renderers, pdf, gathered, find_decider([], folder))  # type: ignore[arg-type]
    return renderers


def test_it_stands_there_with_the_marks_while_the_rest_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def rest(result: Result, page: Path) -> Result:
        seen.append(page.read_text("utf-8"))
        return msgspec.structs.replace(result, remarks=["marks", "graphs"])

    first, last = run(tmp_path, monkeypatch, rest).jobs
    assert seen == ["marks"]
    # Paper waits for all of it.
    assert (first.pdf, last.pdf) == (False, True)
    (page,) = tmp_path.rglob("report.html")
    assert page.read_text("utf-8") == "marks graphs"
    assert capsys.readouterr().out.count("Report:") == 1


def test_it_and_the_log_stay_where_the_rest_comes_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rest(_result: Result, _page: Path) -> Result:
        raise RuntimeError("a slip")

    run(tmp_path, monkeypatch, rest)
    (page,) = tmp_path.rglob("report.html")
    assert page.read_text("utf-8") == "marks"
    (log,) = tmp_path.rglob("*.log")
    assert "a slip" in log.read_text("utf-8")


def test_graphs_are_drawn_before_changes_are_looked_for_and_stay_where_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def rest(_result: Result, page: Path) -> Result:
        seen.append(page.read_text("utf-8"))
        raise RuntimeError("a slip")

    jobs = run(tmp_path, monkeypatch, rest, "graphs", pdf=False).jobs
    assert (seen, len(jobs)) == (["marks graphs"], 3)
    assert jobs[-1].result.remarks == ["marks", "graphs"]
    out = capsys.readouterr().out
    assert "no changes of kernels were looked for" in out and "no graphs" not in out
    assert out.count("Report:") == 1
