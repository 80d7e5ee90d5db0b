"""What a module declares: kernels with their bounds, functions, variables with their first values."""

from __future__ import annotations

import re
import struct

import pytest

from grader.ptx.frontend.nodes import Symbol, Variable
from grader.ptx.frontend.parser import parse
from tests.ptx.nvrtc import compile_file
from tests.ptx.ptx_text import HEADER


def test_signatures_and_launch_bounds() -> None:
    module = parse(compile_file("templates.cu"))
    assert module.target == "sm_75"
    assert re.fullmatch(r"\d+\.\d", module.version)
    assert module.entries() == ("_Z6gatherIfLi16EEvPT_i", "_Z6gatherIdLi8EEvPT_i")
    function = module.functions["_Z6gatherIfLi16EEvPT_i"]
    assert function.is_entry
    assert function.parameters == (
        Variable("_Z6gatherIfLi16EEvPT_i_param_0", "param", 8, 8),
        Variable("_Z6gatherIfLi16EEvPT_i_param_1", "param", 4, 4),
    )
    assert function.launch_bounds == (("maxntid", (16, 1, 1)), ("minnctapersm", (2,)))
    (local,) = [variable for variable in function.variables if variable.space == "local"]
    assert (local.size_bytes, local.align) == (16 * 4, 16)
    (raw,) = module.variables.values()
    assert (raw.space, raw.size_bytes, raw.is_extern) == ("shared", 0, True)


def test_demoted_shared_arrays_belong_to_their_kernel() -> None:
    module = parse(compile_file("transpose.cu"))
    assert module.variables == {}
    assert module.functions["naive"].variables == ()
    assert module.functions["tiled"].variables == (Variable("_ZZ5tiledE4tile", "shared", 4, 32 * 33 * 4),)
    assert all(function.location.line for function in module.functions.values())


def test_initialisers_of_every_kind() -> None:
    variables = parse(compile_file("globals.cu")).variables
    assert struct.unpack("<4f", variables["coefficients"].initial or b"") == (1, 2, 3, -4)
    assert variables["coefficients"].space == "const"
    assert variables["unset"].initial is None
    assert variables["unset"].size_bytes == 32
    # The list stops at the last non-zero byte; the rest is zero.
    assert struct.unpack("<6i", variables["table"].initial or b"") == (1, 2, 0, 4, 0, 0)
    assert variables["pointer"].relocations == ((0, Symbol("table", 16)),)
    assert variables["pointer"].initial == bytes(8)
    first, second = variables["names"].relocations
    assert (first[0], second[0]) == (0, 8)
    assert variables[first[1].name].initial == b"ab\0"
    assert variables[second[1].name].initial == b"cde\0"
    assert struct.unpack("<d", variables["real"].initial or b"") == (1.5,)
    assert struct.unpack("<f", variables["single"].initial or b"") == (-2.5,)
    assert struct.unpack("<q", variables["wide"].initial or b"") == (-5,)
    assert variables["byte"].initial == bytes([200])
    assert variables["pair"].relocations == ((0, Symbol("table", 8)),)
    assert struct.unpack("<8xh6xd", variables["pair"].initial or b"") == (-3, 0.25)
    assert variables["managed"].initial == (7).to_bytes(4, "little")
    assert variables["dynamic"].is_extern


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (".global .u32 a = 5, b;", [Variable("a", "global", 4, 4, b"\5\0\0\0"), Variable("b", "global", 4, 4)]),
        (".visible .global .align 16 .b8 a[3] = {1};", [Variable("a", "global", 16, 3, b"\1\0\0")]),
        (".global .s16 a[] = {1, -2};", [Variable("a", "global", 2, 4, b"\1\0\xfe\xff")]),
        (".global .u8 a[2][3] = {{1}, {4, 5}};", [Variable("a", "global", 1, 6, b"\1\0\0\4\5\0")]),
        (".const .f32 a = 1;", [Variable("a", "const", 4, 4, struct.pack("<f", 1))]),
        (".const .f32 a[2] = {0.5, 0f40000000};", [Variable("a", "const", 4, 8, struct.pack("<2f", 0.5, 2))]),
        (".const .f64 a = 0f40000000;", [Variable("a", "const", 8, 8, struct.pack("<d", 2))]),
        (".global .v4 .f32 a[2];", [Variable("a", "global", 16, 32)]),
        (".shared .b64 a[1 ];", [Variable("a", "shared", 8, 8)]),
        (".global .u64 a = b-4;", [Variable("a", "global", 8, 8, bytes(8), relocations=((0, Symbol("b", -4)),))]),
        (".global .u64 a[3] = {1, generic(b) + 4};",
         [Variable("a", "global", 8, 24, b"\1" + bytes(23), relocations=((8, Symbol("b", 4)),))]),
        (".extern .shared .align 16 .b8 a[];", [Variable("a", "shared", 16, 0, is_extern=True)]),
        (".global .texref a;", [Variable("a", "global", 8, 8)]),
    ],
)  # fmt: skip
def test_module_variables(declaration: str, expected: list[Variable]) -> None:
    module = parse(
        f"{HEADER}.global .b8 b0;\n.global .b8 b[8];\n{declaration}"
        if "b;" not in declaration
        else HEADER + declaration
    )
    for variable in expected:
        assert module.variables[variable.name] == variable


def test_an_extern_declaration_does_not_hide_the_definition() -> None:
    for text in (".extern .global .u32 a; .global .u32 a = 1;", ".global .u32 a = 1; .extern .global .u32 a;"):
        assert parse(HEADER + text).variables["a"].initial == b"\1\0\0\0"


def test_signatures() -> None:
    text = f"""{HEADER}
    .func (.param .b32 r) early (.param .b64 x);
    .func none () ;
    .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 16 .b8 s[48]) .reqntid 32, 2
      .maxnreg 64 .noreturn .pragma "x"; {{ ret; }}
    .weak .func (.param .b32 r) early (.param .b64 x) {{ st.param.b32 [r], 1; ret; }}
    .alias other, early;
    .entry bare {{ ret; }}
    """
    module = parse(text)
    kernel_function = module.functions["k"]
    assert [(p.name, p.size_bytes, p.align) for p in kernel_function.parameters] == [("p", 8, 8), ("s", 48, 16)]
    assert kernel_function.launch_bounds == (("reqntid", (32, 2, 1)), ("maxnreg", (64,)), ("noreturn", ()))
    assert module.functions["early"].returns == (Variable("r", "param", 4, 4),)
    assert module.functions["other"].body == module.functions["early"].body
    assert module.functions["bare"].parameters == ()
    assert module.entries() == ("k", "bare")
