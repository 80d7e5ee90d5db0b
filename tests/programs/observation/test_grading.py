"""Whole programs graded by what was seen of them: kernels, launches, and the faults that only a run shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Result
from tests.marks_only import marks_only

HERE = Path(__file__).parent / "programs"


def graded(name: str, lab: str) -> Result:
    return pipeline.grade(HERE / name, marks_only(lab), GradeOptions(backend="emulator"))


def statuses(result: Result, variant: str) -> dict[str, str]:
    """Of the checks that a launch decides over; those of host code and of times are others' business."""
    return {c.check: c.status for c in result.checks if c.variant == variant and c.status in ("pass", "fail")}


GRIDS = [
    ("floor_by_ceil.cu", "box-blur", "naive", "ragged_sizes", 25),
    pytest.param("floor_in_wrapper.cu", "transpose", "naive", "ragged_sizes", 40, marks=pytest.mark.slow),
    pytest.param("last_block_left_out.cu", "batch-square", "simple", "correct", 28, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "lab", "variant", "check", "line"), GRIDS)
def test_a_grid_that_leaves_data_out_is_told_at_its_launch(
    name: str, lab: str, variant: str, check: str, line: int
) -> None:
    result = graded(name, lab)
    failed = [c for c in result.checks if c.variant == variant and c.status == "fail" and c.check != "host_code"]
    # What is short at sizes of the lab is no launch for it; one that is rounded down is short off the tile alone.
    paid = ["launch", check] if check == "correct" else [check]
    assert [(c.check, c.line) for c in failed] == [(name, line) for name in paid]
    assert {c.message_said.id for c in failed if c.message_said is not None} == {"checks.grids.left_out"}
    launch = result.variants[variant].launch
    assert launch is not None and launch.by == "observed"


@pytest.mark.slow
def test_a_grid_of_one_axis_for_a_kernel_of_two_is_told_to_grow() -> None:
    result = graded("one_axis_only.cu", "transpose")
    failed = next(c for c in result.checks if c.id == "naive.correct")
    assert failed.line == 19
    assert failed.message_said is not None and failed.message_said.id == "checks.grids.left_out"
    assert failed.hint_said is not None and failed.hint_said.id == "checks.grids.hint_fixed"
    assert failed.hint_said.data["axis"] == "y"


@pytest.mark.slow
def test_a_grid_that_covers_the_rows_alone_is_right_where_each_thread_does_a_row() -> None:
    result = graded("a_thread_a_row.cu", "transpose")
    got = statuses(result, "naive")
    assert [got[name] for name in ("launch", "correct", "memory_safety", "coalescing")] == ["pass"] * 4
    assert "ragged_sizes" not in got


@pytest.mark.slow
def test_a_kernel_that_prepares_the_data_of_another_is_not_graded_in_its_place() -> None:
    assert graded("normalised_first.cu", "box-blur").variants["naive"].kernel == "mean"


@pytest.mark.slow
def test_what_is_printed_of_a_launch_makes_no_variant_of_a_kernel() -> None:
    result = graded("prints_its_blocks.cu", "matmul")
    assert {variant: record.kernel for variant, record in result.variants.items() if record.kernel} == {
        "naive": "product"
    }


