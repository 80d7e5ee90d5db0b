"""Programs whose `main` is in a `.cpp` file."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.submission.folder import find_sources, read_sources

KERNEL = "__global__ void {name}(float *a) {{ a[0] = 1; }}\nvoid run_{name}(float *a) {{ {name}<<<1, 1>>>(a); }}\n"
MAIN = '#include <cstdio>\nint main() { puts(""); }\n'


def made(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(folder: Path) -> list[str]:
    found = find_sources(folder, "flip")
    assert len(read_sources(found)) == len(found.files)
    return [file.relative_to(folder).as_posix() for file in found.files]


def test_files_without_main_belong_to_the_one_in_cpp(tmp_path: Path) -> None:
    one, two = KERNEL.format(name="one"), KERNEL.format(name="two")
    folder = made(tmp_path, one_dot_cu=one, two_dot_cu=two, main_dot_cpp=MAIN, cpu_dot_cpp="void f() {}\n")
    assert names(folder) == ["one.cu", "two.cu", "cpu.cpp", "main.cpp"]


def test_they_may_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    one, two = KERNEL.format(name="one"), KERNEL.format(name="two")
    folder = made(
        tmp_path, src__one_dot_cu=one, gpu__two_dot_cu=two, main_dot_cpp=MAIN, src__cpu_dot_cpp="void f() {}\n"
    )
    assert names(folder) == ["gpu/two.cu", "src/one.cu", "main.cpp", "src/cpu.cpp"]


def test_a_cu_file_with_main_needs_none_and_of_two_mains_neither_is_taken(tmp_path: Path) -> None:
    with_main = KERNEL.format(name="one") + MAIN
    assert names(made(tmp_path / "a", one_dot_cu=with_main, main_dot_cpp=MAIN)) == ["one.cu"]
    two = made(tmp_path / "b", one_dot_cu=KERNEL.format(name="one"), main_dot_cpp=MAIN, other_dot_cpp=MAIN)
    assert names(two) == ["one.cu"]
    apart = made(tmp_path / "c", a_dot_cu=KERNEL.format(name="one"), b_dot_cu=KERNEL.format(name="one"))
    with pytest.raises(UsageError, match="several"):
        find_sources(apart, "flip")


def test_what_was_built_and_what_tests_is_left_out(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        src__one_dot_cu=KERNEL.format(name="one"),
        main_dot_cpp=MAIN,
        build__main_dot_cpp=MAIN,
        tests__main_dot_cpp=MAIN,
    )
    assert names(folder) == ["src/one.cu", "main.cpp"]
