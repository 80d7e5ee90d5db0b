"""Which of several programs in a folder are one lab's, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.lab import labs
from grader.submission.files.folder import find_sources

LABS = ["transpose", "matmul", "box-blur", "batch-square"]


def taken(folder: Path, lab: str, programs: list[str], others: tuple[str, ...] = ()) -> list[str]:
    for name in programs:
        (folder / name).write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    for name in others:
        (folder / name).write_text("float mean(const float *a) { return *a; }\n")
    return [file.name for file in find_sources(folder, lab, LABS, labs.find(lab).variants).files]


@pytest.mark.parametrize(
    ("lab", "programs", "others", "expected"),
    [
        ("transpose", ["naive.cu", "padded.cu", "tiled.cu"], (), ["naive.cu", "padded.cu", "tiled.cu"]),
        # What is no variant's is left out; a file without main may be a part of any.
        ("transpose", ["1_naive.cu", "2_tile.cu", "hello.cu"], ("timer.cu",), ["1_naive.cu", "2_tile.cu", "timer.cu"]),
        ("matmul", ["Naive.cu", "Tiled.cu", "cpu.cu"], (), ["Naive.cu", "Tiled.cu"]),
        ("matmul", ["matmul_row.cu", "MatMul2.cu", "vecadd.cu"], (), ["MatMul2.cu", "matmul_row.cu"]),
        # Another lab's are left out, and called after the lab is clearer than called after a variant.
        ("box-blur", ["box_blur1.cu", "BoxBlurShared.cu", "naive.cu"], (), ["BoxBlurShared.cu", "box_blur1.cu"]),
        ("transpose", ["transpose_naive.cu", "matmul_naive.cu", "matmul_tiled.cu"], (), ["transpose_naive.cu"]),
        ("transpose", ["my_transpose.cu", "reduction.cu"], ("box-blur.cu", "util.cu"), ["my_transpose.cu", "util.cu"]),
    ],
)
def test_programs_called_after_the_lab_or_its_variants_are_taken(
    tmp_path: Path, lab: str, programs: list[str], others: tuple[str, ...], expected: list[str]
) -> None:
    assert taken(tmp_path, lab, programs, others) == expected


@pytest.mark.parametrize(
    ("lab", "programs"),
    [
        # Tasks of a term, and what nobody can tell.
        ("transpose", ["lab1.cu", "lab2.cu"]),
        ("transpose", ["tiled.cu", "scan.cu"]),
        ("transpose", ["v1.cu", "v2.cu"]),
        ("matmul", ["transpose_naive.cu", "transpose_tiled.cu"]),
    ],
)
def test_what_may_be_other_tasks_is_asked_for(tmp_path: Path, lab: str, programs: list[str]) -> None:
    with pytest.raises(UsageError, match=r"several \.cu files"):
        taken(tmp_path, lab, programs)
