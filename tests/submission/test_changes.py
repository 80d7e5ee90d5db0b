"""Programs changed for a sweep: which constants, template arguments and loops, and the launch that follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.files import data_root
from grader.grading.sweeps import original_of
from grader.lab import labs
from grader.submission.binding.bind import bind
from grader.submission.changes import Changed, Original, ProgramChange, relaunched, same_interpretation
from grader.submission.folder import find_sources
from grader.submission.records import Interpretation, LaunchPlan, Missing, Submission, VariantBinding
from grader.submission.source import SourceText, decode

LAB = labs.find("transpose")
NAMES = ("tile(_?dim)?", "[bt]s")

TILED = """
__global__ void shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[TILE_DIM][TILE_DIM];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += ROWS)
        if (x < cols && y + j < rows)
            t[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += ROWS)
        if (x < rows && y + j < cols)
            out[(y + j) * rows + x] = t[threadIdx.x][threadIdx.y + j];
}
"""
HOST = """
int main()
{
    float *a, *b;
    dim3 block(TILE_DIM, ROWS), grid(8, 8);
    shared<<<grid, block>>>(a, b, 256, 256);
}
"""


def program(folder: Path, **files: str) -> Original:
    """A student's folder with these files, bound to the lab; `main` is the `.cu` file."""
    for name, text in files.items():
        (folder / ("transpose.cu" if name == "main" else f"{name}.h")).write_text(text, "utf-8")
    found = find_sources(folder / "transpose.cu", LAB.id)
    return original_of(LAB, found, bind(found, [decode(f) for f in found.files], LAB))


def binding(made: Original, variant: str = "shared") -> VariantBinding:
    found = made.submission.bindings[variant]
    assert isinstance(found, VariantBinding)
    return found


def changed(made: Original, value: int, width: int = 0, taken: tuple[str, ...] = ()) -> Changed:
    change = ProgramChange(constants=((NAMES, value),), width=width, taken=frozenset(taken))
    return made.changed(binding(made), change)


def text_of(submission: Submission) -> str:
    return submission.sources[0].text


