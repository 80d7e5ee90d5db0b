"""Changes of what host code has one too many or one too few of: the size of a pointer, the rest of a division, a swap
of two buffers, a launch, an element of a loop; and of the array at an offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from grader.repair.function import Change, Function, host_functions
from grader.repair.host_arguments import Call, Host, other_ends, statement_of
from grader.repair.nodes import ancestors, arguments_of, is_statement, listed, operator_of, sides_of, value_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

_SIZE_OF = re.compile(r"sizeof\s*\(?\s*(\w+)\s*\)?")
_WITH_ELEMENTS = frozenset(["fwrite", "fread", "malloc", "calloc", "realloc", "memcpy", "memmove", "memset"])
_POINTER = re.compile(r"(\w+)\s*(\+.*)", re.DOTALL)
_COPIES = ("cudaMemcpy", "cudaMemcpyAsync")


def host_slip_changes(host: Host) -> Iterator[Change]:
    """Yield the changes of what stands there once too often or was left out."""
    for function in host_functions(host.parsed):
        yield from _sizes_of_pointers(function)
        yield from _rests(function)
        yield from _twice(function)
        yield from _ends(function)
    for call in host.calls:
        yield from _at_offsets(host, call)
        yield from _offsets(call)
        if call.name.startswith("cudaMemset") and call.text(1) not in ("0", "0x00") and call.text(1).isdigit():
            yield call.function.replacement("host", call.arguments[1], "0", 0.6, "unset", "value")
    yield from _swaps(host)
    for function in host_functions(host.parsed):
        yield from _other_frees(function)


def _other_frees(function: Function) -> Iterator[Change]:
    """`free(a)` of what CUDA has allocated."""
    made: dict[str, str] = {}
    for node in function.nodes:
        callee, first = function.callee(node), next(iter(arguments_of(node)), None)
        if callee.startswith(("cudaMalloc", "cudaHostAlloc")) and first is not None:
            made[function.text(first).rpartition("&")[2].strip()] = "cudaFreeHost" if "Host" in callee else "cudaFree"
        elif callee.rpartition("::")[2] == "free" and first is not None and function.text(first) in made:
            text = f"{made[function.text(first)]}({function.text(first)})"
            yield function.replacement("host", node, text, 0.3, "frees", "frees")


def _sizes_of_pointers(function: Function) -> Iterator[Change]:
    """`fwrite(a, sizeof(a), n, file)` with the size of an element in place of a pointer's."""
    pointers = {declared_name(n) for n in descendants(function.item.node) if n.type == "pointer_declarator"}
    for node in function.nodes:
        if function.callee(node).rpartition("::")[2] not in _WITH_ELEMENTS:
            continue
        for part in descendants(node):
            name = _SIZE_OF.fullmatch(function.text(part)) if part.type == "sizeof_expression" else None
            if name is not None and name[1] in pointers:
                yield function.replacement("host", part, f"sizeof(*{name[1]})", -0.5, "pointer", "pointer")


def _rests(function: Function) -> Iterator[Change]:
    """`length = n / pieces` in a loop over the pieces: the last one takes what the division leaves over."""
    for node in function.nodes:
        value = value_of(node)
        whole, parts = sides_of(value) if value is not None else (None, None)
        if value is None or operator_of(value) != "/" or whole is None or parts is None or parts.type != "identifier":
            continue
        length, count = declared_name(node), function.text(parts)
        for loop in (n for n in function.nodes if n.type == "for_statement" and n.start_byte > node.end_byte):
            condition, body = (loop.child_by_field_name(name) for name in ("condition", "body"))
            turn, end = sides_of(condition) if condition is not None else (None, None)
            if body is None or turn is None or end is None or function.text(end) != count:
                continue
            name = function.text(turn)
            first = next((s for s in listed(body) if {name, length} <= function.parsed.words(s)), None)
            start = next((n for n in descendants(first or loop) if value_of(n) is not None), None)
            if first is None or start is None:
                continue
            text = f"{name} == {count} - 1 ? {function.text(whole)} - {declared_name(start)} : {length}"
            uses = [n for n in descendants(body) if n.type == "identifier" and n.start_byte > first.end_byte]
            edits = [function.replaced(use, "part") for use in uses if function.text(use) == length]
            if edits and "part" not in function.parsed.words(function.item.node):
                part = f"\n{function.indent(first)}const auto part = {text};"
                edits = [function.inserted(first.end_byte, part), *edits]
                yield Change("host", function.line(node), tuple(edits), 0.2, "rest", "rest")


def _twice(function: Function) -> Iterator[Change]:
    """One of two launches, or calls, that are the same and follow each other."""
    for block in (n for n in function.nodes if n.type == "compound_statement"):
        for first, second in pairwise(listed(block)):
            one, other = ("".join(function.text(n).split()) for n in (first, second))
            if one == other and "<<<" in one:
                edit = function.removed(second)
                yield Change("host", function.line(second), (edit,), 0.4, "twice", "twice")


def _ends(function: Function) -> Iterator[Change]:
    """A loop over elements up to and with the one behind the last."""
    for loop in (n for n in function.nodes if n.type == "for_statement"):
        condition = loop.child_by_field_name("condition")
        operator = condition.child_by_field_name("operator") if condition is not None else None
        if condition is not None and operator is not None and operator_of(condition) == "<=":
            yield function.replacement("bound", operator, "<", 1.2, "loop", "end", line=function.line(loop))


def _at_offsets(host: Host, call: Call) -> Iterator[Change]:
    """Another array at the same offset: `d_in + first` as `d_out + first`."""
    for index, detail in ((0, "target"), (1, "source")) if call.name in _COPIES else ():
        parts = _POINTER.fullmatch(call.text(index))
        if parts is None:
            continue
        for text in other_ends(host, call, index):
            if re.fullmatch(r"\w+", text) and text != parts[1]:
                edit = call.function.replaced(call.arguments[index], f"{text} {parts[2]}")
                yield Change("host", call.line, (edit,), 1.6, "ends", detail)


def _offsets(call: Call) -> Iterator[Change]:
    """The same offset on both sides of a copy: `d_in` beside `in + first`."""
    for index, other in ((0, 1), (1, 0)) if call.name in _COPIES else ():
        parts = _POINTER.fullmatch(call.text(other))
        if parts is not None and re.fullmatch(r"\w+", call.text(index)):
            edit = call.function.inserted(call.arguments[index].end_byte, f" {parts[2]}")
            yield Change("host", call.line, (edit,), 0.8, "ends", "source" if index else "target")


def _swaps(host: Host) -> Iterator[Change]:
    """Two buffers that take turns, exchanged at the end of a loop around their launch."""
    for launch in host.launches:
        function = launch.function
        statement = statement_of(function, launch.grid)
        loop = next((n for n in ancestors(launch.grid, function.body) if n.type in LOOPS), None)
        body = loop.child_by_field_name("body") if loop is not None else None
        known = function.known_at(launch.grid)
        names = [text for n in launch.arguments if (text := function.text(n)) in known and known[text].role == "array"]
        if statement is None or body is None or body.type != "compound_statement" or len(names) < 2:
            continue
        if not any(is_statement(n) and "swap" in function.text(n) for n in listed(body)):
            last = listed(body)[-1]
            text = f"\n{function.indent(last)}std::swap({names[0]}, {names[1]});"
            yield function.insertion("host", last.end_byte, text, 1.0, "swap", "swap", line=function.line(last))
