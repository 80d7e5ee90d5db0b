"""Images of charts: each drawn once, whatever was drawn before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import i18n
from grader.report import html
from grader.report.charts import Bar, BarChart, BarGroup
from grader.report.html import Drawings
from grader.report.html import drawn as draw

CHART = BarChart("title", "axis", "least", (BarGroup("tiled", "#27468a", (Bar("load", 1.5, 1.0, "1.5"),)),), "words")
OTHER = replace(CHART, axis="another axis")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is really drawn, in order."""
    made: list[str] = []

    def noted(name: str, known: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def function(what: Any) -> Any:
            made.append(name)
            return known(what)

        return function

    for name in ("figure_of", "as_svg", "as_png"):
        monkeypatch.setattr(html, name, noted(name, getattr(html, name)))
    return made


def test_a_chart_is_drawn_once_for_all_reports(drawn: list[str]) -> None:
    images = Drawings()
    first = images.image(CHART, "svg"), images.image(CHART, "png")
    images.end_report()
    assert (images.image(replace(CHART), "svg"), images.image(replace(CHART), "png")) == first
    assert drawn == ["figure_of", "as_svg", "as_png"]
    assert images.image(OTHER, "svg") != first[0]


def test_an_image_does_not_depend_on_what_was_drawn_before() -> None:
    images = Drawings()
    images.image(OTHER, "svg")
    images.image(CHART, "svg")
    images.end_report()
    assert images.image(CHART, "png") == draw(CHART, "png")
    assert images.image(OTHER, "svg") == draw(OTHER, "svg")


def test_languages_are_drawn_apart() -> None:
    images = Drawings()
    halves = replace(CHART, groups=(BarGroup("tiled", "#27468a", (Bar("load", 1.5, 1.0, "1.5"),)),))
    try:
        images.image(halves, "svg")
        i18n.use("ru")
        assert images.image(halves, "svg") == draw(halves, "svg")
    finally:
        i18n.use("en")


def test_what_is_kept_has_an_end(drawn: list[str]) -> None:
    images = Drawings(most_bytes=len(draw(OTHER, "svg")) + 1)
    drawn.clear()
    images.image(CHART, "svg")
    images.image(OTHER, "svg")
    images.end_report()
    images.image(OTHER, "svg")
    assert drawn.count("figure_of") == 2
    images.image(CHART, "svg")
    assert drawn.count("figure_of") == 3


def test_what_one_process_drew_another_finds(tmp_path: Path, drawn: list[str]) -> None:
    first, second = Drawings(folder=tmp_path), Drawings(folder=tmp_path)
    images = [first.image(CHART, "svg"), first.image(CHART, "png")]
    assert [second.image(replace(CHART), "svg"), second.image(CHART, "png")] == images
    assert drawn == ["figure_of", "as_svg", "as_png"]
    assert second.image(OTHER, "svg") == draw(OTHER, "svg") != images[0]


def test_a_folder_that_is_gone_costs_nothing_but_time(tmp_path: Path) -> None:
    images = Drawings(folder=tmp_path / "gone")
    assert images.image(CHART, "png") == draw(CHART, "png")


def test_a_drawing_that_was_not_written_whole_is_drawn_anew(tmp_path: Path) -> None:
    image = Drawings(folder=tmp_path).image(CHART, "svg")
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for left in (b"", image, whole[:100], b"rubbish</svg>\n", whole.replace(b"axis", b"axes"), whole + b"\n"):
        file.write_bytes(left)
        assert Drawings(folder=tmp_path).image(CHART, "svg") == image


def test_the_folder_keeps_what_was_used_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: list[str]) -> None:
    monkeypatch.setattr(html, "MAX_KEPT", 4)
    folder = tmp_path / "drawings"
    used = Drawings(folder=folder)
    assert not used.has_kept()
    for number in range(7):
        # Another process's, which has nothing in memory.
        one = Drawings(folder=folder)
        one.image(CHART, "svg")
        one.image(replace(CHART, axis=str(number)), "svg")
        one.end_report()
    assert used.has_kept()
    assert len(list(folder.iterdir())) <= 4
    drawn.clear()
    used.image(CHART, "svg")
    assert drawn == []
    used.image(replace(CHART, axis="0"), "svg")
    assert drawn == ["figure_of", "as_svg"]


def test_what_is_no_drawing_does_not_make_the_folder_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_KEPT", 4)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for number in range(7):
        (tmp_path / f"rubbish{number}").write_bytes(b"")
    images = Drawings(folder=tmp_path)
    images.image(CHART, "svg")
    images.end_report()
    assert (tmp_path / "folder").is_dir()
    assert len(list(tmp_path.iterdir())) <= 4
