"""The rendering process, driven as the command line drives it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.errors import InternalError
from grader.report.renderer import Renderer
from grader.result import Student
from tests import sample_results
from tests.report.jobs import job


def test_files_are_written_and_told_as_they_are_ready(tmp_path: Path) -> None:
    with Renderer() as renderer:
        renderer.submit(job(directory=str(tmp_path)))
        replies = list(renderer.replies())
    events = [reply.event for reply in replies]
    assert events in (["html", "pdf", "done"], ["html", "no_pdf", "done"])
    assert replies[0].text == str(tmp_path / "report.html")
    expected = {"report.html", "report.pdf"} if "pdf" in events else {"report.html"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_without_pdf_an_old_one_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_text("of an earlier run")
    with Renderer(pdf=False) as renderer:
        renderer.submit(job(directory=str(tmp_path), pdf=False))
        assert [reply.event for reply in renderer.replies()] == ["html", "done"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_fails_does_not_stop_the_next(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    other = msgspec.structs.replace(sample_results.passed(), student=Student(id="second"))
    with Renderer(pdf=False) as renderer:
        renderer.submit(job(directory=str(occupied / "below"), pdf=False))
        renderer.submit(job(other, directory=str(tmp_path / "good"), pdf=False))
        replies = [(reply.student, reply.event) for reply in renderer.replies()]
    assert replies == [("ivanov", "failed"), ("ivanov", "done"), ("second", "html"), ("second", "done")]


def test_a_dead_renderer_is_an_error_not_a_hang() -> None:
    with Renderer(pdf=False) as renderer:
        pass
    with pytest.raises(InternalError):
        renderer.submit(job(pdf=False))
        list(renderer.replies())
