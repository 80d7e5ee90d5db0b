"""Which files beside a program it can open as it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from grader.programs.sources import read_program

TEXT = """#include <%s>
#include <fstream>
int main() { std::ifstream kernel("kernel.cu"), numbers("numbers.txt"); return !kernel; }
__global__ void k() {}
"""


@pytest.mark.parametrize(("header", "opened"), [("cstdio", {"numbers.txt"}), ("nvrtc.h", {"kernel.cu", "numbers.txt"})])
def test_sources_are_files_to_a_program_that_compiles_them_itself(
    tmp_path: Path, header: str, opened: set[str]
) -> None:
    (tmp_path / "main.cu").write_text(TEXT % header)
    (tmp_path / "kernel.cu").write_text('extern "C" __global__ void other() {}\n')
    (tmp_path / "numbers.txt").write_text("1 2 3\n")
    assert set(read_program([tmp_path / "main.cu"]).data) == opened


def test_files_in_folders_below_are_opened_and_folders_that_vanish_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.cu").write_text(TEXT % "cstdio")
    for below in ("a", "a/b", "a/b/c", "gone"):
        (tmp_path / below).mkdir()
        (tmp_path / below / "numbers.txt").write_text("1\n")
    listed = os.scandir

    def scandir(folder: Any) -> Any:
        if Path(folder).name == "gone":
            raise FileNotFoundError(folder)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert set(read_program([tmp_path / "main.cu"]).data) == {"a/numbers.txt", "a/b/numbers.txt"}
