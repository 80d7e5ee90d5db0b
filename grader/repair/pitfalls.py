"""Changes of what goes wrong in one known way: distances of shuffles that do not fit their lanes, differences that
overflow, one element handled where several are left over, sums whose digits float does not hold, and arguments of
templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import BUILTINS, Change, Function
from grader.repair.nodes import (
    ancestors,
    arguments_of,
    condition_of,
    listed,
    operator_of,
    outside_brackets,
    sides_of,
    unbracketed,
    value_of,
)
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_SHUFFLE = re.compile(r"__shfl_(?:up|down|xor)_sync")
_SIGNED = re.compile(r"(?:const|volatile|signed|long|short|int|int(?:16|32|64)_t|\s)+")
_UNSIGNED = re.compile(r"\bunsigned\b|\bu?size_t\b|\bu(?:int|short|char|long)(?:\d+_t)?\b")
_DOUBLED = re.compile(r"\*=\s*2$|<<=\s*1$")
_HALVED = re.compile(r"/=\s*2$|>>=\s*1$")
_OF_ZERO = ("<", ">", "<=", ">=")
LIKELY = 0.3
"""What a change costs of which nothing but the fault it is for gives occasion."""

MOST_SIDE = 16
"""The longest side of a small matrix whose results are kept elsewhere, where nothing says how large it may be."""
PRECISION = "precision"
"""The group of what helps where results are nearly right, and is tried there alone."""


def pitfall_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of what goes wrong in one known way."""
    for node in function.nodes:
        if node.type == "for_statement":
            yield from _distances(function, node)
            yield from _in_place(function, node)
        elif node.type == "call_expression":
            yield from _width(function, node)
            yield from _below_zero(function, node)
            yield from _template(function, node)
        elif node.type == "if_statement":
            yield from _left_over(function, node)
        elif operator_of(node) == "&&" and operator_of(outside_brackets(node)) != "&&":
            yield from _flattened(function, node)
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
        len(arguments) > 2 and name in function.parsed.words(arguments[2])
        for node in descendants(body)
        if (arguments := _shuffled(function, node))
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
        yield function.replacement("bound", far, other, LIKELY, "shuffle", "shuffle", line=function.line(loop))


def _width(function: Function, call: Node) -> Iterator[Change]:
    """Half or twice as many lanes that exchange values, or as many as a constant says."""
    arguments = _shuffled(function, call)
    if len(arguments) > 3:
        for other in _halved_or_doubled(function, arguments[3]):
            edit = function.replaced(arguments[3], other)
            yield Change("expression", function.line(call), (edit,), LIKELY, "shuffle", "shuffle_width")
    elif len(arguments) == 3:
        for variable in function.known_at(call).values():
            if variable.role == "size" and not variable.start:
                edit = function.inserted(arguments[2].end_byte, f", {variable.name}")
                if _lets_in(function, call, variable.name):
                    # No more lanes come to it than the condition around it lets in.
                    mask = function.replaced(arguments[0], f"(1u << {variable.name}) - 1")
                    yield Change("expression", function.line(call), (mask, edit), 0.9, "shuffle", "shuffle_mask")
                yield Change("expression", function.line(call), (edit,), 1.2, "shuffle", "shuffle_width")


def _lets_in(function: Function, node: Node, count: str) -> bool:
    """Whether a condition around a node admits that many threads, from the first on."""
    branches = [outer for outer in ancestors(node, function.body) if outer.type == "if_statement"]
    conditions = [condition for branch in branches if (condition := condition_of(branch)) is not None]
    return any(re.search(rf"<\s*{count}$", function.text(condition)) for condition in conditions)


