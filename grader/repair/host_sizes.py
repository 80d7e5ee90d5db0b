"""Changes of sizes of copies and arrays in host code: bytes for elements, a factor that is lost, in the call, where the
size is computed, or in what a function that makes the call is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.calls import arguments_of
from grader.repair.function import Change, Function, host_functions, operator_of, parameter_nodes
from grader.repair.runtime_calls import SIZED, Call, Host
from grader.submission.cpp.tree import declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SIZES = 6
MAX_FACTORS = 4
_SIZE_OF = re.compile(r"sizeof\s*\(\s*((?:unsigned\s+)?\w+)\s*\)")
_NUMBERS = ("float", "double", "int", "unsigned", "unsigned int")


def size_changes(host: Host, call: Call) -> Iterator[Change]:
    """All that may be wrong of the size of one call."""
    function, index = call.function, SIZED.get(call.name, -1)
    if not 0 <= index < len(call.arguments):
        return
    node = call.arguments[index]
    own, source = function.text(node), _definition(function, node)
    yield from _of_bytes(call, node, source)
    if "Symbol" in call.name:
        symbol = call.text(int("From" in call.name))
        if symbol and own != f"sizeof({symbol})":
            yield Change("host", call.line, (function.replaced(node, f"sizeof({symbol})"),), 1.1, "size", "size")
    same = [c for c in host.calls if c.function.item == function.item and c.name in SIZED]
    sizes = dict.fromkeys(c.text(SIZED[c.name]) for c in same)
    for other in [s for s in sizes if s and s != own][:MAX_SIZES]:
        yield Change("host", call.line, (function.replaced(node, other),), 1.7, "size", "size")
    yield from _of_numbers(function, source)
    yield from _by_callers(host, call, source)


def _of_bytes(call: Call, node: Node, source: Node) -> Iterator[Change]:
    """`* sizeof(float)` where there is none, and the elements' own size for that of a pointer to them."""
    function, widths = call.function, _widths(call)
    own, text = function.text(node), function.text(source)
    if "sizeof" not in text:
        for width in widths:
            # Of a name other calls may ask for elements.
            edit = function.replaced(node, f"{_bracketed(own)} * sizeof({width})")
            yield Change("host", call.line, (edit,), 1.2, "size", "bytes")
            if source.id != node.id:
                edit = function.replaced(source, f"{_bracketed(text)} * sizeof({width})")
                yield Change("host", function.line(source), (edit,), 1.4, "size", "bytes")
    types = _pointed_to(function)
    for part in descendants(source):
        inner = _SIZE_OF.fullmatch(function.text(part)) if part.type == "sizeof_expression" else None
        if inner is not None and inner[1] in types:
            edit = function.replaced(part, f"sizeof({types[inner[1]]})")
            yield Change("host", function.line(part), (edit,), 0.9, "size", "size")


def _of_numbers(function: Function, size: Node) -> Iterator[Change]:
    """A part that is one too many, `bytes / 2`, `n - 1`; a factor that is lost, `rows * sizeof(float)`."""
    for whole, left in _shortened(size):
        edit = function.replaced(whole, function.text(left))
        yield Change("host", function.line(size), (edit,), 1.8, "size", "size")
    place = _before_width(function, size)
    if place is None:
        return
    words = function.names_in(size)
    parameters = {declared_name(inner) for inner, _type in parameter_nodes(function.item)}
    numbers = [v for v in function.known_at(size).values() if v.role in ("size", "index") and v.start > 0]
    # What the function is given to be a size first; then what may stand there twice, `n * n`.
    numbers.sort(key=lambda v: (v.name in words, v.name not in parameters))
    for number_of, variable in enumerate(numbers[:MAX_FACTORS]):
        edit = function.inserted(place.end_byte, f" * {variable.name}")
        yield Change("host", function.line(size), (edit,), 2.0 + 0.1 * number_of, "size", "size")


def _before_width(function: Function, size: Node) -> Node | None:
    """What a factor is put behind: what is multiplied by `sizeof`, else the size itself; None of what is no product."""
    left, right = size.child_by_field_name("left"), size.child_by_field_name("right")
    if operator_of(size) == "*" and left is not None and right is not None:
        return left if "sizeof" in function.text(right) and "sizeof" not in function.text(left) else right
    return size if size.type in ("identifier", "sizeof_expression", "field_expression") else None


