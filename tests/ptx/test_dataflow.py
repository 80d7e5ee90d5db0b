"""Which registers are read later."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.dataflow import destinations, sources
from grader.ptx.machine.code import build_cfg
from tests.ptx.ptx_text import kernel, only

WRITES_AND_READS = [
    ("add.s32 %r1, %r2, %r3;", "%r1", "%r2 %r3"),
    ("mov.b64 {%r1, %r2}, %rd1;", "%r1 %r2", "%rd1"),
    ("mov.b64 %rd1, {%r1, %r2};", "%rd1", "%r1 %r2"),
    ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", "%p1 %p2", "%r1 %r2 %p3"),
    ("setp.eq.s32 _|%p2, %r1, 0;", "%p2", "%r1"),
    ("ld.global.v2.f32 {%f1, _}, [%rd1+8];", "%f1", "%rd1"),
    ("ld.param.u64 %rd1, [k_param_0];", "%rd1", ""),
    ("st.global.v2.f32 [%rd1], {%f1, %f2};", "", "%rd1 %f1 %f2"),
    ("st.shared.u32 [g], %r1;", "", "%r1"),
    ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", "%r1", "%rd1 %r2 %r3"),
    ("atom.global.add.u32 _, [%rd1], %r2;", "", "%rd1 %r2"),
    ("red.global.add.u32 [%rd1], %r2;", "", "%rd1 %r2"),
    ("shfl.sync.up.b32 %r1|%p1, %r2, %r3, 0, -1;", "%r1 %p1", "%r2 %r3"),
    ("vote.sync.ballot.b32 %r1, !%p1, %r2;", "%r1", "%p1 %r2"),
    ("match.all.sync.b32 %r1|%p1, %r2, %r3;", "%r1 %p1", "%r2 %r3"),
    ("activemask.b32 %r1;", "%r1", ""),
    ("bar.sync %r1, %r2;", "", "%r1 %r2"),
    ("bar.warp.sync %r1;", "", "%r1"),
    ("barrier.cta.arrive.aligned %r1, 64;", "", "%r1"),
    ("bar.red.popc.u32 %r1, 0, %p1;", "%r1", "%p1"),
    ("barrier.cta.red.or.pred %p1, %r1, !%p2;", "%p1", "%r1 %p2"),
    ("selp.b32 %r1, %r2, 5, %p1;", "%r1", "%r2 %p1"),
    ("nanosleep.u32 %r1;", "", "%r1"),
    ("cp.async.ca.shared.global [%r1], [%rd1], 16, %r2;", "", "%r1 %rd1 %r2"),
    ("prefetch.global.L1 [%rd1];", "", "%rd1"),
    ("membar.gl;", "", ""),
    ("trap;", "", ""),
    ("@%p1 mov.u32 %r1, %r2;", "%r1", "%r2 %p1"),
    ("@!%p1 bra L; L:", "", "%p1"),
    ("T: .branchtargets L; brx.idx %r1, T; L:", "", "%r1"),
    ("tex.2d.v2.f32.f32 {%f1, %f2}, [%rd1, {%f3, %f4}];", "%f1 %f2", "%rd1 %f3 %f4"),
    ("sust.b.1d.b32 [%rd1, {%r1}], {%r2};", "", "%rd1 %r1 %r2"),
    (".param .b32 a, b; call (a), f, (b);", "", ""),
    (".param .b32 a, b; call (a), %rd1, (b), f;", "", "%rd1"),
    ("call (%r1), f, (%r2);", "%r1", "%r2"),
]


@pytest.mark.parametrize(("statement", "written", "read"), WRITES_AND_READS)
def test_what_instructions_write_and_read(statement: str, written: str, read: str) -> None:
    instruction = only(statement, ".func f;\n.shared .b32 g;")
    assert [register.name for register in destinations(instruction)] == written.split()
    assert [register.name for register in sources(instruction)] == read.split()


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Random statements as (text, written, read): register names by construction, not by the code under test."""
    count = draw(st.integers(1, 12))
    register = st.integers(0, 3).map(lambda i: f"%r{i}")
    statements = []
    for _ in range(count):
        label = f"L{draw(st.integers(0, count - 1))}"
        d, a, b = draw(register), draw(register), draw(register)
        predicate = f"%p{draw(st.integers(0, 1))}"
        statements.append(
            draw(
                st.sampled_from(
                    [
                        (f"add.s32 {d}, {a}, {b};", d, f"{a} {b}"),
                        (f"mov.u32 {d}, 1;", d, ""),
                        (f"setp.lt.s32 {predicate}, {a}, {b};", predicate, f"{a} {b}"),
                        (f"st.global.u32 [{a}], {b};", "", f"{a} {b}"),
                        (f"@{predicate} bra {label};", "", predicate),
                        (f"bra {label};", "", ""),
                        (f"@{predicate} add.s32 {d}, {a}, {b};", d, f"{predicate} {a} {b}"),
                        ("bar.sync 0;", "", ""),
                        ("ret;", "", ""),
                    ]
                )
            )
        )
    return statements


def successors(program: list[tuple[str, str, str]], at: int) -> list[int]:
    """Where control may go from statement `at`; the program's length stands for its end."""
    words = program[at][0].rstrip(";").split()
    if words[-2:-1] == ["bra"]:
        target = int(words[-1][1:])
        return [target, at + 1] if words[0][0] == "@" else [target]
    return [len(program)] if words == ["ret"] else [at + 1]


@settings(deadline=None)
@given(programs())
def test_liveness_is_what_paths_say(program: list[tuple[str, str, str]]) -> None:
    """A register lives at a statement if some path from it reads the register before surely writing it."""
    function = kernel("\n".join(f"L{at}: {text}" for at, (text, _, _) in enumerate(program)))
    graph = build_cfg(function)
    guards = [text.split()[0] if text[0] == "@" else None for text, _, _ in program]
    # Neighbours under one guard run together or not at all, which single statements do not show.
    share_a_jump = any(guard is not None and guard == after for guard, after in pairwise(guards))
    first_line = next(item for item in function.body if hasattr(item, "ptx_line")).ptx_line
    for block, live in zip(graph.blocks, graph.live_in, strict=True):
        head = block.instructions[0]
        start = head.ptx_line - first_line
        if start >= len(program) or (head.opcode == "ret" and program[start][0] != "ret;"):
            assert live == frozenset()
            continue
        if head.guard is None and program[start][0][0] == "@":
            continue  # behind the jump that replaces a guard there is no statement of the source
        expected = set()
        for register in {name for _, written, read in program for name in (written + " " + read).split()}:
            seen = set()
            pending = [start]
            while pending:
                at = pending.pop()
                if at in seen or at == len(program):
                    continue
                seen.add(at)
                text, written, read = program[at]
                if register in read.split():
                    expected.add(register)
                    break
                if register != written or text[0] == "@":
                    pending += successors(program, at)
        got = {function.registers[index].name for index in live}
        assert got <= expected
        if not share_a_jump:
            assert got == expected