def _shuffled(function: Function, node: Node) -> list[Node]:
    """Return the arguments of a shuffle, its mask first; [] for other nodes."""
    return arguments_of(node) if _SHUFFLE.fullmatch(function.callee(node)) else []


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
    """`load<2 * ROWS>(…)` with another number: what other calls are given, one side of a product, another size;
    `dot<int>(…)` with a type that has fractions."""
    arguments = _given_to_template(node)
    name = function.callee(node)
    if not arguments:
        return
    same_template = [
        _given_to_template(other)
        for item in function.parsed.functions.values()
        if item.is_device
        for other in descendants(item.node)
        if function.callee(other) == name
    ]
    sizes = [v.name for v in function.known_at(node).values() if v.role == "size" and not v.start]
    for place, argument in enumerate(arguments):
        own = function.text(argument)
        usual = [function.text(other[place]) for other in same_template if len(other) == len(arguments)]
        sides = [argument.child_by_field_name(side) for side in ("left", "right")]
        parts = [function.text(side) for side in sides if side is not None and side.type != "number_literal"]
        costs = dict.fromkeys(sizes, 1.6) | dict.fromkeys(parts, 0.8) | dict.fromkeys(usual, 0.4)
        if _SIGNED.fullmatch(own) or own.startswith("unsigned"):
            # A number of such a type has no fraction.
            costs |= {"float": 0.3}
        for text, cost in costs.items():
            if text != own:
                yield function.replacement("expression", argument, text, cost, "template", "template")


def _given_to_template(call: Node) -> list[Node]:
    callee = call.child_by_field_name("function")
    arguments = callee.child_by_field_name("arguments") if callee is not None and "template" in callee.type else None
    return listed(arguments) if arguments is not None else []


# -- differences -----------------------------------------------------------------------


def _compared(function: Function, node: Node) -> Iterator[Change]:
    """`a - b > 0` as `a > b`; a difference whose sign alone is used as one of comparisons."""
    left, right = sides_of(node)
    if left is None or right is None:
        return
    wraps = _is_unsigned(function, left) or _is_unsigned(function, right)
    if not wraps and not (_is_signed(function, left) or _is_signed(function, right)):
        return
    one, other = function.text(left), function.text(right)
    line, outer = function.line(node), outside_brackets(node)
    if _is_with_zero(function, outer, node):
        operator, inner = outer.child_by_field_name("operator"), outer.child_by_field_name("right")
        if operator is not None and inner is not None:
            edit = function.replaced(outer, f"{one} {operator.type} {other}")
            detail = "wrapped" if wraps else "overflow"
            yield Change("comparison", line, (edit,), LIKELY, "overflow", detail)
        return
    if wraps:
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


def _below_zero(function: Function, call: Node) -> Iterator[Change]:
    """`max(y - r, 0)` of unsigned numbers, which is never negative, as `y > r ? y - r : 0`."""
    arguments = arguments_of(call)
    if function.callee(call).rpartition("::")[2] not in ("max", "MAX") or len(arguments) != 2:
        return
    for one, other in (arguments, arguments[::-1]):
        left, right = sides_of(one)
        if (
            operator_of(one) != "-"
            or left is None
            or right is None
            or not re.fullmatch(r"0[uUlL]*", function.text(other))
        ):
            continue
        if _is_unsigned(function, left) or _is_unsigned(function, right):
            text = f"({function.text(left)} > {function.text(right)} ? {function.text(one)} : 0)"
            yield function.replacement("expression", call, text, LIKELY, "wrapped", "wrapped")


def _is_unsigned(function: Function, node: Node) -> bool:
    variable = function.known_at(node).get(function.text(node))
    is_own = function.text(node).partition(".")[0] in BUILTINS
    return is_own or (variable is not None and _UNSIGNED.search(variable.type) is not None)


def _has_sign_used(function: Function, name: str, *, is_called: bool) -> bool:
    """Whether a variable, or what a function returns, is compared with 0, itself or by way of a variable."""
    items = [i for i in function.parsed.functions.values() if i.is_device] if is_called else [function.item]
    for item in items:
        if item.node.child_by_field_name("body") is None or name not in function.parsed.words(item.node):
            continue
        inner = Function(function.parsed, item, item.is_kernel)
        names = set() if is_called else {name}
        for node in inner.nodes:
            is_it = is_called and inner.callee(node) == name
            if not is_it and not (node.type == "identifier" and inner.text(node) in names):
                continue
            outer = outside_brackets(node)
            if _is_with_zero(inner, outer, node):
                return True
            if is_it and outer.type == "init_declarator":
                names.add(declared_name(outer))
    return False


def _is_with_zero(function: Function, comparison: Node, node: Node) -> bool:
    right = comparison.child_by_field_name("right")
    is_left = right is not None and not right.start_byte <= node.start_byte < right.end_byte
    return operator_of(comparison) in _OF_ZERO and is_left and right is not None and function.text(right) == "0"


