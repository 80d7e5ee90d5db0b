"""Changes of what several places share: constants, macros with parameters, and the sizes of shared arrays."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from grader.repair.change import Change, Kind
from grader.repair.function import Function, Variable
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_TOKEN = re.compile(r"[^\W\d]\w*|\d+\.?\d*\w*|[-+*/%<>=!&|?:]+|.", re.S)
_OTHERS = {
    "+": ("-", "*"),
    "-": ("+",),
    "*": ("+",),
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "/": ("%",),
}
MAX_VALUES = 8
"""Values that are tried for a constant."""


def constant_changes(parsed: ParsedFile, names: Collection[str], values: Mapping[str, int]) -> Iterator[Change]:
    """Other values for the constants `names` of a file, each written as one number.

    values: other numbers of the program by name: a constant may have been meant to be one of them.
    """
    for name, node in _numbers_of(parsed):
        if name not in names:
            continue
        text = parsed.text(node).strip()
        value = int(re.sub(r"\D+$", "", text)) if re.fullmatch(r"\d{1,9}[uUlL]*", text) else 0
        if value < 1:
            continue
        others = [value // 2, 2 * value, value + 1, value - 1, *values.values()]
        usable = [other for other in dict.fromkeys(others) if other > 0 and other != value][:MAX_VALUES]
        for place, other in enumerate(usable):
            edit = _replaced(parsed, node, str(other))
            yield Change("constant", node.start_point.row + 1, (edit,), 1.9 + 0.1 * place, "constant")


def macro_changes(parsed: ParsedFile, names: Collection[str]) -> Iterator[Change]:
    """Macros with parameters: one of these in another's place, two exchanged, another operator or number."""
    for item in parsed.items:
        node = item.node
        body, given = node.child_by_field_name("value"), node.child_by_field_name("parameters")
        if item.kind != "macro" or item.name not in names or body is None or given is None:
            continue
        parameters = [parsed.text(n) for n in given.named_children if n.type == "identifier"]
        line = node.start_point.row + 1
        for kind, text, cost in _bodies(parsed.text(body), parameters):
            yield Change(kind, line, (_replaced(parsed, body, text),), cost, "macro", "macro")


def _bodies(text: str, parameters: Collection[str]) -> Iterator[tuple[Kind, str, float]]:
    tokens = _TOKEN.findall(text)
    used = [name for name in parameters if name in tokens]
    for first, one in enumerate(used):
        for other in used[first + 1 :]:
            swap = {one: other, other: one}
            yield "index", "".join(swap.get(token, token) for token in tokens), 1.2
    for place, token in enumerate(tokens):
        made: list[tuple[Kind, str, float]] = []
        if token in used:
            made = [("index", name, 1.7) for name in parameters if name != token]
        elif token in _OTHERS:
            made = [("expression", other, 2.2) for other in _OTHERS[token]]
        elif token.isdigit():
            made = [("expression", str(int(token) + step), 2.0) for step in (1, -1) if int(token) + step >= 0]
        for kind, other, cost in made:
            yield kind, "".join([*tokens[:place], other, *tokens[place + 1 :]]), cost


def _numbers_of(parsed: ParsedFile) -> Iterator[tuple[str, Node]]:
    """The constants of a file that are given a number: `#define N 16`, `const int N = 16`."""
    for item in parsed.items:
        if item.kind == "macro" and item.active and item.node.child_by_field_name("parameters") is None:
            value = item.node.child_by_field_name("value")
            if value is not None:
                yield item.name, value
        elif item.kind == "variable" and item.active:
            for node in descendants(item.node):
                value = node.child_by_field_name("value") if node.type == "init_declarator" else None
                if value is not None and value.type == "number_literal":
                    yield declared_name(node), value


def _replaced(parsed: ParsedFile, node: Node, text: str) -> Edit:
    start = len(parsed.data[: node.start_byte].decode("utf-8", errors="replace"))
    whole = parsed.text(node)
    # A macro's body reaches to the end of its line, spaces in front of it included.
    lead = len(whole) - len(whole.lstrip())
    return Edit(start + lead, start + len(whole.rstrip()), text.strip())


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
