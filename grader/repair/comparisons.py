"""What is wrong at an expression's part, in words too, and changes of comparisons, which decide more than others do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.message import Message, msg
from grader.repair import nodes
from grader.repair.function import Change, Function, Kind, is_rounded_down, stands_in_index
from grader.submission.cpp.tree import LOOPS, WORD, ParsedFile, declared_name

if TYPE_CHECKING:
    from tree_sitter import Node


def kind_at(function: Function, node: Node) -> Kind:
    """Return what is wrong at an expression's part: an index, a guard, a loop's bound, or another expression."""
    inner = argument = node
    for outer in nodes.ancestors(node, function.body):
        if outer.type == "subscript_argument_list":
            return "index"
        if outer.type == "call_expression" and stands_in_index(function, outer, argument):
            return "index"
        if outer.type == "argument_list":
            argument = inner
        if outer.type == "condition_clause":
            is_loop = outer.parent is not None and outer.parent.type in LOOPS
            return "bound" if is_loop else "guard"
        if outer.type == "conditional_expression" and inner == outer.child_by_field_name("condition"):
            return "guard"
        if outer.type == "for_statement" and inner != outer.child_by_field_name("body"):
            return "bound"
        if outer.type == "array_declarator":
            return "array_size"
        if outer.type == "init_declarator":
            if _starts_loop(outer):
                return "bound"
            return "index" if _declares_integer(function, outer) else "expression"
        if outer.type == "compound_statement":
            break
        inner = outer
    assigned = next((a for a in nodes.ancestors(node, function.body) if a.type == "assignment_expression"), None)
    if assigned is not None:
        left = assigned.child_by_field_name("left")
        variables = function.known_at(node)
        name = function.text(left) if left is not None else ""
        if name in variables and variables[name].role in ("index", "size"):
            return "index"
    return "expression"


def _starts_loop(declarator: Node) -> bool:
    declaration = declarator.parent
    loop = declaration.parent if declaration is not None else None
    return loop is not None and loop.type == "for_statement" and loop.child_by_field_name("initializer") == declaration


def _declares_integer(function: Function, declarator: Node) -> bool:
    name = declarator.child_by_field_name("declarator")
    text = function.text(name) if name is not None else ""
    if declarator.parent is not None and text.startswith("*"):
        return True
    return any(v.name == text and v.role in ("index", "size", "array") for v in function.variables)


COMPARISONS = {
    "<": ("<=", ">", ">=", "!="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<", "<="),
    "!=": ("==",),
}
LETS_IN = {"<=": "<", ">": ">="}
WIDENED = {("<", "<="), (">", ">=")}
"""Of a condition that lets in, or of a loop: with these it lets in more."""
LETS_OUT = {(other, sign) for sign, other in WIDENED}
"""The same of one that turns away."""
NEAR = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
TURNED = {
    (">", "<"): 1.0,
    (">", "<="): 1.8,
    (">=", "<="): 1.0,
    (">=", "<"): 1.2,
    ("<", ">"): 1.0,
    ("<", ">="): 1.2,
    ("<=", ">="): 1.0,
    ("<=", ">"): 1.8,
}
"""Of a comparison that points away from where its loop goes, or lets in what is outside."""


AS_WRITTEN = 1.7
"""What a change costs that another one writes better."""


def comparison_changes(function: Function, node: Node) -> Iterator[Change]:
    """Yield the changes of the comparison `node`."""
    operator = node.child_by_field_name("operator")
    left, right = nodes.sides_of(node)
    if operator is None or left is None or right is None:
        return
    sign, line = operator.type, function.line(operator)
    turned = _is_turned(function, node, sign)
    lets_in = _keeps_within(function, node, sign)
    near = 3.2 if _counts_whole_parts(function, node) else 2.2 if lets_in else 1.0
    if sign == "<" and nodes.operator_of(right) == "-" and "".join(function.text(right).split()).endswith("-1"):
        # `i < n` is how `i <= n - 1` is written: what is subtracted goes first.
        near = max(near, AS_WRITTEN)
    for other in COMPARISONS[sign]:
        cost = 2.6 if (sign, other) not in NEAR else near
        if turned:
            cost = min(cost, TURNED.get((sign, other), cost))
        lets_in_more = (sign, other) in (LETS_OUT if nodes.decides_to_leave(node, function.body) else WIDENED)
        group = "widened" if lets_in_more else "comparison"
        yield function.replacement("comparison", operator, other, cost, group, line=line)
    for side in (left, right):
        for step in ("+ 1", "- 1"):
            yield function.insertion(kind_at(function, node), side.end_byte, f" {step}", 3.6, "off_by_one", line=line)


def precedence_change(function: Function, node: Node) -> Change | None:
    """`(a & b) == c` of `a & b == c`, which compares first; None of any other expression."""
    (left, compared), operator = nodes.sides_of(node), nodes.operator_of(node)
    if (
        operator not in ("&", "|", "^")
        or left is None
        or compared is None
        or nodes.operator_of(compared) not in ("==", "!=")
    ):
        return None
    inner, other = nodes.sides_of(compared)
    if inner is None or other is None:
        return None
    first = f"({function.text(left)} {operator} {function.text(inner)})"
    text = f"{first} {nodes.operator_of(compared)} {function.text(other)}"
    # Two truth values are hardly ever joined bit by bit: nobody means that.
    return function.replacement("comparison", node, text, 0.1, "precedence", "precedence")


def _is_turned(function: Function, node: Node, sign: str) -> bool:
    """Whether a comparison is likely to point the wrong way.

    That is so of the condition of a loop that counts up while something is larger (or down while it is smaller), and of
    one that guards something, but lets through what is larger than a name, or turns away what is smaller.
    """
    if sign not in ("<", "<=", ">", ">="):
        return False
    is_larger = sign in (">", ">=")
    for outer in nodes.ancestors(node, function.body):
        if outer.type == "for_statement":
            update = outer.child_by_field_name("update")
            text = function.text(update) if update is not None else ""
            up, down = "++" in text or "+=" in text, "--" in text or "-=" in text
            return (up and is_larger) or (down and not is_larger)
        right = node.child_by_field_name("right")
        if outer.type == "conditional_expression":
            return is_larger and right is not None and right.type == "identifier"
        if outer.type == "if_statement":
            body = outer.child_by_field_name("consequence")
            first = (
                next(iter(nodes.listed(body)), None) if body is not None and body.type == "compound_statement" else body
            )
            leaves = first is not None and first.type in nodes.LEAVES
            return is_larger != leaves and right is not None and right.type == "identifier"
        if outer.type not in ("binary_expression", "parenthesized_expression", "condition_clause"):
            return False
    return False


def _keeps_within(function: Function, node: Node, sign: str) -> bool:
    """Whether a condition turns away indices as large as a size: letting them in is hardly ever right."""
    left, right = nodes.sides_of(node)
    if sign not in ("<", ">=") or left is None or right is None or kind_at(function, node) != "guard":
        return False
    variables = function.known_at(node)
    size = variables.get(function.text(right))
    is_parameter = size is not None and size.role == "size" and size.start == function.body.start_byte
    return is_parameter and any(variables[w].role == "index" for w in function.parsed.words(left) & variables.keys())


def _counts_whole_parts(function: Function, node: Node) -> bool:
    """Whether a loop's bound is a quotient rounded down: one pass more would be one too many at some sizes."""
    right = node.child_by_field_name("right")
    if right is None or kind_at(function, node) != "bound":
        return False
    name = function.text(right)
    values = [n.child_by_field_name("value") for n in function.nodes if n.type == "init_declarator"]
    definitions = [v for v in values if v is not None and v.parent is not None and declared_name(v.parent) == name]
    return any(is_rounded_down(function, side) for side in (right, *definitions))