KERNELS = [
    # A name that says nothing, and a kernel that works by tiles.
    ("generic_name_tiled.cu", "matmul", {"block": "gpuMM"}),
    pytest.param(
        "one_thread_beside_parallel.cu",
        "matmul",
        {"naive": "matrixMulParallel", "block": "matrixMulKernel"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "square_padding.cu",
        "transpose",
        {"padded": "optimTranspose", "shared": "optimTranspose2"},
        marks=pytest.mark.slow,
    ),
    pytest.param("template_by_if.cu", "transpose", {"padded": "transposeNoBankConflicts"}, marks=pytest.mark.slow),
    pytest.param("struct_header", "matmul", {"naive": "MatMulKernel"}, marks=pytest.mark.slow),
    pytest.param(
        "block_size_and_factor_as_arguments.cu",
        "box-blur",
        {"naive": "blurAcc", "shared": "blurShared"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "two_inputs_from_argv.cu",
        "batch-square",
        {"simple": "mulSimple", "shared": "mulShared"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "lambda_and_groups.cu", "transpose", {"naive": "naive", "padded": "no_bank_conflicts"}, marks=pytest.mark.slow
    ),
    pytest.param("pitched.cu", "transpose", {"naive": "plain", "padded": "padded"}, marks=pytest.mark.slow),
    pytest.param(
        "struct_of_sizes.cu",
        "batch-square",
        {"simple": "global_memory", "shared": "shared_memory"},
        marks=pytest.mark.slow,
    ),
    pytest.param("one_block.cu", "box-blur", {"naive": "naive"}, marks=pytest.mark.slow),
    # The rows' length is another function's parameter: the memory that is launched with tells.
    pytest.param(
        "pitch_handed_on.cu",
        "transpose",
        {"naive": "transpose_direct", "shared": "transpose_smem", "padded": "transpose_smem_nobc"},
        marks=pytest.mark.slow,
    ),
    # One template for both tiles, by a struct that says where an element lies.
    pytest.param(
        "layouts_by_template.cu",
        "transpose",
        {"naive": "naive", "shared": "staged", "padded": "staged"},
        marks=pytest.mark.slow,
    ),
    # A scan, whose halo of four lanes is a small part of every step at this block.
    pytest.param("prefix_sums.cu", "box-blur", {"shared": "blur_prefix_shared"}, marks=pytest.mark.slow),
    # Headers that are device code alone, and structs with an array in each.
    pytest.param(
        "copies_asynchronously.cu",
        "box-blur",
        {"naive": "mean_simple", "shared": "mean_shared"},
        marks=pytest.mark.slow,
    ),
    # Handed how wide the window is, and dynamic shared memory by a radius that no kernel is handed.
    pytest.param(
        "window_as_argument.cu",
        "box-blur",
        {"naive": "srednia_naiwna", "shared": "srednia_shared"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "size_in_managed_memory.cu",
        "box-blur",
        {"naive": "blur_naive_g", "shared": "blur_shared_g"},
        marks=pytest.mark.slow,
    ),
    # One struct of both arrays and both sizes, with dynamic shared memory that follows from these.
    pytest.param(
        "struct_of_arrays.cu", "batch-square", {"simple": "prosty", "shared": "dzielony"}, marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("name", "lab", "kernels"), KERNELS)
def test_what_a_kernel_does_decides_and_a_right_one_loses_nothing(name: str, lab: str, kernels: dict[str, str]) -> None:
    result = graded(name, lab)
    assert {variant: record.kernel for variant, record in result.variants.items() if record.kernel} == kernels
    for variant in kernels:
        found = statuses(result, variant)
        found.pop("host_code", None)
        assert set(found.values()) == {"pass"}, found
        launch = result.variants[variant].launch
        assert launch is not None and launch.by == "observed"


@pytest.mark.slow
def test_what_nobody_sets_is_told_as_such() -> None:
    result = graded("adds_to_unset.cu", "box-blur")
    found = statuses(result, "naive")
    assert found["memory_safety"] == "fail"
    wrong = next(c for c in result.checks if c.id == "naive.memory_safety")
    assert wrong.line == 10
    assert "never written" in wrong.message


@pytest.mark.slow
def test_the_kernel_that_does_not_count_is_told() -> None:
    result = graded("one_thread_beside_parallel.cu", "matmul")
    told = [r.data["kernel"] for r in result.variants["naive"].remarks_said if r.id == "remarks.one_thread"]
    assert told == ["matrixMulSingle"]


@pytest.mark.slow
def test_a_grid_rounded_up_from_another_extent_is_not_told_to_round_up() -> None:
    result = graded("a_thread_an_element_of_rows.cu", "transpose")
    failed = next(c for c in result.checks if c.id == "naive.correct")
    assert failed.hint_said is not None and failed.hint_said.id == "checks.grids.hint_other_extent"
    assert failed.line == 19 and "cols*rows" in str(failed.hint)


@pytest.mark.slow
def test_a_program_whose_main_is_no_cuda_file_is_run() -> None:
    result = graded("main_in_cpp", "transpose")
    launch = result.variants["naive"].launch
    assert launch is not None and (launch.by, launch.block) == ("observed", (32, 4, 1))
    assert {c.id for c in result.checks if c.id.startswith("naive.") and c.status == "fail"} == set()
    assert sorted(source.file for source in result.sources) == ["include/flips.cuh", "main.cpp", "src/flips.cu"]


@pytest.mark.slow
def test_a_fault_of_a_launch_is_shown_in_the_file_that_it_stands_in() -> None:
    result = graded("launch_elsewhere", "transpose")
    failed = next(c for c in result.checks if c.id == "naive.ragged_sizes")
    assert (failed.status, failed.file, failed.line) == ("fail", "main.cu", 18)
    assert result.variants["naive"].file == "kernels.cu"
    assert {result.file_of(c) for c in result.checks if c.status == "fail" and c.check == "ragged_sizes"} == {"main.cu"}
    sound = next(c for c in result.checks if c.id == "naive.coalescing")
    assert (sound.file, result.file_of(sound)) == ("", "kernels.cu")
