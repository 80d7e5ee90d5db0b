"""Changes of what goes wrong in one known way: distances of shuffles that do not fit their lanes, differences that
overflow, one element handled where several are left over, sums whose digits float does not hold, and arguments of
templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.calls import arguments_of
from grader.repair.function import Change, Function, operator_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_SHUFFLE = re.compile(r"__shfl_(?:up|down|xor)_sync")
_SIGNED = re.compile(r"(?:const|volatile|signed|long|short|int|int(?:16|32|64)_t|\s)+")
_DOUBLED = re.compile(r"\*=\s*2$|<<=\s*1$")
_HALVED = re.compile(r"/=\s*2$|>>=\s*1$")
_OF_ZERO = ("<", ">", "<=", ">=")
LIKELY = 0.3
"""What a change costs of which nothing but the fault it is for gives occasion."""

PRECISION = "precision"
"""The group of what helps where results are nearly right, and is tried there alone."""


def pitfall_changes(function: Function) -> Iterator[Change]:
    """All of them."""
    for node in function.nodes:
        if node.type == "for_statement":
            yield from _distances(function, node)
        elif node.type == "call_expression":
            yield from _width(function, node)
            yield from _template(function, node)
        elif node.type == "if_statement":
            yield from _left_over(function, node)
        elif operator_of(node) == "-":
            yield from _compared(function, node)
    yield from _in_double(function)


# -- shuffles --------------------------------------------------------------------------


def _distances(function: Function, loop: Node) -> Iterator[Change]:
    """`for (d = W; d > 0; d /= 2)` around a shuffle by `d` from half or twice as far; `for (d = 1; d < W; d *= 2)` so
    far."""
    start, update, body = (loop.child_by_field_name(name) for name in ("initializer", "update", "body"))
    if start is None or update is None or body is None:
        return
    inner = start.child_by_field_name("declarator") if start.type == "declaration" else start
    if inner is None:
        return
    value = inner.child_by_field_name("value") or inner.child_by_field_name("right")
    name = declared_name(inner.child_by_field_name("declarator") or inner.child_by_field_name("left"))
    is_distance = any(
        len(given) > 2 and name in function.parsed.words(given[2])
        for node in descendants(body)
        if (given := _shuffled(function, node))
    )
    if not name or value is None or not is_distance:
        return
    text = function.text(update)
    condition = loop.child_by_field_name("condition")
    end = condition.child_by_field_name("right") if condition is not None else None
    far = value if _HALVED.search(text) else end if _DOUBLED.search(text) else None
    if far is None:
        return
    for other in _halved_or_doubled(function, far):
        yield Change("bound", function.line(loop), (function.replaced(far, other),), LIKELY, "shuffle", "shuffle")


def _width(function: Function, call: Node) -> Iterator[Change]:
    """The number of lanes that exchange values: half or twice as many, or as many as a constant says."""
    given = _shuffled(function, call)
    if len(given) > 3:
        for other in _halved_or_doubled(function, given[3]):
            edit = function.replaced(given[3], other)
            yield Change("expression", function.line(call), (edit,), LIKELY, "shuffle", "shuffle_width")
    elif len(given) == 3:
        for variable in function.known_at(call).values():
            if variable.role == "size" and not variable.start:
                edit = function.inserted(given[2].end_byte, f", {variable.name}")
                yield Change("expression", function.line(call), (edit,), 1.2, "shuffle", "shuffle_width")


def _shuffled(function: Function, node: Node) -> list[Node]:
    """What a shuffle is given, its mask first; [] of anything else."""
    callee = node.child_by_field_name("function") if node.type == "call_expression" else None
    return arguments_of(node) if callee is not None and _SHUFFLE.fullmatch(function.text(callee)) else []


def _halved_or_doubled(function: Function, node: Node) -> Iterator[str]:
    text, left = function.text(node), node.child_by_field_name("left")
    if re.fullmatch(r"\d+", text):
        yield from (str(n) for n in (int(text) // 2, 2 * int(text)) if n)
    elif left is not None and re.search(r"(?:/\s*2|>>\s*1)$", text):
        yield function.text(left)
        yield f"{function.text(left)} / 4"
    elif left is None:
        yield from (f"{text} / 2", f"2 * {text}")


# -- templates -------------------------------------------------------------------------


def _template(function: Function, node: Node) -> Iterator[Change]:
    """`load<2 * ROWS>(…)` with another number: what other calls are given, one side of a product, another size."""
    given = _given_to_template(node)
    callee = node.child_by_field_name("function")
    if callee is None or not given:
        return
    name = function.text(callee).partition("<")[0]
    others = [
        _given_to_template(other)
        for item in function.parsed.functions.values()
        if item.is_device
        for other in descendants(item.node)
        if other.type == "call_expression"
        and (called := other.child_by_field_name("function")) is not None
        and function.text(called).partition("<")[0] == name
    ]
    sizes = [v.name for v in function.known_at(node).values() if v.role == "size" and not v.start]
    for place, argument in enumerate(given):
        own = function.text(argument)
        usual = [function.text(other[place]) for other in others if len(other) == len(given)]
        sides = [argument.child_by_field_name(side) for side in ("left", "right")]
        parts = [function.text(side) for side in sides if side is not None and side.type != "number_literal"]
        costs = dict.fromkeys(sizes, 1.6) | dict.fromkeys(parts, 0.8) | dict.fromkeys(usual, 0.4)
        for text, cost in costs.items():
            if text != own:
                edit = function.replaced(argument, text)
                yield Change("expression", function.line(argument), (edit,), cost, "template", "template")


def _given_to_template(call: Node) -> list[Node]:
    """The arguments in angle brackets of what a call calls."""
    callee = call.child_by_field_name("function")
    given = callee.child_by_field_name("arguments") if callee is not None and "template" in callee.type else None
    return [n for n in given.named_children if n.type != "comment"] if given is not None else []


# -- differences -----------------------------------------------------------------------


def _compared(function: Function, node: Node) -> Iterator[Change]:
    """`a - b > 0` as `a > b`; a difference whose sign alone is used as one of comparisons."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or not (_is_signed(function, left) or _is_signed(function, right)):
        return
    one, other = function.text(left), function.text(right)
    line, outer = function.line(node), _around(node)
    if _is_with_zero(function, outer, node):
        operator, inner = outer.child_by_field_name("operator"), outer.child_by_field_name("right")
        if operator is not None and inner is not None:
            edit = function.replaced(outer, f"{one} {operator.type} {other}")
            yield Change("comparison", line, (edit,), LIKELY, "overflow", "overflow")
        return
    if outer.type == "return_statement":
        name = function.item.name.rpartition("::")[2]
    elif outer.type == "init_declarator" and outer.child_by_field_name("value") is not None:
        name = declared_name(outer)
    else:
        return
    if _has_sign_used(function, name, is_called=outer.type == "return_statement"):
        edit = function.replaced(node, f"({one} > {other}) - ({one} < {other})")
        yield Change("comparison", line, (edit,), LIKELY, "overflow", "overflow")


