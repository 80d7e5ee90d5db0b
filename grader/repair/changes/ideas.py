"""Changes of several places that are one idea: axes exchanged, an array's row length, sums that nobody adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair.change import Change
from grader.repair.function import Function
from grader.submission.cpp.tree import descendants

if TYPE_CHECKING:
    from tree_sitter import Node

OTHER = {"x": "y", "y": "x"}


def idea_changes(function: Function) -> Iterator[Change]:
    """All of them, in order of the text."""
    yield from _axes(function)
    yield from _row_lengths(function)
    yield from _lost_sums(function)
    yield from _global_indices(function)


def _axes(function: Function) -> Iterator[Change]:
    """x and y in each other's place in two indices that are made one after the other: of blocks, or of threads too."""
    made = [n for n in function.nodes if n.type in ("init_declarator", "assignment_expression")]
    for one, two in pairwise(made):
        places = [_axis_places(function, one), _axis_places(function, two)]
        axes = [{function.text(n) for _base, n in found} for found in places]
        if any(len(found) != 1 for found in axes) or axes[0] == axes[1] or not axes[0] | axes[1] <= OTHER.keys():
            continue
        everything = [*places[0], *places[1]]
        blocks = [place for place in everything if place[0] in ("blockIdx", "gridDim", "blockDim")]
        line, last = function.line(one), function.line(two)
        detail = {0: "axes", 1: "axes_next"}.get(last - line)
        if detail is None:
            continue
        for chosen, cost in ((blocks, 1.6), (everything, 1.7)):
            edits = tuple(function.replaced(node, OTHER[function.text(node)]) for _base, node in chosen)
            if len(edits) > 1:
                yield Change("index", line, edits, cost, "axis", detail)


def _axis_places(function: Function, node: Node) -> list[tuple[str, Node]]:
    """The axes that an index is made of: of which variable, and where its letter stands."""
    found = []
    for part in descendants(node):
        base, field = part.child_by_field_name("argument"), part.child_by_field_name("field")
        if part.type == "field_expression" and base is not None and field is not None:
            name = function.text(base)
            if name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
                found.append((name, field))
    return found


def _row_lengths(function: Function) -> Iterator[Change]:
    """`a[row * p + col]` with the row length that the same array has in another line."""
    found: list[tuple[str, int, Node]] = []
    for access in function.accesses:
        indices = access.node.child_by_field_name("indices")
        index = indices.named_children[0] if indices is not None and indices.named_children else None
        for node in descendants(index) if index is not None else ():
            operator = node.child_by_field_name("operator")
            right = node.child_by_field_name("right")
            if node.type == "binary_expression" and operator is not None and operator.type == "*" and right is not None:
                found.append((access.array, access.line, right))
    for array, line, length in found:
        others = {function.text(n) for name, _line, n in found if name == array} - {function.text(length)}
        for other in sorted(others):
            yield Change("index", line, (function.replaced(length, other),), 1.6, "pitch")


def _lost_sums(function: Function) -> Iterator[Change]:
    """`out[i] = s0` where a second sum `s1` is added to, and never used."""
    names = Counter(function.text(n) for n in function.nodes if n.type == "identifier")
    added: Counter[str] = Counter()
    stores = []
    for node in function.nodes:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if node.type != "assignment_expression" or left is None or right is None or operator is None:
            continue
        if left.type == "identifier" and operator.type == "+=":
            added[function.text(left)] += 1
        elif left.type == "subscript_expression" and right.type == "identifier":
            stores.append(right)
    for name, count in added.items():
        # Its declaration and what is added to it are all that mentions it.
        if names[name] != count + 1:
            continue
        for stored in stores:
            if function.text(stored) in added and name in function.known_at(stored):
                edit = function.inserted(stored.end_byte, f" + {name}")
                yield Change("expression", function.line(stored), (edit,), 1.4, "lost", "lost")


def _global_indices(function: Function) -> Iterator[Change]:
    """An index of the whole grid where that of the block, or of the thread within it, is taken for it."""
    for node in function.nodes:
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        text = function.text(value).replace(" ", "") if value is not None else ""
        if value is not None and text in ("blockIdx.x", "threadIdx.x"):
            edit = function.replaced(value, "blockIdx.x * blockDim.x + threadIdx.x")
            yield Change("index", function.line(node), (edit,), 2.4, "global_index")
