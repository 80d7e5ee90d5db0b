"""The picture of a wrong output: its cells, what it points at, and that it is drawn at all shapes."""

from __future__ import annotations

from typing import Any

import pytest

from grader.measured import Diagnosis, ElementRange
from grader.report import html
from grader.report.figure import text_width
from grader.report.job import ReportJob
from grader.report.wrong_map import MISSING, PANEL_INCHES, RIGHT, SHADES, Panel, WrongMap, wrong_maps
from grader.result import Check, Environment, Result, Score, Student, Variant
from tests.report.drawn import Drawn


def diagnosis(**changes: Any) -> Diagnosis:
    fields: dict[str, Any] = {
        "size": {"rows": 4, "cols": 4},
        "output": "out",
        "shape": [4, 4],
        "tile": [2, 2],
        "inputs": {"in": [4, 4], "idle": [3]},
        "total": 16,
        "wrong": 3,
        "unwritten": 1,
        "first": [0, 2],
        "expected": 1,
        "got": 2,
        "traced": True,
        "compared": True,
        "missing": [ElementRange(array="in", ranges=[(2, 2), (0, 0)])],
        "surplus": [ElementRange(array="in", ranges=[(0, 0), (2, 2)])],
        "read": [ElementRange(array="in", ranges=[(0, 0), (2, 2)])],
        "sentences": ["3 of 16 elements are wrong.", "Look <here>."],
        "picture": ["..xx", "....", "....", "...o"],
    }
    return Diagnosis(**{**fields, **changes})


def job(*diagnoses: Diagnosis | None) -> ReportJob:
    checks = [
        Check(
            id=f"v{i}.correct", variant=f"v{i}", check="correct", status="fail", earned=0, possible=5,
            message=f"wrong {i}", line=1, diagnosis=d,
        )
        for i, d in enumerate(diagnoses)
    ]  # fmt: skip
    result = Result(
        student=Student(id="s"),
        lab="lab",
        status="failed",
        score=Score(earned=0, possible=5, pending=0),
        environment=Environment(backend="emulator", grader="0", seed=1),
        variants={f"v{i}": Variant(kernel="k", file="a.cu", line=1) for i in range(len(diagnoses))},
        checks=checks,
    )
    return ReportJob(result=result, language="en", lab_title="L", aim="A", task="T", variants=[])


def only_map(found: Diagnosis) -> WrongMap:
    (chart,) = wrong_maps(job(found))
    return chart


def test_the_output_is_shown_as_it_is_recorded_and_the_input_beside_it() -> None:
    chart = only_map(diagnosis())
    output, given = chart.panels
    assert output == Panel(
        "out, 4\u00a0×\u00a04",
        ("..xx", "....", "....", "...o"),
        (2, 2),
        (("x", "wrong"), ("o", "written by no thread")),
        (0, 2),
        1,
        0,
        (("out[0][2]", (0, 2)),),
    )
    assert given == Panel(
        "in, 4\u00a0×\u00a04",
        ("..x.", "....", "o...", "...."),
        (0, 0),
        (("x", "used, not needed"), ("o", "needed, not used")),
        None,
        1,
        0,
        (("used", (0, 2)), ("needed", (2, 0))),
    )
    assert chart.description == "3 of 16 elements are wrong. Look <here>."


def test_the_picture_says_which_size_it_is_of() -> None:
    assert only_map(diagnosis(size={"n": 7})).caption == "The output at n\u00a0=\u00a07."
    page = html.render(html.document(job(diagnosis())), [], html.wrong_pictures(job(diagnosis()), "screen"))
    assert f"<figcaption>{only_map(diagnosis()).caption}</figcaption>" in page


def test_elements_that_were_rightly_used_are_told_apart_and_many_are_not_pointed_at() -> None:
    chart = only_map(
        diagnosis(
            read=[ElementRange(array="in", ranges=[(1, 1), (0, 3)])],
            surplus=[ElementRange(array="in", ranges=[(1, 1), (3, 3)])],
            missing=[],
        )
    )
    assert chart.panels[1].cells == ("....", "###x", "....", "....")
    assert chart.panels[1].named == ()
    assert [text for _, text in chart.panels[1].legend] == ["used, as needed", "used, not needed"]


def test_a_line_is_wrapped_at_its_tile() -> None:
    chart = only_map(
        diagnosis(shape=[10], tile=[4], first=[5], picture=[".....x...o"], missing=[], surplus=[], read=[])
    )
    (panel,) = chart.panels
    assert panel.cells == ("....", ".x..", ".o  ")
    assert (panel.tile, panel.framed, panel.row_step) == ((1, 4), (1, 1), 4)
    assert panel.named == (("out[5]", (1, 1)),)


