"""Changes of early returns: left out, made the end of a loop alone, put behind the last barrier with what they kept
threads from under a condition before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, zero_of
from grader.repair.nodes import ancestors, is_statement, listed, only_leaves, operator_of, unbracketed, value_of
from grader.submission.cpp.tree import LOOPS, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOSER_THAN_NOT = re.compile(r"[-+*/%<>=!&|^?]")
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
MOST_PARTS = 6
"""Statements before the barrier that a condition is put around."""


def ends_with_return(body: Node) -> bool:
    """Whether the last that a branch does is to return."""
    inner = listed(body) if body.type == "compound_statement" else [body]
    return bool(inner) and inner[-1].type == "return_statement"


def return_changes(function: Function, node: Node, condition: Node) -> Iterator[Change]:
    """Yield what may become of an early return, `if (condition) return;` without `else`.

    Of a branch that does something before it returns, only whether it comes too early is asked.
    """
    before = 1.4 if any(b.start_byte > node.end_byte for b in function.barriers) else 3.0
    line, body = function.line(node), node.child_by_field_name("consequence")
    left_out = _left_out(function, node)
    if node.parent is not None and node.parent.type == "compound_statement":
        yield from _put_off(function, node, condition, left_out, before)
    if body is None or not only_leaves(body):
        return
    yield Change("guard", line, (left_out,), before, "returns", "returns")
    if any(outer.type in LOOPS for outer in ancestors(node, function.body)):
        end = next(n for n in descendants(node) if n.type == "return_statement")
        yield Change(
            "guard", function.line(end), (function.replaced(end, "break;"),), before - 0.6, "returns", "returns_break"
        )
    following = node.next_named_sibling
    if following is not None and following.type == "expression_statement" and following not in function.barriers:
        edit = function.replaced(node, f"if ({_opposite(function, condition)})")
        yield Change("guard", line, (edit,), before, "returns", "returns_early")


def _put_off(function: Function, node: Node, condition: Node, left_out: Edit, before: float) -> Iterator[Change]:
    """The return behind the last statement of its block that holds a barrier; and the same with all that stands
    before that barrier under a condition."""
    line, siblings = function.line(node), node.parent.named_children if node.parent is not None else []
    following = [n for n in siblings if n.start_byte > node.end_byte and is_statement(n)]
    last = next((n for n in reversed(following) if _holds_barrier(function, n)), None)
    if last is None:
        return
    barriers = [b for b in function.barriers if node.end_byte <= b.start_byte < last.end_byte]
    moved: tuple[Edit, ...] = ()
    if last != following[-1]:
        moved = (function.inserted(last.end_byte, f"\n{function.indent(node)}{function.text(node)}"),)
        yield Change(
            "guard", line, (left_out, *moved), before - 0.5, "returns", "returns_late", function.line(barriers[-1])
        )
    body = node.child_by_field_name("consequence")
    # Only what goes by the index that is too large has to be kept from it.
    known = function.known_at(node)
    own = {word for word in function.parsed.words(condition) if word in known and known[word].role == "index"}
    parts = [
        (first, end)
        for first, end in _parts(function, following[: following.index(last) + 1])
        if any(own & function.parsed.words(n) for n in _between(first, end))
    ]
    if body is not None and only_leaves(body) and 0 < len(parts) <= MOST_PARTS:
        guard = _opposite(function, condition)
        guards = [edit for first, end in parts for edit in _under(function, guard, first, end)]
        edits = (left_out, *guards, *moved)
        yield Change("guard", line, edits, before - 0.4, "returns", "returns_around", function.line(barriers[0]))


def _between(first: Node, last: Node) -> Iterator[Node]:
    """Yield the statements from one to another of the same block."""
    current: Node | None = first
    while current is not None and current.start_byte <= last.start_byte:
        yield current
        current = current.next_named_sibling


def _holds_barrier(function: Function, statement: Node) -> bool:
    return any(statement.start_byte <= b.start_byte < statement.end_byte for b in function.barriers)


def _parts(function: Function, statements: list[Node]) -> Iterator[tuple[Node, Node]]:
    """Yield runs of statements, first and last, that no barrier stands in; declarations stay as they are, apart from
    those that read an element, which are given alone."""
    run: list[Node] = []
    for statement in [*statements, None]:
        holds = statement is not None and _holds_barrier(function, statement)
        is_declared = statement is not None and statement.type == "declaration"
        if run and (statement is None or holds or is_declared):
            yield run[0], run[-1]
            run = []
        if statement is None:
            continue
        if holds:
            inner = statement.child_by_field_name("body")
            if statement.type in LOOPS and inner is not None and inner.type == "compound_statement":
                yield from _parts(function, [n for n in inner.named_children if is_statement(n)])
        elif is_declared:
            if any(n.type == "subscript_expression" for n in descendants(statement)):
                yield statement, statement
        else:
            run.append(statement)


def _under(function: Function, guard: str, first: Node, last: Node) -> Iterator[Edit]:
    """Yield the edits that put statements under a condition, or the value of a declaration."""
    if first.type == "declaration":
        kind = first.child_by_field_name("type")
        zero = zero_of(function.text(kind) if kind is not None else "")
        for declarator in first.children_by_field_name("declarator"):
            value = value_of(declarator)
            if value is not None and any(n.type == "subscript_expression" for n in (value, *descendants(value))):
                yield function.replaced(value, f"{guard} ? {function.text(value)} : {zero}")
    elif first == last:
        yield function.inserted(first.start_byte, f"if ({guard}) ")
    else:
        yield function.inserted(first.start_byte, f"if ({guard}) {{ ")
        yield function.inserted(last.end_byte, " }")


def _opposite(function: Function, condition: Node) -> str:
    """Return a condition's opposite: `row < n && column < n` of `row >= n || column >= n`."""
    inner = unbracketed(condition)
    operator = operator_of(inner)
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    if left is not None and right is not None and operator in _OPPOSITE:
        return f"{function.text(left)} {_OPPOSITE[operator]} {function.text(right)}"
    if left is not None and right is not None and operator == "||":
        return f"{_opposite(function, left)} && {_opposite(function, right)}"
    argument = inner.child_by_field_name("argument") if inner.type == "unary_expression" else None
    if argument is not None and function.text(inner).startswith("!"):
        return function.text(unbracketed(argument))
    text = function.text(inner)
    return f"!({text})" if _LOOSER_THAN_NOT.search(text) else f"!{text}"


def continue_changes(function: Function, node: Node) -> Iterator[Change]:
    """Yield `if (condition) continue;` left out, where it does nothing else and has no `else`."""
    body = node.child_by_field_name("consequence")
    is_alone = body is not None and only_leaves(body) and node.child_by_field_name("alternative") is None
    if is_alone and body is not None and "continue" in function.text(body):
        edit = _left_out(function, node)
        yield Change("guard", function.line(node), (edit,), 2.0, "unguarded", "continues")


def _left_out(function: Function, node: Node) -> Edit:
    is_in_block = node.parent is not None and node.parent.type == "compound_statement"
    return function.removed(node) if is_in_block else function.replaced(node, ";")
