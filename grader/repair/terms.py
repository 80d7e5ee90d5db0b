"""Changes that put in what an index or a sum lacks.

An index may lack a term or a factor: `a[i + k]` for `a[i + k - radius]`, `+ t` for `+ t * 4`. Likeliest is what the
function has elsewhere: the other side of an assignment, another access of the array, another product of the same index.
A sum may lack a neighbour on the other side, a factor for its neighbours, or a parameter that is used nowhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import kind_at
from grader.repair.function import BUILTINS, Access, Change, Function, Variable, is_own_call
from grader.submission.cpp.tree import WORD, declared_name, descendants

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
    yield from _rows(function, indices)
    yield from _of_thread(function)
    visited: set[int] = set()
    for index in indices:
        for place in (index.node, *_sums_within(index.node)):
            if place.id not in visited:
                visited.add(place.id)
                yield from _added(function, place, in_brackets=index.in_brackets and place.id == index.node.id)
                yield from _multiplied(function, place, own, factors)


def _indices(function: Function, node: Node) -> Iterator[_Index]:
    value = node.child_by_field_name(_MADE.get(node.type, "")) if node.type in _MADE else None
    if node.type == "subscript_expression":
        array, brackets = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if array is not None and brackets is not None and brackets.named_children:
            yield _Index(brackets.named_children[0], function.text(array), in_brackets=True)
    elif value is not None and value.type != "initializer_list" and kind_at(function, value) == "index":
        yield _Index(value, _pointed(function, value), in_brackets=False)
    elif node.type == "call_expression" and is_own_call(function, node):
        for argument in nodes.arguments_of(node):
            pointed = _pointed(function, argument)
            if pointed or kind_at(function, argument) == "index":
                yield _Index(argument, pointed, in_brackets=False)


def _pointed(function: Function, node: Node) -> str:
    """Return the array that an offset is added to; "" for what is no pointer, or a mere name."""
    variables = function.known_at(node)
    terms = (
        [function.text(term) for _sign, term in nodes.terms_of(node)] if nodes.operator_of(node) in ("+", "-") else []
    )
    return next((text for text in terms if text in variables and variables[text].role == "array"), "")


def _sums_within(index: Node) -> Iterator[Node]:
    """The sums in an index that are no part of another one: `(t * S + ty) * n`, `min(base + s, n - 1)`."""
    for node in descendants(index):
        if nodes.operator_of(node) in ("+", "-") and nodes.operator_of(nodes.outside_brackets(node)) not in ("+", "-"):
            yield node


def _halos(function: Function, index: Node) -> set[str]:
    """Return the terms of an index that are made of sizes alone, such as "-radius"."""
    variables = function.known_at(index)
    halos = set()
    for sign, term in nodes.terms_of(index):
        names = {function.text(node) for node in nodes.named_in(term)}
        if names and all(name in variables and variables[name].role == "size" for name in names):
            halos.add(sign + function.text(term))
    return halos


def _as_other_side(function: Function) -> Iterator[tuple[Node, str]]:
    """The term that one side of `s[t - radius] = in[i]` has, and the index of the other."""
    for node in function.nodes:
        left, right = nodes.sides_of(node)
        if node.type != "assignment_expression" or left is None or right is None:
            continue
        targets = [index.node for index in _indices(function, left)]
        parts = {part.id: part for part in (right, *descendants(right))}
        sources = [index.node for part in parts.values() for index in _indices(function, part)]
        if len(targets) == len(sources) == 1:
            one, other = targets[0], sources[0]
            for halo in sorted(_halos(function, one) - _halos(function, other)):
                yield other, halo
            for halo in sorted(_halos(function, other) - _halos(function, one)):
                yield one, halo


def _as_other_access(function: Function, indices: list[_Index]) -> Iterator[tuple[Node, str]]:
    """The term that one of `s[t + radius]` and `s[t]` has, and the index of the other."""
    halos_by_rest: dict[tuple[str, frozenset[str]], set[str]] = {}
    for index in indices:
        halos = _halos(function, index.node) if index.array else set()
        if len(halos) == 1:
            halos_by_rest.setdefault((index.array, _others(function, index, halos)), set()).update(halos)
    for index in indices:
        if index.array and not _halos(function, index.node):
            for halo in sorted(halos_by_rest.get((index.array, _others(function, index, set())), ())):
                yield index.node, halo


def _others(function: Function, index: _Index, halos: set[str]) -> frozenset[str]:
    """Return the terms of an index without its halos and its array."""
    terms = {sign + function.text(term) for sign, term in nodes.terms_of(index.node)}
    return frozenset(terms - halos - {f"+{index.array}"})


def _rows(function: Function, indices: list[_Index]) -> Iterator[Change]:
    """`s[i * n + k]` for `s[k]`: the row that other indices have, those of the same array first."""
    rows: dict[str, dict[str, None]] = {}
    for index in indices:
        for sign, term in nodes.terms_of(index.node) if index.array else ():
            if sign == "+" and nodes.operator_of(term) == "*":
                rows.setdefault(index.array, {})[function.text(term)] = None
    every_row = dict.fromkeys(row for of_array in rows.values() for row in of_array)
    for index in indices:
        terms = [term for _sign, term in nodes.terms_of(index.node)]
        is_of_row = any(nodes.operator_of(term) == "*" for term in terms)
        if not index.in_brackets or is_of_row or any(term.type not in PLAIN for term in terms):
            continue
        words, variables = function.names_in(index.node), function.known_at(index.node)
        for row in every_row:
            names = set(WORD.findall(row))
            if not names & words and names <= {*variables, *BUILTINS, *"xyz"}:
                cost = 1.4 if row in rows.get(index.array, ()) else 2.0
                line = function.line(index.node)
                yield function.insertion("index", index.node.start_byte, f"{row} + ", cost, "row", line=line)


_OF_BLOCK = re.compile(
    r"(?:\((?:int|size_t)\))?(?:blockIdx\.([xyz])(?:\*(?!gridDim)\(?[\w.*]+\)?)+|[\w.*]+\*blockIdx\.([xyz]))"
)
_WITHOUT_FACTOR = re.compile(r"block(?:Dim|Idx)\.([xyz])\+threadIdx\.\1")


def _of_thread(function: Function) -> Iterator[Change]:
    """An element's number in the whole grid of which a part was left out: of `blockIdx.x * blockDim.x` the thread, of
    `blockDim.x + threadIdx.x` the block, of `k` what a loop over a block's part starts from."""
    for node in function.nodes:
        value = nodes.value_of(node)
        if value is None or kind_at(function, value) != "index":
            continue
        text, line, name = "".join(function.text(value).split()), function.line(node), declared_name(node)
        whole, sums = _OF_BLOCK.fullmatch(text), _WITHOUT_FACTOR.fullmatch(text)
        variables = function.known_at(value)
        if whole is not None:
            axis = whole[1] or whole[2]
            yield function.insertion("index", value.end_byte, f" + threadIdx.{axis}", 1.8, "add_term", line=line)
        elif sums is not None:
            axis = sums[1]
            number = f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}"
            yield function.replacement("index", value, number, 0.4, "global_index")
        elif value.type in ("identifier", "field_expression") and name:
            for other in _first_elements(function, value):
                if other in variables and other != text:
                    yield function.insertion("index", value.start_byte, f"{other} + ", 2.4, "add_term", line=line)


