"""Changes of an index that lacks a term or a factor: `a[i + k]` for `a[i + k - radius]`, `+ t` for `+ t * 4`.

Likeliest is what the function has elsewhere: the other side of an assignment, another access of the array, another
product of the same index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair.calls import arguments_of, is_own_call
from grader.repair.expressions import kind_at
from grader.repair.function import Change, Function, named_in, operator_of
from grader.submission.cpp.tree import WORD, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_FACTORS = 8
"""Factors that a term is multiplied by."""
AS_ELSEWHERE = 1.3
"""What a change costs that makes an index as another one is."""
PLAIN = ("identifier", "field_expression", "number_literal", "parenthesized_expression", "call_expression")
"""What is multiplied, and added to, as it is written."""
_MADE = {"init_declarator": "value", "assignment_expression": "right"}
_AXIS = re.compile(r"\.[xyz]\b")


@dataclass(frozen=True, slots=True)
class _Index:
    """An index, or a pointer made by one: in brackets, given to a variable or handed to a function.

    array: of which it is one; "" of any other.  in_brackets: whether it stands in brackets of its own.
    """

    node: Node
    array: str
    in_brackets: bool


def term_changes(function: Function) -> Iterator[Change]:
    """All of them, in order of the text."""
    indices = [index for node in function.nodes for index in _indices(function, node)]
    own, sizes = _factors(function), [v.name for v in function.variables if v.role == "size"]
    factors = list(dict.fromkeys([*(f for of_first in own.values() for f in of_first), *sizes]))[:MAX_FACTORS]
    lacking = [*_as_other_side(function), *_as_other_access(function, indices)]
    for node, text in lacking:
        sign = text[:1]
        edit = function.inserted(node.end_byte, f" {sign} {text[1:]}")
        yield Change("index", function.line(node), (edit,), AS_ELSEWHERE, "halo")
    seen: set[int] = set()
    for index in indices:
        for place in (index.node, *_sums_within(index.node)):
            if place.id not in seen:
                seen.add(place.id)
                yield from _added(function, place, in_brackets=index.in_brackets and place.id == index.node.id)
                yield from _multiplied(function, place, own, factors)


def _indices(function: Function, node: Node) -> Iterator[_Index]:
    made = node.child_by_field_name(_MADE.get(node.type, "")) if node.type in _MADE else None
    if node.type == "subscript_expression":
        array, brackets = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if array is not None and brackets is not None and brackets.named_children:
            yield _Index(brackets.named_children[0], function.text(array), in_brackets=True)
    elif made is not None and made.type != "initializer_list" and kind_at(function, made) == "index":
        yield _Index(made, _pointed(function, made), in_brackets=False)
    elif node.type == "call_expression" and is_own_call(function, node):
        for argument in arguments_of(node):
            pointed = _pointed(function, argument)
            if pointed or kind_at(function, argument) == "index":
                yield _Index(argument, pointed, in_brackets=False)


def _pointed(function: Function, node: Node) -> str:
    """The array that something is added to; "" of what is no pointer, or a mere name."""
    known = function.known_at(node)
    terms = [function.text(term) for _sign, term in _terms(node)] if operator_of(node) in ("+", "-") else []
    return next((text for text in terms if text in known and known[text].role == "array"), "")


def _sums_within(index: Node) -> Iterator[Node]:
    """The sums in an index that are no part of another one: `(t * S + ty) * n`, `min(base + s, n - 1)`."""
    for node in descendants(index):
        if operator_of(node) in ("+", "-") and operator_of(_outside(node)) not in ("+", "-"):
            yield node


def _outside(node: Node) -> Node:
    """What an expression stands in, brackets left out."""
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    return outer or node


def _terms(node: Node, sign: str = "+") -> Iterator[tuple[str, Node]]:
    """What a sum adds up and takes away, with its sign; of anything else that itself."""
    left, right, operator = node.child_by_field_name("left"), node.child_by_field_name("right"), operator_of(node)
    if operator in ("+", "-") and left is not None and right is not None:
        yield from _terms(left, sign)
        yield from _terms(right, sign if operator == "+" else "-" if sign == "+" else "+")
    else:
        yield sign, node


def _halos(function: Function, index: Node) -> set[str]:
    """The terms of an index that are made of sizes alone, "-radius"."""
    known = function.known_at(index)
    halos = set()
    for sign, term in _terms(index):
        names = {function.text(node) for node in named_in(term)}
        if names and all(name in known and known[name].role == "size" for name in names):
            halos.add(sign + function.text(term))
    return halos


def _as_other_side(function: Function) -> Iterator[tuple[Node, str]]:
    """Of `s[t - radius] = in[i]` the term that one side has, and the index of the other."""
    for node in function.nodes:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "assignment_expression" or left is None or right is None:
            continue
        targets = [index.node for index in _indices(function, left)]
        parts = {part.id: part for part in (right, *descendants(right))}
        sources = [index.node for part in parts.values() for index in _indices(function, part)]
        if len(targets) == len(sources) == 1:
            one, other = targets[0], sources[0]
            for halo in _halos(function, one) - _halos(function, other):
                yield other, halo
            for halo in _halos(function, other) - _halos(function, one):
                yield one, halo


def _as_other_access(function: Function, indices: list[_Index]) -> Iterator[tuple[Node, str]]:
    """Of `s[t + radius]` and `s[t]` the term that one has, and the index of the other."""
    made: dict[tuple[str, frozenset[str]], set[str]] = {}
    for index in indices:
        halos = _halos(function, index.node) if index.array else set()
        if len(halos) == 1:
            made.setdefault((index.array, _others(function, index, halos)), set()).update(halos)
    for index in indices:
        if index.array and not _halos(function, index.node):
            for halo in sorted(made.get((index.array, _others(function, index, set())), ())):
                yield index.node, halo


def _others(function: Function, index: _Index, halos: set[str]) -> frozenset[str]:
    """The terms of an index without some, and without its array."""
    terms = {sign + function.text(term) for sign, term in _terms(index.node)}
    return frozenset(terms - halos - {f"+{index.array}"})


def _added(function: Function, index: Node, *, in_brackets: bool) -> Iterator[Change]:
    """A size more or less; in brackets another index more, or the thread's."""
    if index.type not in PLAIN and operator_of(index) not in ("+", "-", "*"):
        return
    known = function.known_at(index)
    words, text = function.names_in(index), function.text(index)
    added: list[tuple[str, float, str]] = []
    for variable in known.values():
        # A halo is as wide again on its other side.
        if variable.role == "size" and (variable.name not in words or variable.start == 0):
            cost = 3.9 if variable.start else 3.6 if variable.name in words else 3.2
            added += [(f" + {variable.name}", cost, "add_term"), (f" - {variable.name}", cost, "subtract")]
    if in_brackets:
        others = [name for name, variable in known.items() if variable.role == "index" and name not in words]
        added += [(f" + {name}", 4.4, "add_term") for name in others]
        added += [(f" + {name}", 4.6, "add_term") for name in ("threadIdx.x", "threadIdx.y") if name not in text]
    for more, cost, group in added:
        edit = function.inserted(index.end_byte, more)
        yield Change(kind_at(function, index), function.line(index), (edit,), cost, group)


