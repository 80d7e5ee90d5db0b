"""Which of several programs in a folder are one lab's, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.lab import labs
from grader.submission.folder import find_sources, read_sources

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
        ("transpose", ["v1.cu", "v2.cu"], ("timer.cu",), ["timer.cu", "v1.cu", "v2.cu"]),
        ("matmul", ["task1_1.cu", "task1_2.cu", "task1_10.cu"], (), ["task1_1.cu", "task1_10.cu", "task1_2.cu"]),
        ("matmul", ["lab3 (1).cu", "lab3 (2).cu"], (), ["lab3 (1).cu", "lab3 (2).cu"]),
        ("transpose", ["version_2_final.cu", "version_3_final.cu"], (), ["version_2_final.cu", "version_3_final.cu"]),
        ("transpose", ["my_transpose.cu", "reduction.cu"], ("box-blur.cu", "util.cu"), ["my_transpose.cu", "util.cu"]),
    ],
)
def test_programs_called_after_the_lab_or_its_variants_are_taken(
    tmp_path: Path, lab: str, programs: list[str], others: tuple[str, ...], expected: list[str]
) -> None:
    assert taken(tmp_path, lab, programs, others) == expected


MAIN = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"


def in_folders(folder: Path, lab: str, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    found = find_sources(folder, lab, LABS, labs.find(lab).variants)
    assert [source.file for source in read_sources(found)] == sorted({source.file for source in read_sources(found)})
    return [source.file for source in read_sources(found)]


def test_programs_of_one_name_in_folders_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = {"naive/main.cu": MAIN, "tiled/main.cu": MAIN, "tiled/timer.cu": "int f();", "common/util.cu": "int g();"}
    taken = ["common/util.cu", "naive/main.cu", "tiled/main.cu", "tiled/timer.cu"]
    assert in_folders(tmp_path / "a", "transpose", files) == taken
    # The folder of the lab may lie between, and another lab's beside it.
    inside = {f"transpose/{name}": text for name, text in files.items()} | {"matmul/naive/main.cu": MAIN}
    assert in_folders(tmp_path / "b", "transpose", inside) == taken
    numbered = {"v1/main.cu": MAIN, "v2/main.cu": MAIN}
    assert in_folders(tmp_path / "c", "transpose", numbered) == ["v1/main.cu", "v2/main.cu"]
    with pytest.raises(UsageError, match=r"several \.cu files"):
        in_folders(tmp_path / "d", "transpose", {"lab1/main.cu": MAIN, "lab2/main.cu": MAIN})


def test_a_file_is_called_by_its_path_from_the_innermost_folder_of_all(tmp_path: Path) -> None:
    def named(files: str) -> list[str]:
        (tmp_path / "submission.yaml").write_text(f"labs: {{transpose: {{file: {files}}}}}")
        return [source.file for source in read_sources(find_sources(tmp_path, "transpose"))]

    for name in ("src/a/main.cu", "src/b c/main.cu", "src/b c/Файл.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MAIN)
    assert named("src/a/main.cu") == ["main.cu"]
    assert named("[src/a/main.cu, src/b c/main.cu]") == ["a/main.cu", "b c/main.cu"]
    assert named("[src/b c/main.cu, src/a/../b c/Файл.cu]") == ["main.cu", "Файл.cu"]


@pytest.mark.parametrize(
    ("lab", "programs"),
    [
        # Tasks of a term, and what nobody can tell.
        ("transpose", ["lab1.cu", "lab2.cu"]),
        ("transpose", ["tiled.cu", "scan.cu"]),
        ("transpose", ["1.cu", "2.cu"]),
        ("transpose", ["v1.cu", "v2.cu", "scan.cu"]),
        ("transpose", ["задание1.cu", "задание2.cu"]),
        ("transpose", ["v1.cu", "v01.cu"]),
        ("matmul", ["transpose_naive.cu", "transpose_tiled.cu"]),
    ],
)
def test_what_may_be_other_tasks_is_asked_for(tmp_path: Path, lab: str, programs: list[str]) -> None:
    with pytest.raises(UsageError, match=r"several \.cu files"):
        taken(tmp_path, lab, programs)