MOST_QUOTED = 60
_OF_WARP = re.compile(r"32|(?i:\w*warp\w*)")
_NUMBER = re.compile(r"(?:0[xX][\da-fA-F]+|[\d.]+(?:[eE][-+]?\d+)?)[fFuUlL]*")
_NAME = re.compile(r"[^\W\d]\w*")
_LIMIT = re.compile(r"(?P<index>[^<>=!&|]+?) *(?:<|>=) *\w[\w.]*\)*")
_EXPRESSIONS = ("identifier", "number_literal")
_MADE_OF = ("binary_expression", "parenthesized_expression", "field_expression")


def about_msg(change: Change) -> Message | None:
    """Return which part of the line is wrong, and in what way where that is known; None where it is too long."""
    if not change.code or len(change.code) > MOST_QUOTED:
        return None
    way = (change.was, change.edits[0].text) if len(change.edits) == 1 else ("", "")
    form = "_equal" if way in NEAR and way[1].endswith("=") else "_unequal" if way in NEAR else ""
    if change.detail == "step" and change.was == "blockDim.x" and _OF_WARP.fullmatch(way[1]):
        form = "_lanes"
    if change.kind == "guard" and _are_exchanged(*way):
        form = "_exchanged"
    if form:
        return msg(f"repairs.code{form}", quoted=change.code)
    for name, pattern in (("name", _NAME), ("number", _NUMBER), ("operator", re.compile(r"[^\w\s()]+"))):
        if pattern.fullmatch(way[0]) and pattern.fullmatch(way[1]):
            if change.code != change.was:
                return msg(f"repairs.code_{name}_in", piece=change.was, quoted=change.code)
            if name != "operator":
                return msg(f"repairs.code_{name}", quoted=change.code)
    # Of a condition the whole is no part of it.
    return msg("repairs.code", quoted=change.code) if change.kind != "guard" else None


