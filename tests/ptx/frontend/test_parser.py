from __future__ import annotations

import re
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.errors import PtxSyntaxError
from grader.ptx.frontend.nodes import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Label,
    LabelMark,
    Module,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from grader.ptx.frontend.parser import parse
from tests.ptx.nvrtc import DATA, compile_file, compile_ptx, header_options
from tests.ptx.ptx_text import HEADER, full_opcode, instructions, kernel, module_text, only

SOURCES = sorted(path.name for path in DATA.glob("*.cu"))


def compiled(name: str, arch: str = "compute_75") -> str:
    return compile_file(name, arch, header_options() if name == "headers.cu" else ())


def shape(operand: Operand) -> object:
    """An operand with registers as their names, so that expectations can be written down."""
    if isinstance(operand, Register):
        return operand.name
    if isinstance(operand, Vector):
        return [shape(element) for element in operand.elements]
    if isinstance(operand, Address):
        return (shape(operand.base) if operand.base is not None else None, operand.offset)
    if isinstance(operand, Negated):
        return "!" + operand.register.name
    return operand


# Real output


@pytest.mark.parametrize("arch", ["compute_75", "compute_90"])
@pytest.mark.parametrize("name", SOURCES)
def test_reads_every_instruction_that_nvrtc_emits(name: str, arch: str) -> None:
    ptx = compiled(name, arch)
    module = parse(ptx)
    # NVRTC writes one statement a line (calls go over several), so lines can be counted without parsing;
    # inline assembly has several a line and is looked at below.
    code = re.sub(r"(// begin inline asm).*?(// end inline asm)", "", ptx, flags=re.DOTALL)
    expected = re.findall(r"^\t(?:\{ )?(?:@!?%p\d+ )?([a-z][\w.]*)(?=[ \t]+(?!:)[^:\n]*$|;)", code, flags=re.MULTILINE)
    got = [full_opcode(i) for function in module.functions.values() for i in instructions(function)]
    if "inline asm" in ptx:
        remaining = iter(got)
        assert all(opcode in remaining for opcode in expected)
    else:
        assert got == expected


@pytest.mark.parametrize("name", SOURCES)
def test_registers_of_nvrtc_have_the_type_that_their_name_says(name: str) -> None:
    types = {"p": "pred", "rs": "b16", "r": "b32", "rd": "b64", "f": "f32", "fd": "f64", "SP": "b64", "SPL": "b64"}
    for function in parse(compiled(name)).functions.values():
        assert [register.index for register in function.registers] == list(range(len(function.registers)))
        for register in function.registers:
            match = re.fullmatch(r"%([a-zA-Z]+)\d*", register.name)
            if match is not None and match[1] in types:  # inline assembly of the library has others
                assert register.type == types[match[1]], register


def test_debug_output_is_read_too() -> None:
    module = parse(compile_file("loops.cu", options=("-G",)))
    assert set(module.entries()) == {"nested", "select_one", "collatz", "tiles"}


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


def test_calls_name_their_own_parameter_variables() -> None:
    module = parse(compile_file("calls.cu"))
    assert module.externals == ("vprintf",)
    function = module.functions["calls"]
    calls = [instruction for instruction in instructions(function) if instruction.opcode == "call"]
    space = {variable.name: variable for variable in function.variables}
    targets: list[str] = []
    used: list[str] = []
    for call in calls:
        returns, target, arguments = call.operands[:3]
        assert isinstance(returns, Vector)
        assert isinstance(arguments, Vector)
        assert isinstance(target, Symbol | Register)
        targets.append(target.name)
        for operand in (*returns.elements, *arguments.elements):
            assert isinstance(operand, Symbol)
            assert space[operand.name].space == "param"
            used.append(operand.name)
    assert [name for name in targets if name[0] != "%"] == [
        "_Z4makei",
        "_Z5weighf4Item",
        "_Z9fibonaccii",
        "_Z5storePff",
        "vprintf",
    ]
    indirect = next(call for call in calls if isinstance(call.operands[1], Register))
    assert len(indirect.operands) == 4, "an indirect call carries its prototype"
    # Every call has variables of its own although NVRTC calls them all param0, retval0.
    assert len(used) == len(set(used))
    assert calls[0].operands[2] != calls[1].operands[2]
    weigh = module.functions["_Z5weighf4Item"]
    assert [(p.size_bytes, p.align) for p in weigh.parameters] == [(4, 4), (24, 8)]
    assert [(p.name, p.size_bytes) for p in weigh.returns] == [("func_retval0", 4)]
    # Caller and callee agree on what is returned.
    (make_return,) = module.functions["_Z4makei"].returns
    (received,) = calls[0].operands[0].elements  # type: ignore[union-attr]
    assert isinstance(received, Symbol)
    assert (space[received.name].size_bytes, space[received.name].align) == (make_return.size_bytes, make_return.align)
    assert make_return.size_bytes > 8
    store = next(call for call in calls if call.operands[1] == Symbol("_Z5storePff"))
    assert store.operands[0] == Vector(())