def _first_elements(function: Function, node: Node) -> Iterator[str]:
    """Yield variables that hold the number of a block's first element."""
    for declared in function.nodes:
        value = nodes.value_of(declared)
        text = "".join(function.text(value).split()) if value is not None else ""
        if declared.end_byte < node.start_byte and _OF_BLOCK.fullmatch(text):
            yield declared_name(declared)


def _added(function: Function, index: Node, *, in_brackets: bool) -> Iterator[Change]:
    if index.type not in PLAIN and nodes.operator_of(index) not in ("+", "-", "*"):
        return
    variables = function.known_at(index)
    words, text = function.names_in(index), function.text(index)
    lengths = _lengths_of_rows(function, index)
    added: list[tuple[str, float, str]] = []
    for variable in variables.values():
        # A halo is as wide again on its other side.
        if variable.name in lengths:
            # Such a term would lead out of the row.
            continue
        if variable.role == "size" and (variable.name not in words or variable.start == 0):
            cost = 3.9 if variable.start else 3.6 if variable.name in words else 3.2
            added += [(f" + {variable.name}", cost, "add_term"), (f" - {variable.name}", cost, "subtract")]
    if in_brackets:
        indices = [name for name, variable in variables.items() if variable.role == "index" and name not in words]
        added += [(f" + {name}", 4.4, "add_term") for name in indices]
        added += [(f" + {name}", 4.6, "add_term") for name in ("threadIdx.x", "threadIdx.y") if name not in text]
    for more, cost, group in added:
        yield function.insertion(kind_at(function, index), index.end_byte, more, cost, group, line=function.line(index))


def _lengths_of_rows(function: Function, index: Node) -> frozenset[str]:
    """Return the names in the sizes of an array with several dimensions that an index stands in."""
    access = next((a for a in nodes.ancestors(index, function.body) if a.type == "subscript_expression"), None)
    inner = access.child_by_field_name("argument") if access is not None else None
    outer = access.parent if access is not None else None
    is_one_of_several = inner is not None and inner.type == "subscript_expression"
    is_one_of_several |= outer is not None and outer.type == "subscript_expression"
    if access is None or not is_one_of_several:
        return frozenset()
    array = function.text(access).partition("[")[0]
    declared = [n for n in function.nodes if n.type == "array_declarator" and declared_name(n) == array]
    return frozenset(word for n in declared for word in function.parsed.words(n)) - {array}


