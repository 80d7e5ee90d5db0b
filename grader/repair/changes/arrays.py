"""Changes of shared arrays' sizes: padding, and room for what is put there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.change import Change, Kind
from grader.repair.function import Function, Variable
from grader.submission.cpp.tree import qualifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node


def array_changes(function: Function) -> Iterator[Change]:
    """All of them, in order of the text."""
    for node in function.nodes:
        if node.type != "declaration" or "__shared__" not in qualifiers_of(node):
            continue
        sizes = _sizes(node)
        texts = [function.text(size) for size in sizes]
        for size, (is_row, has_rows) in _axes(node):
            yield from _size_changes(function, size, is_row and has_rows, texts)


def _sizes(node: Node) -> list[Node]:
    return [size for size, _axis in _axes(node)]


def _axes(node: Node) -> Iterator[tuple[Node, tuple[bool, bool]]]:
    """The sizes of a declaration's arrays; whether each is the fastest axis, and whether there are others."""
    for declarator in node.children_by_field_name("declarator"):
        fastest, found = True, []
        current: Node | None = declarator
        while current is not None and current.type == "array_declarator":
            size = current.child_by_field_name("size")
            if size is not None:
                found.append((size, fastest))
            fastest, current = False, current.child_by_field_name("declarator")
        for size, is_fastest in found:
            yield size, (is_fastest, len(found) > 1)


def _size_changes(function: Function, size: Node, is_row: bool, texts: list[str]) -> Iterator[Change]:
    text, line = function.text(size), function.line(size)
    kind: Kind = "padding" if is_row else "array_size"
    base = text.removesuffix("+ 1").removesuffix("+1").strip()
    options = [(f"{text} + 1", 2.2)]
    if base != text:
        options.append((base, 2.6))
    mentioned = function.parsed.words(size)
    known: dict[str, Variable] = function.known_at(size)
    for variable in known.values():
        if variable.role == "size" and variable.name not in mentioned and variable.start == 0:
            options += [(f"{text} + 2 * {variable.name}", 2.4), (f"{text} + {variable.name}", 3.2)]
    options += [(other, 2.6) for other in dict.fromkeys(texts) if other != text]
    if text.isdigit():
        options += [(f"{text} + 2", 3.6), (f"{text} + 4", 3.8)]
    for option, cost in options:
        yield Change(kind, line, (function.replaced(size, option),), cost, "array")