def _by_callers(host: Host, call: Call, size: Node) -> Iterator[Change]:
    """What a function that makes the call is given as its size, or as a number that this is made of."""
    function = call.function
    names = [declared_name(inner) for inner, _type in parameter_nodes(function.item)]
    used = [place for place, name in enumerate(names) if name in function.parsed.words(size)]
    if not used:
        return
    counts_bytes = "sizeof" in function.text(size)
    own_name = function.item.name.rpartition("::")[2]
    for caller in host_functions(host.parsed):
        for node in caller.nodes:
            callee = node.child_by_field_name("function") if node.type == "call_expression" else None
            if callee is None or re.split(r"\.|->|::", caller.text(callee).partition("<")[0])[-1].strip() != own_name:
                continue
            given = arguments_of(node)
            for place in used:
                if place < len(given):
                    yield from _of_argument(caller, call, given[place], counts_bytes=counts_bytes)


def _of_argument(caller: Function, call: Call, argument: Node, *, counts_bytes: bool) -> Iterator[Change]:
    source = _definition(caller, argument)
    text = caller.text(argument)
    line = caller.line(argument)
    if not counts_bytes and "sizeof" not in caller.text(source):
        for width in _widths(call, caller):
            edit = caller.replaced(argument, f"{_bracketed(text)} * sizeof({width})")
            yield Change("host", line, (edit,), 1.3, "size", "bytes")
    if counts_bytes and operator_of(argument) == "*" and "sizeof" in text:
        for side, other in (("left", "right"), ("right", "left")):
            part, rest = argument.child_by_field_name(side), argument.child_by_field_name(other)
            if part is not None and rest is not None and part.type == "sizeof_expression":
                yield Change("host", line, (caller.replaced(argument, caller.text(rest)),), 1.3, "size", "size")
    yield from _of_numbers(caller, source)


def _bracketed(text: str) -> str:
    """A text that may be multiplied as it is."""
    return text if re.fullmatch(r"(?:\w|->|[.()* ])*", text) else f"({text})"


def _shortened(node: Node) -> Iterator[tuple[Node, Node]]:
    """`bytes / 2` and `n - 1`, by themselves or times a width, and what is left of each without its last part."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if operator_of(node) in ("/", "-") and left is not None:
        yield node, left
    elif operator_of(node) == "*" and left is not None and right is not None and right.type == "sizeof_expression":
        yield from _shortened(left)


def _definition(function: Function, node: Node) -> Node:
    """Where a size is computed, if it has a name; else the size itself."""
    if node.type != "identifier":
        return node
    name = function.text(node)
    for other in function.nodes:
        if other.start_byte >= node.start_byte:
            break
        value = other.child_by_field_name("value") if other.type == "init_declarator" else None
        if value is not None and declared_name(other) == name and value.type != "number_literal":
            return value
    return node


def _widths(call: Call, *others: Function) -> list[str]:
    """What the elements may be: what the call's arrays point to, then types that the functions' other sizes name."""
    types = _pointed_to(call.function)
    ends = [t for place in (0, 1) for word in re.findall(r"\w+", call.text(place)) if (t := types.get(word))]
    bodies = " ".join(f.text(f.body) for f in (call.function, *others))
    named = [name for name in _SIZE_OF.findall(bodies) if name in _NUMBERS]
    return (list(dict.fromkeys([*ends, *named])) or ["float"])[:2]


def _pointed_to(function: Function) -> dict[str, str]:
    """The types of what the function's pointers point to, `void` left out, by the pointers' names."""
    found = {}
    rows = [(inner, type_node) for inner, type_node in parameter_nodes(function.item)]
    for node in function.nodes:
        type_node = node.child_by_field_name("type") if node.type == "declaration" else None
        if type_node is not None:
            rows += [(inner, type_node) for inner in node.children_by_field_name("declarator")]
    for inner, type_node in rows:
        declarator = inner.child_by_field_name("declarator") if inner.type == "init_declarator" else inner
        text = function.text(type_node)
        if declarator is not None and declarator.type == "pointer_declarator" and text != "void":
            found[declared_name(inner)] = text
    return found
