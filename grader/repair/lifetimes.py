"""Changes of what lives on: memory that is given back under another name than it was allocated by, and what is done in
the first call of a function alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.repair.function import Change, Function, condition_of, host_functions, parameter_nodes
from grader.repair.runtime_calls import FREES, Call, Host
from grader.submission.cpp.tree import ParsedFile, declared_name, qualifiers_of

_ALLOCATES = re.compile(r"\b(?:cuda(?:Host)?Malloc\w*|malloc|calloc|realloc|new)\b")
_OF_ONE_NAME = re.compile(r"\s*!?\s*(?P<name>[A-Za-z_]\w*)(?:\s*[=!]=\s*(?:0|false|true|NULL|nullptr))?\s*")


def lifetime_changes(host: Host) -> Iterator[Change]:
    """All of them."""
    for call in host.calls:
        if call.name in FREES:
            yield from _freed(call)
    for function in host_functions(host.parsed):
        yield from _once(host.parsed, function)


def _freed(call: Call) -> Iterator[Change]:
    """The one of two pointers which were swapped that is none of the caller's."""
    function, own = call.function, call.text(0)
    given = {declared_name(inner) for inner, _type in parameter_nodes(function.item) if inner.type != "identifier"}
    for other in sorted(_swapped_with(function, own)):
        for name in sorted(given - {own, other}):
            edit = function.replaced(call.arguments[0], f"{own} != {name} ? {own} : {other}")
            yield Change("host", call.line, (edit,), 0.3, "freed", "freed")


def _swapped_with(function: Function, name: str) -> set[str]:
    """What a pointer is exchanged with: `swap(a, b)`, or `a = b` beside `b = …`."""
    others: set[str] = set()
    assigned: dict[str, set[str]] = {}
    for node in function.nodes:
        callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is not None and given is not None and function.text(callee).rpartition("::")[2] == "swap":
            names = {function.text(argument).lstrip("& ") for argument in given.named_children}
            others |= names - {name} if name in names else set()
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type == "assignment_expression" and left is not None and right is not None:
            assigned.setdefault(function.text(left), set()).add(function.text(right))
    return others | {other for other in assigned.get(name, ()) if other in assigned}


def _once(parsed: ParsedFile, function: Function) -> Iterator[Change]:
    """What stands behind a flag that lives on, in every call: `if (!ready) { … }` without its condition."""
    kept = {name for item in parsed.items if item.kind == "variable" and item.active for name in item.names}
    for node in function.nodes:
        if node.type == "declaration" and "static" in qualifiers_of(node):
            kept |= {declared_name(declarator) for declarator in node.children_by_field_name("declarator")}
    for node in function.nodes:
        if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
            continue
        condition, body = condition_of(node), node.child_by_field_name("consequence")
        flag = _OF_ONE_NAME.fullmatch(function.text(condition)) if condition is not None else None
        if condition is None or body is None or flag is None or flag["name"] not in kept:
            continue
        if not _ALLOCATES.search(function.text(body)):
            edit = function.replaced(node, function.text(body))
            yield Change("host", function.line(node), (edit,), 0.4, "once", "once")
