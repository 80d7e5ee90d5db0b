"""Grids that leave out part of the data: what is said of them, and how many blocks are advised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.lab.compare import Difference
from grader.launching.trial import Run
from grader.result import Check
from grader.submission.cpp.syntax import Number
from grader.submission.kernels.records import SharedArray
from tests.checks.evidence_factory import check, evidence, hazard, kernel, run, site

UNWRITTEN = Difference(total=2048, mismatches=1000, unwritten=1000, first=(0, 32), expected=1.0, got=0.0, name="out")
WRITTEN = replace(UNWRITTEN, unwritten=0)
OBLONG = {"rows": 40, "cols": 70}


def launched(
    *grid: str,
    covers: tuple[str, ...] = ("cols", "rows"),
    tile: tuple[int, ...] = (32, 32),
    difference: Difference | None = UNWRITTEN,
    zeroed: tuple[str, ...] = (),
    status: str = "ok",
    swapped: bool = False,
    name: str = "correct",
    body: str = "",
    block: tuple[int, int, int] = (32, 32, 1),
) -> Check:
    """What a check says of a kernel that is wrong at 40 × 70, launched on a grid of these formulas; body: what the
    function does that it calls."""
    given = evidence(requested=replace(site(block), seems_swapped=swapped))
    assert given.interpretation is not None
    plan = replace(given.interpretation.launch, block=block, covers=covers, tile=tile, grid_formula=grid)
    wrong: Run = replace(run("correct", difference, status=status), sizes=OBLONG)
    interpretation = replace(given.interpretation, launch=plan, zeroed=zeroed)
    own = given.bound.kernel
    text = "\n" * (own.line - 1) + f"__global__ void {own.name}() {{ at(); }}\n"
    source = {own.file: text + "\n" * 99 + f"__device__ void at() {{ {body} }}\n"} if body else {}
    return check(replace(given, interpretation=interpretation, runs=(run("correct"), wrong), source=source), name)


@pytest.mark.parametrize(
    ("grid", "message", "hint"),
    [
        (
            ("cols / 32", "(rows + 31) / 32"),
            "Line 60 launches a grid of 2×2 blocks at rows = 40, cols = 70: along x it covers 64 of 70 elements, "
            "and the rest are not computed.",
            "Round the number of blocks up: (n + 32 - 1) / 32.",
        ),
        (
            ("(cols + 31) / 32", "rows / 32"),
            "Line 60 launches a grid of 3×1 blocks at rows = 40, cols = 70: along y it covers 32 of 40 elements, "
            "and the rest are not computed.",
            "Round the number of blocks up: (n + 32 - 1) / 32.",
        ),
        (
            ("2", "(rows + 31) / 32"),
            "along x it covers 64 of 70 elements",
            "Along x the number of blocks is the same at every size.",
        ),
        # One axis alone is computed from the sizes; of the other nothing is known but that it is 1.
        (
            ("(cols + 31) / 32",),
            "along y it covers 32 of 40",
            "Along y the number of blocks is the same at every size.",
        ),
        (
            ("cols / 96", "(rows + 31) / 32"),
            "a grid of 0×2 blocks at rows = 40, cols = 70: without a block the launch fails",
            "Round the number of blocks up",
        ),
        (
            ("(rows + 31) / 32", "(cols + 31) / 32"),
            "along x it covers 64 of 70",
            "The axes of the grid are swapped: the kernel's blocks go along x over cols and along y over rows, so the "
            "grid has to be dim3((cols + 32 - 1) / 32, (rows + 32 - 1) / 32).",
        ),
        (
            ("(rows + 31) / 32", "(rows + 31) / 32"),
            "a grid of 2×2 blocks at rows = 40, cols = 70: both of its axes follow from rows, and a part of the "
            "elements is not computed.",
            "One axis of the grid has to follow from cols in place of rows",
        ),
        # Rounded down it is short of its own size too: rounding is what helps first.
        (("rows / 32", "rows / 32"), "along x it covers 32 of 70 elements", "Round the number of blocks up"),
        # Enough for the size it follows from, and another is wanted; the other axis has more than it needs.
        (
            ("(rows + 31) / 32", "2 * cols"),
            "along x it covers 64 of 70",
            "rounded up, but from another extent: there are cols elements along this axis",
        ),
        # Enough for no size: 33 elements would have one block.
        (("(rows + 30) / 32", "2 * cols"), "along x it covers 64 of 70", "Round the number of blocks up"),
    ],
)
def test_a_grid_that_leaves_out_elements(grid: tuple[str, ...], message: str, hint: str) -> None:
    row = launched(*grid)
    assert (row.status, row.line) == ("fail", 60)
    assert message in row.message
    assert hint in row.hint


def test_what_is_known_of_the_grid_stands_in_the_data() -> None:
    assert launched("cols / 32", "(rows + 31) / 32").data == {
        "sizes": OBLONG,
        "grid": [2, 2, 1],
        "covered": 64,
        "extent": 70,
        "due_to": "launch",
    }


def test_tiles_numbered_along_one_axis() -> None:
    row = launched("rows * cols / 256", covers=("rows*cols",), tile=(256,))
    assert "a grid of 10×1 blocks at rows = 40, cols = 70: along x it covers 2560 of 2800 elements" in row.message
    assert "Round the number of blocks up: (n + 256 - 1) / 256." in row.hint


@pytest.mark.parametrize(
    ("grid", "hint"),
    [
        # Blocks for 32 rows, of one row of threads.
        ("(rows + 31) / 32", "Give the block all of its sides where it is defined: dim3(32, 32)."),
        ("rows / 3", "give the block more threads along y, or launch as many blocks along it as there are elements."),
    ],
)
def test_a_block_of_one_thread_along_an_axis_is_told_in_place_of_a_division_by_one(grid: str, hint: str) -> None:
    row = launched("(cols + 31) / 32", grid, tile=(32, 1), block=(32, 1, 1))
    assert "along y it covers" in row.message
    assert hint in row.hint
    assert "Round" not in row.hint


def test_blocks_that_are_no_squares_are_not_told_to_swap_axes() -> None:
    row = launched("(rows + 31) / 32", "(cols + 7) / 8", tile=(32, 8))
    assert "The axes of the grid are swapped" not in row.hint
    assert "rounded up, but from another extent" in row.hint


def test_a_block_in_the_place_of_the_grid_is_exchanged_first() -> None:
    row = launched("cols / 32", "(rows + 31) / 32", swapped=True)
    assert row.hint.startswith("The block stands in the place of the grid: write <<<grid, block>>>")


def test_a_launch_without_blocks_is_this_fault_too() -> None:
    row = launched("cols / 96", "1", difference=None, status="impossible")
    assert "without a block the launch fails" in row.message


@pytest.mark.parametrize(
    "row",
    [
        launched("(cols + 31) / 32", "(rows + 31) / 32"),  # All are covered.
        launched(),  # The grid is ours.
        launched("cols / 32", "(rows + 31) / 32", difference=WRITTEN),  # Its threads go on to what is left over.
    ],
)
def test_other_faults_are_not_the_grid_s(row: Check) -> None:
    assert row.status == "fail"
    assert row.line == kernel().line
    assert "grid" not in row.message + row.hint


def test_an_axis_may_be_spoken_of_in_what_a_kernel_calls() -> None:
    grid = "(cols + 31) / 32", "rows / 32"
    assert "along y it covers 32 of 40 elements" in launched(*grid, body="int y = threadIdx.y;").message
    assert "grid" not in launched(*grid, body="int x = threadIdx.x;").message


def test_what_was_set_to_zero_before_looks_written() -> None:
    row = launched("cols / 32", "(rows + 31) / 32", difference=WRITTEN, zeroed=("out",))
    assert "along x it covers 64 of 70" in row.message


def test_a_right_kernel_s_grid_is_not_looked_at() -> None:
    assert launched("cols / 32", "1", difference=replace(UNWRITTEN, mismatches=0, unwritten=0)).status == "pass"


def test_such_a_launch_is_paid_for_as_one() -> None:
    row, correct = launched("cols / 32", "(rows + 31) / 32", name="launch"), launched("cols / 32", "(rows + 31) / 32")
    assert (row.status, row.earned, row.line, row.message) == ("fail", 0, 60, correct.message)
    assert launched("cols / 32", "1", name="launch", difference=WRITTEN).status == "pass"


@pytest.mark.parametrize(
    ("written", "given", "offset", "status"),
    [
        (Number(1024), 1024, 1024, "fail"),  # As many as the block has threads: elements.
        (None, 0, 0, "fail"),  # Nothing is asked for.
        (Number(2048), 2048, 2048, "pass"),  # May be a number of bytes that the kernel leaves by a slip of its own.
    ],
)
def test_a_launch_that_gives_too_few_bytes(written: Number | None, given: int, offset: int, status: str) -> None:
    dynamic = replace(kernel(), shared_arrays=(SharedArray("t", 7, "float32", (None,), True),))
    beyond = hazard("out_of_bounds", "after", offset_bytes=offset, array_bytes=given)
    launch = replace(site((32, 32, 1), given), shared_expression=written)
    row = check(evidence(kernel=dynamic, requested=launch, runs=(run("correct", hazards=(beyond,)),)), "launch")
    assert (row.status, row.line) == (status, 60)
    if status == "fail":
        assert row.message == (
            f"At rows = 64, cols = 64 the launch gives the array t in shared memory {given} bytes, "
            "fewer than the kernel uses."
        )
        assert ("counts bytes, not elements" if given else "no memory") in row.hint
