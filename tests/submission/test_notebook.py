"""Notebooks: which cells make which program, and that every line of one is a line of a cell."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import i18n
from grader.errors import UsageError
from grader.exports.finding_formats import write
from grader.grading.options import GradeOptions
from grader.grading.session import graded_result, task_of
from grader.grading.workers import grade_here
from grader.lab import labs
from grader.report.job import where
from grader.result import Check
from grader.submission.source import SourceText, notebook_sources
from grader.words import told

SAMPLES = Path(__file__).parents[2] / "submissions"
PATH = Path("work/lab.ipynb")
MAIN = "int main() { return 0; }"


def notebook(*cells: str | tuple[str, str], as_list: bool = True) -> bytes:
    """Cells of code, or (kind, text)."""
    records = []
    for cell in cells:
        kind, text = cell if isinstance(cell, tuple) else ("code", cell)
        source = text.splitlines(keepends=True) if as_list else text
        records.append({"cell_type": kind, "metadata": {}, "source": source, "outputs": [{"data": {"x": [1]}}]})
    return json.dumps({"cells": records, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()


def programs(*cells: str | tuple[str, str], lab: str = "lab") -> tuple[SourceText, ...]:
    return notebook_sources(PATH, notebook(*cells), lab)


def test_cells_are_joined_in_order_up_to_the_main() -> None:
    (source,) = programs(
        ("markdown", "# Task"), "!nvcc --version", "%%cu\n#define B 32", "print(1)", f"%%cuda -c 'x'\n{MAIN}"
    )
    assert source.path == Path("work/lab.cu")
    assert source.text == f"// %%cu\n#define B 32\n// %%cuda -c 'x'\n{MAIN}\n"
    assert source.cells == ((1, 3), (3, 5))
    assert source.notebook == "lab.ipynb"


def test_programs_with_a_main_each_are_files_of_their_own() -> None:
    first, second = programs(f"%%cu\n{MAIN}", "text = 1", f"%%cu\n{MAIN}", "%%cu\n__device__ int more;")
    assert [source.path.name for source in (first, second)] == ["lab.cell1.cu", "lab.cell3.cu"]
    assert second.cells == ((1, 3), (3, 4))


def test_files_that_cells_write_are_taken_in_where_they_are_included() -> None:
    (source,) = programs(
        "%%writefile tile.cuh\n#pragma once\n#define TILE 32",
        "%%writefile notes.txt\nnothing",
        '%%writefile main.cu\n#include <stdio.h>\n#include "tile.cuh"\n__global__ void k() {}',
        "%%writefile -a main.cu\n" + MAIN,
        "!nvcc main.cu && ./a.out",
    )
    assert source.text.split("\n")[:7] == [
        "// %%writefile tile.cuh",
        "#pragma once",
        "#define TILE 32",
        "// %%writefile main.cu",
        "#include <stdio.h>",
        '// #include "tile.cuh"',
        "__global__ void k() {}",
    ]
    assert source.cells == ((1, 1), (4, 3), (8, 4))


def test_what_stands_before_an_include_stands_before_what_is_included() -> None:
    (source,) = programs(
        "%%writefile tile.cuh\n__device__ float tile[B];",
        '%%writefile main.cu\n#define B 32\n#include "tile.cuh"\n#include "tile.cuh"\n__global__ void k() {}\n' + MAIN,
    )
    assert source.text.split("\n")[:8] == [
        "// %%writefile main.cu",
        "#define B 32",
        "// %%writefile tile.cuh",
        "__device__ float tile[B];",
        "",
        "",
        '// #include "tile.cuh"',
        '// #include "tile.cuh"',
    ]
    assert source.cells == ((1, 2), (3, 1), (5, 2))
    # The kernel stands in the fifth line of the second cell.
    row = source.text.split("\n").index("__global__ void k() {}") + 1
    assert row - source.cells[-1][0] + 1 == 5


def test_a_file_that_is_written_again_replaces_the_earlier() -> None:
    (source,) = programs("%%writefile a.cu\nint old;", "%%writefile a.cu\nint fresh;")
    assert "old" not in source.text
    assert source.cells == ((1, 2),)


def test_groups_of_files_and_names() -> None:
    sources = programs(
        '%%cuda_group_save --name "k.cu" --group "g"\n__global__ void k() {}',
        f"%%cuda_group_save -n main.cu -g g\n{MAIN}",
        "%cuda_group_run -g g",
    )
    assert [source.path.name for source in sources] == ["k.cu", "main.cu"]


def test_a_file_of_the_lab_s_name_is_the_lab_s() -> None:
    cells = (f"%%writefile other.cu\n{MAIN}", f"%%writefile lab.cu\n{MAIN} // this", f"%%cu\n{MAIN}")
    (source,) = programs(*cells)
    assert "this" in source.text
    (graded,) = programs("%%grade other\nint no;", "%%grade lab --lang ru\nint yes;")
    assert graded.text == "// %%grade lab --lang ru\nint yes;\n"


def test_old_notebooks_and_texts_that_are_no_lists() -> None:
    old = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["%%cu\n", "int x;"]}]}]}).encode()
    (source,) = notebook_sources(PATH, old, "lab")
    assert source.text == "// %%cu\nint x;\n"
    (source,) = notebook_sources(PATH, notebook("%%cu\nint x;", as_list=False), "lab")
    assert source.text == "// %%cu\nint x;\n"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b"\xff\xfe", b"[" * 9999])
def test_what_is_no_notebook_is_told(data: bytes) -> None:
    with pytest.raises(UsageError) as error:
        notebook_sources(PATH, data, "lab")
    assert str(error.value) == "work/lab.ipynb: not a Jupyter notebook (a JSON file with cells)"


@pytest.mark.parametrize("cell", ["print(1)", "%%time\nx"])
def test_a_notebook_without_cuda_is_told(cell: str) -> None:
    with pytest.raises(UsageError) as error:
        notebook_sources(PATH, notebook(cell), "lab")
    assert str(error.value) == (
        "work/lab.ipynb: no cell of this notebook holds CUDA code; such a cell begins with %%cu, %%cuda, %%grade, "
        "%%cuda_group_save or %%writefile x.cu"
    )


def test_files_that_include_each_other_end() -> None:
    cells = (
        '%%writefile a.cuh\n#include "b.cuh"',
        '%%writefile b.cuh\n#include "a.cuh"',
        '%%cu\n#include "a.cuh"\nint x;',
    )
    (source,) = programs(*cells)
    assert [number for _line, number in source.cells] == [2, 1, 3]


@given(st.lists(st.lists(st.text('ab /{}#"\n\t', max_size=8), min_size=1, max_size=4), min_size=1, max_size=5))
def test_every_line_is_a_line_of_the_cell_that_is_told(cells: list[list[str]]) -> None:
    texts = ["%%cu\n" + "\n".join(lines) for lines in cells]
    for source in programs(*texts):
        rows = source.text.split("\n")[:-1]
        for index, row in enumerate(rows, start=1):
            first, number = max(cell for cell in source.cells if cell[0] <= index)
            cell = texts[number - 1].removesuffix("\n").split("\n")
            assert row in (cell[index - first], f"// {cell[index - first].strip()}")


def test_a_notebook_is_graded_like_the_program_in_it(tmp_path: Path) -> None:
    """Two cells of one program: the mark is the same, and the conflict is told at its cell and line."""
    lines = (SAMPLES / "petrova" / "transpose.cu").read_text("utf-8").splitlines()
    first, second = "%%cu\n" + "\n".join(lines[:31]), "%%cu\n" + "\n".join(lines[31:])
    cells: list[str | tuple[str, str]] = [first, ("markdown", "text"), second]
    file = tmp_path / "transpose.ipynb"
    file.write_bytes(notebook(*cells))
    options = GradeOptions(lab="transpose", backend="emulator", sweeps=False, repairs=False)
    result, _seconds = graded_result(tmp_path, options)
    assert (result.score.earned, result.score.possible) == (76, 91)
    # Its main was run.
    launch = result.variants["padded"].launch
    assert launch is not None
    assert launch.by == "observed"
    (fault,) = [check for check in result.checks if check.status == "fail"]
    assert fault.line == 46  # two lines of magics before line 44
    assert where(result, "transpose.cu", fault.line) == "transpose.ipynb, cell 3, line 14"
    assert write("gcc", result, tmp_path, "en").startswith(f"{file}:1:1: error: cell 3, line 14: 32-way bank conflict")
    # The sentence speaks of the same line, in either language.
    assert fault.message.startswith("32-way bank conflict in line 14 of cell 3 (")
    i18n.use("ru")
    (again,) = [check for check in told(result).checks if check.status == "fail"]
    i18n.use("en")
    assert again.message.startswith("Конфликт банков 32-го порядка в строке 14 ячейки 3 (")
    record = json.loads(write("sarif", result, tmp_path, "en"))
    place = record["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "transpose.ipynb"}}


def test_each_of_several_programs_has_its_places_told_in_cells(tmp_path: Path) -> None:
    """As most notebooks are: a program to try the compiler on, then the lab in two cells."""
    hello = '%%cu\n#include <cstdio>\n__global__ void hello() { printf("hi"); }\nint main() { hello<<<1, 1>>>(); }'
    lines = (SAMPLES / "petrova" / "transpose.cu").read_text("utf-8").splitlines()
    lines = [line for line in lines if "cudaGetLastError" not in line]
    at = next(number for number, line in enumerate(lines) if "buf[threadIdx.x][threadIdx.y]" in line)
    first, second = "%%cu\n" + "\n".join(lines[: at - 3]), "%%cu\n" + "\n".join(lines[at - 3 :])
    (tmp_path / "transpose.ipynb").write_bytes(notebook(hello, first, second))
    lab = labs.find("transpose")
    seen: list[Check] = []
    options = GradeOptions(lab="transpose", backend="emulator", sweeps=False, repairs=False)
    result = grade_here(task_of(tmp_path, options), lab, checked=seen.extend)
    (fault,) = [check for check in result.checks if check.status == "fail"]
    assert fault.message.startswith("32-way bank conflict in line 5 of cell 3 (")
    # What is told while others are still being judged is told in the same words.
    assert [check.message for check in seen if check.id == fault.id] == [fault.message]
    launches = next(n for n, line in enumerate(lines[at - 3 :], start=2) if "transp_simple<<<" in line)
    assert any(remark.startswith(f"transpose.ipynb, line {launches} of cell 3: ") for remark in result.remarks)
    record = json.loads(base64.b64decode(write("classroom", result, tmp_path, "en")))
    (failed,) = [test for test in record["tests"] if test["status"] == "fail"]
    assert (failed["filename"], failed["line_no"]) == ("transpose.ipynb", 0)
    assert failed["message"].startswith("transpose.ipynb, cell 3, line 5 ")