def _multiplied(
    function: Function, index: Node, own: dict[str, dict[str, None]], factors: list[str]
) -> Iterator[Change]:
    """A term of the index times what others are multiplied by, or times a size.

    own: factors of the function by what they multiply.  factors: all that may be meant.
    """
    variables = function.known_at(index)
    for _sign, term in nodes.terms_of(index):
        is_product = nodes.operator_of(term) == "*"
        text = function.text(term)
        is_array = text in variables and variables[text].role == "array"
        if not is_product and (is_array or term.type not in PLAIN):
            continue
        words = function.names_in(term)
        usual = own.get(_AXIS.sub("", text), {})
        if is_product:
            first, _sign, rest = text.partition(" * ")
            longer = [o for o in own.get(_AXIS.sub("", first), ()) if o.startswith(f"{rest} * ")]
            usual = dict.fromkeys(o.removeprefix(f"{rest} * ") for o in longer)
        for factor in dict.fromkeys([*usual, *factors]):
            names = set(WORD.findall(factor))
            if (factor in variables or names <= variables.keys()) and (is_product or not names & words):
                edit = function.inserted(term.end_byte, f" * {factor}")
                cost = AS_ELSEWHERE if factor in usual else 3.2
                yield Change(kind_at(function, term), function.line(term), (edit,), cost, "times")


def _factors(function: Function) -> dict[str, dict[str, None]]:
    """Return what products multiply by, such as "n * n", by their first factor without its axis, such as "blockIdx"."""
    factors: dict[str, dict[str, None]] = {}
    for node in function.nodes:
        if nodes.operator_of(node) != "*" or (node.parent is not None and nodes.operator_of(node.parent) == "*"):
            continue
        first = node
        while nodes.operator_of(first) == "*" and (left := first.child_by_field_name("left")) is not None:
            first = left
        rest = function.parsed.data[first.end_byte : node.end_byte].decode("utf-8", errors="replace")
        text = " ".join(rest.split()).removeprefix("*").strip()
        if text and not any(c in text for c in "[.({?\"'") and not text.endswith(("f", "F")):
            factors.setdefault(_AXIS.sub("", function.text(first)), {})[text] = None
    return factors


MIRRORED = {"+": "-", "-": "+"}
UNUSED = 0.4
"""What a change costs that uses a parameter which is used nowhere: none is handed over for nothing."""


def left_out_changes(function: Function) -> Iterator[Change]:
    """All of them."""
    sums: dict[int, list[Access]] = {}
    for access in function.accesses:
        sums.setdefault(_sum_of(access.node).id, []).append(access)
    for accesses in sums.values():
        yield from _neighbours(function, accesses)
    yield from _counted(function)
    for variable in _unused(function):
        yield from _used(function, variable)


# -- sums of neighbours ----------------------------------------------------------------


def _sum_of(node: Node) -> Node:
    """Return the whole sum that a node is a term of, through products and brackets; else the node."""
    whole, inner = node, node
    while (outer := inner.parent) is not None:
        if nodes.operator_of(outer) in ("+", "-"):
            whole = outer
        elif nodes.operator_of(outer) != "*" and outer.type != "parenthesized_expression":
            break
        inner = outer
    return whole


def _term_of(node: Node) -> Node:
    term = node
    while (outer := term.parent) is not None and nodes.operator_of(outer) == "*":
        term = outer
    return term


def _place(function: Function, access: Access) -> tuple[str, str, str] | None:
    """What precedes the last sign in the index of `in[k - cols]`, the sign, and the distance; None without a sign."""
    inner = nodes.index_of(access.node)
    sign = nodes.operator_of(inner) if inner is not None else ""
    left, right = (inner.child_by_field_name(side) if inner is not None else None for side in ("left", "right"))
    if sign not in MIRRORED or left is None or right is None:
        return None
    before = function.parsed.data[access.node.start_byte : left.end_byte].decode("utf-8", errors="replace")
    return "".join(before.split()), sign, "".join(function.text(right).split())


