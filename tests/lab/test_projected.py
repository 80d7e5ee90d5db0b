"""Outputs checked by random projections: exact where the oracle says so, wrong rows found, false alarms rare."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.compare import VECTORS, Projected, sentinel, slack
from grader.lab.expected import Oracle
from grader.lab.file import load
from tests.marks_only import marks_only

SAMPLES = Path(__file__).parents[2] / "submissions"
LAB = labs.find("matmul")
N = 2048
SIZES = {"n": N}


@pytest.fixture(scope="module")
def case() -> Projected:
    found = Oracle(LAB).projected(SIZES, {})
    assert found is not None
    return found


@pytest.fixture(scope="module")
def right(case: Projected) -> np.ndarray:
    """The product in float32, its terms added up in another order than NumPy's."""
    order = np.random.default_rng(5).permutation(N)
    a: Any = case.inputs["a"][:, order]
    product: np.ndarray = a @ case.inputs["b"][order]
    return product


def element(case: Projected, row: int, column: int) -> Fraction:
    a, b = case.inputs["a"][row].tolist(), case.inputs["b"][:, column].tolist()
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


def test_a_large_product_is_exact_in_any_order(case: Projected, right: np.ndarray) -> None:
    assert right.dtype == np.float32
    assert element(case, 7, 9) == Fraction(right[7, 9].item())
    difference = case.compare("c", right)
    assert (difference.mismatches, difference.max_abs_error, difference.projections) == (0, 0.0, VECTORS)
    assert (difference.total, difference.name) == (N * N, "c")


def test_zeros_of_another_sign_are_right(case: Projected, right: np.ndarray) -> None:
    got = right.copy()
    got[got == 0] = -0.0
    assert np.signbit(got[got == 0]).any()
    assert case.compare("c", got).mismatches == 0


def test_one_element_is_found(case: Projected, right: np.ndarray) -> None:
    got = right.copy()
    got[1234, 567] += np.float32(1 / 16)
    difference = case.compare("c", got)
    assert (difference.mismatches, difference.first) == (1, (1234, 567))
    assert (difference.expected, difference.got) == (right[1234, 567].item(), got[1234, 567].item())
    assert difference.max_abs_error == 1 / 16


def test_errors_of_a_row_that_add_up_to_nothing_are_found(case: Projected, right: np.ndarray) -> None:
    got = right.copy()
    got[5, 10] += 1
    got[5, 20] -= 1
    assert case.compare("c", got).mismatches == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_wrong(case: Projected, right: np.ndarray, value: float) -> None:
    got = right.copy()
    got[3, 4] = value
    difference = case.compare("c", got)
    assert (difference.mismatches, difference.first, difference.max_abs_error) == (1, (3, 4), None)


def test_rows_that_nobody_wrote(case: Projected, right: np.ndarray) -> None:
    got = right.copy()
    got[2000:] = sentinel((48, N), "float32")
    difference = case.compare("c", got)
    assert (difference.mismatches, difference.unwritten, difference.first) == (48 * N, 48 * N, (2000, 0))
    assert difference.extent == "unwritten"


def test_a_transposed_product_is_wrong_all_over(case: Projected, right: np.ndarray) -> None:
    difference = case.compare("c", np.ascontiguousarray(right.T))
    assert difference.mismatches == np.count_nonzero(right != right.T)
    assert difference.first == (0, 1)


def test_small_products_and_other_types_are_computed_in_full() -> None:
    oracle = Oracle(LAB)
    assert oracle.projected({"n": N - 1}, {}) is None
    assert oracle.projected(SIZES, {"c": "float64"}) is None
    assert Oracle(labs.find("transpose")).projected({"rows": 4096, "cols": 4096}, {}) is None


def tolerant(right: np.ndarray, absolute: float) -> Projected:
    """A case of any right output, whose elements may be off."""
    return Projected({}, {}, absolute, lambda _name, x: right @ x, lambda _name, which: right[which])


def test_errors_within_the_tolerance_pass_and_larger_ones_do_not() -> None:
    rng = np.random.default_rng(3)
    right = rng.normal(0, 1000, (200, 300))
    case = tolerant(right, 0.5)
    # All at their bound, in the worst directions that chance can take.
    for _attempt in range(20):
        got = right + rng.choice([-0.5, 0.5], right.shape) * (1 - 1e-9)
        assert case.compare("c", got).mismatches == 0
    bound = slack(0.5, *right.shape)
    assert 0.5 < bound < 0.5 * 300
    got = right.copy()
    got[50, 60] += 1.01 * bound
    got[51, 61] += 0.6
    difference = case.compare("c", got)
    # The second one's row deviates next, and is looked at only when none stands out.
    assert (difference.mismatches, difference.first) == (1, (50, 60))
    got[50, 60] = right[50, 60]
    assert case.compare("c", got).first == (51, 61)


