"""Which files in a student's folder are a lab's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.submission.folder import find_sources
from tests.student_files import make


def names(root: Path, path: str, lab: str = "flip") -> tuple[str, list[str]]:
    found = find_sources(root / path, lab)
    return found.student, [str(file.relative_to(root)) for file in found.files]


@pytest.mark.parametrize(
    ("files", "path", "student", "expected"),
    [
        (["ivanov/flip.cu", "ivanov/other.cu"], "ivanov", "ivanov", ["ivanov/flip.cu"]),
        (["ivanov/Flip.CU", "ivanov/other.cu"], "ivanov", "ivanov", ["ivanov/Flip.CU"]),
        (["ivanov/flip/b.cu", "ivanov/flip/a.cu"], "ivanov", "ivanov", ["ivanov/flip/a.cu", "ivanov/flip/b.cu"]),
        (["ivanov/flip/a.cu", "ivanov/other.cu"], "ivanov", "ivanov", ["ivanov/flip/a.cu"]),
        (["ivanov/flip.cu", "ivanov/flip/a.cu"], "ivanov", "ivanov", ["ivanov/flip.cu"]),
        (["ivanov/main.cu"], "ivanov", "ivanov", ["ivanov/main.cu"]),
        (["ivanov/lab1/x.cu", "ivanov/lab1/y.cu"], "ivanov", "ivanov", ["ivanov/lab1/x.cu", "ivanov/lab1/y.cu"]),
        (["ivanov/lab1/x.cu", "ivanov/lab2/flip.cu"], "ivanov", "ivanov", ["ivanov/lab2/flip.cu"]),
        (["ivanov/flip/a.cu"], "ivanov/flip", "ivanov", ["ivanov/flip/a.cu"]),
        (["ivanov/flip.cu"], "ivanov/flip.cu", "ivanov", ["ivanov/flip.cu"]),
        (["ivanov/flip/main.cu"], "ivanov/flip/main.cu", "ivanov", ["ivanov/flip/main.cu"]),
        (["homework/task3.cu"], "homework/task3.cu", "task3", ["homework/task3.cu"]),
    ],
)
def test_finds_the_files(tmp_path: Path, files: list[str], path: str, student: str, expected: list[str]) -> None:
    assert names(make(tmp_path, *files), path) == (student, expected)


@pytest.mark.parametrize(
    ("files", "path", "words"),
    [
        ([], "nobody", "no such file or folder"),
        (["ivanov/readme.pdf"], "ivanov", r"looked for flip\.cu and flip/\*\.cu; there lies: readme\.pdf"),
        (["ivanov/flip/x.doc"], "ivanov", r"there lies: flip/, x\.doc"),
        (["ivanov/a.cu", "ivanov/b.cu"], "ivanov", r"several \.cu files \(a\.cu, b\.cu\).*flip\.cu.*submission\.yaml"),
        (["ivanov/notes.txt"], "ivanov/notes.txt", r"not a \.cu file"),
    ],
)
def test_says_what_is_missing(tmp_path: Path, files: list[str], path: str, words: str) -> None:
    make(tmp_path, *files)
    with pytest.raises(UsageError, match=words) as error:
        find_sources(tmp_path / path, "flip")
    assert str(error.value).startswith(str(tmp_path / path))
    assert "\n" not in str(error.value)


def test_files_of_one_program_are_taken_together(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    (folder / "main.cu").write_text("void run();\nint main() { run(); }\n")
    (folder / "kernels.cu").write_text("void run() { k<<<1, 1>>>(); } // no main() { here\n")
    assert [f.name for f in find_sources(folder, "flip").files] == ["kernels.cu", "main.cu"]
    # The file called as the lab brings what it calls, and nothing else.
    (folder / "main.cu").rename(folder / "flip.cu")
    (folder / "notes.cu").write_text("void other() {}\n")
    assert [f.name for f in find_sources(folder, "flip").files] == ["flip.cu", "kernels.cu"]
    # Which of two programs is meant nobody can know.
    (folder / "flip.cu").rename(folder / "a.cu")
    (folder / "notes.cu").write_text("int main() {}\n")
    with pytest.raises(UsageError, match="several"):
        find_sources(folder, "flip")


def test_kernels_and_what_launches_them_are_taken_without_a_main(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    kernel = "__global__ void turn(float *a) { a[0] = 1; }\n"
    (folder / "kernels.cu").write_text(kernel)
    (folder / "launch.cu").write_text("__global__ void turn(float *a);\nvoid run(float *a) { turn<<<1, 1>>>(a); }\n")
    assert [f.name for f in find_sources(folder, "flip").files] == ["kernels.cu", "launch.cu"]
    # Two versions of one kernel are no parts of one program.
    (folder / "old.cu").write_text(kernel)
    with pytest.raises(UsageError, match="several"):
        find_sources(folder, "flip")


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "ivanov").mkdir()
    with pytest.raises(UsageError, match="there lies: nothing"):
        find_sources(tmp_path / "ivanov", "flip")


def test_a_folder_with_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \.cu file"):
        find_sources(tmp_path, "flip")
    with pytest.raises(UsageError, match="no such file or folder"):
        find_sources(tmp_path / "nobody", "flip")


@pytest.mark.parametrize("beside", [(), ("main.cu",), ("transpose.cu", "main.cu")])
def test_looking_for_a_program_waits_for_nobody(beside: tuple[str, ...], tmp_path: Path) -> None:
    # A FIFO that nobody writes to, and what never ends.
    for name in beside:
        (tmp_path / name).write_text("int main() { helper(); }", "utf-8")
    for name in ("transpose.cu", "helper.cu"):
        if name not in beside:
            os.mkfifo(tmp_path / name)
    (tmp_path / "zeros.cu").symlink_to("/dev/zero")
    found = find_sources(tmp_path, "transpose", {"transpose"})
    assert found.files == (tmp_path / "transpose.cu",)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"flip.cu.txt": "__global__ void k() {}"}, "flip.cu.txt"),
        ({"main.cpp": "int main() { k<<<1, 1>>>(); }", "kernel.cuh": "__global__ void k() {}"}, "main.cpp"),
        ({"lab/x.txt": "__global__ void k() {}", "flip/flip.cpp": "__global__ void k() {}"}, "flip/flip.cpp"),
    ],
)
def test_code_under_another_name_is_told(tmp_path: Path, files: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=rf"no \.cu file, but {named} holds CUDA code.* rename it to flip\.cu"):
        find_sources(put(tmp_path / "ivanov", files), "flip")


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


KERNEL = "__global__ void k() {}\n"
MAIN = "int main() { k<<<1, 1>>>(); }\n"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"main.cpp": KERNEL + MAIN}, "main.cpp"),
        ({"main.cpp": '#include "kernels.cuh"\n' + MAIN, "kernels.cuh": KERNEL}, "main.cpp"),
        # Who launches is a header, which the program includes by its name.
        (
            {
                "a.cuh": '#include "b.cuh"\nvoid run() { k<<<1, 1>>>(); }',
                "b.cuh": KERNEL,
                "main.cpp": '#include "src/a.cuh"\nint main() { run(); }',
            },
            "main.cpp",
        ),
        ({"kernels.cpp": KERNEL, "start.cc": '#include "kernels.cpp"\n' + MAIN}, "start.cc"),
        # Beside it lie what prints a sign, and what tells of the program.
        ({"a.cpp": 'void hello() { puts("<<<"); }', "main.cpp": KERNEL + MAIN}, "main.cpp"),
        ({"about.md": KERNEL + MAIN, "main.cpp": KERNEL + MAIN, "main.bak": KERNEL + MAIN}, "main.cpp"),
    ],
)
def test_a_program_whose_name_does_not_say_cuda_is_told_as_such(
    tmp_path: Path, files: dict[str, str], named: str
) -> None:
    folder = put(tmp_path / "ivanov", files)
    suffix = Path(named).suffix
    said = (
        f"{folder}: no .cu file; {named} is a CUDA program, but nvcc compiles {suffix} files without CUDA: "
        "rename it to flip.cu"
    )
    with pytest.raises(UsageError) as refused:
        find_sources(folder, "flip")
    assert str(refused.value) == said
    # What it advises is so.
    (folder / named).rename(folder / "flip.cu")
    assert find_sources(folder, "flip").files == (folder / "flip.cu",)


def test_several_programs_whose_names_do_not_say_cuda(tmp_path: Path) -> None:
    folder = put(tmp_path / "ivanov", {"naive.cpp": KERNEL + MAIN, "tiled.cpp": KERNEL + MAIN})
    with pytest.raises(UsageError, match=r"naive\.cpp, tiled\.cpp are CUDA programs.* change \.cpp to \.cu"):
        find_sources(folder, "flip")


def test_headers_that_include_each_other_are_told_too(tmp_path: Path) -> None:
    folder = put(tmp_path / "ivanov", {"a.cuh": '#include "b.cuh"\n' + KERNEL, "b.cuh": '#include "a.cuh"\n'})
    with pytest.raises(UsageError, match=r"no \.cu file, but a\.cuh holds CUDA code"):
        find_sources(folder, "flip")


def test_what_only_speaks_of_launches_is_no_code(tmp_path: Path) -> None:
    (tmp_path / "ivanov").mkdir()
    (tmp_path / "ivanov" / "readme.txt").write_text("<<< my report >>>")
    with pytest.raises(UsageError, match=r"there lies: readme\.txt"):
        find_sources(tmp_path / "ivanov", "flip")
