"""Figures are drawn from any data, the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from grader.report import charts, draw
from grader.report.html import drawn
from tests.report.jobs import job


def bar_chart(label: str) -> charts.BarChart:
    bars = (charts.Bar("load", 32.0, 1.0, "32"), charts.Bar("store", 1.0, 1.0, "1"))
    return charts.BarChart(label, label, label, (charts.BarGroup(label, "#3a5a8c", bars),), "")


@pytest.mark.parametrize("label", [r"$\frac$", "$x$ ^_ \\", "<b>&", "Ж" * 3000, "名前", ""])
def test_hostile_labels_are_drawn_as_they_are(label: str) -> None:
    assert b"<svg" in drawn(bar_chart(label), "svg")


def test_formats_are_what_they_say() -> None:
    chart = charts.wavefront_chart(job())
    assert chart is not None
    image = Image.open(BytesIO(drawn(chart, "png")))
    assert image.format == "PNG"
    assert image.width == round(3.9 * draw.PNG_DPI)


def test_a_drawing_is_reproducible_and_undated() -> None:
    (shared, _padded) = charts.bank_maps(job())
    image = drawn(shared, "svg")
    assert image == drawn(shared, "svg")
    assert b"<dc:date>" not in image


def test_the_bank_map_is_in_the_variants_colour() -> None:
    shared, padded = charts.bank_maps(job())
    assert shared.colour.encode() in drawn(shared, "svg")
    assert padded.colour.encode() in drawn(padded, "svg")
    assert padded.colour.encode() not in drawn(shared, "svg")


def test_a_machine_that_keeps_nothing_is_not_told_so_where_a_figure_is_drawn() -> None:
    """As a notebook draws, in its own process: what a library says there stands on the cell."""
    drawing = "from grader.report.draw import styled\nwith styled(): pass"
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "/proc")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **nowhere}
    environment.pop("MPLCONFIGDIR", None)
    run = subprocess.run([sys.executable, "-c", drawing], env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
