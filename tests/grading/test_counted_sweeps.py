"""Sweeps on the emulator: counts worked out by hand, points that cannot be, kernels that are not swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from grader import i18n
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.counted_sweeps import EmulatorSweeps
from grader.grading.options import GradeOptions
from grader.grading.sweep_plan import PreparedPoint, Target, places, prepare, reference_target
from grader.grading.sweeps import original_of
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sweep, SweepParameter
from grader.launching.kernel import BoundKernel
from grader.measured import SweepPoint, SweepRecord
from grader.result import Result, decode, encode
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources
from grader.submission.records import VariantBinding
from grader.submission.source import decode as decode_source
from grader.words import text, told

TEXT = {"en": "…", "ru": "…"}
SQUARE = {"rows": 64, "cols": 64}
KERNELS = data_root() / "tests" / "kernels"


def knob(*values: int, name: str = "t", **more: object) -> SweepParameter:
    return SweepParameter(name, TEXT, {"emulator": values, "gpu": values}, **more)  # type: ignore[arg-type]


def sweep_of(
    x: SweepParameter, *variants: str, metrics: Sequence[str] = ("sectors", "wavefronts"), **more: object
) -> Sweep:
    base = {"emulator": SQUARE, "gpu": SQUARE}
    return Sweep("it", TEXT, variants, x, base, {"emulator": tuple(metrics), "gpu": ("time",)}, **more)  # type: ignore[arg-type]


def tile(*values: int) -> SweepParameter:
    return knob(*values, constants=("tile(_dim)?", "bdim"))


class Compiling:
    """A compiler that counts."""

    def __init__(self, process: CompilerProcess) -> None:
        self.process = process
        self.programs: list[tuple[Mapping[str, str], list[str]]] = []

    def compile(
        self, sources: Mapping[str, str], expressions: Sequence[str], architecture: str, *, options: Sequence[str] = ()
    ) -> CompileResult:
        self.programs.append((sources, list(expressions)))
        return self.process.compile(sources, expressions, architecture, options=options)


@pytest.fixture(scope="module")
def process() -> object:
    with CompilerProcess() as made:
        yield made


@pytest.fixture
def compiling(process: CompilerProcess) -> Compiling:
    return Compiling(process)


def lab_with(*sweeps: Sweep, lab: str = "transpose") -> Lab:
    return replace(labs.find(lab), sweeps=sweeps, repairs="off")


def references(lab: Lab) -> list[Target]:
    wanted = {name for sweep in lab.sweeps for name in sweep.variants}
    return [reference_target(lab, v) for v in lab.variants if v.name in wanted]


def students(lab: Lab, file: Path) -> list[Target]:
    found = find_sources(file, lab.id)
    submission = bind(found, [decode_source(f) for f in found.files], lab)
    original = original_of(lab, found, submission)
    return [
        Target(name, "submission", original, BoundKernel(lab, submission, b, b.interpretations[0]))
        for name, b in submission.bindings.items()
        if isinstance(b, VariantBinding)
    ]


def run(lab: Lab, targets: Sequence[Target], compiling: Compiling) -> list[SweepRecord]:
    return [told(record) for record in EmulatorSweeps(lab, Oracle(lab), compiling).run(targets, {})]


def values(points: Sequence[SweepPoint], variant: str, metric: str) -> dict[int, float]:
    return {p.x: p.values[metric].value for p in points if p.variant == variant and p.status == "ok"}


def test_work_of_a_transposition_by_the_side_of_its_tile(compiling: Compiling) -> None:
    lab = lab_with(sweep_of(tile(8, 16, 32, 64), "naive", "shared", "padded"))
    (record,) = run(lab, references(lab), compiling)
    assert (record.backend, record.x, record.lines, record.metrics) == ("emulator", "t", "", ["sectors", "wavefronts"])
    # A sector is 8 floats.  A warp reads 32/T rows of T: 32/8 sectors in any case; it writes T columns, 32/T elements
    # deep: T sectors where they are shorter than a sector.
    assert values(record.points, "naive", "sectors") == {8: 4 / 32 + 8 / 32, 16: 4 / 32 + 16 / 32, 32: 4 / 32 + 32 / 32}
    assert values(record.points, "padded", "sectors") == dict.fromkeys((8, 16, 32, 64), 8 / 32)
    # A column of a tile of 32 lies in one bank: 32 wavefronts to read it, one to write the row.
    assert values(record.points, "shared", "wavefronts")[32] == 33 / 32
    assert values(record.points, "padded", "wavefronts")[32] == 2 / 32
    assert values(record.points, "naive", "wavefronts")[8] == 0
    blocks = {(p.variant, p.x): p.block for p in record.points}
    # The lab's padded kernel has rows of 8 threads, whatever the tile.
    assert blocks["padded", 16] == (16, 8, 1) and blocks["padded", 64] == (64, 8, 1)
    assert blocks["shared", 16] == (16, 16, 1)


def test_blocks_that_no_device_can_run(compiling: Compiling) -> None:
    lab = lab_with(sweep_of(tile(32, 64), "naive"))
    (record,) = run(lab, references(lab), compiling)
    impossible = record.points[1]
    assert (impossible.status, impossible.block, impossible.values) == ("impossible", (64, 64, 1), {})
    assert impossible.reason == "4096 threads per block, at most 1024 are allowed"


def test_the_lab_s_own_kernels_are_counted_once(compiling: Compiling, tmp_path: Path) -> None:
    lab = lab_with(sweep_of(tile(16, 32), "naive"))
    file = tmp_path / "transpose.cu"
    file.write_text((lab.path.parent / "../../reference/transpose/naive.cu").read_text("utf-8"))
    own = references(lab)
    known: dict[tuple[str, str], list[SweepPoint]] = {}
    targets = [*students(lab, file), *own]
    first = EmulatorSweeps(lab, Oracle(lab), compiling, known).run(targets, {})
    programs = len(compiling.programs)
    again = EmulatorSweeps(lab, Oracle(lab), compiling, known).run(targets, {})
    assert again == first
    # The student's programs only.
    assert [(p.of, p.x) for p in first[0].points] == [(of, x) for of in ("submission", "reference") for x in (16, 32)]
    assert 2 * (len(compiling.programs) - programs) == programs
    # Another lab's kernels, or the same in another language, have a store of their own.
    assert set(known) == {("it", "naive")}


def test_what_is_kept_from_one_grading_to_the_next_changes_nothing() -> None:
    path, lab = KERNELS / "transpose" / "good", labs.find("transpose")
    file = min(path.glob("*.cu"))
    first, again = (pipeline.grade(file, lab, GradeOptions(backend="emulator")) for _grading in range(2))
    assert encode(again) == encode(first)
    assert {point.of for record in again.sweeps for point in record.points} >= {"reference"}
    try:
        i18n.use("ru")
        russian = pipeline.grade(file, lab, GradeOptions(backend="emulator"))
    finally:
        i18n.use("en")
    reasons = {p.reason for record in russian.sweeps for p in record.points if p.of == "reference" and p.reason}
    assert reasons and not any("threads a block" in reason for reason in reasons)


def test_shared_memory_that_no_device_has(compiling: Compiling) -> None:
    base = {"n": 8, "count": 64}
    threads = replace(
        sweep_of(knob(32, 1024, block=("t",)), "shared", metrics=["wavefronts"]), base={"emulator": base, "gpu": base}
    )
    lab = lab_with(threads, lab="batch-square")
    (record,) = run(lab, references(lab), compiling)
    assert [p.status for p in record.points] == ["ok", "impossible"]
    assert record.points[1].reason == f"{4 * 1024 * 64} bytes of shared memory per block, at most 232448 are allowed"


def test_a_line_for_each_size_and_sizes_from_formulas(compiling: Compiling) -> None:
    lines = knob(32, 64, name="n", sizes={"rows": "n", "cols": "2 * n"})
    lab = lab_with(sweep_of(tile(8, 32), "padded", lines=lines))
    (record,) = run(lab, references(lab), compiling)
    assert record.lines == "n"
    assert [(p.line, p.x, p.size) for p in record.points] == [
        (32, 8, {"rows": 32, "cols": 64}),
        (32, 32, {"rows": 32, "cols": 64}),
        (64, 8, {"rows": 64, "cols": 128}),
        (64, 32, {"rows": 64, "cols": 128}),
    ]


def test_threads_of_a_block_that_works_on_a_row(compiling: Compiling) -> None:
    base = {"n": 32}
    threads = replace(
        sweep_of(knob(16, 32, 64, block=("t",)), "row", metrics=["instructions"]), base={"emulator": base, "gpu": base}
    )
    lab = lab_with(threads, lab="matmul")
    (record,) = run(lab, references(lab), compiling)
    assert [p.block for p in record.points] == [(16, 1, 1), (32, 1, 1), (64, 1, 1)]
    assert all(p.status == "ok" for p in record.points)
    # Threads in excess only look whether there is work.
    assert values(record.points, "row", "instructions")[64] > values(record.points, "row", "instructions")[32]


def test_unrolling_saves_instructions(compiling: Compiling) -> None:
    base = {"n": 32}
    unrolling = replace(
        sweep_of(knob(1, 4, 16, name="u", unroll=True), "block", metrics=["instructions"]),
        base={"emulator": base, "gpu": base},
    )
    lab = lab_with(unrolling, lab="matmul")
    (record,) = run(lab, references(lab), compiling)
    found = values(record.points, "block", "instructions")
    assert found[1] > found[4] > found[16] > 2 * 32


def test_a_kernel_made_for_one_value_is_wrong_at_others(compiling: Compiling) -> None:
    lab = lab_with(sweep_of(tile(16, 32), "padded"))
    targets = students(lab, KERNELS / "transpose" / "good" / "xor_swizzle.cu")
    (record,) = run(lab, targets, compiling)
    assert [(p.of, p.x, p.status) for p in record.points] == [("submission", 16, "wrong"), ("submission", 32, "ok")]
    assert record.points[0].reason and not record.points[0].values


def test_a_kernel_that_leaves_its_arrays_has_no_figures(compiling: Compiling, tmp_path: Path) -> None:
    (tmp_path / "transpose.cu").write_text(
        "__global__ void naive(const float *in, float *out, int rows, int cols)\n"
        "{ int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  if (y < rows) out[x * rows + y] = in[y * cols + x]; }\n"
    )
    # 48 columns are no multiple of 32 threads.
    base = {"rows": 48, "cols": 48}
    lab = lab_with(replace(sweep_of(tile(16, 32), "naive"), base={"emulator": base, "gpu": base}))
    (record,) = run(lab, students(lab, tmp_path / "transpose.cu"), compiling)
    assert [p.status for p in record.points] == ["ok", "wrong"]
    assert record.points[1].reason == "the kernel accesses memory outside its arrays there"


def test_a_program_that_does_not_compile_for_a_value(compiling: Compiling, tmp_path: Path) -> None:
    text = (KERNELS / "transpose" / "good" / "macros.cu").read_text("utf-8")
    (tmp_path / "transpose.cu").write_text(
        text.replace("__global__", "static_assert(BDIM > 8); __global__", 1), "utf-8"
    )
    lab = lab_with(sweep_of(tile(8, 16), "naive"))
    (record,) = run(lab, students(lab, tmp_path / "transpose.cu"), compiling)
    assert [p.status for p in record.points] == ["impossible", "ok"]
    assert record.points[0].reason.startswith("it does not compile: ")


def test_after_a_kernel_that_never_ends_no_other_point_is_tried(compiling: Compiling, tmp_path: Path) -> None:
    (tmp_path / "transpose.cu").write_text(
        "#define TILE 32\n"
        "__global__ void naive(const float *in, float *out, int rows, int cols)\n"
        "{ int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n"
        "  while (TILE < 32) ;\n"
        "  if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x]; }\n"
    )
    lab = lab_with(sweep_of(tile(8, 16, 32), "naive"))
    (record,) = run(lab, students(lab, tmp_path / "transpose.cu"), compiling)
    assert [p.status for p in record.points] == ["failed"] * 3
    assert len({p.reason for p in record.points}) == 1


def test_a_kernel_that_did_not_end_twice_is_not_launched_again(compiling: Compiling, tmp_path: Path) -> None:
    (tmp_path / "transpose.cu").write_text(
        "#define TILE 32\n"
        "__global__ void naive(const float *in, float *out, int rows, int cols)\n"
        "{ int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n"
        "  while (TILE < 32) ;\n"
        "  if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x]; }\n"
    )
    one = sweep_of(tile(8, 32), "naive")
    right = replace(sweep_of(tile(32), "naive"), id="right")
    lab = lab_with(one, replace(one, id="again"), right)
    records = run(lab, students(lab, tmp_path / "transpose.cu"), compiling)
    assert [p.status for record in records for p in record.points] == ["failed"] * 5


def test_shared_memory_that_only_the_compiled_kernel_shows(compiling: Compiling) -> None:
    base = {"n": 8, "count": 64}
    threads = replace(
        sweep_of(knob(128, 256, block=("t",), constants=("threads|block",)), "shared", metrics=["wavefronts"]),
        base={"emulator": base, "gpu": base},
    )
    lab = lab_with(threads, lab="batch-square")
    (record,) = run(lab, students(lab, KERNELS / "batch-square" / "good" / "constant_size.cu"), compiling)
    assert [p.status for p in record.points] == ["ok", "impossible"]
    assert record.points[1].reason == "65536 bytes of shared memory per block, at most 49152 are allowed"


def test_very_long_files_are_not_swept(tmp_path: Path) -> None:
    text = (KERNELS / "transpose" / "good" / "macros.cu").read_text("utf-8")
    (tmp_path / "transpose.cu").write_text(text + "// " + "x, " * 33_000, "utf-8")
    _early, final = graded(tmp_path / "transpose.cu", lab_with(sweep_of(tile(16, 32), "naive")))
    assert final.sweeps[0].left_out == {"naive": "its file is too long"}
    assert {p.of for p in final.sweeps[0].points} == {"reference"}


def test_a_program_serves_all_its_kernels_and_equal_points_run_once(compiling: Compiling) -> None:
    one = sweep_of(tile(8, 16), "naive", "padded")
    lab = lab_with(one, replace(one, id="again"))
    first, again = run(lab, students(lab, KERNELS / "transpose" / "good" / "macros.cu"), compiling)
    assert [p.values for p in first.points] == [p.values for p in again.points]
    assert len(compiling.programs) == 2
    assert all(expressions == ["paddedTranspose", "simpleTranspose"] for _s, expressions in compiling.programs)


def test_kinds_of_host_memory_count_bytes_over_the_bus(compiling: Compiling) -> None:
    base = {"count": 1024, "radius": 2}
    memory = replace(
        sweep_of(knob(128, block=("t",)), "naive", metrics=["bus_bytes"], host_memory=("pinned", "mapped")),
        base={"emulator": base, "gpu": base},
    )
    sectors = replace(
        sweep_of(knob(128, block=("t",)), "naive", metrics=["sectors"]), id="s", base={"emulator": base, "gpu": base}
    )
    lab = lab_with(memory, sectors, lab="box-blur")
    copied, counted = run(lab, references(lab), compiling)
    assert copied.lines == "host_memory"
    found = {p.line: p.values["bus_bytes"].value for p in copied.points}
    # Copies move every element of both vectors once; a mapped vector is read again for every neighbour.
    assert found["pinned"] == 8.0
    assert found["mapped"] == pytest.approx(32 * counted.points[0].values["sectors"].value)


@pytest.mark.parametrize(
    ("file", "x", "reason"),
    [
        ("transpose/good/lecture.cu", knob(48, name="n", sizes={"rows": "n", "cols": "n"}), "multiples of its block"),
        ("transpose/good/lecture.cu", knob(64, name="n", sizes={"rows": "n", "cols": "2 * n"}), "square arrays only"),
    ],
)
def test_sizes_that_a_kernel_cannot_be_asked_for(file: str, x: SweepParameter, reason: str) -> None:
    lab = lab_with(sweep_of(x, "naive"))
    subject = students(lab, KERNELS / file)[0]
    (place,) = places(lab.sweeps[0], "emulator")
    point = prepare(lab, lab.sweeps[0], subject, place)
    assert isinstance(point, SweepPoint) and point.status == "fixed" and reason in text(point.reason_said)


def test_the_last_word_is_the_axis_s() -> None:
    lines = knob(16, name="s", block=("s", "s"))
    lab = lab_with(sweep_of(knob(8, block=("t", "t")), "naive", lines=lines))
    (subject,) = references(lab)
    (place,) = places(lab.sweeps[0], "emulator")
    point = prepare(lab, lab.sweeps[0], subject, place)
    assert isinstance(point, PreparedPoint) and point.block == (8, 8, 1)


def test_a_kernel_that_numbers_its_threads_along_one_axis_gets_as_many_in_a_row() -> None:
    lab = lab_with(sweep_of(knob(8, block=("t", "t")), "naive"))
    subject = students(lab, KERNELS / "transpose/good/block_a_row.cu")[0]
    (place,) = places(lab.sweeps[0], "emulator")
    point = prepare(lab, lab.sweeps[0], subject, place)
    assert isinstance(point, PreparedPoint) and point.block == (64, 1, 1)


def graded(path: Path, lab: Lab) -> tuple[Result, Result]:
    """The result as it is told when the marks are there, and in the end."""
    seen: list[Result] = []
    final = pipeline.grade(
        path, lab, GradeOptions(backend="emulator"), listeners=pipeline.Listeners(judged=seen.append)
    )
    (early,) = seen
    return early, final


def test_marks_come_first_and_sweeps_change_nothing_of_them() -> None:
    lab = lab_with(sweep_of(tile(16, 32), "naive", "padded"))
    early, final = graded(KERNELS / "transpose" / "good" / "macros.cu", lab)
    assert early.sweeps == [] and len(final.sweeps) == 1
    assert (early.checks, early.score, early.status) == (final.checks, final.score, final.status)
    owners = [(p.variant, p.of) for p in final.sweeps[0].points]
    assert list(dict.fromkeys(owners)) == [
        ("naive", "submission"),
        ("padded", "submission"),
        ("naive", "reference"),
        ("padded", "reference"),
    ]
    assert decode(encode(final)) == final


def test_kernels_that_are_wrong_or_missing_are_left_out_and_the_lab_s_are_shown() -> None:
    lab = lab_with(sweep_of(tile(16, 32), "naive", "shared"))
    _early, final = graded(KERNELS / "transpose" / "bad" / "copied.cu", lab)
    (record,) = final.sweeps
    reasons = {"its results are wrong", "no kernel"}
    assert set(record.left_out) == {"naive", "shared"} and set(record.left_out.values()) <= reasons
    assert {p.of for p in record.points} == {"reference"} and all(p.status == "ok" for p in record.points)


def test_a_kernel_that_leaves_its_arrays_is_left_out_for_that() -> None:
    lab = lab_with(sweep_of(tile(16, 32), "naive", "padded"))
    _early, final = graded(data_root() / "submissions" / "morozov", lab)
    (record,) = final.sweeps
    assert record.left_out == {"padded": "it accesses memory outside its arrays"}
