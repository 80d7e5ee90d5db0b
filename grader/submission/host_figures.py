"""Figures that a program prints of its times and that its text shows to be wrong: times in another unit than a rate
takes, and the time of one variant in the row of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from grader.message import Message, msg
from grader.submission.cpp.tree import Item, ParsedFile, declared_name, descendants, function_declarator

if TYPE_CHECKING:
    from tree_sitter import Node


def wrong_figures(parsed: ParsedFile) -> Iterator[tuple[int, Message]]:
    """Yield line and message of each."""
    functions = [item for item in parsed.items if item.kind == "function" and item.active and not item.is_device]
    yield from _milliseconds(parsed, functions)
    for function in functions:
        yield from _other_rows(parsed, function.node)


# -- units of times --------------------------------------------------------------------

_IS_RATE = re.compile(r"g_?flop|giga|gb_?(?:ps|s|per)", re.IGNORECASE)
_IS_LARGER = re.compile(r"\btera|tflop|tb/s", re.IGNORECASE)
_BILLION = r"(?:1(?:\.0?)?[eE]\+?9f?|1000000000(?:\.0?)?f?)"
_BILLIONTH = r"1(?:\.0?)?[eE]-9f?"
_INTEGER = re.compile(
    r"(?:const\s+)?(?:int|long|long long|unsigned|unsigned int|(?:std::)?size_t|u?int\d+_t)(?:\s+const)?"
)
_FACTOR = re.compile(r"\d{1,2}(?:\.0?)?[fF]?|sizeof|\(?(?:double|float)\)?|[A-Z][A-Z0-9_]*")


def _milliseconds(parsed: ParsedFile, functions: list[Item]) -> Iterator[tuple[int, Message]]:
    """Yield calls of functions that give billions a second for a time in seconds, with a time in milliseconds."""
    if _IS_LARGER.search(parsed.source.text):
        return
    places = {function.name: place for function in functions if (place := _seconds_of(parsed, function)) is not None}
    for function in functions:
        text = parsed.text(function.node)
        for node in descendants(function.node):
            name, given = _call(parsed, node)
            if name not in places or places[name] >= len(given) or _is_scaled(node):
                continue
            time = parsed.text(given[places[name]])
            if given[places[name]].type == "identifier" and _is_in_milliseconds(text, time):
                message = msg("checks.host_code.milliseconds", function=name, name=time)
                yield node.start_point.row + 1, message


def _seconds_of(parsed: ParsedFile, function: Item) -> int | None:
    """Return the place of the time among a function's parameters where it returns a product of integers over that time
    and over a billion."""
    body, declarator = (function.node.child_by_field_name(one) for one in ("body", "declarator"))
    declarator = function_declarator(declarator)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    match = re.fullmatch(r"\{return(.*);\}", re.sub(r"\s+", "", parsed.text(body))) if body is not None else None
    if match is None or listed is None or not _IS_RATE.search(function.name):
        return None
    types: dict[str, str] = {}
    for one in listed.named_children:
        type_node = one.child_by_field_name("type")
        types[declared_name(one.child_by_field_name("declarator"))] = parsed.text(type_node) if type_node else ""
    for place, time in enumerate(types):
        over = rf"/{time}/{_BILLION}|/{_BILLION}/{time}|/\((?:{time}\*{_BILLION}|{_BILLION}\*{time})\)"
        over += rf"|/{time}\*{_BILLIONTH}|\*{_BILLIONTH}/{time}"
        rate = re.fullmatch(rf"([^/]+?)(?:{over})", match[1])
        factors = rate[1].strip("()").split("*") if rate is not None and time else []
        integers = {name for name, type_text in types.items() if _INTEGER.fullmatch(type_text)}
        if factors and all(
            re.sub(r"^\((?:double|float)\)", "", f) in integers or _FACTOR.fullmatch(f) for f in factors
        ):
            return place
    return None


def _is_in_milliseconds(text: str, name: str) -> bool:
    """Whether nothing but cudaEventElapsedTime() gives a variable of a function a value, other than 0."""
    filled = re.findall(rf"\bcudaEventElapsedTime\s*\(\s*&\s*{name}\s*,", text)
    declared = re.findall(rf"\bfloat\s+(?:\w+(?:\s*=\s*[\d.f]+)?\s*,\s*)*{name}\b", text)
    given = re.findall(rf"(?<![\w.]){name}\s*[-+*/]?=(?!=)\s*([^,;]*)", text)
    is_zero = all(re.fullmatch(r"-?(?:0|0?\.0*|0\.0*)f?\s*", value) for value in given)
    return bool(filled) and len(declared) == 1 and is_zero


def _is_scaled(call: Node) -> bool:
    """Whether the result of a call is a part of a longer expression, which may bring it into its unit."""
    parent = call.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    return parent is None or parent.type not in ("argument_list", "init_declarator")


# -- rows of variants ------------------------------------------------------------------

_PRINTS = ("printf", "std::printf")
_WORDS = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
FEWEST_ROWS = 3


class _Row(NamedTuple):
    """A call that prints: its line, the words and the text of its format, and what is printed by itself."""

    line: int
    text: str
    given: tuple[str, ...]

    def shows(self, label: str) -> bool:
        return label in {word.lower() for word in _WORDS.findall(self.text)}

    def form(self, label: str) -> str:
        return " ".join(re.sub(rf"\b{label}\b", "", self.text, flags=re.IGNORECASE).split())


def _other_rows(parsed: ParsedFile, function: Node) -> Iterator[tuple[int, Message]]:
    """Yield rows that show the figure of another one, which that shows as well, where their own is shown by itself
    nowhere and all the others show their own."""
    rows = []
    for node in descendants(function):
        name, given = _call(parsed, node)
        if name in _PRINTS and given and given[0].type == "string_literal":
            text = re.sub(r"\\[nrt]|%[-+ #0-9.*]*l?[a-zA-Z]", " ", parsed.text(given[0]))
            printed = tuple(parsed.text(one) if one.type == "identifier" else "" for one in given[1:])
            rows.append(_Row(node.start_point.row + 1, text, printed))
    figures = _figures(parsed, function)
    whole = parsed.text(function)
    for place in range(max((len(row.given) for row in rows), default=0)):
        for labels in figures.values():
            own = {name: label for label, name in labels.items()}
            of_figures = [row for row in rows if place < len(row.given) and row.given[place] in own]
            right = [row for row in of_figures if row.shows(own[row.given[place]])]
            others = [row for row in of_figures if row not in right]
            if len(others) != 1 or len(of_figures) < FEWEST_ROWS:
                continue
            row, name = others[0], others[0].given[place]
            meant = [label for label in labels if row.shows(label)]
            twin = [one for one in right if one.given[place] == name]
            if len(meant) != 1 or len(twin) != 1 or row.form(meant[0]) != twin[0].form(own[name]):
                continue
            other = labels[meant[0]]
            if not any(other in one.given for one in rows) and not re.search(rf"<<\s*{other}\b", whole):
                label, own_label = meant[0], own[name]
                message = msg("checks.host_code.other_row", name=name, row=label, own_row=own_label, other=other)
                yield row.line, message


def _figures(parsed: ParsedFile, function: Node) -> Mapping[tuple[str, ...], dict[str, str]]:
    """Return the numbers of floating point that a function declares and whose names differ in one word only: by the
    rest of their names, with a gap for that word."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for node in descendants(function):
        type_node = node.child_by_field_name("type") if node.type == "declaration" else None
        if type_node is None or parsed.text(type_node) not in ("float", "double"):
            continue
        for declarator in node.children_by_field_name("declarator"):
            name = declared_name(declarator)
            parts = [part.lower() for part in _PARTS.findall(name)]
            for at, part in enumerate(parts if len(parts) > 1 else ()):
                found.setdefault((*parts[:at], "", *parts[at + 1 :]), {})[part] = name
    return {rest: names for rest, names in found.items() if len(names) >= FEWEST_ROWS}


def _call(parsed: ParsedFile, node: Node) -> tuple[str, list[Node]]:
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    listed = node.child_by_field_name("arguments") if called is not None else None
    if called is None or listed is None:
        return "", []
    return parsed.text(called), [one for one in listed.named_children if one.type != "comment"]
