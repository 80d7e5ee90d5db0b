"""Host code of a program compiled beside headers that were read in advance, which need not be its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from grader.programs.toolchain import compile as compiling
from grader.programs.toolchain.compile import HostProgram, compile_program
from grader.programs.toolchain.library import build

PROGRAM = """\
#include <vector>
#include <iostream>
using namespace std;
{before}
__global__ void k(float *out) {{ }}
int main()
{{
    vector<float> host(4);
    {statement}
    cout << host.size() << endl;
    return 0;
}}
"""


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many headers were read in advance, try by try."""
    made: list[int] = []
    real = compiling._compile

    def counted(units: Any, folder: Any, library: Any, headers: Sequence[str], *more: Any) -> list[HostProgram]:
        made.append(len(headers))
        return real(units, folder, library, headers, *more)

    monkeypatch.setattr(compiling, "_compile", counted)
    return made


def compiled(before: str = "", statement: str = "") -> HostProgram:
    return compile_program(["a.cu"], {"a.cu": PROGRAM.format(before=before, statement=statement)}, build())


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("int n = ;", "expected expression"),
        ("int n = 3", "expected ';' at end of declaration"),
        ("host.resize(m);", "use of undeclared identifier 'm'"),
    ],
)
def test_what_is_wrong_with_any_headers_is_told_at_once(statement: str, text: str, tries: list[int]) -> None:
    program = compiled(statement=statement)
    first = program.diagnostics[0]
    assert (program.reason, first.file, first.line, first.text) == ("errors", "a.cu", 9, text)
    assert len(tries) == 1


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("int map[3];", "map[0] = 1;"),
        ("void shuffle(vector<float> &v, int a, int b) { }", "shuffle(host, 1, 2);"),
    ],
)
def test_a_name_of_its_own_may_be_one_of_a_header_s_that_it_does_not_include(
    before: str, statement: str, tries: list[int]
) -> None:
    assert compiled(before, statement).reason == ""
    assert len(tries) <= 2


def test_a_name_that_two_declare_is_looked_at_twice(tries: list[int]) -> None:
    assert compiled("int map[3];", "map[0] = 1;").reason == ""
    assert len(tries) == 2
