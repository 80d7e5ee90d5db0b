"""Parts of a syntax tree as the search for changes asks for them: operands, values, conditions, arguments, indices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

LEAVES = ("return_statement", "continue_statement", "break_statement")


def listed(node: Node | None) -> list[Node]:
    """Return the named children of a list, without comments; [] where there is no list."""
    return [n for n in node.named_children if n.type != "comment"] if node is not None else []


def sides_of(node: Node) -> tuple[Node | None, Node | None]:
    """Return the operands of a binary expression or an assignment, left and right."""
    return node.child_by_field_name("left"), node.child_by_field_name("right")


def terms_of(node: Node, sign: str = "+") -> Iterator[tuple[str, Node]]:
    """Yield the terms of a sum with their signs; any other expression itself."""
    (left, right), operator = sides_of(node), operator_of(node)
    if operator in ("+", "-") and left is not None and right is not None:
        yield from terms_of(left, sign)
        yield from terms_of(right, sign if operator == "+" else "-" if sign == "+" else "+")
    else:
        yield sign, node


def assignment_of(node: Node | None) -> tuple[Node, str, Node] | None:
    """Return target, operator and value of an assignment; None for other nodes."""
    if node is None or node.type != "assignment_expression":
        return None
    (left, right), operator = sides_of(node), node.child_by_field_name("operator")
    return (left, operator.type, right) if left is not None and right is not None and operator is not None else None


def value_of(node: Node) -> Node | None:
    """Return the value that a declaration gives a variable; None for other nodes."""
    return node.child_by_field_name("value") if node.type == "init_declarator" else None


def index_of(access: Node) -> Node | None:
    """Return the index of an element of an array, the last where there are several."""
    indices = access.child_by_field_name("indices")
    return indices.named_children[0] if indices is not None and indices.named_children else None


def inner_of(statement: Node | None) -> Node | None:
    """Return the expression of a statement; None for other nodes."""
    is_expression = statement is not None and statement.type == "expression_statement"
    return statement.named_children[0] if statement is not None and is_expression and statement.named_children else None


def named_in(node: Node) -> Iterator[Node]:
    """Yield the variables that an expression names, members with what they are members of: `n`, `shape.rows`."""
    if node.type in ("identifier", "field_expression"):
        yield node
        return
    callee = node.child_by_field_name("function") if node.type == "call_expression" else None
    for child in node.named_children:
        if child != callee:
            yield from named_in(child)


def is_statement(node: Node) -> bool:
    """Whether a node is a statement or a declaration of its own."""
    parent = node.parent
    if parent is None or not node.is_named:
        return False
    if not (node.type.endswith("_statement") or node.type == "declaration"):
        return False
    return parent.type not in ("for_statement", "condition_clause") or node == parent.child_by_field_name("body")


def condition_of(node: Node) -> Node | None:
    """Return the condition of a branch or a `while` loop."""
    clause = node.child_by_field_name("condition")
    if clause is None or clause.type != "condition_clause":
        return None
    return clause.child_by_field_name("value") or (clause.named_children[0] if clause.named_children else None)


def operator_of(node: Node) -> str:
    """Return the operator of a binary expression; "" for other nodes."""
    operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
    return operator.type if operator is not None else ""


def ancestors(node: Node, top: Node) -> Iterator[Node]:
    """Yield what a node stands in, from the inside out, up to `top`."""
    current = node.parent
    while current is not None:
        yield current
        if current == top:
            return
        current = current.parent


def only_leaves(body: Node) -> bool:
    """Whether a branch only ends the kernel, the loop or the iteration."""
    inner = listed(body) if body.type == "compound_statement" else [body]
    return len(inner) == 1 and inner[0].type in LEAVES


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call; [] where it has none."""
    arguments = call.child_by_field_name("arguments")
    return listed(arguments) if arguments is not None else []


def is_stored(node: Node) -> bool:
    """Whether a node is the target of an assignment."""
    parent = node.parent
    return parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == node


def outside_brackets(node: Node) -> Node:
    """Return what an expression stands in, brackets left out; the expression itself at the top."""
    outer = node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    return outer or node


def unbracketed(node: Node) -> Node:
    """Return the expression within brackets."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node


def only_statement(body: Node | None) -> Node | None:
    """Return the one statement of a block that holds no other; any other body itself."""
    if body is not None and body.type == "compound_statement" and len(body.named_children) == 1:
        return body.named_children[0]
    return body


def operand_of(node: Node) -> tuple[str, bool]:
    """Return the operator that a node is an operand of, brackets left out, and whether it is the right one."""
    inner, outer = node, node.parent
    while outer is not None and outer.type == "parenthesized_expression":
        inner, outer = outer, outer.parent
    operator = outer.child_by_field_name("operator") if outer is not None else None
    if outer is None or operator is None:
        return "", False
    return operator.type, outer.child_by_field_name("right") == inner


def divides(node: Node) -> bool:
    """Whether a node is a divisor, in whose place nothing may stand that counts from 0."""
    operator, is_right = operand_of(node)
    return is_right and operator in ("/", "%", "/=", "%=")


def decides_to_leave(node: Node, top: Node) -> bool:
    """Whether a node stands in the condition of a branch that only leaves out what follows; top: of the function."""
    for outer in ancestors(node, top):
        if outer.type == "if_statement":
            condition, body = condition_of(outer), outer.child_by_field_name("consequence")
            is_inside = condition is not None and condition.start_byte <= node.start_byte < condition.end_byte
            return is_inside and body is not None and only_leaves(body)
    return False


def shortened(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield `bytes / 2` and `n - 1`, by themselves or times a width, and what is left of each without its last part."""
    left, right = sides_of(node)
    if operator_of(node) in ("/", "-") and left is not None:
        yield node, left
    elif operator_of(node) == "*" and left is not None and right is not None and right.type == "sizeof_expression":
        yield from shortened(left)