def _is_signed(function: Function, node: Node) -> bool:
    variable = function.known_at(node).get(function.text(node).partition("[")[0])
    return variable is not None and _SIGNED.fullmatch(variable.type) is not None


# -- results in the place of what they are made of ---------------------------------------


def _in_place(function: Function, loop: Node) -> Iterator[Change]:
    """A loop that stores row by row into the array which later rows are made of, with its results kept elsewhere until
    all are there."""
    body, condition = loop.child_by_field_name("body"), loop.child_by_field_name("condition")
    end = condition.child_by_field_name("right") if condition is not None else None
    counted = condition.child_by_field_name("left") if condition is not None else None
    if body is None or condition is None or end is None or counted is None or operator_of(condition) != "<":
        return
    inside = [a for a in function.accesses if body.start_byte <= a.node.start_byte < body.end_byte]
    for access in inside:
        store, index = access.node.parent, access.node.child_by_field_name("indices")
        variable = function.known_at(access.node).get(access.array)
        is_stored = store is not None and store.type == "assignment_expression"
        if not is_stored or store is None or store.child_by_field_name("left") != access.node or index is None:
            continue
        reads = [a for a in inside if a.array == access.array and function.text(a.node) != function.text(access.node)]
        place = _row_and_column(function, index.named_children[0]) if index.named_children else None
        is_row = place is not None and place[0] == function.text(counted)
        if variable is None or not reads or place is None or not is_row:
            continue
        sides = [int(text) for node in function.nodes if (text := _side_of_local(function, node))]
        size, bound = max(sides, default=MOST_SIDE) ** 2, f"{function.text(end)} * {place[2]}"
        indent, kind = function.indent(loop), variable.type.split()[-1]
        edits = (
            function.inserted(loop.start_byte, f"{kind} kept[{size}];\n{indent}"),
            function.replaced(access.node, f"kept[{function.text(index.named_children[0])}]"),
            function.inserted(
                loop.end_byte, f"\n{indent}for (int e = 0; e < {bound}; ++e)\n{indent}    {access.array}[e] = kept[e];"
            ),
        )
        yield Change("expression", access.line, edits, LIKELY, "in_place", "in_place")


def _side_of_local(function: Function, node: Node) -> str:
    """Return the number of elements of a thread's own array, where it is written as a number."""
    size = node.child_by_field_name("size") if node.type == "array_declarator" else None
    text = function.text(size) if size is not None else ""
    declaration = node.parent
    is_own = declaration is not None and "__shared__" not in function.text(declaration)
    return text if is_own and re.fullmatch(r"[1-9]\d?", text) else ""


# -- borders ---------------------------------------------------------------------------


def _flattened(function: Function, node: Node) -> Iterator[Change]:
    """`a >= 0 && a < rows * cols` of `a = r * cols + c` as tests of r and of c, which a border needs each."""
    parts = list(_conjuncts(node))
    tests = [(part, test) for part in parts if (test := _tested(function, part)) is not None]
    for name in dict.fromkeys(name for _part, (name, _limit) in tests):
        value = next(
            (
                n.child_by_field_name("value")
                for n in function.nodes
                if n.type == "init_declarator" and declared_name(n) == name and n.end_byte < node.start_byte
            ),
            None,
        )
        limit = next((limit for _part, (other, limit) in tests if other == name and limit is not None), None)
        place = _row_and_column(function, value) if value is not None else None
        if place is None or limit is None:
            continue
        row, column, width = place
        sides = [function.text(side) for side in limit]
        if width not in sides or len(sides) != 2:
            continue
        height = sides[1 - sides.index(width)]
        is_low = any(other == name and end is None for _part, (other, end) in tests)
        low = f"{row} >= 0 && {column} >= 0 && " if is_low else ""
        rest = [function.text(part) for part in parts if part not in [p for p, (other, _l) in tests if other == name]]
        text = " && ".join([f"{low}{row} < {height} && {column} < {width}", *rest])
        yield function.replacement("guard", node, text, LIKELY, "guard", "flattened")


