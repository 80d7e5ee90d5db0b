"""What becomes of reports, as lines and as an exit code: whose fault it is that one is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading.paths import Announcer, Outputs
from grader.processes.pool import Answer, Lost
from grader.report.rendering import Reply
from tests.report.jobs import job

JOB = job()
STUDENT = JOB.result.student.id


@pytest.fixture
def announcer(tmp_path: Path) -> Announcer:
    return Announcer(Outputs(tmp_path, "transpose", [STUDENT]))


def test_a_page_that_is_written_is_told_and_asks_for_no_exit_code(announcer: Announcer) -> None:
    assert announcer.lines(Answer(JOB, Reply("html", STUDENT, "r/report.html"), False)) == ["Report: r/report.html"]
    assert (announcer.code, announcer.rendered, announcer.files) == (0, {STUDENT}, {STUDENT: {"report.html"}})


def test_what_cannot_be_written_is_the_users_business(announcer: Announcer) -> None:
    (line,) = announcer.lines(Answer(JOB, Reply("unwritable", STUDENT, "r: no space left"), False))
    assert "r: no space left" in line and announcer.code == 2


def test_a_report_that_comes_to_nothing_is_ours_and_leaves_a_log(announcer: Announcer, tmp_path: Path) -> None:
    (failed,) = announcer.lines(Answer(JOB, Reply("failed", STUDENT, "Traceback: a slip"), True))
    assert announcer.code == 3 and not announcer.rendered
    (log,) = tmp_path.rglob("*.log")
    assert log.read_text("utf-8").strip().endswith("a slip") and log.name in failed
    announcer.code = 0
    (late,) = announcer.lines(Lost(JOB, "deadline"))
    assert announcer.code == 3 and "took longer than" in late
    # Said once, however many it concerns.
    assert announcer.lines(Lost(JOB, "deadline")) == []