def test_projections_within_the_slack_are_as_frequent_as_derived() -> None:
    """Of errors all at their bound, with random signs, the derived share lies beyond t·sqrt(columns)·absolute."""
    rng = np.random.default_rng(8)
    sums = np.abs(rng.choice([-1.0, 1.0], (200_000, 64)).sum(axis=1)) / 8
    for t in (1.0, 2.0, 3.0):
        assert np.mean(sums > t) <= 2 * np.exp(-(t**2) / 2)
    assert slack(1.0, 1, 1) == pytest.approx(np.sqrt(2 * np.log(2 * VECTORS / 1e-9)))
    assert slack(0.0, 4096, 4096) == 0


@pytest.fixture
def lab_folder(tmp_path: Path) -> Path:
    for part in ("assignments/matmul", "reference/matmul"):
        shutil.copytree(data_root() / part, tmp_path / part)
    return tmp_path


def edited(folder: Path, change: Callable[[str], str]) -> Oracle:
    oracle = folder / "reference/matmul/oracle.py"
    oracle.write_text(change(oracle.read_text("utf-8")), encoding="utf-8")
    return Oracle(load(folder / "assignments/matmul"))


def test_an_oracle_with_half_of_it_blames_the_lab(lab_folder: Path) -> None:
    with pytest.raises(FileError, match="has no function `projection`"):
        edited(lab_folder, lambda text: text.replace("def projection(", "def projections("))


def test_a_projection_of_another_shape_blames_the_lab(lab_folder: Path) -> None:
    oracle = edited(lab_folder, lambda text: text.replace("    return vectors\n", "    return vectors[1:]\n"))
    case = oracle.projected(SIZES, {})
    assert case is not None
    with pytest.raises(FileError, match=r"`c` has shape \(2047, 32\), the lab says \(2048, 32\)"):
        case.compare("c", np.zeros((N, N), np.float32))


def test_a_projection_that_fails_blames_the_lab(lab_folder: Path) -> None:
    oracle = edited(lab_folder, lambda text: text.replace("    return vectors\n", "    return vectors / nothing\n"))
    case = oracle.projected(SIZES, {})
    assert case is not None
    with pytest.raises(FileError, match=r"the oracle failed at \{'n': 2048\}: NameError"):
        case.compare("c", np.zeros((N, N), np.float32))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("None", r"`c` has shape \(\), the lab says \(2048, 32\)"),
        ("vectors.tolist()[1:]", r"`c` has shape \(2047, 32\), the lab says \(2048, 32\)"),
        ("'a word'", r"the oracle failed at \{'n': 2048\}: ValueError"),
    ],
)
def test_a_projection_that_is_no_array_blames_the_lab(lab_folder: Path, code: str, words: str) -> None:
    oracle = edited(lab_folder, lambda text: text.replace("    return vectors\n", f"    return {code}\n"))
    case = oracle.projected(SIZES, {})
    assert case is not None
    with pytest.raises(FileError, match=words):
        case.compare("c", np.zeros((N, N), np.float32))


@pytest.mark.parametrize("student", ["ivanov", "bad/second_barrier_missing.cu", "bad/sum_inside_loop.cu"])
def test_verdicts_by_projections_are_those_of_a_full_comparison(lab_folder: Path, student: str) -> None:
    """A lab whose every size is checked by projections grades as the lab itself does."""
    oracle = lab_folder / "reference/matmul/oracle.py"
    oracle.write_text(
        oracle.read_text("utf-8").replace("PROJECTED_FROM = 2048", "PROJECTED_FROM = 1"), encoding="utf-8"
    )
    projecting = replace(load(lab_folder / "assignments/matmul"), sweeps=(), repairs="off")
    path = SAMPLES / student if student == "ivanov" else Path(__file__).parents[1] / "kernels/matmul" / student
    wanted = pipeline.grade(path, marks_only("matmul"), GradeOptions(backend="emulator"))
    graded = pipeline.grade(path, projecting, GradeOptions(backend="emulator"))
    assert {c.id: (c.status, c.earned, c.line) for c in graded.checks} == {
        c.id: (c.status, c.earned, c.line) for c in wanted.checks
    }
    passed = [case for v in graded.variants.values() for case in v.cases if case.status == "pass"]
    assert {case.message for case in passed} <= {
        "checked by 32 random projections; they miss a wrong row with a probability of at most 2⁻³²"
    }
