"""Instructions and their operands as the parser reads them, of real output and by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_calls_name_their_own_parameter_variables() -> None:
    module = parse(compile_file("calls.cu"))
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


def test_indirect_branches_carry_their_targets() -> None:
    body = "{ T: .branchtargets A, B, A; brx.idx.uni %r1, T; A: } B: ret;"
    function = kernel(body)
    branch = instructions(function)[0]
    marks = [item.name for item in function.body if isinstance(item, LabelMark)]
    assert shape(branch.operands[0]) == "%r1"
    assert branch.operands[1] == Vector((Label(marks[0]), Label("B"), Label(marks[0])))


def test_a_trailing_nul_and_debug_sections_are_no_statements() -> None:
    text = module_text("ret;") + '.file 1 "a // b.cu"\n.section .debug_str {\n$L: .b8 1,2\n}\n\0'
    assert parse(text).files == {1: "a // b.cu"}


@pytest.mark.parametrize("name", ["лаб 1.cu", 'a"b.cu', "C:\\x.cu", "// no comment.cu"])
def test_names_of_files_as_nvrtc_writes_them(name: str) -> None:
    ptx = compile_ptx('extern "C" __global__ void k(int* a) { a[0] = 1; }', name=name)
    (path,) = parse(ptx).files.values()
    assert path.endswith(name)


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
