"""Dominators, natural loops and block order on plain graphs.

A graph is a list of successor tuples, nodes are list indices, node 0 is the entry.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

Graph = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """A header and every block that can reach one of its back edges without passing the header."""

    header: int
    body: frozenset[int]


def reverse_postorder(successors: Graph, entry: int = 0) -> tuple[list[int], set[tuple[int, int]]]:
    """The nodes reachable from `entry` in reverse post-order, and the edges that go back to an open node."""
    order: list[int] = []
    retreating: set[tuple[int, int]] = set()
    state = [0] * len(successors)  # 0 new, 1 open, 2 finished
    state[entry] = 1
    stack = [(entry, 0)]
    while stack:
        node, position = stack.pop()
        if position == len(successors[node]):
            state[node] = 2
            order.append(node)
            continue
        stack.append((node, position + 1))
        target = successors[node][position]
        if state[target] == 0:
            state[target] = 1
            stack.append((target, 0))
        elif state[target] == 1:
            retreating.add((node, target))
    order.reverse()
    return order, retreating


def immediate_dominators(successors: Graph, entry: int = 0) -> list[int | None]:
    """Immediate dominator of each node; None for the entry and for nodes that it does not reach.

    Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001).
    """
    order, _ = reverse_postorder(successors, entry)
    number = {node: position for position, node in enumerate(order)}
    predecessors = reverse(successors)
    dominator: list[int | None] = [None] * len(successors)
    dominator[entry] = entry
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best: int | None = None
            for predecessor in predecessors[node]:
                if dominator[predecessor] is None:
                    continue
                other: int = predecessor
                while best is not None and best != other:
                    if number[best] > number[other]:
                        best, other = other, best
                    other = dominator[other]  # type: ignore[assignment]  # set for every node that comes earlier
                best = other
            if dominator[node] != best:
                dominator[node] = best
                changed = True
    dominator[entry] = None
    return dominator


def immediate_post_dominators(successors: Graph) -> list[int | None]:
    """Immediate post-dominator of each node, looking at the paths that end.

    None where paths meet only at the function's end, and for nodes from which no path ends.
    """
    count = len(successors)
    backward = [list(edges) for edges in reverse(successors)]
    backward.append([node for node in range(count) if not successors[node]])
    dominators = immediate_dominators(backward, count)[:count]
    return [None if dominator == count else dominator for dominator in dominators]


def reverse(successors: Graph) -> list[list[int]]:
    """The graph with its edges turned round (parallel edges merged)."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in dict.fromkeys(targets):
            predecessors[target].append(node)
    return predecessors


def natural_loops(successors: Graph) -> tuple[list[NaturalLoop], set[tuple[int, int]]]:
    """Natural loops, one per header, outer loops before the loops they contain; and the back edges.

    A back edge goes to a node that dominates its origin; cycles entered at several nodes have none and are no loops.
    """
    dominator = immediate_dominators(successors)
    predecessors = reverse(successors)
    back_edges: set[tuple[int, int]] = set()
    for node, targets in enumerate(successors):
        if node and dominator[node] is None:
            continue
        for target in targets:
            above: int | None = node
            while above is not None and above != target:
                above = dominator[above]
            if above is not None:
                back_edges.add((node, target))
    bodies: dict[int, set[int]] = {}
    for origin, header in sorted(back_edges):
        body = bodies.setdefault(header, {header})
        pending = [origin]
        while pending:
            node = pending.pop()
            # Blocks that cannot be reached have no dominator and belong to no loop.
            if node not in body and (node == 0 or dominator[node] is not None):
                body.add(node)
                pending.extend(predecessors[node])
    loops = [NaturalLoop(header, frozenset(body)) for header, body in bodies.items()]
    loops.sort(key=lambda loop: (-len(loop.body), loop.header))
    return loops, back_edges


def innermost_loops(loops: Sequence[NaturalLoop], count: int) -> list[int | None]:
    """Index of the smallest loop around each node, None outside loops.  `loops` as from `natural_loops`."""
    innermost: list[int | None] = [None] * count
    for index, loop in enumerate(loops):
        for node in loop.body:
            innermost[node] = index
    return innermost


def loop_order(successors: Graph) -> list[int]:
    """The reachable nodes in a topological order of the forward edges that keeps every loop's nodes together.

    So each block of a loop comes before every block behind the loop's exits: who always runs the lowest pending
    block runs a loop until all threads have left it.  For reducible graphs the order is a reverse post-order; where
    cycles have several entries, forward edges are those that a depth-first search finds.
    """
    order, retreating = reverse_postorder(successors)
    position = {node: index for index, node in enumerate(order)}
    loops, back_edges = natural_loops(successors)
    cut = back_edges | retreating
    innermost = innermost_loops(loops, len(successors))
    parent: list[int | None] = []
    for index, loop in enumerate(loops):
        enclosing = [other for other in range(index) if loop.header in loops[other].body]
        parent.append(enclosing[-1] if enclosing else None)

    def chain(loop: int | None) -> list[int]:
        found: list[int] = []
        while loop is not None:
            found.append(loop)
            loop = parent[loop]
        return found

    chains = {node: chain(innermost[node]) for node in order}

    def member(node: int, level: int | None) -> tuple[int, int] | None:
        """What stands for `node` inside loop `level` (None: the whole function): itself or a loop directly inside."""
        around = chains[node]
        if level is None:
            return (1, around[-1]) if around else (0, node)
        if level not in around:
            return None
        at = around.index(level)
        return (1, around[at - 1]) if at else (0, node)

    result: list[int] = []

    def emit(level: int | None) -> None:
        nodes = [node for node in order if level is None or node in loops[level].body]
        waiting: dict[tuple[int, int], int] = {}
        rank: dict[tuple[int, int], int] = {}
        edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for node in nodes:
            here = member(node, level)
            assert here is not None
            rank.setdefault(here, position[node])
            waiting.setdefault(here, 0)
            for target in dict.fromkeys(successors[node]):
                there = None if (node, target) in cut else member(target, level)
                if there is not None and there != here:
                    waiting[there] = waiting.get(there, 0) + 1
                    edges.setdefault(here, []).append(there)
        ready = [(rank[item], item) for item, count in waiting.items() if not count]
        heapq.heapify(ready)
        while waiting:
            # Only a cycle with several entries can leave nothing ready: break it at its first node.
            item = heapq.heappop(ready)[1] if ready else min(waiting, key=rank.__getitem__)
            if waiting.pop(item, None) is None:
                continue
            if item[0]:
                emit(item[1])
            else:
                result.append(item[1])
            for target_item in edges.get(item, ()):
                if target_item in waiting:
                    waiting[target_item] -= 1
                    if not waiting[target_item]:
                        heapq.heappush(ready, (rank[target_item], target_item))

    emit(None)
    return result
