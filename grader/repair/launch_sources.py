"""Where what is launched comes from: the sides of a grid and a block, followed to where they are defined, and the
divisions that they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, is_rounded_down, operator_of
from grader.repair.several_places import replaced_in
from grader.submission.cpp.tree import declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STEPS = 4
"""Variables that are followed from a launch to where their values come from."""
NAMES = ("identifier", "type_identifier", "parameter_declaration")
"""What a variable may be to the parser, which takes `dim3 grid(x, y)` for a function of types x and y."""
_QUOTIENT = re.compile(r"[\s(]*(\w+|\(\w+\))\s*/\s*(\w+|\(\w+\))[\s)]*")


def axes_of(function: Function, node: Node) -> list[Node]:
    """What the sides of a grid or a block are given where it is defined; the node itself where it is a number."""
    if node.type == "call_expression":
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is not None and arguments is not None and function.text(callee) == "dim3":
            return listed(arguments)
        return [node]
    if node.type == "initializer_list":
        return listed(node)
    if node.type not in NAMES:
        return [node]
    set_apart = _members(function, node)
    if set_apart:
        return set_apart
    for given in _definitions(function, node):
        if given.type in ("argument_list", "parameter_list", "initializer_list"):
            return listed(given)
        if given.type == "call_expression":
            return axes_of(function, given)
        if given.type != "identifier":
            return [node]
    return [node]


def _members(function: Function, node: Node) -> list[Node]:
    """What `grid.x` and `grid.y` are set to before a launch."""
    name = function.text(node)
    by_axis: dict[str, Node] = {}
    for other in function.nodes:
        left = other.child_by_field_name("left") if other.type == "assignment_expression" else None
        right = other.child_by_field_name("right") if left is not None else None
        if left is not None and right is not None and other.start_byte < node.start_byte:
            for axis in "xy":
                if function.text(left).replace(" ", "") == f"{name}.{axis}":
                    by_axis[axis] = right
    return [by_axis[axis] for axis in "xy" if axis in by_axis] if "x" in by_axis else []


def _definitions(function: Function, node: Node) -> list[Node]:
    """What a variable is given, the last definition before its use first."""
    name, definitions = function.text(node), []
    for other in function.nodes:
        if other.start_byte >= node.start_byte:
            break
        if other.type == "init_declarator" and declared_name(other) == name:
            value = other.child_by_field_name("value")
            given = value or next((c for c in other.named_children if c.type == "argument_list"), None)
            definitions += [given] if given is not None else []
        elif other.type == "function_declarator" and declared_name(other) == name:
            given = other.child_by_field_name("parameters")
            definitions += [given] if given is not None else []
        elif other.type == "assignment_expression":
            left, right = other.child_by_field_name("left"), other.child_by_field_name("right")
            if left is not None and right is not None and function.text(left) == name:
                definitions.append(right)
    return definitions[::-1]


def _definitions_above(function: Function, node: Node) -> list[Node]:
    """What a variable at file level is given, `const int BLOCKS = N / TILE`."""
    items = function.parsed.by_name.get(function.text(node), ())
    declared = [n for item in items if item.kind == "variable" and item.active for n in item.node.named_children]
    values = [n.child_by_field_name("value") for n in declared if n.type == "init_declarator"]
    return [value for value in values if value is not None]


def source_of(function: Function, node: Node, stops: Callable[[Function, Node], bool] = lambda _f, _n: False) -> Node:
    """The expression behind a variable, where it is computed in the function; the node itself else.

    stops: names that are not followed.
    """
    for _step in range(MAX_STEPS):
        given = _definitions(function, node) if node.type in NAMES and not stops(function, node) else []
        # A number that has a name of its own is used elsewhere, too.
        if not given or given[0].type in ("argument_list", "parameter_list", "initializer_list", "number_literal"):
            break
        node = given[0]
    return node


def rounded_down(function: Function, node: Node, depth: int = 0) -> Iterator[Node]:
    """The divisions that a number of blocks comes from and that are not rounded up."""
    if depth > MAX_STEPS:
        return
    if node.type in NAMES:
        given = _definitions(function, node) or _definitions_above(function, node)
        if given and given[0].type != "argument_list":
            yield from rounded_down(function, given[0], depth + 1)
    elif node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        if operator is not None and operator.type == "/":
            if is_rounded_down(function, node) and not _has_remainder(function, node):
                yield node
            return
        for child in node.named_children:
            yield from rounded_down(function, child, depth)
    elif node.type in ("parenthesized_expression", "call_expression", "argument_list", "cast_expression"):
        for child in node.named_children:
            yield from rounded_down(function, child, depth)


def _has_remainder(function: Function, node: Node) -> bool:
    """Whether what is left over by a division is looked at beside it: `n / 4 + (n % 4 != 0)`."""
    outer = node
    while outer.parent is not None and operator_of(outer.parent) in ("+", "-"):
        outer = outer.parent
    return any(operator_of(part) == "%" for part in descendants(outer))


def remainders(function: Function, source: Node) -> Iterator[Change]:
    """`n / 32 + (n % 4 != 0)` with the same divisor in both."""
    parts = {sign: [n for n in descendants(source) if operator_of(n) == sign] for sign in "/%"}
    for one, other in product(parts["/"], parts["%"]):
        for side in ("left", "right"):
            own, meant = other.child_by_field_name(side), one.child_by_field_name(side)
            if own is not None and meant is not None and function.text(own) != function.text(meant):
                edit = function.replaced(own, function.text(meant))
                yield Change("launch", function.line(other), (edit,), 0.7, "grid_rounded", "remainder")


def rounded_up(function: Function, node: Node) -> Edit | None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return None
    divisor = function.text(right)
    bracketed = f"({divisor})" if right.type == "binary_expression" else divisor
    return function.replaced(node, f"({function.text(left)} + {divisor} - 1) / {bracketed}")


def macros_rounded_up(function: Function, node: Node) -> Iterator[tuple[Node, Edit]]:
    """Of the macros that a number of blocks is written with, `#define BLOCKS (N / TILE)`, their bodies rounded up."""
    for name in sorted(function.parsed.words(source_of(function, node))):
        for item in function.parsed.by_name.get(name, ()):
            body = item.node.child_by_field_name("value") if item.kind == "macro" and item.active else None
            quotient = _QUOTIENT.fullmatch(function.text(body)) if body is not None else None
            if body is not None and quotient is not None:
                above, below = quotient.groups()
                yield body, replaced_in(function.parsed, body, f"(({above} + {below} - 1) / {below})")


def same_numbers(function: Function, grid: Node, side: Node, name: str) -> tuple[Edit, ...]:
    """A grid's literals that equal a side of the block, or one less, with the constant in their place."""
    text = function.text(side)
    if not text.isdigit():
        return ()
    edits = []
    for axis in axes_of(function, grid):
        for node in _numbers(source_of(function, axis)):
            if function.text(node) == text:
                edits.append(function.replaced(node, name))
            elif function.text(node) == str(int(text) - 1):
                edits.append(function.replaced(node, f"{name} - 1"))
    return tuple(edits)


def _numbers(node: Node) -> Iterator[Node]:
    if node.type == "number_literal":
        yield node
    for child in node.named_children:
        yield from _numbers(child)


def identifiers(function: Function, node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    if node.type != "sizeof_expression":
        for child in node.named_children:
            yield from identifiers(function, child)


def listed(node: Node) -> list[Node]:
    return [n for n in node.named_children if n.type != "comment"]


def first_name(function: Function, node: Node) -> Node | None:
    """The first variable of an expression: what is divided, where a number of blocks is computed."""
    names = (item for item in descendants(node) if item.type == "identifier" and not _is_callee(item))
    return next(names, None)


def _is_callee(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "call_expression" and parent.child_by_field_name("function") == node