def _has_sign_used(function: Function, name: str, *, is_called: bool) -> bool:
    """Whether a variable, or what a function returns, is compared with 0: by itself or in a variable made of it."""
    items = [i for i in function.parsed.functions.values() if i.is_device] if is_called else [function.item]
    for item in items:
        if item.node.child_by_field_name("body") is None or name not in function.parsed.words(item.node):
            continue
        inner = Function(function.parsed, item, item.is_kernel)
        names = set() if is_called else {name}
        for node in inner.nodes:
            callee = node.child_by_field_name("function") if node.type == "call_expression" else None
            is_it = callee is not None and is_called and inner.text(callee) == name
            if not is_it and not (node.type == "identifier" and inner.text(node) in names):
                continue
            outer = _around(node)
            if _is_with_zero(inner, outer, node):
                return True
            if is_it and outer.type == "init_declarator":
                names.add(declared_name(outer))
    return False


def _around(node: Node) -> Node:
    """What a node stands in, brackets left out."""
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    return outer or node


def _is_with_zero(function: Function, comparison: Node, node: Node) -> bool:
    right = comparison.child_by_field_name("right")
    is_left = right is not None and not right.start_byte <= node.start_byte < right.end_byte
    return operator_of(comparison) in _OF_ZERO and is_left and right is not None and function.text(right) == "0"


def _is_signed(function: Function, node: Node) -> bool:
    """Whether something is declared as a signed integer, or as an element of an array of such."""
    variable = function.known_at(node).get(function.text(node).partition("[")[0])
    return variable is not None and _SIGNED.fullmatch(variable.type) is not None


