"""Which line of which file an instruction is of."""

from __future__ import annotations

import pytest

from grader.ptx.frontend.nodes import SourceLocation, find_files, student_file
from grader.ptx.frontend.parser import parse
from tests.ptx.nvrtc import DATA, compile_file
from tests.ptx.ptx_text import full_opcode, instructions, kernel

FILES = '.file 1 "/w/main.cu"\n.file 2 "/h/device_functions.hpp"\n'


def where(*locs: str, files: str = FILES) -> SourceLocation:
    """Location of an instruction behind those `.loc` directives."""
    body = "\n".join(f".loc {loc}" for loc in locs) + "\nret;"
    return instructions(kernel(body, files))[-1].location


def test_plain() -> None:
    assert where("1 7 3") == SourceLocation("/w/main.cu", 7)


def test_without_line_information() -> None:
    assert instructions(kernel("ret;"))[0].location == SourceLocation("", 0)


def test_inlined_header_code_belongs_to_the_line_that_calls_it() -> None:
    chain = ("1 12 3", "2 69 9, function_name $L__info_string0, inlined_at 1 12 3")
    assert where(*chain) == SourceLocation("/w/main.cu", 12)
    deeper = "2 30 1, function_name $L__info_string1+4, inlined_at 2 69 9"
    assert where(*chain, deeper) == SourceLocation("/w/main.cu", 12)


def test_inlined_code_of_the_student_belongs_to_its_own_line() -> None:
    assert where("1 12 3", "1 5 3, function_name $L__info_string0, inlined_at 1 12 3").line == 5


def test_a_chain_uses_the_latest_call_site_at_those_coordinates() -> None:
    # The same header line, inlined from two places.
    first = ("1 10 1", "2 69 9, function_name $x, inlined_at 1 10 1")
    second = ("1 20 1", "2 69 9, function_name $x, inlined_at 1 20 1")
    inner = "2 30 1, function_name $y, inlined_at 2 69 9"
    assert where(*first, inner).line == 10
    assert where(*first, *second, inner).line == 20


def test_line_zero_inherits_the_line_before() -> None:
    assert where("1 7 3", "1 0 3") == SourceLocation("/w/main.cu", 7)
    assert where("1 7 3", "1 0 3", "1 8 3") == SourceLocation("/w/main.cu", 8)
    assert where("1 0 3") == SourceLocation("/w/main.cu", 0)


def test_line_zero_of_inlined_code_is_the_call_site() -> None:
    site = ("1 3 1", "1 12 3", "1 4 1")
    assert where(*site, "2 0 9, function_name $x, inlined_at 1 12 3") == SourceLocation("/w/main.cu", 12)


def test_line_zero_does_not_inherit_from_another_function() -> None:
    other = f"{FILES}.func f() {{ .loc 1 5 1\n ret; }}"
    assert instructions(kernel(".loc 1 0 1\nret;", other))[0].location.line == 0


def test_call_sites_of_another_function_do_not_count() -> None:
    other = f"{FILES}.func f() {{ .loc 1 5 1\n .loc 2 69 9, function_name $x, inlined_at 1 5 1\n ret; }}"
    body = ".loc 2 30 1, function_name $y, inlined_at 2 69 9\nret;"
    assert instructions(kernel(body, other))[0].location == SourceLocation("/h/device_functions.hpp", 30)


def test_code_that_never_touches_the_students_file_keeps_its_own() -> None:
    assert where("2 69 9") == SourceLocation("/h/device_functions.hpp", 69)


def test_self_inlined_coordinates_end() -> None:
    assert where("2 5 3, function_name $x, inlined_at 2 5 3") == SourceLocation("/h/device_functions.hpp", 5)


@pytest.mark.parametrize(
    ("files", "number"),
    [
        ({1: "/w/main.cu", 2: "/h/a.h"}, 1),
        ({1: "/h/cuda_fp16.hpp", 2: "/cccl/cuda/std/limits", 3: "C:\\w\\x.cu"}, 3),
        ({2: "/w/common.cuh", 5: "/h/x.h"}, 2),
        ({}, 0),
    ],
)
def test_the_students_file_is_the_first_that_is_no_header(files: dict[int, str], number: int) -> None:
    assert student_file(files) == number


def test_files_are_found_at_the_end_of_the_text() -> None:
    ptx = compile_file("transpose.cu")
    assert ptx.index(".file") > ptx.index("ld.global")
    files = find_files(ptx)
    assert list(files) == [1]
    assert files[1].endswith("main.cu")


def line_of(fragment: str) -> int:
    """1-based line of `inlined.cu` that holds a piece of text."""
    lines = (DATA / "inlined.cu").read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if fragment in text]
    return line


def test_nvrtc_code_at_its_lines() -> None:
    found: dict[str, set[int]] = {}
    for instruction in instructions(parse(compile_file("inlined.cu")).functions["powers"]):
        assert instruction.location.file.endswith("main.cu")
        found.setdefault(full_opcode(instruction), set()).add(instruction.location.line)
    assert found["mul.f32"] == {line_of("x * x")}
    assert line_of("out[threadIdx.x] = cube(x)") in found["st.global.f32"]
    assert found["shfl.sync.bfly.b32"] == {line_of("__shfl_xor_sync")}
    assert found["atom.global.add.f32"] == {line_of("atomicAdd")}
