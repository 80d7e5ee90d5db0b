"""What kernels did, and where libraries are called for it."""

from __future__ import annotations

import pytest

from grader.programs.records import LIBRARY, CallLaunch
from grader.ptx.records import LineWork
from grader.running.evidence import Work, library_at


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("#include <thrust/scan.h>\n// thrust::sort(a)\nint x = thrust::reduce(a, b);\n", 3),
        ("#include <cub/cub.cuh>\ncub::DeviceReduce::Sum(0, n);\ncub::DeviceReduce::Sum(t, n);\n", 2),
        ("\n#include <thrust/sort.h>\nthrust::sort(a, b);\nthrust::unique(a, b);\n", 2),
        ("# include <thrust/sort.h>\nusing namespace thrust;\nsort(a, b);\n", 1),
        ("#include <thrust/sort.h>\np = thrust::device_pointer_cast(q);\nthrust::sort(p, p + n);\n", 3),
        ("#include <vector>\nmy_thrust(a);\n", None),
    ],
)
def test_a_library_is_found_where_it_is_called_else_where_it_is_included(text: str, line: int | None) -> None:
    found = library_at({"other.cu": "int y;\n", "solve.cu": text})
    assert found == (None if line is None else ("solve.cu", line))


def test_lines_are_those_of_their_files_and_no_library_s() -> None:
    def launch(file: str, *rows: LineWork) -> CallLaunch:
        return CallLaunch("k", file, "ran", block=(32, 1, 1), work=[*rows])

    own = launch("solve.cu", LineWork(3, executed=1), LineWork(3, executed=2, file="step.cuh"))
    theirs = launch(LIBRARY, LineWork(3, executed=4, file=LIBRARY), LineWork(9, executed=8))
    mixed = launch("solve.cu", LineWork(3, executed=16), LineWork(5, executed=32, file=LIBRARY))
    work = Work("observe", {"n": 4}, 4, (own, theirs, mixed))
    rows = [(file, row.line, row.executed) for file, row in work.by_line()]
    assert rows == [("solve.cu", 3, 17), ("step.cuh", 3, 2)]
    assert work.total("executed") == 63
