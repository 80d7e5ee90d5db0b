"""Tasks are handed out as they can be worked on, each to the GPU with the least to do."""

from __future__ import annotations

import pytest

from grader.cli import main as cli
from grader.grading.group import MOST_AT_ONCE, Feeder, at_once_on
from grader.grading.options import GradeOptions
from grader.grading.workers import GradeTask


class Noting:
    def __init__(self) -> None:
        self.tasks: list[GradeTask] = []

    def submit(self, task: GradeTask, message: object) -> None:
        assert message is task
        self.tasks.append(task)

    @property
    def said(self) -> str:
        return " ".join(task.student + task.gpu for task in self.tasks)


def tasks(names: str) -> list[GradeTask]:
    return [GradeTask(path=b"/x", options=GradeOptions(lab="transpose"), student=name) for name in names]


def test_no_more_than_can_be_worked_on() -> None:
    grading = Noting()
    feeder = Feeder(grading, 2)
    assert not feeder
    feeder.submit(tasks("abc"))
    assert grading.said == "a b" and feeder
    feeder.ended(grading.tasks[1])
    assert grading.said == "a b c"
    for task in (grading.tasks[0], grading.tasks[2]):
        feeder.ended(task)
    assert not feeder


def test_each_goes_where_least_is_to_do_and_a_student_stays_on_one_gpu() -> None:
    grading = Noting()
    feeder = Feeder(grading, 4, ["1", "2"])
    feeder.submit(tasks("abcdef"))
    assert grading.said == "a1 b2 c1 d2"
    # The second GPU's are done first: both of the next go there.
    feeder.ended(grading.tasks[1])
    feeder.ended(grading.tasks[3])
    assert grading.said == "a1 b2 c1 d2 e2 f2"
    feeder.submit(tasks("eac"))
    for task in list(grading.tasks):
        feeder.ended(task)
    assert grading.said == "a1 b2 c1 d2 e2 f2 e2 a1 c1"


@pytest.mark.parametrize(
    ("gib", "gpus", "students", "at_once"),
    [
        # A third is left for whichever is done first.
        (140, 1, 30, 16),
        (140, 2, 30, 10),
        (140, 1, 15, 10),
        (140, 4, 300, 16),
        # Contexts and arrays have to fit.
        (12, 1, 30, 12),
        (8, 2, 300, 8),
        (2, 1, 30, 4),
        # Few students, or nobody knows how much memory there is.
        (140, 2, 3, 4),
        (0, 1, 30, 4),
    ],
)
def test_as_many_on_a_gpu_as_its_memory_holds_and_its_share_of_the_group(
    gib: int, gpus: int, students: int, at_once: int
) -> None:
    assert at_once_on(gib << 30, gpus, students) == at_once


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_help_says_how_many_there_are_for_each_gpu(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help", "--lang", language]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert {"en": f"at most {MOST_AT_ONCE} for each GPU", "ru": f"не больше {MOST_AT_ONCE} на каждый GPU"}[
        language
    ] in words