def test_a_scope_may_hide_registers() -> None:
    function = parse(compile_file("warps.cu")).functions["warps"]
    for barrier in (i for i in instructions(function) if i.opcode == "bar" and "red" in i.modifiers):
        predicate = barrier.operands[-1]
        assert isinstance(predicate, Register)
        assert predicate.type == "pred"
        twins = [r for r in function.registers if r.name == predicate.name]
        assert len(twins) > 1
    shuffle = next(i for i in instructions(function) if i.opcode == "shfl")
    assert isinstance(shuffle.operands[0], Vector)
    assert [register.type for register in shuffle.operands[0].elements if isinstance(register, Register)] == [
        "b32",
        "pred",
    ]


def test_inline_assembly() -> None:
    function = parse(compile_file("assembly.cu")).functions["assembly"]
    code = [i for i in instructions(function) if i.location.line in range(7, 10)]
    additions = [i for i in code if full_opcode(i) == "mad.lo.s32"]
    assert [shape(i.operands[2]) for i in additions] == [Immediate(20)] * 2
    assert [shape(i.operands[3]) for i in additions] == [Immediate(-16)] * 2
    # The same text twice: own registers, own labels.
    first, second = [i for i in code if i.opcode == "bra"]
    assert first.operands != second.operands
    assert first.guard is not None
    assert second.guard is not None
    assert first.guard.negated
    assert first.guard.register != second.guard.register
    marks = [item for item in function.body if isinstance(item, LabelMark)]
    assert [Label(mark.name) for mark in marks] == [first.operands[0], second.operands[0]]
    # t2 of the inner scope is a float, t2 of the outer one is not.
    integer, floating = [i.operands[0] for i in code if i.opcode == "mov" and shape(i.operands[0]) == "t2"][:2]
    assert isinstance(integer, Register)
    assert isinstance(floating, Register)
    assert (integer.type, floating.type) == ("b32", "f32")


# Operands


@pytest.mark.parametrize(
    ("statement", "operands"),
    [
        ("mov.u32 %r1, %tid.x;", ["%r1", Special("tid.x")]),
        ("mov.u64 %rd1, %clock64;", ["%rd1", Special("clock64")]),
        ("mov.u32 %r1, WARP_SZ;", ["%r1", Immediate(32)]),
        ("mov.u32 %r1, -0x10;", ["%r1", Immediate(-16)]),
        ("mov.f32 %f1, 0fBF800000;", ["%f1", Immediate(0xBF800000, "f32")]),
        ("mov.f64 %fd1, 0d3FF0000000000000;", ["%fd1", Immediate(0x3FF0000000000000, "f64")]),
        ("mov.u64 %rd1, g;", ["%rd1", Symbol("g")]),
        ("mov.u64 %rd1, g + 8;", ["%rd1", Symbol("g", 8)]),
        ("mov.u64 %rd1, g-8;", ["%rd1", Symbol("g", -8)]),
        ("ld.global.f32 %f1, [%rd1+-12];", ["%f1", ("%rd1", -12)]),
        ("ld.global.f32 %f1, [ %rd1 - 12 ];", ["%f1", ("%rd1", -12)]),
        ("ld.shared.f32 %f1, [%r1];", ["%f1", ("%r1", 0)]),
        ("ld.global.f32 %f1, [g+4];", ["%f1", (Symbol("g"), 4)]),
        ("ld.global.f32 %f1, [64];", ["%f1", (None, 64)]),
        ("ld.param.u64 %rd1, [k_param_0];", ["%rd1", (Symbol("k_param_0"), 0)]),
        ("ld.global.v4.f32 {%f1, %f2,_, %f4}, [%rd1];", [["%f1", "%f2", Sink(), "%f4"], ("%rd1", 0)]),
        ("st.global.v2.f32 [%rd1], {%f1, 0f00000000};", [("%rd1", 0), ["%f1", Immediate(0, "f32")]]),
        ("mov.b64 {%r1, %r2}, %rd1;", [["%r1", "%r2"], "%rd1"]),
        ("setp.lt.and.f32 %p1|%p2, %f1, %f2, !%p3;", [["%p1", "%p2"], "%f1", "%f2", "!%p3"]),
        ("setp.lt.s32 _|%p2, %r1, 5;", [[Sink(), "%p2"], "%r1", Immediate(5)]),
        ("shfl.sync.bfly.b32 %r1 | %p1, %r2, 1, 31, -1;", [["%r1", "%p1"], "%r2", *map(Immediate, (1, 31, -1))]),
        (
            "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];",
            [["%f1", "%f2", "%f3", "%f4"], ["%rd1", ["%f5", "%f6"]]],
        ),
        ("bar.sync 0;", [Immediate(0)]),
        ("ret;", []),
        ("call f;", [[], Symbol("f"), []]),
        ("call.uni (%r1), f, (%r2, 5);", [["%r1"], Symbol("f"), ["%r2", Immediate(5)]]),
        ("call f, (5);", [[], Symbol("f"), [Immediate(5)]]),
        ("call %rd1, p;", [[], "%rd1", [], Symbol("p")]),
    ],
)
def test_operands(statement: str, operands: list[object]) -> None:
    before = ".global .b32 g[9];\n.func f;\n.func p;"
    instruction = only(statement, before)
    assert [shape(operand) for operand in instruction.operands] == operands
    assert instruction.text == " ".join(statement[:-1].split())


