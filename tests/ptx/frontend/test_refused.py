"""Text that is no PTX is refused with its line and its place, whatever was done to it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.parser import parse
from grader.ptx.limits import PtxSyntaxError
from tests.ptx.nvrtc import compile_file
from tests.ptx.ptx_text import HEADER, module_text


@pytest.mark.parametrize(
    ("body", "message", "caret"),
    [
        ("add.s32 %r1, %r99, %r2;", "the register `%r99` is not declared", "%r99"),
        ("@%p99 bra L; L:", "the register `%p99` is not declared", "%p99"),
        ("add.s32 %r1, [[%r2], 1;", "`[` is not closed", "[[%r2"),
        ("mov.u32 %r1, 5 6;", "cannot read the operand `5 6`", "5 6"),
        ("mov.u32 %r1, ;", "an operand is missing", "%r1, "),
        ("add.s32 %r1, %r2, %r3\n add.s32 %r1, %r2, %r3;", "cannot read the operand", "%r3\n add"),
        ("bra nowhere;", "the label `nowhere` is not defined", "bra"),
        ("bra %r1, %r2;", "cannot read the target of this bra", "bra"),
        ("brx.idx %r1, T;", "the label `T` is not defined", "brx"),
        ("mov.u64 %rd1, nothing;", "`nothing` is not declared", "mov"),
        ("call missing, ();", "`missing` is not declared", "call"),
        ("call (%r1);", "cannot read the target of this call", "(%r1)"),
        ("ld.u32 %r1, [%rd1+x];", "cannot read the offset `x`", "x]"),
        ("ld.u32 %r1, [%rd1+0f3F800000];", "cannot read the offset", "0f3F"),
        ("ld.u32 %r1, [5+%rd1];", "cannot read the address", "[5+"),
        ("L: L: ret;", "the label `L` is declared twice", "L: ret"),
        (".reg .b32 a; .reg .f32 a;", "`a` is declared twice", ".reg .f32 a"),
        (".reg .z32 a;", "expected a register type, got `.z32`", ".z32"),
        (".shared .align 3 .b8 a[1];", "an alignment must be a power of two, got 3", ".b8 a"),
        (".unknown 5;", "the directive `.unknown` is not known in a function body", ".unknown"),
        ("MOV.u32 %r1, 5;", "cannot read this statement", "MOV"),
        ("ret; \x01", "cannot read this statement", "\x01"),
    ],
)
def test_errors_show_the_line_and_the_place(body: str, message: str, caret: str) -> None:
    text = module_text("\n  " + body)
    with pytest.raises(PtxSyntaxError, match=re.escape(message)) as caught:
        parse(text)
    error = caught.value
    at = sum(len(line) + 1 for line in text.split("\n")[: error.ptx_line - 1]) + error.column - 1
    assert text[at:].startswith(caret)
    *_, source, pointer = str(error).split("\n")
    assert len(pointer) == error.column + 2
    assert source.strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the module has no .version"),
        (".version x\n", "cannot read this directive"),
        (HEADER + ".entry k() { ret;", "the text ends inside a function body"),
        (HEADER + ".entry k() { ret; } .entry k() { ret; }", "the function `k` is defined twice"),
        (HEADER + ".entry k(.global .u32 a) { ret; }", "expected .param, got `.global`"),
        (HEADER + ".entry k(.param .u32 a, .param .u32 a) { ret; }", "`a` is declared twice"),
        (HEADER + "nonsense", "`nonsense` is not known here"),
        (HEADER + ".address_size 32", "only 64-bit addresses are supported, got 32"),
        (HEADER + ".global .u32 a = x;", "cannot read the initial value `x`"),
        (HEADER + ".global .u64 a = x;", "`x` is not declared"),
        (HEADER + ".global .u8 a[1] = {1, 2};", "has 2 bytes, the variable 1"),
        (HEADER + ".global .u32 a; .global .u32 a;", "`a` is declared twice"),
        (HEADER + ".global .u32 a[2][];", "only the first size"),
        (HEADER + ".global .f16 a = 1e9;", "does not fit into a .f16"),
        (HEADER + ".global .u32 a = 0d3FF0000000000000;", "a float literal cannot initialise a .u32"),
        (HEADER + ".entry k() .maxntid 1, 2, 3, 4 { ret; }", "expected at most 3 numbers, got 4"),
        (HEADER + ".alias a, b;", "the function `b` is not defined"),
        (HEADER + ".file 1 broken", "cannot read this directive"),
        (HEADER + ".pragma nounroll;", "expected a string"),
    ],
)
def test_errors_of_modules(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=re.escape(message)):
        parse(text)


@given(st.integers(0, 10**9), st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_text_is_read_or_refused_with_a_place(seed: int, data: st.DataObject) -> None:
    """Cutting a piece out of real output never crashes the parser in any other way."""
    text = compile_file("transpose.cu")
    start = seed % len(text)
    length = data.draw(st.integers(1, 40))
    damaged = text[:start] + text[start + length :]
    try:
        parse(damaged)
    except PtxSyntaxError as error:
        assert 1 <= error.ptx_line <= damaged.count("\n") + 1