def _neighbours(function: Function, accesses: list[Access]) -> Iterator[Change]:
    """The neighbour on the other side, in place of one that is added twice or as another term."""
    places = [(access, place) for access in accesses if (place := _place(function, access)) is not None]
    count = Counter(place for _access, place in places)
    for access, (base, sign, distance) in places:
        if count[base, MIRRORED[sign], distance]:
            continue
        line = function.line(access.node)
        other = _mirrored(function, access)
        if count[base, sign, distance] > 1:
            yield function.replacement("index", access.node, other, 0.6, "mirrored", line=line)
        elif len(places) > 1:
            term = _term_of(access.node)
            outer = term.parent
            is_taken = (
                outer is not None and nodes.operator_of(outer) == "-" and outer.child_by_field_name("right") == term
            )
            text = function.text(term).replace(function.text(access.node), other, 1)
            edit = function.inserted(term.end_byte, f" {'-' if is_taken else '+'} {text}")
            yield Change("expression", line, (edit,), 1.0, "neighbour", "neighbour")


def _mirrored(function: Function, access: Access) -> str:
    index = access.node.child_by_field_name("indices")
    operator = index.named_children[0].child_by_field_name("operator") if index is not None else None
    assert operator is not None
    start = operator.start_byte - access.node.start_byte
    data = function.parsed.data[access.node.start_byte : access.node.end_byte]
    text = data[:start] + MIRRORED[operator.type].encode() + data[start + len(operator.type) :]
    return text.decode("utf-8", errors="replace")


def _counted(function: Function) -> Iterator[Change]:
    """The element itself as many times as it has neighbours: `up + down + left + right - 4 * here`."""
    own = Counter(access.array for access in function.accesses)
    for node in function.nodes if function.accesses else ():
        right = node.child_by_field_name("right")
        if nodes.operator_of(node) != "-" or right is None or right.type not in ("subscript_expression", "identifier"):
            continue
        if any(outer.type == "subscript_argument_list" for outer in nodes.ancestors(node, function.body)):
            continue
        array = function.text(right).partition("[")[0]
        for times in sorted(({own[array] - 1} | {2, 4}) - {-1, 0, 1}):
            edit = function.replaced(right, f"{times} * {function.text(right)}")
            yield Change("expression", function.line(right), (edit,), 2.2, "factor", "factor")


# -- parameters that are used nowhere --------------------------------------------------


def _unused(function: Function) -> Iterator[Variable]:
    words = function.parsed.words(function.body)
    for variable in function.variables:
        if variable.start == function.body.start_byte and variable.name not in words and variable.name.isidentifier():
            yield variable


def _used(function: Function, variable: Variable) -> Iterator[Change]:
    """An unused parameter where it may be meant: an array's element as an index or factor, a number as a factor."""
    if variable.role == "array":
        is_of_indices = "int" in variable.type or "size" in variable.type or "long" in variable.type
        for access in function.accesses:
            index = nodes.index_of(access.node)
            if index is None:
                continue
            line, text = function.line(access.node), function.text(index)
            if is_of_indices:
                edit = function.replaced(index, f"{variable.name}[{text}]")
                yield Change("index", line, (edit,), UNUSED, "unused", "unused")
            elif not nodes.is_stored(access.node):
                for own in dict.fromkeys([text, *_loop_indices(function, access.node)]):
                    edit = function.inserted(access.node.end_byte, f" * {variable.name}[{own}]")
                    yield Change("expression", line, (edit,), UNUSED + 0.4, "unused", "unused")
        return
    if variable.role != "value":
        return
    for node in function.nodes:
        value = node.child_by_field_name("right") if node.type == "assignment_expression" else None
        value = node.child_by_field_name("value") if node.type == "init_declarator" else value
        if value is None or value.type == "initializer_list":
            continue
        line = function.line(value)
        if nodes.operator_of(value) in ("+", "-") and (right := value.child_by_field_name("right")) is not None:
            text = function.text(right)
            text = f"({text})" if nodes.operator_of(right) in ("+", "-") else text
            yield function.replacement("expression", right, f"{variable.name} * {text}", UNUSED, *_UNUSED, line=line)
        text = function.text(value)
        text = f"({text})" if value.type == "binary_expression" else text
        if (
            any(nodes.operator_of(outer) for outer in nodes.ancestors(value, function.body))
            or "[" in text
            or "(" in text
        ):
            edit = function.replaced(value, f"{variable.name} * {text}")
            yield Change("expression", line, (edit,), UNUSED + 0.2, *_UNUSED)
        for sign in "+-":
            edit = function.inserted(value.end_byte, f" {sign} {variable.name}")
            yield Change("expression", line, (edit,), UNUSED + 0.8, *_UNUSED)


_UNUSED = ("unused", "unused")


def _loop_indices(function: Function, node: Node) -> Iterator[str]:
    loops = [outer for outer in nodes.ancestors(node, function.body) if outer.type == "for_statement"]
    for loop in loops:
        start = loop.child_by_field_name("initializer")
        if start is not None:
            yield from (v.name for v in function.variables if start.start_byte <= v.start <= start.end_byte)