def test_guards_texts_and_lines() -> None:
    plain, negated = instructions(kernel("@%p1 mov.u32\t%r1,\n   5;\n\n  @!%p2   bra L; L:"))
    assert plain.guard is not None
    assert (plain.guard.register.name, plain.guard.negated) == ("%p1", False)
    assert (plain.opcode, plain.modifiers) == ("mov", ("u32",))
    assert plain.text == "@%p1 mov.u32 %r1, 5"
    assert isinstance(negated.guard, Guard)
    assert (negated.guard.register.name, negated.guard.negated) == ("%p2", True)
    assert negated.ptx_line - plain.ptx_line == 3
    text = module_text("mov.u32 %r1, 5;")
    (instruction,) = instructions(parse(text).functions["k"])
    assert "mov.u32 %r1, 5;" in text.splitlines()[instruction.ptx_line - 1]


def test_the_same_name_is_the_same_register() -> None:
    function = kernel("add.s32 %r1, %r2, %r1; add.s32 %r3, %r1, %r2;")
    first, second = instructions(function)
    assert first.operands[0] == first.operands[2] == second.operands[1]
    assert [register.name for register in function.registers] == ["%r1", "%r2", "%r3"]


def test_inner_variables_get_names_of_their_own() -> None:
    body = """
      .local .align 8 .b8 a[16];
      { .local .b32 a; st.local.u32 [a], 1; { st.local.u32 [a+4], 2; } }
      { .local .b32 a; st.local.u32 [a], 3; }
      st.local.u32 [a], 4;
    """
    function = kernel(body)
    names = [i.operands[0].base.name for i in instructions(function) if isinstance(i.operands[0], Address)]  # type: ignore[union-attr]
    assert names[3] == "a"
    assert names[0] == names[1]
    assert len({names[0], names[2], names[3]}) == 3
    assert [variable.name for variable in function.variables] == ["a", names[0], names[2]]


def test_a_declaration_counts_from_where_it_stands() -> None:
    outer, inner = instructions(kernel(".reg .b32 x; { mov.u32 x, 1; .reg .f32 x; mov.f32 x, 0f00000000; }"))
    assert isinstance(outer.operands[0], Register)
    assert isinstance(inner.operands[0], Register)
    assert (outer.operands[0].type, inner.operands[0].type) == ("b32", "f32")
    outer, inner = instructions(kernel(".local .b32 v; { st.local.u32 [v], 1; .local .f32 v; st.local.u32 [v], 1; }"))
    assert outer.operands[0] == Address(Symbol("v"))
    assert inner.operands[0] != outer.operands[0]


