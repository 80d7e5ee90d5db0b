"""The whole path, on files written for the purpose: what a submission can do is a verdict, never an exception."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import FileError, UsageError
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.result import Check, Result, encode
from tests.marks_only import marks_only

LAB = marks_only("transpose")
REFERENCES = {v.name: v.reference.file.read_text("utf-8") for v in LAB.variants}
NAIVE = """
__global__ void transpose_naive(const {t} *in, {t} *out, int rows, int cols)
{{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {body}
}}
"""
RIGHT = "out[c * rows + r] = in[r * cols + c];"


@pytest.fixture
def grade(tmp_path: Path) -> Callable[..., Result]:
    """Grades a folder of the files given."""

    def write_and_grade(**files: str | bytes) -> Result:
        folder = tmp_path / "student"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (folder / name.replace("__", ".")).write_bytes(data)
        return pipeline.grade(folder, LAB, command="grade student")

    return write_and_grade


def rows(result: Result) -> dict[str, Check]:
    return {c.id: c for c in result.checks}


def test_the_grader_passes_the_reference_kernels(grade: Callable[..., Result]) -> None:
    text = "".join(text.replace("#define TILE 32", "").replace("#define ROWS 8", "") for text in REFERENCES.values())
    result = grade(transpose__cu="#define TILE 32\n#define ROWS 8\n" + text)
    assert result.status == "passed"
    assert {c.status for c in result.checks if c.check not in ("launch", "host_code", "speedup")} == {"pass"}
    assert {c.skip_reason for c in result.checks if c.check == "host_code"} == {"not_applicable"}
    # No host code was handed in: neither its checks nor those of launches say anything, and the 6 points of each are no
    # part of the possible ones.
    assert (result.score.earned, result.score.possible, result.score.pending) == (83.0, 88.0, 5.0)
    assert result.environment.command == "grade student"
    assert result.variants["padded"].launch.block == (32, 8, 1)  # type: ignore[union-attr]


def test_grading_twice_gives_the_same_bytes(grade: Callable[..., Result], tmp_path: Path) -> None:
    first = grade(transpose__cu=NAIVE.format(t="float", body=RIGHT))
    assert encode(pipeline.grade(tmp_path / "student", LAB, command="grade student")) == encode(first)


@pytest.mark.parametrize("dtype", ["float", "int", "double", "unsigned int"])
def test_the_element_type_is_the_kernel_s_own(grade: Callable[..., Result], dtype: str) -> None:
    found = rows(grade(transpose__cu=NAIVE.format(t=dtype, body=RIGHT)))
    assert {found[f"naive.{c}"].status for c in ("correct", "ragged_sizes", "memory_safety", "coalescing")} == {"pass"}


def test_width_and_height_are_told_apart_by_trying(grade: Callable[..., Result]) -> None:
    swapped = NAIVE.format(t="float", body=RIGHT).replace("int rows, int cols", "int cols, int rows")
    unnamed = swapped.replace("rows", "p").replace("cols", "q").replace("transpose_naive", "naive_kernel")
    assert rows(grade(transpose__cu=unnamed))["naive.correct"].status == "pass"


def test_only_what_is_there_is_graded(grade: Callable[..., Result]) -> None:
    result = grade(transpose__cu=NAIVE.format(t="float", body=RIGHT))
    found = rows(result)
    assert found["shared.present"].status == "fail"
    assert "transpose_naive" in found["shared.present"].message
    assert result.variants["shared"].kernel is None
    assert (result.status, result.score.earned) == ("failed", 21.0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while (rows) ((volatile float *)out)[c * rows + r] = 1;", "never ends"),
        # An odd number times five is odd: never zero, and never the same twice in a row.
        ("for (unsigned i = 1; i; i *= 5) ((volatile float *)out)[c * rows + r] = i;", "did not finish"),
    ],
)
def test_a_loop_without_end_is_a_verdict(grade: Callable[..., Result], body: str, words: str) -> None:
    row = rows(grade(transpose__cu=NAIVE.format(t="float", body=body)))
    assert row["naive.correct"].status == "fail"
    assert row["naive.correct"].line == 5
    assert words in row["naive.correct"].message


def test_a_trap_is_a_verdict(grade: Callable[..., Result]) -> None:
    row = rows(grade(transpose__cu=NAIVE.format(t="float", body="__trap();")))["naive.correct"]
    assert (row.status, row.line) == ("fail", 5)
    assert "trap" in row.message


def test_an_input_that_is_overwritten(grade: Callable[..., Result]) -> None:
    body = "{ out[c * rows + r] = in[r * cols + c]; ((float *)in)[r * cols + c] = 0; }"
    result = grade(transpose__cu=NAIVE.format(t="float", body=body))
    assert rows(result)["naive.correct"].status == "fail"
    assert "writes to its input in" in rows(result)["naive.correct"].message
    assert {c.status for c in result.variants["naive"].cases} == {"fail"}


def test_one_element_past_the_end(grade: Callable[..., Result]) -> None:
    row = rows(grade(transpose__cu=NAIVE.format(t="float", body="{ " + RIGHT + " out[c * rows + r + 1] = in[0]; }")))
    assert row["naive.memory_safety"].status == "fail"
    assert "of out, which has elements 0 to" in row["naive.memory_safety"].message


def test_what_the_emulator_lacks_blames_nobody(grade: Callable[..., Result]) -> None:
    body = '{ asm volatile("pmevent 1;"); ' + RIGHT + " }"
    result = grade(transpose__cu=NAIVE.format(t="float", body=body))
    row = rows(result)["naive.correct"]
    assert row.status == "error", row
    assert "pmevent" in row.message
    assert row.line == 5
    assert row.pending == 9
    assert result.status == "error"


def test_a_slip_of_the_emulator_blames_nobody(grade: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.ptx.observers.traffic import Traffic

    def slip(*_arguments: object) -> None:
        raise ZeroDivisionError("in the counters")

    monkeypatch.setattr(Traffic, "finish", slip)
    result = grade(transpose__cu=NAIVE.format(t="float", body=RIGHT))
    row = rows(result)["naive.correct"]
    assert (row.status, row.pending) == ("error", 9)
    assert "ZeroDivisionError: in the counters" in row.message
    assert result.status == "error"


def test_a_single_file_is_a_submission(tmp_path: Path) -> None:
    file = tmp_path / "popova.cu"
    file.write_text(NAIVE.format(t="float", body=RIGHT))
    result = pipeline.grade(file, LAB)
    assert result.student.id == "popova"
    assert rows(result)["naive.correct"].status == "pass"


def test_two_files_are_compiled_apart(tmp_path: Path) -> None:
    folder = tmp_path / "popova" / "transpose"
    folder.mkdir(parents=True)
    (folder / "one.cu").write_text(NAIVE.format(t="float", body=RIGHT))
    (folder / "two.cu").write_text(REFERENCES["shared"] + "int broken = ;\n__global__ void oops() { x }\n")
    result = pipeline.grade(tmp_path / "popova", LAB)
    found = rows(result)
    assert found["naive.correct"].status == "pass"
    assert found["shared.compiles"].status == "fail"
    assert result.variants["naive"].file == "one.cu"
    assert {s.file for s in result.sources} == {"one.cu", "two.cu"}


def test_kernels_in_a_header(grade: Callable[..., Result]) -> None:
    result = grade(
        transpose__cu='#include "kernels.cuh"\nint main() { return 0; }\n',
        kernels__cuh="#pragma once\n" + NAIVE.format(t="float", body=RIGHT),
    )
    assert rows(result)["naive.correct"].status == "pass"
    assert result.variants["naive"].file in {s.file for s in result.sources}


def test_a_header_that_was_not_handed_in(grade: Callable[..., Result]) -> None:
    text = '#include "matrix.h"\n' + NAIVE.format(t="float", body="out[INDEX(c, r)] = 1;")
    row = rows(grade(transpose__cu=text))["naive.compiles"]
    # Everything else that the compiler says follows from it.
    assert (row.status, row.line) == ("fail", 1)
    assert "includes matrix.h, which was not submitted" in row.hint


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no .cu file"),
        ({"transpose__cu": b""}, "empty"),
        ({"transpose__cu": b"\x00\x01\x02"}, "not a text file"),
        ({"transpose__cu": "x", "submission__yaml": "nam: x"}, "did you mean `name`"),
        (
            {"transpose__cu": "x", "submission__yaml": "labs: {transpose: {variants: {pad: k}}}"},
            "did you mean `padded`",
        ),
    ],
)
def test_a_layout_that_is_wrong_is_a_usage_error(
    grade: Callable[..., Result], files: dict[str, str | bytes], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        grade(**files)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nobody"):
        pipeline.grade(tmp_path / "nobody", LAB)


def test_a_backend_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown backend 'cpu'"):
        pipeline.grade(tmp_path, LAB, GradeOptions(backend="cpu"))


def test_a_gpu_that_is_asked_for_and_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.gpu.process.has_driver", lambda: False)
    with pytest.raises(UsageError, match="no NVIDIA driver"):
        pipeline.grade(tmp_path, LAB, GradeOptions(backend="gpu"))


def test_a_wrong_oracle_blames_the_lab(tmp_path: Path) -> None:
    from dataclasses import replace

    oracle = tmp_path / "oracle.py"
    oracle.write_text("def inputs(sizes, rng):\n    return {}\n\ndef expected(inputs, sizes):\n    return {}\n")
    (tmp_path / "transpose.cu").write_text(NAIVE.format(t="float", body=RIGHT))
    with pytest.raises(FileError, match=r"oracle\.py:1: `inputs` does not give `in`"):
        pipeline.grade(tmp_path, replace(LAB, oracle=oracle))


@pytest.mark.parametrize("text", ["int main() { return 0; }", "#define X\n", "\ufeff// только комментарий\n", "}}}}"])
def test_a_file_without_kernels_is_graded(grade: Callable[..., Result], text: str) -> None:
    result = grade(transpose__cu=text)
    assert (result.status, result.score.earned, result.score.pending) == ("failed", 0, 100)
    assert {c.status for c in result.checks} == {"fail", "skip"}


def test_a_size_that_its_parameter_cannot_hold_is_a_wrong_result(grade: Callable[..., Result]) -> None:
    text = NAIVE.format(t="float", body=RIGHT)
    assert "int rows, int cols" in text
    row = rows(grade(transpose__cu=text.replace("int rows, int cols", "signed char rows, signed char cols")))
    assert row["naive.correct"].status == "fail"
    assert row["naive.correct"].hint is not None
    assert "rows is of type signed char, which cannot hold 128: the kernel receives -128." in row["naive.correct"].hint


def test_no_process_or_thread_is_left_behind(grade: Callable[..., Result]) -> None:
    # The first may start what others are forked from.
    left = []
    for _grading in range(2):
        grade(transpose__cu=NAIVE.format(t="float", body=RIGHT))
        children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
        left.append((threading.active_count(), children.read_text() if children.exists() else ""))
    assert left[0] == left[1]


WEIGHTED = """
#include <opencv2/core.hpp>
__constant__ float weights[5];
__global__ void naive(const float *in, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    if (i >= count) return;
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += in[i + k] * weights[k + 2];
    out[i] = sum;
}
int main() {
    float *a, *b, host[5] FILL
    cudaMemcpyToSymbol(weights, host, sizeof(host));
    naive<<<(1000 + 255) / 256, 256>>>(a, b, 1000);
}
"""
EACH = "; for (int i = 0; i < 5; i++) host[i] = "


@pytest.mark.parametrize(
    ("fill", "values"),
    [
        (EACH + "i - 2;", "host[i] = i - 2"),
        (" = {1, 2, 3, 2, 1};", "1, 2, 3, 2, 1"),
        # A plain mean, be it rounded, and what the text does not tell: not judged.
        (EACH + "1.0f / 5;", ""),
        (EACH + "i * 0 + 0.2f;", ""),
        (EACH + "weight_of(i);", ""),
        (" = {0.2f, 0.2f, 0.19f, 0.2f, 0.2f};", ""),
    ],
)
def test_weights_that_the_text_fills_tell_another_task(tmp_path: Path, fill: str, values: str) -> None:
    file = tmp_path / "blur.cu"
    file.write_text(WEIGHTED.replace("FILL", fill))
    checks = {c.check: c for c in pipeline.grade(file, marks_only("box-blur")).checks if c.variant == "naive"}
    said = checks["correct"].message_said
    assert said is not None and said.data.get("values", "") == values
    assert said.id == ("checks.correct.other_task" if values else "checks.correct.not_filled")
    # Its input may be longer than what it makes of it.
    assert checks["memory_safety"].message_said.id == "checks.correct.not_filled"  # type: ignore[union-attr]
