"""The random test case: from what it is drawn, within which rules, and what the secret is kept from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.rules import SECRET, SECRET_FILE, secret
from grader.errors import UsageError
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.result import Result, encode
from grader.running.cases import draw
from tests.marks_only import marks_only

LAB = replace(marks_only("transpose"), drawn=labs.find("transpose").drawn)
FILES = {"a.cu": "text"}
SECRET_TEXT = "the river runs uphill at noon"
NAIVE = """__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = %s;
}
"""


@pytest.fixture(autouse=True)
def without_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SECRET, SECRET_FILE):
        monkeypatch.delenv(name, raising=False)


def graded(folder: Path, value: str = "in[r * cols + c]", student: str = "student") -> Result:
    (folder / student).mkdir(exist_ok=True)
    (folder / student / "transpose.cu").write_text(NAIVE % value)
    return pipeline.grade(folder / student, LAB, GradeOptions(backend="emulator"))


def test_a_draw_depends_on_the_files_the_lab_and_the_secret_and_on_nothing_else() -> None:
    first = draw(LAB, FILES, "")
    assert first == draw(LAB, dict(FILES), "") and first.by == "submission" and 0 <= first.seed < 1 << 48
    others = [
        draw(LAB, {"a.cu": "texT"}, ""),
        draw(LAB, {"b.cu": "text"}, ""),
        draw(LAB, {"a.cut": "ext"}, ""),
        draw(replace(LAB, id="other"), FILES, ""),
        draw(LAB, FILES, SECRET_TEXT),
        draw(LAB, FILES, SECRET_TEXT + "!"),
    ]
    assert len({first.seed, *(d.seed for d in others)}) == 7
    assert others[-1].by == "secret"
    assert draw(LAB, {"x.cu": "\udcff"}, "").seed


def test_drawn_sizes_are_new_and_keep_the_labs_rules(tmp_path: Path) -> None:
    named = [dict(sizes) for sizes in (*LAB.cases["emulator"].correct, LAB.cases["emulator"].observe)]
    found, earlier = set(), []
    for number in range(6):
        result = graded(tmp_path, f"in[r * cols + c] + {number} * 0.0f")
        drawn = [case for case in result.variants["naive"].cases if case.drawn]
        assert [case.kind for case in drawn] == ["correct", *["ragged"] * 4, "correct"]
        assert all(case.status == "pass" for case in drawn)
        exact, ragged, *shapes, equal_values = (case.size for case in drawn)
        assert exact not in named and all(value % 64 == 0 and 256 < value <= 384 for value in exact.values())
        assert 1 <= ragged["rows"] <= 33 and 31 <= ragged["cols"] <= 65
        assert shapes not in earlier and len(shapes) == len(LAB.drawn.shapes)
        for size, shape in zip(shapes, LAB.drawn.shapes, strict=True):
            assert all(low <= size[name] <= high for name, (low, high) in shape.items())
        earlier.append(shapes)
        # Of equal values no size is drawn.
        assert equal_values == LAB.cases["emulator"].probe
        found.add((result.environment.drawn_seed, *exact.values(), *ragged.values()))
        assert result.environment.drawn_by == "submission"
    assert len(found) == 6


def test_what_does_nothing_beyond_the_largest_of_the_labs_sizes_fails(tmp_path: Path) -> None:
    beyond = "rows > 256 || cols > 256 ? 0 : in[r * cols + c]"
    for number in range(3):
        result = graded(tmp_path, f"{beyond} + {number} * 0.0f")
        assert next(c.status for c in result.checks if c.id == "naive.correct") == "fail"


def test_a_kernel_for_squares_gets_a_square(tmp_path: Path) -> None:
    (tmp_path / "transpose.cu").write_text((NAIVE % "in[r * cols + c]").replace("int rows, int cols", "int n")
                                           .replace("rows", "n").replace("cols", "n"))  # fmt: skip
    result = pipeline.grade(tmp_path / "transpose.cu", LAB, GradeOptions(backend="emulator"))
    drawn = [case.size for case in result.variants["naive"].cases if case.drawn]
    assert drawn and all(size["rows"] == size["cols"] for size in drawn)


def test_shapes_of_what_goes_by_several_elements_at_a_time_are_multiples_of_them() -> None:
    lab = marks_only("matmul")
    kernel = Path(__file__).parents[1] / "kernels" / "matmul" / "bad" / "unrolled_row_without_rest.cu"
    result = pipeline.grade(kernel, lab, GradeOptions(backend="emulator"))
    drawn = [case.size["n"] for case in result.variants["unrolled"].cases if case.drawn]
    assert drawn and all(n % 32 == 0 for n in drawn)


def test_what_is_right_at_the_labs_sizes_alone_fails_and_says_so(tmp_path: Path) -> None:
    exact = [*LAB.cases["emulator"].correct, LAB.cases["emulator"].observe]
    known = " || ".join(f"(rows == {s['rows']} && cols == {s['cols']})" for s in exact)
    result = graded(tmp_path, f"{known} || rows < 34 ? in[r * cols + c] : 0")
    row = next(c for c in result.checks if c.id == "naive.correct")
    assert (row.status, row.line) == ("fail", 5)
    assert row.hint.startswith("With the lab's own sizes and data the result is right.")
    assert [c.status for c in result.variants["naive"].cases if not c.drawn] == ["pass"] * 7
    assert row.diagnosis is not None and row.diagnosis.size["rows"] % 32 == 0


@pytest.mark.parametrize("who", ["r >= 0", pytest.param("r == 0 && c == 0", marks=pytest.mark.slow)])
def test_what_does_not_come_to_an_end_at_other_sizes_fails(who: str, tmp_path: Path) -> None:
    exact = [*LAB.cases["emulator"].correct, LAB.cases["emulator"].observe]
    known = " || ".join(f"(rows == {s['rows']} && cols == {s['cols']})" for s in exact)
    count = (
        f"if (!({known} || rows < 34) && {who}) for (long long i = 0; i < 1ll << 40; ++i) *(volatile float *)out = i"
    )
    result = graded(tmp_path, f"in[r * cols + c]; {count}")
    row = next(c for c in result.checks if c.id == "naive.correct")
    assert (row.status, row.line) == ("fail", 5)
    assert next(c.status for c in result.variants["naive"].cases if c.drawn) != "pass"


def test_the_same_files_get_the_same_case_whoever_hands_them_in(tmp_path: Path) -> None:
    one, other = graded(tmp_path, student="one"), graded(tmp_path, student="other")
    assert one.variants == other.variants and one.environment.drawn_seed == other.environment.drawn_seed


def test_a_secret_draws_another_case_and_stands_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = graded(tmp_path)
    monkeypatch.setenv(SECRET, SECRET_TEXT)
    by_variable = graded(tmp_path)
    monkeypatch.delenv(SECRET)
    (tmp_path / "secret.txt").write_text(SECRET_TEXT + "\n")
    monkeypatch.setenv(SECRET_FILE, str(tmp_path / "secret.txt"))
    by_file = graded(tmp_path)
    assert by_variable == by_file
    assert by_file.environment.drawn_by == "secret"
    assert by_file.environment.drawn_seed != without.environment.drawn_seed
    assert SECRET_TEXT.encode() not in encode(by_file)
    assert {c.id: c.status for c in by_file.checks} == {c.id: c.status for c in without.checks}


def test_a_secret_that_cannot_be_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "short")
    with pytest.raises(UsageError, match=f"{SECRET}: the secret has 5 characters, at least 16 are needed"):
        secret()
    monkeypatch.setenv(SECRET_FILE, str(tmp_path / "none.txt"))
    with pytest.raises(UsageError, match=f"{SECRET_FILE}: .*none.txt: No such file"):
        secret()
    (tmp_path / "none.txt").write_bytes(b"\xff\xfe" * 20)
    with pytest.raises(UsageError, match="not UTF-8 text"):
        secret()
    (tmp_path / "none.txt").write_text("")
    with pytest.raises(UsageError, match="has 0 characters"):
        secret()
