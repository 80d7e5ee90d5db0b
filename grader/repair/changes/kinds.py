"""What is wrong at a place where a change helps: an index, a guard, a bound, or another expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.repair.change import Kind
from grader.repair.function import Function, ancestors
from grader.submission.cpp.tree import LOOPS

if TYPE_CHECKING:
    from tree_sitter import Node


def kind_at(function: Function, node: Node) -> Kind:
    """What is wrong where an expression's part is: an index, a guard, a loop's bound, or another expression."""
    inner = node
    for outer in ancestors(node, function.body):
        if outer.type == "subscript_argument_list":
            return "index"
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
    assigned = next((a for a in ancestors(node, function.body) if a.type == "assignment_expression"), None)
    if assigned is not None:
        left = assigned.child_by_field_name("left")
        known = function.known_at(node)
        name = function.text(left) if left is not None else ""
        if name in known and known[name].role in ("index", "size"):
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
