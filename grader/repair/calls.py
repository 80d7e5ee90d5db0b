"""Calls of a file's own macros and functions in a kernel: which of their arguments stand in an index of an array."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.repair.function import Function, parameter_nodes
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import WORD, ParsedFile, declared_name, descendants, remembered
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

_BRACKETED = re.compile(r"(?<!\w)\(\s*(\w+)\s*\)")
_INDEX = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class Element:
    """The element that `AT(M, r, c)` stands for: its array, row and column, as the call has them."""

    array: str
    row: Node
    column: Node


def is_own_call(function: Function, call: Node) -> bool:
    """Whether a call is one of a macro or a device function of the file, or of a method."""
    callee = call.child_by_field_name("function")
    if callee is None:
        return False
    if callee.type == "field_expression":
        return True
    name = _name(function, callee)
    macro = function.parsed.constants.macros.get(name)
    item = function.parsed.functions.get(name)
    return (macro is not None and macro.parameters is not None) or (
        item is not None and item.is_device and not item.is_kernel
    )


def arguments_of(call: Node) -> list[Node]:
    """What a call is given."""
    given = call.child_by_field_name("arguments")
    return [n for n in given.named_children if n.type != "comment"] if given is not None else []


def stands_in_index(function: Function, call: Node, argument: Node) -> bool:
    """Whether what is called uses an argument in an index."""
    callee = call.child_by_field_name("function")
    names = _indexed(function.parsed, _name(function, callee)) if callee is not None else {}
    place = next((n for n, node in enumerate(arguments_of(call)) if node == argument), -1)
    return bool(names.get(place, False))


def element_of(function: Function, call: Node) -> Element | None:
    """The element that a call of a macro stands for; None where its text does not tell row and column."""
    callee, given = call.child_by_field_name("function"), arguments_of(call)
    name = _name(function, callee) if callee is not None else ""
    macro = function.parsed.constants.macros.get(name)
    if macro is None or macro.parameters is None or len(macro.parameters) != len(given):
        return None
    places = remembered(function.parsed, ("element", name), lambda: _places(macro.body, macro.parameters or ()))
    if places is None:
        return None
    array, row, column = places
    known = dict(zip(macro.parameters, given, strict=True))
    return Element(function.text(known[array]) if array in known else array, known[row], known[column])


def _name(function: Function, callee: Node) -> str:
    return function.text(callee).partition("<")[0].strip()


def _indexed(parsed: ParsedFile, name: str) -> Mapping[int, bool]:
    """Of each parameter of a macro or a function, by its place, whether it stands in an index there."""

    def made() -> dict[int, bool]:
        macro, item = parsed.constants.macros.get(name), parsed.functions.get(name)
        if macro is not None and macro.parameters is not None:
            words = {word for index in _INDEX.findall(macro.body) for word in WORD.findall(index)}
            return {place: parameter in words for place, parameter in enumerate(macro.parameters)}
        if item is None or item.node.child_by_field_name("body") is None:
            return {}
        inner = Function(parsed, item, is_kernel=False)
        words = {word for access in inner.accesses for word in access.words}
        names = [declared_name(inner) for inner, _type in parameter_nodes(item)]
        return {place: name in words for place, name in enumerate(names)}

    return remembered(parsed, ("indexed", name), made)


def _places(body: str, parameters: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Names of array, row and column in a macro's body `M[(r) * n + (c)]` or `M[r][c]`, the last two its parameters."""
    # A name in brackets before a sign may be read as a type.
    plain = _BRACKETED.sub(r"\1", body)
    text = f"void f() {{ {plain}; }}"
    parsed = parse(SourceText(Path("macro.cu"), text, "utf-8"))
    subscripts = [n for n in descendants(parsed.root) if n.type == "subscript_expression"]
    if not subscripts:
        return None
    base, indices = subscripts[0].child_by_field_name("argument"), subscripts[0].child_by_field_name("indices")
    if base is None or indices is None or not indices.named_children:
        return None
    first = indices.named_children[0]
    sides: tuple[Node | None, ...]
    if base.type == "subscript_expression":
        inner, rows = base.child_by_field_name("argument"), base.child_by_field_name("indices")
        sides = (inner, rows.named_children[0] if rows is not None and rows.named_children else None, first)
    else:
        left, right = first.child_by_field_name("left"), first.child_by_field_name("right")
        product = next((s for s in (left, right) if s is not None and s.type == "binary_expression"), None)
        sides = (
            base,
            product.child_by_field_name("left") if product is not None else None,
            right if product == left else left,
        )
    texts = ["".join(c for c in parsed.text(side) if c not in "() ") if side is not None else "" for side in sides]
    array, row, column = texts
    return (array, row, column) if array and {row, column} <= set(parameters) and row != column else None
