"""Loops that wait for another thread."""

from __future__ import annotations

import pytest

from grader.ptx.analysis.cfg import ControlFlowGraph, build_cfg
from grader.ptx.frontend.parser import parse
from tests.ptx.nvrtc import compile_file
from tests.ptx.ptx_text import kernel


def waiting(graph: ControlFlowGraph) -> set[int]:
    """The loops that another thread's progress may end."""
    return {index for index, decision in enumerate(graph.exit_decisions) if decision.waits}


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("lock_first", True),
        ("lock_inside", True),
        ("wait_for_flag", True),
        ("lock_in_function", True),
        ("histogram", False),
        ("positions", False),
        ("pure_function", False),
    ],
)
def test_loops_that_another_thread_ends(name: str, waits: bool) -> None:
    module = parse(compile_file("spins.cu"))
    graph = build_cfg(module.functions[name], module)
    assert len(graph.loops) == 1
    assert waiting(graph) == ({0} if waits else set())


def test_without_the_module_a_call_may_wait() -> None:
    functions = parse(compile_file("spins.cu")).functions
    assert waiting(build_cfg(functions["pure_function"])) == {0}
    assert waiting(build_cfg(functions["histogram"])) == set()


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        # The value goes through a predicate and arithmetic.
        ("L: ld.acquire.gpu.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra L;", True),
        ("L: ld.relaxed.gpu.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;", True),
        ("L: ld.global.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;", False),
        # Read before the loop, or not used for the exit.
        ("ld.volatile.u32 %r1, [%rd1]; L: setp.ne.s32 %p1, %r1, 0; @%p1 bra L;", False),
        ("L: ld.volatile.u32 %r1, [%rd1]; add.s32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, 9; @%p1 bra L;", False),
        ("L: atom.add.u32 _, [%rd1], 1; add.s32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, 9; @%p1 bra L;", False),
        # What is read decides which way the flag is set.
        (
            """L: ld.volatile.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; mov.u32 %r2, 0;
            @%p1 bra M; mov.u32 %r2, 1; M: setp.eq.s32 %p2, %r2, 0; @%p2 bra L;""",
            True,
        ),
        # Two loops with one header: whether the counter grows is decided by what was read.
        (
            """L: ld.volatile.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;
            add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, 9; @%p2 bra L;""",
            True,
        ),
        # A guarded exit.
        ("L: ld.volatile.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 exit; bra L;", True),
        # Never left: nothing to wait for.
        ("L: ld.volatile.u32 %r1, [%rd1]; bra L;", False),
    ],
)
def test_what_decides_the_exit(body: str, waits: bool) -> None:
    graph = build_cfg(kernel(body + " ret;"))
    assert len(graph.loops) == 1
    assert bool(waiting(graph)) == waits


def test_only_the_waiting_loop_of_a_nest_is_marked() -> None:
    body = """
    OUTER: mov.u32 %r5, 0;
    INNER: ld.volatile.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra INNER;
    add.s32 %r6, %r6, 1; setp.lt.s32 %p2, %r6, 10; @%p2 bra OUTER;
    ret;
    """
    graph = build_cfg(kernel(body))
    assert [len(loop.body) for loop in graph.loops] == sorted((len(loop.body) for loop in graph.loops), reverse=True)
    assert waiting(graph) == {1}
