"""Changes of comparisons: another sign, or a side that is one more or less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.change import Change
from grader.repair.changes.kinds import kind_at
from grader.repair.function import LEAVES, Function, ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

COMPARISONS = {
    "<": ("<=", ">", ">=", "!="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<", "<="),
    "!=": ("==",),
}
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


def comparison_changes(function: Function, node: Node) -> Iterator[Change]:
    """Those of one comparison, which is `node`."""
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if operator is None or left is None or right is None:
        return
    sign, line = operator.type, function.line(operator)
    turned = _is_turned(function, node, sign)
    lets_in = _keeps_within(function, node, sign)
    for other in COMPARISONS[sign]:
        cost = 2.6 if (sign, other) not in NEAR else 2.2 if lets_in else 1.0
        if turned:
            cost = min(cost, TURNED.get((sign, other), cost))
        yield Change("comparison", line, (function.replaced(operator, other),), cost, "comparison")
    for side in (left, right):
        for step in ("+ 1", "- 1"):
            edit = function.inserted(side.end_byte, f" {step}")
            yield Change(kind_at(function, node), line, (edit,), 3.6, "off_by_one")


def _is_turned(function: Function, node: Node, sign: str) -> bool:
    """Whether a comparison is likely to point the wrong way.

    That is so of the condition of a loop that counts up while something is larger (or down while it is smaller), and of
    one that guards something, but lets through what is larger than a name, or turns away what is smaller.
    """
    if sign not in ("<", "<=", ">", ">="):
        return False
    is_larger = sign in (">", ">=")
    for outer in ancestors(node, function.body):
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
            first = body.named_children[0] if body is not None and body.type == "compound_statement" else body
            leaves = first is not None and first.type in LEAVES
            return is_larger != leaves and right is not None and right.type == "identifier"
        if outer.type not in ("binary_expression", "parenthesized_expression", "condition_clause"):
            return False
    return False


def _keeps_within(function: Function, node: Node, sign: str) -> bool:
    """Whether a condition turns away what is as large as a size: letting that in is hardly ever right."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if sign not in ("<", ">=") or left is None or right is None or kind_at(function, node) != "guard":
        return False
    known = function.known_at(node)
    size = known.get(function.text(right))
    is_parameter = size is not None and size.role == "size" and size.start == function.body.start_byte
    return is_parameter and any(known[w].role == "index" for w in function.parsed.words(left) & known.keys())
