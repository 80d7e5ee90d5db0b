"""Changes that put in what a computation leaves out: a neighbour on the other side, a parameter that is used nowhere,
an array of indices, a factor for the neighbours that are added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import Access, Change, Function, Variable, ancestors, operator_of

if TYPE_CHECKING:
    from tree_sitter import Node

MIRRORED = {"+": "-", "-": "+"}
UNUSED = 0.4
"""What a change costs that uses a parameter which is used nowhere: none is handed over for nothing."""


def left_out_changes(function: Function) -> Iterator[Change]:
    """All of them."""
    sums: dict[int, list[Access]] = {}
    for access in function.accesses:
        sums.setdefault(_sum_of(access.node).id, []).append(access)
    for accesses in sums.values():
        yield from _neighbours(function, accesses)
    yield from _counted(function)
    for variable in _unused(function):
        yield from _used(function, variable)


# -- sums of neighbours ----------------------------------------------------------------


def _sum_of(node: Node) -> Node:
    """The whole sum that a node is a term of, through products and brackets; of anything else itself."""
    whole, inner = node, node
    while (outer := inner.parent) is not None:
        if operator_of(outer) in ("+", "-"):
            whole = outer
        elif operator_of(outer) != "*" and outer.type != "parenthesized_expression":
            break
        inner = outer
    return whole


def _term_of(node: Node) -> Node:
    """The term of a sum that a node is a factor of."""
    term = node
    while (outer := term.parent) is not None and operator_of(outer) == "*":
        term = outer
    return term


def _place(function: Function, access: Access) -> tuple[str, str, str] | None:
    """Of `in[k - cols]` what precedes the last sign of its index, the sign, and the distance; None of any other."""
    index = access.node.child_by_field_name("indices")
    inner = index.named_children[0] if index is not None and index.named_children else None
    sign = operator_of(inner) if inner is not None else ""
    left, right = (inner.child_by_field_name(side) if inner is not None else None for side in ("left", "right"))
    if sign not in MIRRORED or left is None or right is None:
        return None
    before = function.parsed.data[access.node.start_byte : left.end_byte].decode("utf-8", errors="replace")
    return "".join(before.split()), sign, "".join(function.text(right).split())


def _neighbours(function: Function, accesses: list[Access]) -> Iterator[Change]:
    """The neighbour on the other side: in place of one that is added twice, or as another term."""
    places = [(access, place) for access in accesses if (place := _place(function, access)) is not None]
    count = Counter(place for _access, place in places)
    for access, (base, sign, distance) in places:
        if count[base, MIRRORED[sign], distance]:
            continue
        line = function.line(access.node)
        other = _mirrored(function, access)
        if count[base, sign, distance] > 1:
            yield Change("index", line, (function.replaced(access.node, other),), 0.6, "mirrored")
        elif len(places) > 1:
            term = _term_of(access.node)
            outer = term.parent
            is_taken = outer is not None and operator_of(outer) == "-" and outer.child_by_field_name("right") == term
            text = function.text(term).replace(function.text(access.node), other, 1)
            edit = function.inserted(term.end_byte, f" {'-' if is_taken else '+'} {text}")
            yield Change("expression", line, (edit,), 1.0, "neighbour", "neighbour")


def _mirrored(function: Function, access: Access) -> str:
    index = access.node.child_by_field_name("indices")
    operator = index.named_children[0].child_by_field_name("operator") if index is not None else None
    assert operator is not None
    start = operator.start_byte - access.node.start_byte
    data = function.parsed.data[access.node.start_byte : access.node.end_byte]
    text = data[:start] + MIRRORED[operator.type].encode() + data[start + len(operator.type) :]
    return text.decode("utf-8", errors="replace")


def _counted(function: Function) -> Iterator[Change]:
    """The element itself as many times as it has neighbours: `up + down + left + right - 4 * here`."""
    own = Counter(access.array for access in function.accesses)
    for node in function.nodes if function.accesses else ():
        right = node.child_by_field_name("right")
        if operator_of(node) != "-" or right is None or right.type not in ("subscript_expression", "identifier"):
            continue
        if any(outer.type == "subscript_argument_list" for outer in ancestors(node, function.body)):
            continue
        array = function.text(right).partition("[")[0]
        for times in sorted(({own[array] - 1} | {2, 4}) - {-1, 0, 1}):
            edit = function.replaced(right, f"{times} * {function.text(right)}")
            yield Change("expression", function.line(right), (edit,), 2.2, "factor", "factor")


# -- parameters that are used nowhere --------------------------------------------------


def _unused(function: Function) -> Iterator[Variable]:
    words = function.parsed.words(function.body)
    for variable in function.variables:
        if variable.start == function.body.start_byte and variable.name not in words and variable.name.isidentifier():
            yield variable


def _used(function: Function, variable: Variable) -> Iterator[Change]:
    """A parameter put where it may be meant: an array's element for an index or as a factor, a number as a factor."""
    if variable.role == "array":
        is_of_indices = "int" in variable.type or "size" in variable.type or "long" in variable.type
        for access in function.accesses:
            indices = access.node.child_by_field_name("indices")
            index = indices.named_children[0] if indices is not None and indices.named_children else None
            if index is None:
                continue
            line, text = function.line(access.node), function.text(index)
            if is_of_indices:
                edit = function.replaced(index, f"{variable.name}[{text}]")
                yield Change("index", line, (edit,), UNUSED, "unused", "unused")
            elif not _is_stored(access.node):
                for own in dict.fromkeys([text, *_loop_indices(function, access.node)]):
                    edit = function.inserted(access.node.end_byte, f" * {variable.name}[{own}]")
                    yield Change("expression", line, (edit,), UNUSED + 0.4, "unused", "unused")
        return
    if variable.role != "value":
        return
    for node in function.nodes:
        made = node.child_by_field_name("right") if node.type == "assignment_expression" else None
        made = node.child_by_field_name("value") if node.type == "init_declarator" else made
        if made is None or made.type == "initializer_list":
            continue
        line = function.line(made)
        if operator_of(made) in ("+", "-") and (right := made.child_by_field_name("right")) is not None:
            text = function.text(right)
            text = f"({text})" if operator_of(right) in ("+", "-") else text
            yield Change("expression", line, (function.replaced(right, f"{variable.name} * {text}"),), UNUSED, *_UNUSED)
        text = function.text(made)
        text = f"({text})" if made.type == "binary_expression" else text
        if any(operator_of(outer) for outer in ancestors(made, function.body)) or "[" in text or "(" in text:
            edit = function.replaced(made, f"{variable.name} * {text}")
            yield Change("expression", line, (edit,), UNUSED + 0.2, *_UNUSED)
        for sign in "+-":
            edit = function.inserted(made.end_byte, f" {sign} {variable.name}")
            yield Change("expression", line, (edit,), UNUSED + 0.8, *_UNUSED)


_UNUSED = ("unused", "unused")


def _is_stored(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == node


def _loop_indices(function: Function, node: Node) -> Iterator[str]:
    """Variables of the loops around a node, the innermost first."""
    loops = [outer for outer in ancestors(node, function.body) if outer.type == "for_statement"]
    for loop in loops:
        start = loop.child_by_field_name("initializer")
        if start is not None:
            yield from (v.name for v in function.variables if start.start_byte <= v.start <= start.end_byte)