# -- what is left over -----------------------------------------------------------------


def _left_over(function: Function, node: Node) -> Iterator[Change]:
    """`if (n % 4) y[n - 1] = …` as a loop over all that four do not divide."""
    body = node.child_by_field_name("consequence")
    if body is None or node.child_by_field_name("alternative") is not None:
        return
    if any(n.type in LOOPS for n in descendants(body)):
        return
    known = function.known_at(node)
    places = [n for access in function.accesses if (n := _index_in(access.node, body)) is not None]
    texts = {function.text(place) for place in places}
    words = function.parsed.words(places[0]) if len(texts) == 1 else frozenset[str]()
    if not words or any(word not in known or known[word].role != "size" for word in words):
        return
    name = next((n for n in ("rest", "k", "e", "i") if n not in function.parsed.words(function.body)), "")
    if not name:
        return
    for size, width in _divided_by(function):
        head = f"for (int {name} = {size} / {width} * {width}; {name} < {size}; ++{name}) "
        edits = (function.inserted(body.start_byte, head), *(function.replaced(place, name) for place in places))
        yield Change("bound", function.line(node), edits, LIKELY, "loop", "remainder")


def _index_in(access: Node, body: Node) -> Node | None:
    """The index of an access that stands in a branch."""
    brackets = access.child_by_field_name("indices")
    is_inside = body.start_byte <= access.start_byte < body.end_byte
    return brackets.named_children[0] if is_inside and brackets is not None and brackets.named_children else None


def _divided_by(function: Function) -> list[tuple[str, str]]:
    """The sizes that the function divides, and by what."""
    found = []
    for node in function.nodes:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator_of(node) in ("%", "/") and left is not None and right is not None and left.type == "identifier":
            variable = function.known_at(node).get(function.text(left))
            if variable is not None and variable.role == "size" and right.type in ("number_literal", "identifier"):
                found.append((variable.name, function.text(right)))
    return list(dict.fromkeys(found))


# -- digits that are lost --------------------------------------------------------------


def _in_double(function: Function) -> Iterator[Change]:
    """The function's sums, and what is made of them, in double in the place of float; then its arrays as well."""
    declared = [
        (node, type_node, [_shape(one) for one in node.children_by_field_name("declarator")])
        for node in function.nodes
        if node.type == "declaration" and (type_node := node.child_by_field_name("type")) is not None
    ]
    of_float = [row for row in declared if function.text(row[1]) == "float" and "extern" not in function.text(row[0])]
    single = [row for row in of_float if all(shape.type == "identifier" for shape in row[2])]
    arrays = [row for row in of_float if all(shape.type in ("identifier", "array_declarator") for shape in row[2])]
    lost = _lost_in(function, {declared_name(shape) for row in single for shape in row[2]})
    if lost is None:
        return
    for number, rows in enumerate((single, arrays) if len(arrays) > len(single) else (single,)):
        edits = tuple(function.replaced(type_node, "double") for _node, type_node, _shapes in rows)
        detail = "cancellation" if operator_of(lost) == "-" else "digits"
        yield Change("expression", function.line(lost), edits, LIKELY + 0.1 * number, PRECISION, detail)


def _shape(declarator: Node) -> Node:
    return (
        declarator.child_by_field_name("declarator") or declarator
        if declarator.type == "init_declarator"
        else declarator
    )


def _lost_in(function: Function, names: set[str]) -> Node | None:
    """The difference of two numbers that are made of sums, else the first sum; names: that sums may have.  None: there
    is no sum."""
    sums = [
        node
        for node in function.nodes
        if node.type == "assignment_expression"
        and (left := node.child_by_field_name("left")) is not None
        and (operator := node.child_by_field_name("operator")) is not None
        and operator.type in ("+=", "-=")
        and function.text(left) in names
    ]
    made = {function.text(left) for node in sums if (left := node.child_by_field_name("left")) is not None}
    for node in function.nodes:
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None and declared_name(node) in names and function.parsed.words(value) & made:
            made.add(declared_name(node))
    for node in function.nodes:
        sides = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator_of(node) == "-" and all(side is not None and function.parsed.words(side) & made for side in sides):
            return node
    return sums[0] if sums else None
