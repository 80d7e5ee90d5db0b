"""Formulas of lab files: their values against Python's own arithmetic, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.lab import formula
from grader.lab.records import LaunchRule, ReferenceKernel, Tolerance

POSITIVE = st.integers(1, 10_000)


@given(POSITIVE, POSITIVE, POSITIVE)
def test_arithmetic_is_pythons(n: int, m: int, k: int) -> None:
    text = "4 * n * m + k // 2 - (n - 1) % m + max(n, m) / min(k, 7)"
    assert formula.evaluate(text, {"n": n, "m": m, "k": k}) == 4 * n * m + k // 2 - (n - 1) % m + max(n, m) / min(k, 7)


@given(POSITIVE, POSITIVE)
def test_ceil_div_is_the_smallest_number_of_tiles_that_covers(n: int, tile: int) -> None:
    blocks = formula.integer("ceil_div(n, tile)", {"n": n, "tile": tile})
    assert (blocks - 1) * tile < n <= blocks * tile


def test_bits_are_cs() -> None:
    """Shifts of more bits than there are, and bits of fractions, are none."""
    assert formula.evaluate("(n | 1) + (n & ~3) + (n ^ 5) + (1 << n) + (n >> 1)", {"n": 6}) == 7 + 4 + 3 + 64 + 3
    for text in ("1 << 64", "n >> -1", "~(n / 4)", "(n / 4) | 1"):
        with pytest.raises(formula.FormulaError):
            formula.evaluate(text, {"n": 6})


def test_names_are_the_variables_and_not_the_functions() -> None:
    assert formula.names_of("min(n, 1024) * threads") == {"n", "threads"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "n ** 2",
        "n.real",
        "[n]",
        "'n'",
        "lambda: n",
        "n if n else 1",
        "f(x=1)",
        "True",
        "__import__('os').x",
        "(" * 300,
    ],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(formula.FormulaError):
        formula.evaluate(text, {"n": 1})


@pytest.mark.parametrize("text", ["m", "n / (n - 1)", "f(n)", "max()", "1e300 * 1e300"])
def test_what_has_no_value_is_refused(text: str) -> None:
    with pytest.raises(formula.FormulaError):
        formula.evaluate(text, {"n": 1})


def test_a_value_may_not_grow_without_end() -> None:
    assert formula.evaluate("n * n", {"n": 10**9}) == 10**18
    with pytest.raises(formula.FormulaError, match="too large"):
        formula.evaluate("n * n + 1", {"n": 10**9})
    with pytest.raises(formula.FormulaError, match="too large"):
        formula.evaluate("-n * n - 1", {"n": 10**9})


def test_a_tolerance_grows_by_the_rounding_errors_of_its_type() -> None:
    tolerance = Tolerance(absolute=0.5, relative=0.25, growth="gamma(n) * n")
    u = 2.0**-24
    grown = tolerance.at({"n": 1000}, "float32")
    assert math.isclose(grown.absolute, 0.5 + 1000 * 1000 * u / (1 - 1000 * u), rel_tol=1e-12)
    assert (grown.relative, grown.growth) == (0.25, "")
    assert tolerance.at({"n": 1000}, "float64").absolute < 0.5 + 1e-9
    assert tolerance.at({"n": 1000}, "int32").absolute == 0.5


def test_a_block_may_depend_on_the_sizes() -> None:
    rule = LaunchRule(("min(n, 1024)", 1, 1), ("n",))
    assert rule.block_at({"n": 96}) == (96, 1, 1)
    assert rule.block_at({"n": 4096}) == (1024, 1, 1)


def test_a_reference_kernel_is_instantiated_and_sized_for_its_case() -> None:
    from pathlib import Path

    kernel = ReferenceKernel(
        Path("k.cu"), "k", (), (32, 4, 1), (1,), shared_bytes="threads * n * 4", template=("n", "m"), multiples={"n": 4}
    )
    assert kernel.expression({"n": 8, "m": 3}) == "k<8, 3>"
    assert kernel.shared_bytes_at({"n": 8}) == 128 * 8 * 4
    assert kernel.fits({"n": 8}) and not kernel.fits({"n": 10})
