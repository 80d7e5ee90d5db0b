"""Programs whose sizes are constants, and grids whose axes are not what they should be: what is told of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab.labs import find
from grader.result import Check, Result
from tests.marks_only import marks_only

HERE = Path(__file__).parent / "programs"
pytestmark = pytest.mark.slow


def graded(name: str, lab: str) -> Result:
    return pipeline.grade(HERE / name, replace(find(lab, ()), sweeps=()), GradeOptions(backend="emulator"))


def check(result: Result, name: str) -> Check:
    return next(c for c in result.checks if c.id == name)


def hint(found: Check) -> str:
    assert found.status == "fail" and found.hint_said is not None
    return found.hint_said.id


def test_axes_in_each_others_place_are_told_as_such() -> None:
    found = check(graded("swapped_axes.cu", "transpose"), "naive.correct")
    assert found.line == 19 and hint(found) == "pieces.sentences" and found.hint_said is not None
    # The launch is wrong, not the kernel's lines: the change is the one of the grid's definition.
    parts: Any = found.hint_said.data["parts"]
    assert [part.id for part in parts] == ["repairs.launch_axes", "repairs.verified"]
    assert found.repair is not None and found.repair.line == 18


def test_a_grid_made_of_one_size_alone_is_told_to_take_the_other() -> None:
    result = graded("one_size_for_both.cu", "transpose")
    found = next(c for c in result.checks if c.variant == "naive" and c.status == "fail" and c.check != "host_code")
    assert found.message_said is not None and found.message_said.id == "checks.grids.of_one_size"
    assert hint(found) == "pieces.sentences" and found.line == 11 and found.hint_said is not None
    parts: Any = found.hint_said.data["parts"]
    assert parts[-1].id == "repairs.verified" and found.repair is not None and found.repair.line == 10


def test_a_block_in_the_grids_place_is_told_before_the_number_of_blocks() -> None:
    found = check(graded("block_before_grid.cu", "matmul"), "naive.correct")
    assert hint(found) == "pieces.sentences" and found.hint_said is not None
    parts: Any = found.hint_said.data["parts"]
    assert [part.id for part in parts] == ["repairs.launch_order", "repairs.verified"]
    assert found.repair is not None and found.repair.line == found.line == 19


@pytest.mark.parametrize("name", ["within_blocks_only.cu", "within_blocks_unnamed.cu"])
def test_a_kernel_that_is_right_at_one_block_alone_is_wrong(name: str) -> None:
    result = graded(name, "transpose")
    assert check(result, "shared.correct").status == "fail"
    assert not any("works only at" in remark for remark in result.variants["shared"].remarks)


def test_managed_arrays_handed_in_and_sizes_that_are_constants_in_either_order() -> None:
    result = graded("managed_handed_in.cu", "transpose")
    naive = {c.check: c.status for c in result.checks if c.variant == "naive"}
    assert [naive[name] for name in ("correct", "memory_safety", "technique")] == ["pass"] * 3
    launch = result.variants["naive"].launch
    assert launch is not None and launch.by == "observed"


def test_the_length_of_an_array_is_a_constant_of_any_name_beside_the_radius() -> None:
    result = graded("constant_count.cu", "box-blur")
    shared = {c.check: c.status for c in result.checks if c.variant == "shared"}
    assert [shared[name] for name in ("correct", "memory_safety", "technique", "races")] == ["pass"] * 4


def test_a_side_in_constant_memory_is_handed_over_like_an_argument(tmp_path: Path) -> None:
    whole = (HERE / "side_in_constant_memory.cu").read_text()
    unguarded = tmp_path / "unguarded.cu"
    unguarded.write_text(whole.replace("if (x < cn && y < cn) ", ""))
    for path, ragged in ((HERE / "side_in_constant_memory.cu", "pass"), (unguarded, "fail")):
        result = pipeline.grade(path, marks_only("transpose"), GradeOptions(backend="emulator"))
        assert check(result, "naive.correct").status == "pass"
        assert check(result, "naive.ragged_sizes").status == ragged


def test_a_side_that_the_compiler_is_told_is_called_a_constant() -> None:
    result = graded("side_is_a_constant.cu", "transpose")
    assert check(result, "naive.correct").status == "pass"
    found = check(result, "naive.ragged_sizes")
    assert found.message_said is not None and found.message_said.id == "checks.ragged_sizes.size_is_constant"
    assert found.message_said.data == {"name": "cn"}


def test_reading_too_much_because_of_a_small_tile_is_told_as_such() -> None:
    found = check(graded("small_tile.cu", "matmul"), "block.technique")
    assert hint(found) == "pieces.sentences" and found.hint_said is not None
    parts: Any = found.hint_said.data["parts"]
    assert [part.id for part in parts] == ["repairs.constant", "repairs.verified", "checks.technique.hint_small_tile"]
    assert found.repair is not None and found.repair.line == 4
