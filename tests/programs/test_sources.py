"""Which files beside a program it can open as it runs."""

from __future__ import annotations

from pathlib import Path

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
