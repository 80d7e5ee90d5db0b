"""Changes of several places that are one idea: axes exchanged, an array's row length, sums that nobody adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair.change import Change
from grader.repair.function import Function, Variable
from grader.submission.cpp.tree import descendants

if TYPE_CHECKING:
    from tree_sitter import Node

OTHER = {"x": "y", "y": "x"}


def idea_changes(function: Function) -> Iterator[Change]:
    """All of them, in order of the text."""
    yield from _axes(function)
    yield from _names_together(function)
    yield from _tiles(function)
    yield from _row_lengths(function)
    yield from _lost_sums(function)
    yield from _global_indices(function)


def _axes(function: Function) -> Iterator[Change]:
    """x and y in each other's place in two indices that are made one after the other: of blocks, or of threads too."""
    for one, two in pairwise(_made(function)):
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


def _names_together(function: Function) -> Iterator[Change]:
    """One size for another in two indices that are made one after the other: `r = i / rows`, `c = i % rows`."""
    for one, two in pairwise(_made(function)):
        line, last = function.line(one), function.line(two)
        detail = {0: "", 1: "names_next"}.get(last - line)
        if detail is None:
            continue
        known = {name: v for name, v in function.known_at(one).items() if v.role == "size"}
        used = [{n: function.text(n) for n in descendants(part) if n.type == "identifier"} for part in (one, two)]
        for name in sorted(known.keys() & set(used[0].values()) & set(used[1].values())):
            origin = _origin(function, known[name])
            places = [node for names in used for node, text in names.items() if text == name]
            for other in sorted(n for n, v in known.items() if n != name and _origin(function, v) == origin):
                edits = tuple(function.replaced(node, other) for node in places)
                yield Change("index", line, edits, 1.2, "size", detail)


def _origin(function: Function, variable: Variable) -> int:
    """Where a size comes from: 0 from the file, 1 from the caller, 2 from the function itself."""
    body = function.body.start_byte
    return (variable.start >= body) + (variable.start > body)


def _made(function: Function) -> list[Node]:
    """Where variables are given values, in order of the text."""
    return [n for n in function.nodes if n.type in ("init_declarator", "assignment_expression")]


def _tiles(function: Function) -> Iterator[Change]:
    """The tile of B loaded as that of A is: `by * S + ty, t * S + tx` for `t * S + ty, bx * S + tx`, or the reverse.

    What is multiplied by the same side in two indices that follow each other, or in one of an array: one comes from the
    block, one from the loop over tiles.
    """
    made = _made(function)
    blocks = _block_indices(function)
    subscripts = [access.node.child_by_field_name("indices") for access in function.accesses]
    groups = [*(list(pair) for pair in pairwise(made)), *([node] for node in [*made, *subscripts] if node is not None)]
    for parts in groups:
        scaled = [node for part in parts for node in _scaled(function, part)]
        if len(scaled) != 2 or function.line(scaled[1][0]) - function.line(scaled[0][0]) > 1:
            continue
        (one, side), (two, other_side) = scaled
        axes = [blocks.get(function.text(node).replace(" ", "")) for node in (one, two)]
        axis = axes[0] or axes[1]
        block, moved = (one, two) if axes[0] is not None else (two, one)
        if side != other_side or axis is None or None not in axes or moved.type != "identifier":
            continue
        turned = next(name for name, other in blocks.items() if other == OTHER[axis])
        edits = (function.replaced(block, function.text(moved)), function.replaced(moved, turned))
        yield Change("index", function.line(one), edits, 0.9, "axis", "tile")


def _block_indices(function: Function) -> dict[str, str]:
    """What stands for a block's index, with its axis: variables that are given it, then `blockIdx.x` itself."""
    found = {}
    for node in function.nodes:
        name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        text = function.text(value).replace(" ", "") if node.type == "init_declarator" and value is not None else ""
        if name is not None and text in ("blockIdx.x", "blockIdx.y"):
            found[function.text(name)] = text[-1]
    return found | {"blockIdx.x": "x", "blockIdx.y": "y"}


def _scaled(function: Function, part: Node) -> list[tuple[Node, str]]:
    """The factors `X` of products `X * side`, X being a name or a component, and the sides."""
    found = []
    for node in descendants(part):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type == "binary_expression" and left is not None and right is not None:
            is_name = left.type in ("identifier", "field_expression")
            operator = node.child_by_field_name("operator")
            if is_name and operator is not None and operator.type == "*":
                found.append((left, function.text(right)))
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
