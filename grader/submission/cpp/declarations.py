"""What a declaration tells of constants and types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.submission.effort import spend_on
from grader.submission.expressions.constants import Constants
from grader.submission.expressions.nodes import Number

if TYPE_CHECKING:
    from tree_sitter import Node

# A word before the name is the type of another variable of that name.
_ASSIGNED = (
    rb"(?:[;{}()=?:\n]|\belse|\bdo)[ \t]*+%b\s*+(?:(?:[-+*/%%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    rb"|(?:>>|&|\+\+|--)\s*+%b\b"
)
TYPE_NODES = frozenset(["struct_specifier", "class_specifier", "union_specifier", "enum_specifier"])


def node_text(node: Node) -> str:
    """The node's own text."""
    return (node.text or b"").decode("utf-8", errors="replace")


def learn_constants(constants: Constants, node: Node) -> None:
    """Add the values, enumerators and type names that a declaration gives."""
    type_node = node if node.type in TYPE_NODES else node.child_by_field_name("type")
    following: int | None = 0
    for enumerator in enumerators(type_node):
        name, value = enumerator.child_by_field_name("name"), enumerator.child_by_field_name("value")
        if value is not None:
            following = constants.integer(node_text(value))
        if name is not None and following is not None:
            constants.values[node_text(name)] = Number(following)
        following = None if following is None else following + 1
    if node.type == "type_definition" and type_node is not None:
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "type_identifier":
                constants.types[node_text(declarator)] = node_text(type_node)
    elif node.type == "alias_declaration":
        name = node.child_by_field_name("name")
        if name is not None and type_node is not None:
            constants.types[node_text(name)] = node_text(type_node)
    elif node.type == "declaration":
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            inner = declarator.child_by_field_name("declarator")
            if value is not None and inner is not None and inner.type == "identifier":
                text = node_text(value)
                expression = constants.parse(
                    text[1:-1] if value.type in {"argument_list", "initializer_list"} else text
                )
                if expression is not None:
                    constants.values[node_text(inner)] = expression


def unset_variables(node: Node) -> list[str]:
    """The variables of a declaration that begin with a number which is no size, 0 or -1, and may change."""
    if node.type != "declaration" or any(node_text(c) in {"const", "constexpr"} for c in node.named_children):
        return []
    found = []
    for declarator in node.children_by_field_name("declarator"):
        value, inner = declarator.child_by_field_name("value"), declarator.child_by_field_name("declarator")
        if value is not None and inner is not None and node_text(value).strip("{} \n") in {"0", "-1", "0u", "0U"}:
            found.append(node_text(inner))
    return found


def is_assigned(data: bytes, name: str) -> bool:
    """Whether a file gives a variable a value after its declaration: by `=`, `++` and the like, `>>`, its address."""
    spend_on(len(data))
    word = re.escape(name.encode())
    return re.search(_ASSIGNED % (word, word), data) is not None


def enumerators(node: Node | None) -> list[Node]:
    """The enumerators of an enumeration's body; none for any other type."""
    body = node.child_by_field_name("body") if node is not None and node.type == "enum_specifier" else None
    return [c for c in body.named_children if c.type == "enumerator"] if body is not None else []