def test_a_constant_is_changed_where_it_is_defined_and_the_launch_follows(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    found = changed(made, 16)
    assert found.old == (32,)
    assert text_of(found.submission).startswith("#define TILE_DIM 16\n#define ROWS 8\n")
    plan = found.binding.interpretations[0].launch
    assert (plan.block, plan.tile) == ((16, 8, 1), (16, 16))
    assert found.binding.interpretations[0].origins.block == "read"
    # The first program stays as it was.
    assert binding(made).interpretations[0].launch.block == (32, 8, 1)


@pytest.mark.parametrize(
    "definition",
    [
        "const int TILE_DIM = 32;",
        "constexpr int TILE_DIM = 1 << 5;",
        "enum { TILE_DIM = 32 };",
        "#define TILE_DIM (32)",
    ],
)
def test_however_the_constant_is_defined(tmp_path: Path, definition: str) -> None:
    made = program(tmp_path, main=f"{definition}\n#define ROWS 8\n{TILED}{HOST}")
    found = changed(made, 64)
    assert found.old == (32,)
    assert found.binding.interpretations[0].launch.tile == (64, 64)


def test_a_constant_of_a_header(tmp_path: Path) -> None:
    header = "#define TILE_DIM 32\n#define ROWS 8\n"
    made = program(tmp_path, main='#include "sizes.h"\n' + TILED + HOST, sizes=header)
    found = changed(made, 16)
    assert found.old == (32,)
    assert found.submission.device_source["sizes.h"].startswith("#define TILE_DIM 16\n")
    assert found.binding.interpretations[0].launch.tile == (16, 16)
    # On disk nothing changes.
    assert (tmp_path / "sizes.h").read_text() == header


def test_constants_that_the_kernel_does_not_depend_on_are_left(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE 4\n#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    found = changed(made, 16)
    assert "#define TILE 4\n#define TILE_DIM 16\n" in text_of(found.submission)


def test_width_and_height_of_one_value_change_together(tmp_path: Path) -> None:
    text = TILED.replace("[TILE_DIM][TILE_DIM]", "[TILE][TILE_DIM]")
    made = program(tmp_path, main="#define TILE 32\n#define TILE_DIM 32\n#define ROWS 8\n" + text + HOST)
    assert "#define TILE 8\n#define TILE_DIM 8\n#define ROWS 8" in text_of(changed(made, 8).submission)


def test_where_no_name_tells_the_value_does(tmp_path: Path) -> None:
    main = "#define EDGE 32\n#define ROWS 8\n" + (TILED + HOST).replace("TILE_DIM", "EDGE")
    made = program(tmp_path, main=main)
    assert changed(made, 16).old == (None,)
    found = changed(made, 16, width=32)
    assert found.old == (32,)
    assert text_of(found.submission).startswith("#define EDGE 16\n")
    assert changed(made, 16, width=32, taken=("EDGE",)).old == (None,)


def test_template_arguments(tmp_path: Path) -> None:
    main = (
        "template <int TILE_DIM, int ROWS>"
        + TILED
        + HOST.replace("shared<<<", "shared<32, 8><<<").replace("block(TILE_DIM, ROWS)", "block(32, 8)")
    )
    found = changed(program(tmp_path, main=main), 16)
    assert found.old == (32,)
    assert found.binding.expression == "shared<16, 8>"


def test_a_template_argument_of_another_name_is_known_by_the_width_of_the_block(tmp_path: Path) -> None:
    text = ("template <int SIZE, int ROWS>" + TILED).replace("TILE_DIM", "SIZE")
    main = text + HOST.replace("shared<<<", "shared<32, 8><<<").replace("block(TILE_DIM, ROWS)", "block(32, 8)")
    made = program(tmp_path, main=main)
    assert changed(made, 16).old == (None,)
    found = changed(made, 16, width=32)
    assert (found.old, found.binding.expression) == ((32,), "shared<16, 8>")


def test_a_program_without_such_a_constant_stays_the_same_object(tmp_path: Path) -> None:
    made = program(tmp_path, main=(TILED + HOST).replace("TILE_DIM", "32").replace("ROWS", "8"))
    found = changed(made, 16)
    assert found.submission is made.submission and found.old == (None,)


def test_the_same_change_is_read_once(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    assert changed(made, 16).submission is changed(made, 16).submission


def test_loops(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    found = made.changed(binding(made), ProgramChange(unroll=4))
    assert found.obstacle == "" and text_of(found.submission).count('_Pragma("unroll 4") for') == 2
    naive = "__global__ void naive(const float *in, float *out, int rows, int cols) { out[0] = in[rows * cols - 1]; }"
    flat = program(tmp_path, main=naive)
    assert flat.changed(binding(flat, "naive"), ProgramChange(unroll=4)).obstacle == "no_loop"


def test_loops_unrolled_by_hand_have_the_one_factor() -> None:
    lab = labs.find("matmul")
    file = data_root() / "tests/kernels/matmul/good/unroll_tile_by_hand.cu"
    found = find_sources(file, lab.id)
    made = original_of(lab, found, bind(found, [decode(f) for f in found.files], lab))
    own = binding(made, "unrolled")
    other = made.changed(own, ProgramChange(unroll=2))
    assert (other.obstacle, other.unrolled) == ("by_hand", own.kernel.unroll)
    same = made.changed(own, ProgramChange(unroll=own.kernel.unroll))
    assert same.obstacle == "" and same.submission is made.submission


def plan(block: tuple[int, int, int], tile: tuple[int, ...], **more: object) -> LaunchPlan:
    covers = ("cols", "rows")[: len(tile)]
    return replace(LaunchPlan(block, tile, covers, exact=False), **more)  # type: ignore[arg-type]


def test_a_block_that_is_wanted() -> None:
    each = plan((16, 16, 1), (16, 16))
    assert relaunched(each, each, (8, 8, 1), {}) == plan((8, 8, 1), (8, 8))
    # A block for every row: what it covers is none of its threads' business.
    rows = plan((256, 1, 1), (1,), block_formula=("min(n, 1024)",))
    assert relaunched(rows, rows, (64, 1, 1), {}) == plan((64, 1, 1), (1,))


def test_a_tile_that_followed_the_constant_keeps_what_it_is() -> None:
    before, after = plan((32, 8, 1), (32, 32)), plan((16, 8, 1), (16, 16))
    assert relaunched(before, after, (16, 16, 1), {32: 16}).tile == (16, 16)


def test_sides_that_equal_the_constant_follow_it() -> None:
    before = plan((32, 8, 1), (32, 32))
    assert relaunched(before, before, None, {32: 16}) == plan((16, 8, 1), (16, 16))
    already = plan((16, 8, 1), (16, 16))
    assert relaunched(before, already, None, {32: 16}) == already


def test_the_formula_of_a_grid_goes_by_the_new_sides() -> None:
    down = plan((32, 32, 1), (32, 32), grid_formula=("cols // 32", "(rows + 31) // 32"))
    assert relaunched(down, down, None, {32: 8}).grid_formula == ("cols // 8", "(rows + 7) // 8")
    assert relaunched(down, down, (8, 8, 1), {}).grid_formula == ("cols // 8", "(rows + 7) // 8")
    # What already follows the constant stays as it is.
    after = plan((8, 8, 1), (8, 8), grid_formula=("cols // 8", "rows // 8"))
    assert relaunched(down, after, None, {32: 8}) == after


def test_shared_memory_of_a_block_that_host_code_writes_as_a_number() -> None:
    fixed = plan((16, 16, 1), (16, 16), shared_bytes=2048)
    assert relaunched(fixed, fixed, (32, 32, 1), {}).shared_bytes == 8192
    # Too much does no harm, too little does.
    assert relaunched(fixed, fixed, (8, 8, 1), {}).shared_bytes == 2048
    halo = plan((128, 1, 1), (128,), shared_formula="(128 + 2 * radius) * 4")
    assert relaunched(halo, halo, (256, 1, 1), {}).shared_formula == "(256 + 2 * radius) * 4"
    rows = plan((128, 1, 1), (1,), shared_formula="4 * n")
    assert relaunched(rows, rows, (256, 1, 1), {}).shared_formula == "4 * n"


def test_the_reading_that_was_graded_is_found_again() -> None:
    tiles = Interpretation(("in", "out"), plan((32, 1, 1), (32,)))
    rows = Interpretation(("in", "out"), plan((32, 1, 1), (1,)))
    other = Interpretation(("out", "in"), plan((32, 1, 1), (32,)))
    wider = [replace(c, launch=replace(c.launch, block=(64, 1, 1))) for c in (other, rows, tiles)]
    assert same_interpretation(rows, wider) is wider[1]
    assert same_interpretation(other, wider) is wider[0]
    assert same_interpretation(replace(tiles, roles=("in",)), wider) is None


def test_an_unreadable_change_is_said(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    lost = Original(
        made.submission, lambda texts: replace(made.submission, bindings={"shared": Missing("shared", "no_candidate")})
    )
    assert lost.changed(binding(made), ProgramChange(constants=((NAMES, 16),))).obstacle == "unreadable"


def test_sources_by_path_are_handed_over(tmp_path: Path) -> None:
    made = program(tmp_path, main="#define TILE_DIM 32\n#define ROWS 8\n" + TILED + HOST)
    seen: list[dict[Path, SourceText]] = []

    def rebind(texts: object) -> Submission:
        seen.append(dict(texts))  # type: ignore[call-overload]
        return made.submission

    Original(made.submission, rebind).changed(binding(made), ProgramChange(constants=((NAMES, 8),)))
    ((path, source),) = seen[0].items()
    assert path == tmp_path / "transpose.cu" and source.text.startswith("#define TILE_DIM 8\n")
