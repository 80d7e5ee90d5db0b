"""Changes of the host's own memory: how much of it is allocated, and where it is given back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, host_functions
from grader.repair.host_arguments import numbers_changed, statement_of
from grader.repair.nodes import ancestors, arguments_of, listed, value_of
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_ALLOCATES = {"malloc": 0, "realloc": 1, "cudaMallocHost": 1, "cudaHostAlloc": 1}
"""Functions that allocate memory of the host, and which of their arguments is the size in bytes."""
_FREES = ("free", "cudaFreeHost")
_MAKES = re.compile(r"(?:std::)?make_(?:unique|shared)(?:_for_overwrite)?\b")
_HOLDS = re.compile(r"(?:std::)?(?:vector|valarray)\b|\bauto\b")
_POINTS_TO = re.compile(r"([A-Za-z_]\w*)\s*\*")
MAX_OTHERS = 3


def memory_changes(parsed: ParsedFile, lines: Collection[int], arrays: Collection[str]) -> Iterator[Change]:
    """Yield other sizes of what is allocated in some lines, or for some arrays, and other places to free them.

    lines: where memory is allocated, or freed, that a fault is about.  arrays: names that a fault mentions.
    """
    for function in host_functions(parsed):
        sizes = list(_sizes(function))
        for node, is_bytes in sizes:
            statement = statement_of(function, node)
            words = function.parsed.words(statement) if statement is not None else set()
            if function.line(node) in lines or words & set(arrays):
                yield from _others(function, node, [function.text(other) for other, _is in sizes], is_bytes=is_bytes)
        for node in function.nodes:
            freed = _freed(function, node)
            if freed and (function.line(node) in lines or freed in arrays):
                yield from _moved(function, node, freed)


def _sizes(function: Function) -> Iterator[tuple[Node, bool]]:
    """Yield the sizes with which memory of the host is allocated, and whether they are in bytes."""
    for node in function.nodes:
        name, arguments = function.callee(node).rpartition("::")[2], arguments_of(node)
        if name in _ALLOCATES and len(arguments) > _ALLOCATES[name]:
            yield arguments[_ALLOCATES[name]], True
        elif node.type == "call_expression" and _MAKES.match(function.callee(node)) and arguments:
            yield arguments[0], False
        elif node.type == "new_declarator":
            yield from ((part, False) for part in node.named_children[:1])
        elif node.type == "init_declarator" and node.parent is not None:
            kind, value = node.parent.child_by_field_name("type"), value_of(node)
            is_held = kind is not None and _HOLDS.search(function.text(kind)) is not None
            if is_held and value is not None and value.type == "argument_list" and listed(value):
                yield listed(value)[0], False


def _others(function: Function, size: Node, sizes: Collection[str], *, is_bytes: bool) -> Iterator[Change]:
    own, line = function.text(size), function.line(size)
    if is_bytes and not any("sizeof" in text for text in (own, *_meant(function, own))):
        statement = statement_of(function, size)
        width = _POINTS_TO.search(function.text(statement)) if statement is not None else None
        factor = f"sizeof({width[1] if width is not None and width[1] != 'void' else 'float'})"
        edit = function.replaced(size, f"({own}) * {factor}" if re.search(r"\W", own) else f"{own} * {factor}")
        # What is halved, or has one less, lacks no factor.
        yield Change("host", line, (edit,), 0.9 if re.search(r"[/-]", own) else 0.4, "size", "bytes")
    for change in numbers_changed(function, size):
        yield replace(change, cost=change.cost - 1.2)
    for other in [text for text in dict.fromkeys(sizes) if text != own][:MAX_OTHERS]:
        yield function.replacement("host", size, other, 0.9, "size", "size", line=line)


def _meant(function: Function, name: str) -> Iterator[str]:
    """Yield what a name is given where it is declared."""
    for node in function.nodes:
        value = value_of(node)
        if value is not None and declared_name(node) == name:
            yield function.text(value)


def _freed(function: Function, node: Node) -> str:
    """Return the name of the array that a statement frees by `free` or `delete`, "" where it frees none."""
    if node.type == "delete_expression" and node.named_children:
        return _plain(function.text(node.named_children[-1]))
    is_call = function.callee(node).rpartition("::")[2] in _FREES and len(arguments_of(node)) == 1
    return _plain(function.text(arguments_of(node)[0])) if is_call else ""


def _plain(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else ""


def _moved(function: Function, node: Node, array: str) -> Iterator[Change]:
    """What frees an array moved behind its last use, or left out where something else frees it as well."""
    statement = statement_of(function, node)
    if statement is None or statement.parent is None:
        return
    line, away = function.line(statement), function.removed(statement)
    beside = [n for n in function.nodes if n.id != node.id and _freed(function, n) == array]
    if beside and not any(n.start_byte <= node.start_byte < n.end_byte for n in beside):
        change = Change("host", line, (away,), 0.5, "order", "extra")
        yield replace(change, code=function.text(statement).rstrip("; \n"))
    blocks = (statement.parent, *ancestors(statement.parent, function.body), function.body)
    for block in {block.id: block for block in blocks}.values():
        uses = [
            n for n in listed(block) if array in {function.text(p) for p in descendants(n) if p.type == "identifier"}
        ]
        uses = [n for n in uses if n.start_byte > statement.end_byte and n.type != "return_statement"]
        if block.type == "compound_statement" and uses:
            place = function.inserted(uses[-1].end_byte, f"\n{function.indent(uses[-1])}{function.text(statement)}")
            to_line = uses[-1].end_point.row + 1
            yield Change("host", line, (away, place), 0.5, "order", "later", to_line)