def _are_exchanged(text: str, other: str) -> bool:
    """Whether two conditions differ by two names alone, which have changed places."""
    one, two = WORD.findall(text), WORD.findall(other)
    return (
        len(one) == len(two) and sorted(one) == sorted(two) and sum(a != b for a, b in zip(one, two, strict=True)) == 2
    )


def with_code(parsed: ParsedFile, change: Change) -> Change:
    """Return a change with the expression that its words quote: of a missing condition, what it has to limit.

    That is the smallest expression which all of its edits touch; the same change where there is none.
    """
    if change.code or not change.edits:
        return change
    text = parsed.source.text
    start, end = (
        len(text[:place].encode()) for place in (min(e.start for e in change.edits), max(e.end for e in change.edits))
    )
    is_inserted = start == end
    if is_inserted:
        is_first = not start or parsed.data[start - 1 : start] in (b" ", b"\t", b"\n", b"(")
        start, end = (start, end + 1) if is_first else (start - 1, end)
    node = parsed.root.named_descendant_for_byte_range(start, end)
    while is_inserted and node is not None and node.parent is not None and node.parent.type in _MADE_OF:
        # What is put in belongs to the whole.
        node = node.parent
    if node is None:
        return change
    if change.detail == "missing":
        return replace(change, code=_unlimited(parsed, change, node)) if change.kind == "guard" else change
    if not (node.type.endswith("_expression") or node.type in _EXPRESSIONS):
        return change
    was = text[change.edits[0].start : change.edits[0].end] if len(change.edits) == 1 else ""
    return replace(change, was=was, code=" ".join(parsed.text(nodes.unbracketed(node)).split()))


def _unlimited(parsed: ParsedFile, change: Change, place: Node) -> str:
    """Return what the tests of a missing condition limit and no condition around the place does; "" if not known."""
    text = change.edits[0].text.strip()
    text = text.partition("?")[0] if text.startswith("(") else text.removesuffix("return;").strip()
    tests = [part.strip().removeprefix("if").strip(" !(") for part in re.split(r"&&|\|\|", text)]
    limits = [_LIMIT.fullmatch(test.strip()) for test in tests]
    around = [parsed.text(c) for a in nodes.ancestors(place, parsed.root) if (c := nodes.condition_of(a)) is not None]
    known = {test.strip(" ()") for condition in around for test in re.split(r"&&|\|\|", condition)}
    names = [m["index"] for m, test in zip(limits, tests, strict=True) if m and test.strip(" ()") not in known]
    is_whole = all(m is not None and m["index"].count("(") == m["index"].count(")") for m in limits)
    return ", ".join(dict.fromkeys(names)) if is_whole else ""