def test_a_long_line_is_wrapped_within_its_tiles() -> None:
    picture = ["." * 100 + "x" + "." * 155]
    (panel,) = only_map(diagnosis(shape=[256], tile=[64], first=[100], picture=picture, compared=False)).panels
    assert (len(panel.cells), panel.tile, panel.row_step, panel.framed) == (8, (2, 32), 32, (3, 4))


def test_a_batch_has_a_row_for_each_matrix() -> None:
    chart = only_map(
        diagnosis(shape=[2, 2, 3], tile=[], first=[1, 0, 2], picture=["...", "...", "..x", "..."], compared=False)
    )
    (panel,) = chart.panels
    assert (panel.cells, panel.tile, panel.framed) == (("......", "..x..."), (1, 3), (1, 2))


def test_of_a_tall_picture_the_part_around_the_first_wrong_element_is_shown() -> None:
    rows = ["...."] * 256
    rows[100] = ".x.."
    (panel,) = only_map(diagnosis(shape=[256, 4], tile=[], first=[100, 1], picture=rows, compared=False)).panels
    assert (len(panel.cells), panel.first_row, panel.framed) == (32, 92, (8, 1))
    assert panel.title == "out, 256\u00a0×\u00a04, a part"
    rows[255] = "...x"
    (panel,) = only_map(diagnosis(shape=[256, 4], tile=[], first=[255, 3], picture=rows, compared=False)).panels
    assert (panel.first_row, panel.framed, panel.cells[-1]) == (224, (31, 3), "...x")


def test_inputs_are_left_out_where_nothing_is_known_of_them() -> None:
    assert len(only_map(diagnosis(compared=False)).panels) == 1


def test_only_checks_with_a_picture_have_a_map() -> None:
    charts = wrong_maps(job(None, diagnosis(), diagnosis(picture=[])))
    assert [chart.check for chart in charts] == ["v1.correct"]


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (16, 16), (20, 64), (128, 128)])
def test_every_shape_can_be_drawn(shape: tuple[int, int]) -> None:
    rows = ["o" * shape[1]] * shape[0]
    drawn = Drawn(only_map(diagnosis(shape=list(shape), tile=[8, 8], first=[0, 0], picture=rows, compared=False)))
    assert drawn.width == pytest.approx(72 * PANEL_INCHES)
    (cells,) = [s for s in drawn.shapes if s.fill == SHADES[RIGHT]]
    (missing,) = [s for s in drawn.shapes if s.fill == SHADES[MISSING] and len(s.points) == 4][:1]
    # Nothing is right: all of the array is covered, in squares.
    assert sorted(missing.points) == sorted(cells.points)
    wide, high = (max(p[i] for p in cells.points) - min(p[i] for p in cells.points) for i in (0, 1))
    assert high / shape[0] == pytest.approx(wide / shape[1], abs=0.03)
    assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for s in drawn.shapes for x, y in s.points)


def test_wrong_and_right_cells_differ_in_a_grey_print() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.3 * red + 0.59 * green + 0.11 * blue

    drawn = Drawn(only_map(diagnosis(shape=[4, 4], tile=[], first=[0, 2], compared=False, picture=["..xx"] * 4)))
    right, wrong = (s for s in drawn.shapes[:2])
    assert lightness(right.fill) - lightness(wrong.fill) > 100
    # The right half of the cells.
    middle = sum(x for x, _y in right.points) / 4
    assert min(x for x, _y in wrong.points) == pytest.approx(middle, abs=0.02)


def test_what_points_at_a_cell_stands_within_the_picture() -> None:
    long = "a_name_of_thirty_letters_or_so"
    for name, place in (("out", [0, 0]), ("out", [0, 39]), ("out", [39, 0]), (long, [39, 39]), (long, [20, 18])):
        found = diagnosis(output=name, shape=[40, 40], tile=[], first=place, picture=["." * 40] * 40, compared=False)
        drawn = Drawn(only_map(found))
        (row,) = [row for row in drawn.rows if row.text.startswith(f"{name}[")]
        assert 0 < row.x < row.x + text_width(row.text, 8) < drawn.width and 8 <= row.y < drawn.height


def test_the_page_shows_the_picture_at_its_fault_with_the_words_as_alternative() -> None:
    work = job(diagnosis(), None)
    page = html.render(html.document(work), html.figures(work, "screen"), html.wrong_pictures(work, "screen"))
    assert page.count('<figure class="wrong">') == 1
    assert '<figure class="wrong">' in page[: page.index("wrong 0")]
    assert 'alt="3 of 16 elements are wrong. Look &lt;here&gt;."' in page
