"""Changes of what several functions of a program share: its constants, and macros with parameters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from grader.repair.change import Change, Kind
from grader.submission.cpp.edits import Edit
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants

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