def _conjuncts(node: Node) -> Iterator[Node]:
    if operator_of(node) == "&&":
        for side in ("left", "right"):
            inner = node.child_by_field_name(side)
            yield from _conjuncts(inner) if inner is not None else ()
    elif (
        node.type == "parenthesized_expression" and node.named_children and operator_of(node.named_children[0]) == "&&"
    ):
        yield from _conjuncts(node.named_children[0])
    else:
        yield node


def _tested(function: Function, node: Node) -> tuple[str, tuple[Node, Node] | None] | None:
    """The name that is tested by `a >= 0`, or by `a < r * c`, with the two factors."""
    node = unbracketed(node)
    (left, right), sign = sides_of(node), operator_of(node)
    if left is None or right is None or left.type != "identifier":
        return None
    if sign == ">=" and function.text(right) == "0":
        return function.text(left), None
    one, other = sides_of(right)
    if sign == "<" and operator_of(right) == "*" and one is not None and other is not None:
        return function.text(left), (one, other)
    return None


def _row_and_column(function: Function, value: Node) -> tuple[str, str, str] | None:
    """Row, column and width of `row * width + column`."""
    left, right = sides_of(value)
    if operator_of(value) != "+" or left is None or right is None:
        return None
    product, column = (left, right) if operator_of(left) == "*" else (right, left)
    row, width = sides_of(product)
    if operator_of(product) != "*" or row is None or width is None or column.type != "identifier":
        return None
    return function.text(row), function.text(column), function.text(width)


# -- what is left over -----------------------------------------------------------------


def _left_over(function: Function, node: Node) -> Iterator[Change]:
    """`if (n % 4) y[n - 1] = …` as a loop over all that four do not divide."""
    body = node.child_by_field_name("consequence")
    if body is None or node.child_by_field_name("alternative") is not None:
        return
    if any(n.type in LOOPS for n in descendants(body)):
        return
    variables = function.known_at(node)
    places = [n for access in function.accesses if (n := _index_in(access.node, body)) is not None]
    texts = {function.text(place) for place in places}
    words = function.parsed.words(places[0]) if len(texts) == 1 else frozenset[str]()
    if not words or any(word not in variables or variables[word].role != "size" for word in words):
        return
    name = next((n for n in ("rest", "k", "e", "i") if n not in function.parsed.words(function.body)), "")
    if not name:
        return
    for size, width in _divided_by(function):
        head = f"for (int {name} = {size} / {width} * {width}; {name} < {size}; ++{name}) "
        edits = (function.inserted(body.start_byte, head), *(function.replaced(place, name) for place in places))
        yield Change("bound", function.line(node), edits, LIKELY, "loop", "remainder")


def _index_in(access: Node, body: Node) -> Node | None:
    brackets = access.child_by_field_name("indices")
    is_inside = body.start_byte <= access.start_byte < body.end_byte
    return brackets.named_children[0] if is_inside and brackets is not None and brackets.named_children else None


def _divided_by(function: Function) -> list[tuple[str, str]]:
    divisions = []
    for node in function.nodes:
        left, right = sides_of(node)
        if operator_of(node) in ("%", "/") and left is not None and right is not None and left.type == "identifier":
            variable = function.known_at(node).get(function.text(left))
            if variable is not None and variable.role == "size" and right.type in ("number_literal", "identifier"):
                divisions.append((variable.name, function.text(right)))
    return list(dict.fromkeys(divisions))


# -- digits that are lost --------------------------------------------------------------


def _in_double(function: Function) -> Iterator[Change]:
    """A function's sums and what is made of them in double in place of float; then its arrays as well."""
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
    summed = {function.text(left) for node in sums if (left := node.child_by_field_name("left")) is not None}
    for node in function.nodes:
        value = value_of(node)
        if value is not None and declared_name(node) in names and function.parsed.words(value) & summed:
            summed.add(declared_name(node))
        left, right = sides_of(node)
        if node.type == "assignment_expression" and left is not None and right is not None:
            # What is handed on through an array.
            summed |= {function.text(left).partition("[")[0]} if function.parsed.words(right) & summed else set()
    for node in function.nodes:
        sides = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator_of(node) == "-" and all(
            side is not None and function.parsed.words(side) & summed for side in sides
        ):
            return node
    return sums[0] if sums else None
