"""Changes of what lives on: memory that is given back under another name than it was allocated by, and what is done in
the first call of a function alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from grader.repair.function import Change, Function, condition_of, host_functions, parameter_nodes
from grader.repair.runtime_calls import ALLOCATES, FREES, Call, Host, statement_of
from grader.submission.cpp.tree import ParsedFile, declared_name, qualifiers_of

_ALLOCATES = re.compile(r"\b(?:cuda(?:Host)?Malloc\w*|malloc|calloc|realloc|new)\b")
MAX_SIZES = 3
_OF_ONE_NAME = re.compile(r"\s*!?\s*(?P<name>[A-Za-z_]\w*)(?:\s*[=!]=\s*(?:0|false|true|NULL|nullptr))?\s*")


def lifetime_changes(host: Host) -> Iterator[Change]:
    """All of them."""
    for call in host.calls:
        if call.name in FREES:
            yield from _freed(call)
    for function in host_functions(host.parsed):
        yield from _once(host.parsed, function)


def initial_changes(host: Host, arrays: Collection[str]) -> Iterator[Change]:
    """What an array holds before the first launch that is handed it: zeros, or the first element of another array,
    which no maximum or minimum leaves wrong.

    arrays: names of those that hold what nobody wrote, as the kernels' parameters or the host's variables are called.
    """
    seen: set[tuple[int, str]] = set()
    for launch in host.launches:
        function, known = launch.function, launch.function.known_at(launch.grid)
        statement = statement_of(function, launch.grid)
        given = [(place, function.text(node)) for place, node in enumerate(launch.arguments)]
        pointers = [(place, text) for place, text in given if text in known and known[text].role == "array"]
        for _place, name in pointers:
            if statement is None or (function.item.start, name) in seen or name in _read_only(function):
                continue
            seen.add((function.item.start, name))
            allocated = [c.text(1) for c in host.calls if c.name in ALLOCATES and c.text(0).endswith(f"&{name}")]
            numbers = [v.name for v in known.values() if v.role == "size" and v.start == function.body.start_byte]
            sizes = [*allocated, f"sizeof(*{name})", *(f"{number} * sizeof(*{name})" for number in numbers)]
            plain = known[name].type.split()[-1:]
            others = [other for _at, other in pointers if other != name and known[other].type.split()[-1:] == plain]
            calls = [f"cudaMemset({name}, 0, {size})" for size in sizes[:MAX_SIZES]]
            calls += [f"cudaMemcpy({name}, {other}, sizeof(*{name}), cudaMemcpyDeviceToDevice)" for other in others[:1]]
            for number, call in enumerate(calls):
                edit = function.inserted(statement.start_byte, f"{call};\n{function.indent(statement)}")
                cost = 0.3 + 0.1 * number + (0.0 if name in arrays else 0.5)
                yield Change("host", function.line(statement), (edit,), cost, "unset", "unset")


def _read_only(function: Function) -> set[str]:
    """Parameters that are pointers to constants."""
    of_names = ((inner, inner.parent) for inner, _type in parameter_nodes(function.item))
    return {declared_name(n) for n, o in of_names if o is not None and "const" in function.text(o).partition("*")[0]}


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
    sides = {other for other, given in assigned.items() if name in given} | assigned.get(name, set())
    return others | (sides & assigned.keys() if name in assigned else set())


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
