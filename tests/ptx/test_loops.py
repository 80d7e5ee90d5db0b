"""Loops: graph algorithms against their definitions on random graphs; which loops wait for another thread."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.parser import parse
from grader.ptx.loops import (
    immediate_dominators,
    immediate_post_dominators,
    innermost_loops,
    loop_order,
    natural_loops,
    reverse_postorder,
)
from grader.ptx.machine.code import ControlFlowGraph, build_cfg
from tests.ptx.nvrtc import compile_file
from tests.ptx.ptx_text import kernel

Graph = list[tuple[int, ...]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of up to nine nodes with at most two successors each: irreducible ones and dead code included."""
    count = draw(st.integers(1, 9))
    node = st.integers(0, count - 1)
    return [tuple(draw(st.lists(node, max_size=2))) for _ in range(count)]


@st.composite
def structured(draw: st.DrawFn) -> Graph:
    """A graph as `if`, loops, `break`, `continue` and `return` make it: always reducible."""
    successors: list[list[int]] = [[]]

    def node() -> int:
        successors.append([])
        return len(successors) - 1

    def body(at: int, depth: int, breaks: list[list[int]], headers: list[int]) -> int | None:
        """Extend the code from block `at`; returns the block it falls out of, None when it never does."""
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["if", "loop", "do", "break", "continue", "return", "plain"]))
            if kind == "if" and depth:
                then, join = node(), node()
                successors[at] += [then, join] if draw(st.booleans()) else [join, then]
                end = body(then, depth - 1, breaks, headers)
                if end is not None:
                    successors[end].append(join)
                at = join
            elif kind == "loop" and depth:
                header, first, after = node(), node(), node()
                successors[at].append(header)
                successors[header] += [first, after] if draw(st.booleans()) else [after, first]
                breaks.append([])
                end = body(first, depth - 1, breaks, [*headers, header])
                for block in breaks.pop():
                    successors[block].append(after)
                if end is not None:
                    successors[end].append(header)
                at = after
            elif kind == "do" and depth:
                header, after = node(), node()
                successors[at].append(header)
                breaks.append([])
                end = body(header, depth - 1, breaks, [*headers, header])
                for block in breaks.pop():
                    successors[block].append(after)
                if end is not None:
                    successors[end] += [header, after]
                at = after
            elif kind in ("break", "continue") and headers:
                rest = node()
                successors[at].append(rest)
                if kind == "break":
                    breaks[-1].append(at)
                else:
                    successors[at].append(headers[-1])
                at = rest
            elif kind == "return":
                rest, out = node(), node()
                successors[at] += [out, rest]
                at = rest
        return at

    body(0, 3, [], [])
    return [tuple(targets) for targets in successors]


def reachable(graph: Graph, start: int, without: int | None = None) -> set[int]:
    """Nodes on paths from `start` that avoid `without`."""
    if start == without:
        return set()
    found = {start}
    pending = [start]
    while pending:
        for target in graph[pending.pop()]:
            if target != without and target not in found:
                found.add(target)
                pending.append(target)
    return found


def dominators(graph: Graph, node: int) -> set[int]:
    """Nodes without which the entry cannot reach `node`."""
    return {other for other in range(len(graph)) if node not in reachable(graph, 0, without=other)}


def post_dominators(graph: Graph, node: int) -> set[int]:
    """Nodes without which `node` cannot reach an end."""
    ends = {end for end, targets in enumerate(graph) if not targets}
    return {other for other in range(len(graph)) if not reachable(graph, node, without=other) & ends}


@settings(deadline=None)
@given(graphs())
def test_immediate_dominators(graph: Graph) -> None:
    live = reachable(graph, 0)
    for node, immediate in enumerate(immediate_dominators(graph)):
        if node == 0 or node not in live:
            assert immediate is None
            continue
        strict = dominators(graph, node) - {node}
        assert immediate in strict
        # The immediate one is the strict dominator that all others dominate.
        assert dominators(graph, immediate or 0) == strict


@settings(deadline=None)
@given(graphs())
def test_immediate_post_dominators(graph: Graph) -> None:
    ends = {end for end, targets in enumerate(graph) if not targets}
    for node, immediate in enumerate(immediate_post_dominators(graph)):
        if not reachable(graph, node) & ends:
            assert immediate is None
            continue
        strict = post_dominators(graph, node) - {node}
        if immediate is None:
            assert not strict
        else:
            assert immediate in strict
            assert post_dominators(graph, immediate) == strict


@settings(deadline=None)
@given(graphs())
def test_natural_loops(graph: Graph) -> None:
    live = reachable(graph, 0)
    expected: dict[int, set[int]] = {}
    edges = set()
    for node in live:
        for target in graph[node]:
            if target in dominators(graph, node):
                edges.add((node, target))
                body = {n for n in live - {target} if node in reachable(graph, n, without=target)}
                expected.setdefault(target, {target}).update(body)
    loops, back_edges = natural_loops(graph)
    assert back_edges == edges
    assert {loop.header: set(loop.body) for loop in loops} == expected
    innermost = innermost_loops(loops, len(graph))
    for node in range(len(graph)):
        around = [loop for loop in loops if node in loop.body]
        smallest = min(around, key=lambda loop: len(loop.body), default=None)
        index = innermost[node]
        assert (loops[index] if index is not None else None) == smallest


@settings(deadline=None)
@given(graphs())
def test_orders_hold_every_reachable_node_once(graph: Graph) -> None:
    live = sorted(reachable(graph, 0))
    for order in (loop_order(graph), reverse_postorder(graph)[0]):
        assert order[0] == 0
        assert sorted(order) == live


@settings(deadline=None)
@given(structured())
def test_loops_stay_together_and_come_before_what_follows_them(graph: Graph) -> None:
    order = loop_order(graph)
    place = {node: index for index, node in enumerate(order)}
    loops, back_edges = natural_loops(graph)
    for node in order:
        for target in graph[node]:
            assert place[node] < place[target] or (node, target) in back_edges
    for loop in loops:
        places = sorted(place[node] for node in loop.body)
        assert places == list(range(place[loop.header], place[loop.header] + len(places)))


def test_an_exit_taken_in_the_middle_comes_after_the_whole_loop() -> None:
    # 0 → 1 (header) → 2; 2 branches to 3 (goes round) and 4, which leaves to 5 or goes round through 6.
    graph: Graph = [(1,), (2,), (3, 4), (1,), (5, 6), (), (1,)]
    order = loop_order(graph)
    assert order[:2] == [0, 1]
    assert order[-1] == 5


def test_deep_nesting_and_long_chains() -> None:
    count = 3000
    chain: Graph = [(node + 1,) for node in range(count)] + [()]
    assert loop_order(chain) == list(range(count + 1))
    assert immediate_dominators(chain)[count] == count - 1


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
