"""Names of registers, variables and labels in scopes within each other."""

from __future__ import annotations

from grader.ptx.frontend.nodes import Address, Label, LabelMark, Register, Symbol, Vector
from grader.ptx.frontend.parser import parse
from tests.ptx.nvrtc import compile_file
from tests.ptx.ptx_text import instructions, kernel


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
