"""Blocks of a kernel and where they lead."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.nodes import Function, Instruction, LabelMark, Register
from grader.ptx.frontend.parser import parse
from grader.ptx.machine.code import Block, ControlFlowGraph, build_cfg
from tests.ptx.nvrtc import DATA, compile_file, header_options
from tests.ptx.ptx_text import full_opcode, instructions, kernel


def graph_of(body: str, before: str = "") -> ControlFlowGraph:
    return build_cfg(kernel(body, before))


def opcodes(block: Block) -> list[str]:
    return [instruction.opcode for instruction in block.instructions]


def outline(graph: ControlFlowGraph) -> list[tuple[list[str], tuple[int, ...]]]:
    return [(opcodes(block), block.successors) for block in graph.blocks]


def test_a_conditional_branch_goes_to_its_target_first() -> None:
    graph = graph_of("mov.u32 %r1, 0; @%p1 bra A; mov.u32 %r2, 0; bra B; A: add.s32 %r1, %r1, 1; B: ret;")
    assert [block.label for block in graph.blocks] == [None, None, "A", "B"]
    taken, fall_through = graph.blocks[0].successors
    assert graph.blocks[taken].label == "A"
    assert opcodes(graph.blocks[fall_through]) == ["mov", "bra"]
    assert graph.loops == ()


def test_blocks_end_behind_calls_and_barriers() -> None:
    body = "mov.u32 %r1, 0; bar.sync 0; mov.u32 %r1, 1; barrier.cta.sync 1; call f; bar.red.popc.u32 %r1, 0, %p1; ret;"
    assert outline(graph_of(body, ".func f;")) == [
        (["mov", "bar"], (1,)),
        (["mov", "barrier"], (2,)),
        (["call"], (3,)),
        (["bar"], (4,)),
        (["ret"], ()),
    ]


def test_labels_that_nothing_branches_to_split_nothing() -> None:
    assert outline(graph_of("A: mov.u32 %r1, 0; B: mov.u32 %r1, 1; C: ret;")) == [(["mov", "mov", "ret"], ())]


def test_a_body_that_runs_off_its_end_returns() -> None:
    assert outline(graph_of("mov.u32 %r1, 0;")) == [(["mov", "ret"], ())]
    assert outline(graph_of("")) == [(["ret"], ())]
    assert outline(graph_of("@%p1 bra L; bar.sync 0; L:")) == [(["bra"], (2, 1)), (["bar"], (2,)), (["ret"], ())]
    assert outline(graph_of("trap;")) == [(["trap", "ret"], ())]
    assert outline(graph_of("@%p1 trap;")) == [(["bra"], (2, 1)), (["trap"], (2,)), (["ret"], ())]


def test_unreachable_code_is_dropped() -> None:
    assert outline(graph_of("bra B; A: mov.u32 %r1, 0; bra A; B: exit; mov.u32 %r2, 0; ret;")) == [
        (["bra"], (1,)),
        (["exit"], ()),
    ]


def test_guarded_instructions_are_jumped_round() -> None:
    function = kernel("@%p1 st.global.u32 [%rd1], %r1; @!%p1 ret; mov.u32 %r2, 0; ret;")
    graph = build_cfg(function)
    assert outline(graph) == [(["bra"], (2, 1)), (["st"], (2,)), (["bra"], (4, 3)), (["ret"], ()), (["mov", "ret"], ())]
    jump = graph.blocks[0].instructions[0]
    store = graph.blocks[1].instructions[0]
    assert jump.guard is not None
    assert jump.guard.negated
    assert jump.modifiers == ("guard",)
    assert store.guard is None
    assert (
        (jump.text, jump.ptx_line) == (store.text, store.ptx_line) == ("@%p1 st.global.u32 [%rd1], %r1", store.ptx_line)
    )
    second = graph.blocks[2].instructions[0]
    assert second.guard is not None
    assert not second.guard.negated


def test_neighbours_under_one_guard_share_a_jump_until_it_changes() -> None:
    assert outline(graph_of("@%p1 mov.u32 %r1, 0; @%p1 mov.u32 %r2, 0; ret;")) == [
        (["bra"], (2, 1)),
        (["mov", "mov"], (2,)),
        (["ret"], ()),
    ]
    changing = "@%p1 mov.u32 %r1, 0; @%p1 setp.eq.s32 %p1, %r1, 5; @%p1 mov.u32 %r2, 0; ret;"
    assert outline(graph_of(changing)) == [
        (["bra"], (2, 1)),
        (["mov", "setp"], (2,)),
        (["bra"], (4, 3)),
        (["mov"], (4,)),
        (["ret"], ()),
    ]
    labelled = "@%p1 mov.u32 %r1, 0; L: @%p1 mov.u32 %r2, 0; @%p2 bra L; ret;"
    assert [len(block.successors) for block in graph_of(labelled).blocks] == [2, 1, 2, 1, 2, 0]


def test_a_guarded_barrier_still_ends_its_block() -> None:
    assert outline(graph_of("@%p1 bar.sync 0; ret;")) == [(["bra"], (2, 1)), (["bar"], (2,)), (["ret"], ())]


def test_indirect_branches_have_a_successor_for_each_entry() -> None:
    graph = graph_of("T: .branchtargets A, B, A; brx.idx %r1, T; A: mov.u32 %r1, 0; ret; B: ret;")
    first, second, third = graph.blocks[0].successors
    assert first == third != second
    assert graph.blocks[first].label == "A"
    assert graph.blocks[second].label == "B"


def test_cycles_with_two_entries_break_nothing() -> None:
    graph = graph_of("@%p1 bra B; A: add.s32 %r1, %r1, 1; B: add.s32 %r1, %r1, 2; @%p2 bra A; ret;")
    assert graph.loops == ()
    assert graph.back_edges == frozenset()
    assert len(graph.blocks) == 4


def test_a_loop_without_end() -> None:
    graph = graph_of("@%p1 bra L; ret; L: bra L;")
    loop_block = next(block for block in graph.blocks if block.label == "L")
    assert graph.back_edges == {(loop_block.index, loop_block.index)}


def test_a_way_out_of_the_middle_of_a_loop_comes_behind_the_whole_loop() -> None:
    # A depth-first order would put OUT before the first arm, which was finished earlier.
    body = """
    L: @%p1 bra ROUND; @%p2 bra OUT; bra L;
    ROUND: add.s32 %r1, %r1, 1; bra L;
    OUT: ret;
    """
    graph = graph_of(body)
    (loop,) = graph.loops
    assert loop.body == {0, 1, 2, 3}
    assert [block.label for block in graph.blocks][4:] == ["OUT"]


# Real code


def compiled(name: str) -> dict[str, Function]:
    options = header_options() if name == "headers.cu" else ()
    return parse(compile_file(name, options=options)).functions


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.cu")))
def test_graphs_of_compiled_kernels(name: str) -> None:
    for function in compiled(name).values():
        graph = build_cfg(function)
        known = {id(item) for item in function.body}
        kept = [i for block in graph.blocks for i in block.instructions if id(i) in known]
        lowered = [i for block in graph.blocks for i in block.instructions if id(i) not in known]
        guarded = [i for i in instructions(function) if i.guard is not None and i.opcode != "bra"]
        # NVRTC leaves no dead code, so nothing of the body may be missing.
        assert len(kept) + len(guarded) == len(instructions(function))
        assert all(i.opcode == "bra" or i.guard is None for i in lowered)
        for block in graph.blocks:
            *inner, last = block.instructions
            assert not {"bra", "brx", "ret", "exit", "call", "bar", "barrier"} & {i.opcode for i in inner}
            assert all(i.guard is None for i in inner)
            assert len(block.successors) == (0 if last.opcode in ("ret", "exit") else 1 + (last.guard is not None))
            for target in block.successors:
                assert target > block.index or (block.index, target) in graph.back_edges
        for loop in graph.loops:
            assert loop.body == set(range(loop.header, loop.header + len(loop.body)))


def test_nested_loops_with_every_way_out() -> None:
    graph = build_cfg(compiled("loops.cu")["nested"])
    outer, inner = graph.loops
    assert inner.body < outer.body
    # All exits, `return` and `break` out of the middle among them, come behind the loop they leave.
    for loop in (outer, inner):
        for block in loop.body:
            for target in graph.blocks[block].successors:
                assert target in loop.body or target > max(loop.body) or target == outer.header


def test_the_barriers_of_a_tile_loop_stay_in_it() -> None:
    graph = build_cfg(compiled("loops.cu")["tiles"])
    barriers = [block.index for block in graph.blocks if full_opcode(block.instructions[-1]) == "bar.sync"]
    assert len(barriers) == 2
    assert all(any(block in loop.body for loop in graph.loops) for block in barriers)


# Meaning


def step(instruction: Instruction, registers: dict[int, int], trace: list[tuple[int, int]]) -> None:
    """Run one instruction of the few that `programs` uses; every executed one is noted with its result."""
    values = [
        registers.get(o.index, 0) if isinstance(o, Register) else getattr(o, "value", 0) for o in instruction.operands
    ]
    result = {"add": sum(values[1:]) & 7, "setp": values[1] < values[2]} if len(values) == 3 else {}
    value = int(result.get(instruction.opcode, 0))
    if instruction.opcode in ("add", "setp"):
        target = instruction.operands[0]
        assert isinstance(target, Register)
        registers[target.index] = value
    trace.append((instruction.ptx_line, value))


def holds(instruction: Instruction, registers: dict[int, int]) -> bool:
    guard = instruction.guard
    return guard is None or bool(registers.get(guard.register.index, 0)) != guard.negated


# With at most 28 items in a body, a program that has not noted this many instructions after this many steps
# is in a loop that changes nothing.
NOTED = 60
STEPS = 30 * NOTED


def run_text(function: Function) -> list[tuple[int, int]]:
    """Execute the body as written, guards and all."""
    labels = {item.name: at for at, item in enumerate(function.body) if isinstance(item, LabelMark)}
    registers: dict[int, int] = {}
    trace: list[tuple[int, int]] = []
    at = 0
    for _ in range(STEPS):
        if at == len(function.body):
            break
        item = function.body[at]
        at += 1
        if isinstance(item, LabelMark) or not holds(item, registers):
            continue
        if item.opcode == "ret":
            break
        if item.opcode == "bra":
            at = labels[item.operands[0].name]  # type: ignore[union-attr]
        else:
            step(item, registers, trace)
    return trace[:NOTED]


def run_graph(graph: ControlFlowGraph) -> list[tuple[int, int]]:
    """Execute block by block, following successors only."""
    registers: dict[int, int] = {}
    trace: list[tuple[int, int]] = []
    block = graph.blocks[0]
    for _ in range(STEPS):
        for instruction in block.instructions:
            if instruction.opcode not in ("bra", "ret"):
                assert instruction.guard is None
                step(instruction, registers, trace)
        if not block.successors or len(trace) >= NOTED:
            break
        taken = holds(block.instructions[-1], registers)
        block = graph.blocks[block.successors[0 if taken else -1]]
    return trace[:NOTED]


@st.composite
def bodies(draw: st.DrawFn) -> str:
    count = draw(st.integers(1, 14))
    register = st.integers(0, 3)
    lines = []
    for at in range(count):
        a, b, c = draw(register), draw(register), draw(register)
        guard = draw(st.sampled_from(["", "", "@%p0 ", "@!%p0 ", "@%p1 "]))
        statement = draw(
            st.sampled_from(
                [
                    f"add.s32 %r{a}, %r{b}, {c};",
                    f"setp.lt.s32 %p{a & 1}, %r{b}, %r{c};",
                    f"bra L{draw(st.integers(0, count - 1))};",
                    "bar.sync 0;",
                    "ret;",
                ]
            )
        )
        lines.append(f"L{at}: {guard}{statement}")
    return "\n".join(lines)


@settings(deadline=None)
@given(bodies())
def test_the_graph_does_what_the_text_does(body: str) -> None:
    function = kernel(body)
    assert run_graph(build_cfg(function)) == run_text(function)
