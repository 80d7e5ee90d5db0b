"""The rendering processes, driven as a grading drives them."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from grader.processes import fork_server
from grader.processes.pool import Answer, Lost, Pool, wait
from grader.report import rendering
from grader.report.job import ReportJob
from grader.report.rendering import Reply, rendering_pool
from grader.result import Result, Source, Student
from tests import sample_results
from tests.report.jobs import job

pytestmark = pytest.mark.started

Event = Answer[ReportJob, Reply] | Lost[ReportJob]


def of(student: str) -> Result:
    return msgspec.structs.replace(sample_results.passed(), student=Student(id=student))


def rendered(pool: Pool[ReportJob, Reply], jobs: Sequence[ReportJob]) -> list[Event]:
    for one in jobs:
        pool.submit(one, one)
    events: list[Event] = []
    while pool.unfinished:
        events += pool.events()
        if pool.unfinished:
            wait(pool)
    return events


def told(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(e.task.result.student.id, e.reason if isinstance(e, Lost) else e.reply.event) for e in events]


def test_files_are_written_and_told_as_they_are_ready(tmp_path: Path) -> None:
    with rendering_pool() as pool:
        events = rendered(pool, [job(directory=str(tmp_path))])
    kinds = [kind for _student, kind in told(events)]
    assert kinds in (["html", "pdf", "done"], ["html", "no_pdf", "done"])
    assert isinstance(events[0], Answer) and events[0].reply.text == str(tmp_path / "report.html")
    expected = {"report.html", "report.pdf"} if "pdf" in kinds else {"report.html"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_without_pdf_an_old_one_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_text("of an earlier run")
    with rendering_pool(pdf=False) as pool:
        events = rendered(pool, [job(directory=str(tmp_path), pdf=False)])
    assert [kind for _student, kind in told(events)] == ["html", "done"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_written_says_where_and_why_and_does_not_stop_the_next(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    jobs = [
        job(directory=str(occupied / "below"), pdf=False),
        job(of("second"), directory=str(tmp_path / "good"), pdf=False),
    ]
    with rendering_pool(pdf=False) as pool:
        events = rendered(pool, jobs)
    assert told(events) == [("ivanov", "unwritable"), ("ivanov", "done"), ("second", "html"), ("second", "done")]
    assert isinstance(events[0], Answer)
    assert events[0].reply.text == f"{occupied / 'below' / 'report.html'}: Not a directory"


def test_a_renderer_that_was_killed_is_replaced(tmp_path: Path) -> None:
    with rendering_pool(pdf=False) as pool:
        pool.warm()
        (victim,) = [hand.child.pid for hand in pool._hands]
        os.kill(victim, signal.SIGKILL)
        jobs = [job(of(name), directory=str(tmp_path / name), pdf=False) for name in ("first", "second")]
        events = rendered(pool, jobs)
    assert told(events) == [("first", "html"), ("first", "done"), ("second", "html"), ("second", "done")]


@pytest.mark.slow
def test_forked_renderers_that_have_grown_are_replaced_and_render_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "FORKED_TIDY_BYTES", 1 << 10)
    processes, files = set(), []
    with fork_server.kept(), rendering_pool() as pool:
        for number in range(4):
            one = job(sample_results.failed(), directory=str(tmp_path / str(number)))
            pool.submit(one, one)
            list(pool.events())
            processes |= {hand.child.pid for hand in pool._hands}
            events: list[Event] = []
            while pool.unfinished:
                wait(pool)
                events += pool.events()
            assert not any(isinstance(event, Lost) for event in events)
            files.append({path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()})
    assert len(processes) > 1
    assert files == files[:1] * 4


def test_a_report_that_takes_too_long_is_that_students_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rendering_pool(pdf=False) as pool:
        # As long as any report takes.
        rendered(pool, [job(of("warm"), directory=str(tmp_path / "warm"), pdf=False)])
        os.kill(pool._hands[0].child.pid, signal.SIGSTOP)
        slow = job(of("slow"), directory=str(tmp_path / "slow"), pdf=False)
        pool.submit(slow, slow)
        assert not list(pool.events())
        pool._hands[0].deadline -= rendering.DEADLINE_S
        events: list[Event] = []
        while not events:
            wait(pool)
            events += pool.events()
        assert told(events)[-1] == ("slow", "deadline")
        events = rendered(pool, [job(of("next"), directory=str(tmp_path / "next"), pdf=False)])
    assert told(events) == [("next", "html"), ("next", "done")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "\n" * 150_000,
        " " * 400_000 + "x",
        ("int a;" + " " * 2000 + "\n") * 300,
        "x(" * 200_000,
        "a b " * 100_000,
        "/*" * 200_000,
        "\\\n" * 100_000,
        "#if 0\n" * 50_000,
        '"' * 300_001,
        "f(f(f(\n" * 60_000,
    ],
    ids=["blank lines", "blanks", "trailing blanks", "calls", "words", "comments", "lines", "if0", "quotes", "nested"],
)
def test_no_source_keeps_a_renderer_from_its_work(tmp_path: Path, text: str) -> None:
    result = sample_results.failed()
    many = [Source(file=f"{n}.cu", text=text) for n in range(8)]
    changed = msgspec.structs.replace(result, sources=[*result.sources, *many])
    with rendering_pool(pdf=False) as pool:
        events = rendered(pool, [job(changed, directory=str(tmp_path), pdf=False)])
    assert [kind for _student, kind in told(events)] == ["html", "done"]
    assert (tmp_path / "report.html").stat().st_size < 8 << 20