def test_labels_of_scopes_hide_outer_ones_and_may_come_later() -> None:
    body = "{ bra L; bra M; L: } L: bra L; M: ret;"
    function = kernel(body)
    inner, to_outer, outer = [i.operands[0] for i in instructions(function) if i.opcode == "bra"]
    marks = [item.name for item in function.body if isinstance(item, LabelMark)]
    assert isinstance(inner, Label)
    assert marks == [inner.name, "L", "M"]
    assert inner.name != "L"
    assert (to_outer, outer) == (Label("M"), Label("L"))


def test_indirect_branches_carry_their_targets() -> None:
    body = "{ T: .branchtargets A, B, A; brx.idx.uni %r1, T; A: } B: ret;"
    function = kernel(body)
    branch = instructions(function)[0]
    marks = [item.name for item in function.body if isinstance(item, LabelMark)]
    assert shape(branch.operands[0]) == "%r1"
    assert branch.operands[1] == Vector((Label(marks[0]), Label("B"), Label(marks[0])))


# Declarations


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
    assert module.externals == ("none",)


def test_a_trailing_nul_and_debug_sections_are_no_statements() -> None:
    text = module_text("ret;") + '.file 1 "a // b.cu"\n.section .debug_str {\n$L: .b8 1,2\n}\n\0'
    assert parse(text).files == {1: "a // b.cu"}


@pytest.mark.parametrize("name", ["лаб 1.cu", 'a"b.cu', "C:\\x.cu", "// no comment.cu"])
def test_names_of_files_as_nvrtc_writes_them(name: str) -> None:
    ptx = compile_ptx('extern "C" __global__ void k(int* a) { a[0] = 1; }', name=name)
    (path,) = parse(ptx).files.values()
    assert path.endswith(name)


# Errors


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


# Round trip

registers = st.sampled_from(["%r1", "%r2", "%rd3", "%f4", "%p5"])
integers = st.integers(-(2**63), 2**64 - 1)
blanks = st.sampled_from(["", " ", "\t", "\n", " /* c, { */ ", " // x; y\n"])


@st.composite
def addresses(draw: st.DrawFn) -> tuple[str, object]:
    base = draw(st.sampled_from(["%rd3", "g"]))
    offset = draw(st.integers(-(2**31), 2**31))
    sign = draw(st.sampled_from(["+", "-"]))
    written = f"{base}{sign}{offset if sign == '+' else -offset}" if offset else base
    return f"[{written}]", (Symbol("g") if base == "g" else base, offset)


scalars = st.one_of(
    registers.map(lambda name: (name, name)),
    integers.map(lambda value: (str(value), Immediate(value))),
    integers.filter(lambda value: value >= 0).map(lambda value: (hex(value), Immediate(value))),
    st.integers(0, 2**32 - 1).map(lambda bits: (f"0f{bits:08X}", Immediate(bits, "f32"))),
    st.just(("_", Sink())),
    st.just(("!%p5", "!%p5")),
    st.just(("%ctaid.y", Special("ctaid.y"))),
)
vectors = st.lists(scalars, min_size=1, max_size=4).map(
    lambda parts: ("{" + ", ".join(text for text, _ in parts) + "}", [value for _, value in parts])
)


@given(
    st.sampled_from(["mov.b32", "ld.global.nc.v4.f32", "x.y::z.u8"]),
    st.lists(st.one_of(scalars, vectors, addresses()), max_size=5),
    st.sampled_from(["", "@%p5 ", "@!%p5 "]),
    st.lists(blanks, min_size=6, max_size=6),
)
@settings(deadline=None)
def test_what_is_written_is_what_is_read(
    opcode: str, parts: list[tuple[str, object]], guard: str, gaps: list[str]
) -> None:
    operands = ",".join(gap + text for gap, (text, _) in zip(gaps, parts, strict=False))
    instruction = only(f"{guard}{opcode} {operands}{gaps[-1]};", ".global .b8 g[4];")
    assert full_opcode(instruction) == opcode
    assert [shape(operand) for operand in instruction.operands] == [value for _, value in parts]
    assert (instruction.guard is not None) == bool(guard)
    assert instruction.guard is None or instruction.guard.negated == ("!" in guard)


def test_module_is_plain_data() -> None:
    module = parse(HEADER)
    assert isinstance(module, Module)
    assert not any(isinstance(item, Instruction) for function in module.functions.values() for item in function.body)
