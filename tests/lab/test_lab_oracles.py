"""The labs' oracles against plain loops in exact arithmetic, and the tolerances that the lab files derive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.compare import compare
from grader.lab.expected import Oracle
from grader.result import Check
from tests.marks_only import marks_only

SUBMISSIONS = Path(__file__).parents[2] / "submissions"


def exact(array: np.ndarray) -> list[Fraction]:
    return [Fraction(float(x)) for x in array.ravel()]


def product(a: list[Fraction], b: list[Fraction], n: int) -> list[Fraction]:
    return [sum((a[i * n + k] * b[k * n + j] for k in range(n)), Fraction(0)) for i in range(n) for j in range(n)]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_product_of_matrices(n: int) -> None:
    inputs, outputs = Oracle(labs.find("matmul")).case({"n": n}, {"c": "float64"})
    right = product(exact(inputs["a"]), exact(inputs["b"]), n)
    got: Any = outputs["c"].ravel()
    np.testing.assert_allclose(got, [float(x) for x in right], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("n", "count"), [(2, 5), (3, 1), (10, 2)])
def test_squares_of_a_batch(n: int, count: int) -> None:
    inputs, outputs = Oracle(labs.find("batch-square")).case({"n": n, "count": count}, {"out": "float64"})
    for matrix, square in zip(inputs["in"], outputs["out"], strict=True):
        assert matrix.min() >= 0 and matrix.max() < 1
        right = product(exact(matrix), exact(matrix), n)
        np.testing.assert_allclose(square.ravel(), [float(x) for x in right], rtol=1e-13)


@pytest.mark.parametrize(("count", "radius"), [(64, 2), (40, 5), (11, 5), (10, 5), (3, 2), (1, 2)])
def test_means_of_neighbours(count: int, radius: int) -> None:
    inputs, outputs = Oracle(labs.find("box-blur")).case({"count": count, "radius": radius}, {"out": "float64"})
    given = exact(inputs["in"])
    for i, mean in enumerate(outputs["out"]):
        whole = radius <= i < count - radius
        window = given[i - radius : i + radius + 1] if whole else [given[i]]
        assert len(window) == (2 * radius + 1 if whole else 1)
        assert abs(float(sum(window) / len(window)) - float(mean)) < 1e-11


@pytest.mark.parametrize("n", [32, 96, 500])
def test_the_tolerance_of_a_product_holds_every_order_of_summation_and_no_slip(n: int) -> None:
    lab = labs.find("matmul")
    inputs, outputs = Oracle(lab).case({"n": n}, {})
    allowed = lab.tolerance.at({"n": n}, "float32").absolute
    a, b = inputs["a"].astype(np.float32), inputs["b"].astype(np.float32)
    right = a.astype(np.float64) @ b.astype(np.float64)
    one_by_one = np.zeros((n, n), np.float32)
    for k in range(n):
        one_by_one += a[:, k : k + 1] * b[k : k + 1, :]
    backwards = np.zeros((n, n), np.float32)
    for k in reversed(range(n)):
        backwards += a[:, k : k + 1] * b[k : k + 1, :]
    computed: Any
    for computed in (one_by_one, backwards, outputs["c"]):
        assert np.abs(computed - right).max() < allowed
    without_a_term = right - np.outer(a[:, 0], b[0]).astype(np.float64)
    assert (np.abs(without_a_term - right) > allowed).mean() > 0.5


NARROWER: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "int": lambda a: a.astype(np.int32),
    "rounded": np.rint,
    "short": lambda a: a.astype(np.int32).astype(np.int16),
    "unsigned": lambda a: np.maximum(a, 0).astype(np.uint32),
    "half": lambda a: np.clip(a, -65504, 65504).astype(np.float16),
    "bfloat16": lambda a: (a.view(np.uint32) & 0xFFFF0000).view(np.float32),
}


@pytest.mark.parametrize("narrower", NARROWER)
@pytest.mark.parametrize("name", ["transpose", "matmul", "batch-square", "box-blur"])
def test_inputs_kept_in_a_narrower_type_give_another_result_at_every_size(name: str, narrower: str) -> None:
    lab = labs.find(name)
    oracle = Oracle(lab)
    cases = lab.cases["emulator"]
    wrong: list[bool] = []
    for sizes in (*cases.correct, *cases.ragged, cases.observe):
        inputs, outputs = oracle.case(sizes, {})
        kept = {key: NARROWER[narrower](array).astype(np.float32) for key, array in inputs.items()}
        for key, right in outputs.items():
            got = oracle.expected(kept, sizes, key).astype(right.dtype)
            wrong.append(compare(key, got, right, lab.tolerance.at(sizes, "float32"), {}).mismatches > 0)
    # Two or three products of numbers below 1 lose less to half precision than the lab allows.
    allows_some = (name, narrower) == ("batch-square", "half")
    assert any(wrong) if allows_some else all(wrong)


def failures(checks: list[Check]) -> list[str]:
    return [f"{c.id}: {c.message}" for c in checks if c.status in ("fail", "error")]


@pytest.mark.parametrize("name", ["transpose", "matmul", "batch-square", "box-blur"])
def test_a_right_submission_loses_no_point(name: str) -> None:
    lab = replace(marks_only(name), drawn=labs.find(name).drawn)
    result = pipeline.grade(SUBMISSIONS / "ivanov", lab, GradeOptions(backend="emulator"))
    assert failures(result.checks) == []
    assert result.status == "passed"
    # Every point of every variant can be earned, those for speed on a GPU.
    timed = sum(c.points for v in lab.variants for c in v.checks if c.check == "speedup")
    assert (result.score.possible, result.score.pending) == (100.0, timed)
    assert result.score.earned == 100.0 - timed


@pytest.mark.parametrize("name", ["matmul", "batch-square", "box-blur", "transpose"])
def test_reference_kernels_pass_the_checks_of_their_variant(name: str, tmp_path: Path) -> None:
    lab = marks_only(name)
    for variant in lab.variants:
        file = tmp_path / f"{variant.name}.cu"
        file.write_bytes(variant.reference.file.read_bytes())
        result = pipeline.grade(file, lab, GradeOptions(backend="emulator"))
        assert result.variants[variant.name].kernel == variant.reference.kernel
        assert failures([c for c in result.checks if c.variant == variant.name]) == []


def test_a_product_of_unsigned_numbers_is_exact() -> None:
    dtypes = {"a": "uint32", "b": "uint32", "c": "uint32"}
    inputs, outputs = Oracle(labs.find("matmul")).case({"n": 33}, dtypes)
    assert all(array.dtype == np.uint32 and 8 < array.max() < 16 for array in inputs.values())
    assert np.array_equal(outputs["c"], inputs["a"].astype(np.uint32) @ inputs["b"].astype(np.uint32))
