"""What a template's arguments leave of a function: of `if constexpr (PADDED)` the branch that is compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import WORD, Item, ParsedFile, descendants
from grader.submission.effort import spend
from grader.submission.expressions.constants import Constants, Lookup
from grader.submission.expressions.nodes import Expression, Number

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_ENUMERATION = re.compile(r"\(\s*[A-Za-z_][\w: ]*\)\s*(-?\d{1,18})")
_NOT_LINE_END = re.compile(rb"[^\n]")


def instantiated(parsed: ParsedFile, item: Item, arguments: Mapping[str, str], outer: Lookup) -> ParsedFile:
    """The file with the branches of the function `item` blanked that these template arguments leave out.

    Lines and columns stay.  arguments: by the parameters' names, as "16", "true", "(lab::Mode)2" or "Mode::tiled".
    outer: constants that the function declares.
    """
    body = item.node.child_by_field_name("body")
    expressions = {name: argument_of(parsed.constants, text) for name, text in arguments.items()}
    values = {name: parsed.constants.integer(e) for name, e in expressions.items()}
    known = {name: Number(value) for name, value in values.items() if value is not None}
    if body is None or not known:
        return parsed
    data = bytearray(parsed.data)
    for node in descendants(body):
        dead = _dead_branch(parsed, node, known, outer) if node.type == "if_statement" else None
        if dead is not None:
            spend(1)
            start, end = dead.start_byte, dead.end_byte
            is_block = dead.type == "compound_statement"
            inner = bytes(data[start + 1 : end - 1])
            data[start + 1 : end - 1] = _NOT_LINE_END.sub(b" ", inner)
            if not is_block:
                data[start : start + 1], data[end - 1 : end] = (b";", b" ") if end - start > 1 else (b";", b"")
    if data == parsed.data:
        return parsed
    made = parse(replace(parsed.source, text=data.decode("utf-8", errors="replace")))
    return replace(made, headers=parsed.headers, constants=parsed.constants)


def argument_of(constants: Constants, text: str) -> Expression | None:
    """A template's argument as an expression: of an enumeration, "(lab::Mode)2", its number."""
    of_enumeration = _OF_ENUMERATION.fullmatch(text)
    return Number(int(of_enumeration[1])) if of_enumeration is not None else constants.parse(text)


def _dead_branch(parsed: ParsedFile, node: Node, known: Mapping[str, Expression], outer: Lookup) -> Node | None:
    """The branch of an `if` that is never taken, as far as its condition follows from the template's arguments."""
    condition = node.child_by_field_name("condition")
    text = parsed.text(condition) if condition is not None else ""
    if not known.keys() & set(WORD.findall(text)):
        return None
    value = parsed.constants.integer(text, lambda name: known.get(name) or outer(name))
    if value is None:
        return None
    if not value:
        return node.child_by_field_name("consequence")
    alternative = node.child_by_field_name("alternative")
    return alternative.named_children[-1] if alternative is not None and alternative.named_children else None
