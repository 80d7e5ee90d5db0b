"""Which sizes a kernel is asked for, with what grid and what arguments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compiler.result import CompileResult
from grader.lab import labs
from grader.lab.records import Cases
from grader.launching.backend import BufferArgument, ScalarArgument
from grader.launching.kernel import BoundKernel, Loaded, SizeRules, geometry, tile_of_output, without_surplus
from grader.launching.programs import Built
from grader.submission.kernels.records import Kernel, KernelParameter
from grader.submission.records import Interpretation, LaunchPlan, Submission, VariantBinding

LAB = labs.find("transpose")
LOADED = Loaded(Built("key", CompileResult(ok=True)), "k")
CASES = Cases(
    correct=({"rows": 64, "cols": 64}, {"rows": 128, "cols": 64}),
    ragged=({"rows": 33, "cols": 33}, {"rows": 31, "cols": 65}),
    observe={"rows": 256, "cols": 256},
    probe={"rows": 64, "cols": 128},
)


def interpretation(
    *sizes: str, tile: tuple[int, int] = (32, 32), exact: bool = False, square: bool = False
) -> Interpretation:
    plan = LaunchPlan((32, 8, 1), tile, ("cols", "rows"), exact, shared_bytes=64)
    return Interpretation(("in", "out", *sizes), plan, square)


def binding(given: Interpretation, dtype: str | None = "float32", takes_sizes: bool = True) -> VariantBinding:
    pointers = [KernelParameter(n, f"{dtype} *", True, n == "a", dtype) for n in ("a", "b")]
    numbers = [KernelParameter(f"n{i}", "int", False, False, "int32") for i in range(len(given.roles) - 2)]
    kernel = Kernel("k", "x.cu", 1, 9, (*pointers, *numbers), (), (), False)
    return VariantBinding("naive", kernel, "k", (given,), None, takes_sizes)


def bound(given: Interpretation, dtype: str | None = "float32") -> BoundKernel:
    found = binding(given, dtype)
    empty = Submission("", "", "", (), {}, (found.kernel,), (), {"naive": found})
    return BoundKernel(LAB, empty, found, given)


def sizes(given: Interpretation, takes_sizes: bool = True) -> list[tuple[str, int, int]]:
    rows = SizeRules(LAB, given).planned(CASES, takes_sizes)
    return [(kind, s["rows"], s["cols"]) for kind, s in rows]


@pytest.mark.parametrize(
    ("grid", "exact", "less"),
    [
        (("(rows * cols + 31) / 32", "(rows * cols + 31) / 32"), False, (4, 5, 1)),
        # Little more than enough, fewer than enough along one axis, a grid that the kernel takes its sizes from.
        (("2 * cols / 32", "2 * rows / 32"), False, None),
        (("rows * cols", "1"), False, None),
        (("rows * cols", "rows * cols"), True, None),
        ((), False, None),
    ],
)
def test_a_grid_without_what_finds_nothing_to_do(
    grid: tuple[str, ...], exact: bool, less: tuple[int, int, int] | None
) -> None:
    plan = replace(interpretation("rows", "cols", exact=exact).launch, grid_formula=grid)
    assert without_surplus(plan, {"rows": 128, "cols": 96}) == less


def test_a_kernel_that_takes_both_sizes_is_asked_for_rectangles() -> None:
    assert sizes(interpretation("rows", "cols")) == [
        ("correct", 64, 64),
        ("correct", 128, 64),
        ("observe", 256, 256),
        ("ragged", 33, 33),
        ("ragged", 31, 65),
    ]


@pytest.mark.parametrize("given", [interpretation("rows"), interpretation("rows", "cols", square=True)])
def test_a_kernel_for_squares_is_asked_for_squares(given: Interpretation) -> None:
    assert sizes(given) == [("correct", 64, 64), ("observe", 256, 256), ("ragged", 33, 33)]


def test_a_kernel_without_sizes_is_asked_for_squares_of_whole_tiles() -> None:
    given = interpretation(tile=(24, 24), exact=True)
    assert sizes(given, takes_sizes=False) == [("correct", 72, 72), ("observe", 264, 264)]
    assert SizeRules(LAB, given).probe(CASES.probe) == {"rows": 144, "cols": 144}


def test_no_size_is_run_twice() -> None:
    given = interpretation("rows", "cols", tile=(256, 256), exact=True)
    assert sizes(given) == [("observe", 256, 256), ("ragged", 33, 33), ("ragged", 31, 65)]


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 70), st.integers(1, 70))
def test_rounded_sizes_are_the_next_multiples(rows: int, cols: int, x: int, y: int) -> None:
    given = interpretation("rows", "cols", tile=(x, y))
    got = SizeRules(LAB, given).rounded({"rows": rows, "cols": cols})
    assert got["rows"] >= rows and got["cols"] >= cols
    assert got["rows"] % y == 0 and got["cols"] % x == 0
    if rows == cols:
        assert got["rows"] == got["cols"]
    else:
        assert got["rows"] - rows < y and got["cols"] - cols < x


def test_fits() -> None:
    rectangle = {"rows": 3, "cols": 4}
    assert SizeRules(LAB, interpretation("rows", "cols")).fits(rectangle)
    assert not SizeRules(LAB, interpretation("rows")).fits(rectangle)
    assert SizeRules(LAB, interpretation()).fits({"rows": 3, "cols": 3})


def test_grid_covers_the_sizes() -> None:
    plan = interpretation("rows", "cols").launch
    assert geometry(plan, {"rows": 33, "cols": 64}).grid == (2, 2, 1)
    assert geometry(replace(plan, covers=("rows",), tile=(10,)), {"rows": 33, "cols": 64}).grid == (4, 1, 1)


def test_tile_of_the_output_follows_its_axes() -> None:
    plan = replace(interpretation().launch, tile=(16, 8))
    assert tile_of_output(LAB, "out", plan) == (16, 8)
    assert tile_of_output(LAB, "in", plan) == (8, 16)
    assert tile_of_output(LAB, "out", replace(plan, covers=("rows",), tile=(8,))) == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", None])
def test_arguments_follow_the_signature(dtype: str | None) -> None:
    kernel = bound(interpretation("cols", "rows"), dtype)
    expected_type = dtype or "float32"
    assert kernel.dtypes == {"in": expected_type, "out": expected_type}
    assert kernel.is_comparable == (expected_type == "float32")
    array = np.zeros((3, 5), expected_type)
    got = kernel.launch(LOADED, {"rows": 3, "cols": 5}, {"in": array}, {"out": array.T})
    assert (got.entry, got.grid, got.block, got.shared_bytes) == ("k", (1, 1, 1), (32, 8, 1), 64)
    one, two, *numbers = got.arguments
    assert isinstance(one, BufferArgument) and one.initial is array and not one.is_output
    assert isinstance(two, BufferArgument) and two.initial is None and two.is_output
    assert (two.shape, two.dtype) == ((5, 3), expected_type)
    assert numbers == [ScalarArgument(5, "int32"), ScalarArgument(3, "int32")]


def test_a_number_that_is_handed_in_as_it_stands() -> None:
    kernel = bound(interpretation("rows", "=1"))
    got = kernel.launch(LOADED, {"rows": 3, "cols": 3}, {}, {"in": np.zeros(9), "out": np.zeros(9)})
    assert got.arguments[3] == ScalarArgument(1, "int32")


def test_a_program_is_compiled_for_all_kernels_of_its_file_that_are_compiled_with_it_anyhow() -> None:
    kernel = replace(bound(interpretation("rows", "cols")), together=("k", "other"))
    at = {"rows": 3, "cols": 5}
    assert kernel.program(at).expressions == ("k", "other") and not kernel.program(at).constants
    fixed = kernel.read_as(replace(kernel.interpretation, constants=(("rows", "N"),)))
    assert (fixed.program(at).expressions, fixed.program(at).constants) == (("k", "other"), (("N", 3),))
    # An instance of a template is made where it is named, and costs whoever has no use for it.
    beside_template = replace(fixed, together=("k", "tiled<16>", "other"))
    assert beside_template.program(at).expressions == ("k", "other")
    template = kernel.read_as(replace(kernel.interpretation, template=(("float", ""), ("16", "cols"))))
    assert template.expression(at) == "k<float, 5>" and template.program(at).expressions == ("k<float, 5>",)


def test_arrays_of_a_launch_without_data_take_no_memory() -> None:
    got = bound(interpretation("rows", "cols")).launch_without_data(LOADED, {"rows": 1 << 20, "cols": 1 << 20})
    one, two, *_numbers = got.arguments
    assert isinstance(one, BufferArgument) and one.initial is not None and one.initial.strides == (0, 0)
    assert isinstance(two, BufferArgument) and (two.initial, two.shape) == (None, (1 << 20, 1 << 20))
    # Nor do those of an output that begins with zeros.
    zeroed = replace(interpretation("rows", "cols"), zeroed=("out",))
    (_one, two, *_numbers) = bound(zeroed).launch_without_data(LOADED, {"rows": 1 << 20, "cols": 1 << 20}).arguments
    assert isinstance(two, BufferArgument) and two.initial is not None and two.initial.strides == (0, 0)


def test_a_number_too_large_for_its_type_is_converted_as_c_does() -> None:
    values = [ScalarArgument(32768, "int16"), ScalarArgument(300, "uint8"), ScalarArgument(1, "float32")]
    assert [argument.converted() for argument in values] == [np.int16(-32768), np.uint8(44), np.float32(1)]
    assert [argument.converted().dtype for argument in values] == ["int16", "uint8", "float32"]