def _multiplied(
    function: Function, index: Node, own: dict[str, dict[str, None]], factors: list[str]
) -> Iterator[Change]:
    """A term of the index times what others are multiplied by, or times a size.

    own: factors of the function by what they multiply.  factors: all that may be meant.
    """
    known = function.known_at(index)
    for _sign, term in _terms(index):
        is_product = operator_of(term) == "*"
        text = function.text(term)
        is_array = text in known and known[text].role == "array"
        if not is_product and (is_array or term.type not in PLAIN):
            continue
        words = function.names_in(term)
        usual = own.get(_AXIS.sub("", text), {})
        for factor in dict.fromkeys([*usual, *factors]):
            names = set(WORD.findall(factor))
            if (factor in known or names <= known.keys()) and (is_product or not names & words):
                edit = function.inserted(term.end_byte, f" * {factor}")
                cost = AS_ELSEWHERE if factor in usual else 3.2
                yield Change(kind_at(function, term), function.line(term), (edit,), cost, "times")


def _factors(function: Function) -> dict[str, dict[str, None]]:
    """What the function's products multiply by, "n * n", by their first factor without its axis, "blockIdx"."""
    found: dict[str, dict[str, None]] = {}
    for node in function.nodes:
        if operator_of(node) != "*" or (node.parent is not None and operator_of(node.parent) == "*"):
            continue
        first = node
        while operator_of(first) == "*" and (left := first.child_by_field_name("left")) is not None:
            first = left
        rest = function.parsed.data[first.end_byte : node.end_byte].decode("utf-8", errors="replace")
        text = " ".join(rest.split()).removeprefix("*").strip()
        if text and not any(c in text for c in "[.({?\"'") and not text.endswith(("f", "F")):
            found.setdefault(_AXIS.sub("", function.text(first)), {})[text] = None
    return found
