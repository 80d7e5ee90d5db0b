"""Changes of barriers: one more, one moved out of its branch, one taken away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.change import Change
from grader.repair.function import BARRIER, Function, ancestors, is_statement
from grader.submission.cpp.tree import LOOPS
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


CALL = f"{BARRIER}();"


def barrier_changes(function: Function, shares: bool) -> Iterator[Change]:
    """A barrier after every statement that all threads come by, one moved out of its branch, one taken away.

    shares: whether the kernel has shared memory.
    """
    if not shares:
        return
    for barrier in function.barriers:
        yield from _moved(function, barrier)
        edit = function.replaced(barrier, ";")
        yield Change("barrier", function.line(barrier), (edit,), 3.5, "remove_barrier", "removed")
    yield from _both(function)
    for call in function.statements:
        text = function.text(call).replace(" ", "")
        if text.startswith("__syncwarp("):
            yield Change("barrier", function.line(call), (function.replaced(call, CALL),), 0.8, "barrier", "stronger")
    for statement in function.statements:
        if not _is_uniform(function, statement) or statement in function.barriers:
            continue
        following = statement.next_named_sibling
        if following is not None and following in function.barriers:
            continue
        parent = statement.parent
        if parent is None:
            continue
        indent = function.indent(statement)
        if parent.type == "compound_statement":
            if following is None and parent.parent is not None and parent == function.body:
                continue
            if statement.type == "declaration" and "[" not in function.text(statement):
                continue
            is_end = following is None and parent.parent is not None and parent.parent.type in LOOPS
            edit = function.inserted(statement.end_byte, f"\n{indent}{CALL}")
            last_line = statement.end_point.row + 1
            cost = 2.0 if is_end else 2.2
            if any(n.type == "return_statement" and n.end_byte <= statement.end_byte for n in function.nodes):
                # Threads that have left never come to it.
                cost += 0.8
            yield Change("barrier", last_line, (edit,), cost, "barrier", "loop_end" if is_end else "after")
            if statement.prev_named_sibling is None and parent.parent is not None and parent.parent.type in LOOPS:
                edit = function.inserted(statement.start_byte, f"{CALL}\n{indent}")
                yield Change("barrier", function.line(statement), (edit,), 2.4, "barrier", "loop_start")
        elif parent.type in LOOPS:
            edits = (
                function.inserted(statement.start_byte, "{ "),
                function.inserted(statement.end_byte, f" {CALL} }}"),
            )
            yield Change("barrier", statement.end_point.row + 1, edits, 2.6, "barrier", "loop_end")


def _both(function: Function) -> Iterator[Change]:
    """In a loop without any barrier, two: after what fills shared memory, and at its end."""
    for loop in function.nodes:
        body = loop.child_by_field_name("body") if loop.type in LOOPS else None
        if body is None or body.type != "compound_statement" or BARRIER in function.text(body):
            continue
        inside = [s for s in body.named_children if is_statement(s)]
        if len(inside) < 2 or not _is_uniform(function, inside[0]):
            continue
        last = inside[-1]
        end = function.inserted(last.end_byte, f"\n{function.indent(last)}{CALL}")
        for statement in inside[:-1]:
            if statement.type != "declaration":
                edit = function.inserted(statement.end_byte, f"\n{function.indent(statement)}{CALL}")
                yield Change("barrier", statement.end_point.row + 1, (edit, end), 2.3, "barrier", "loop_both")


def _moved(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier after the outermost branch that it stands in, within its loop; before it where it comes first."""
    outermost = None
    edits: tuple[Edit, ...]
    for outer in ancestors(barrier, function.body):
        if outer.type in LOOPS:
            break
        if outer.type == "if_statement":
            outermost = outer
    if outermost is None:
        return
    body = outermost.child_by_field_name("consequence")
    if body is not None and body.type == "compound_statement" and body.named_children[0] == barrier:
        edits = (
            function.inserted(outermost.start_byte, f"{CALL}\n{function.indent(outermost)}"),
            function.removed(barrier),
        )
        yield Change("barrier", function.line(barrier), edits, 0.8, "move_barrier", "before_branch")
    parent = outermost.parent
    after = f"\n{function.indent(outermost)}{CALL}"
    if parent is not None and parent.type in LOOPS:
        edits = (
            function.inserted(outermost.start_byte, "{ "),
            function.replaced(barrier, ";" if barrier.parent and barrier.parent.type == "if_statement" else ""),
            function.inserted(outermost.end_byte, f"{after} }}"),
        )
    else:
        removed = ";" if barrier.parent is not None and barrier.parent.type != "compound_statement" else ""
        edits = (function.replaced(barrier, removed), function.inserted(outermost.end_byte, after))
    yield Change("barrier", function.line(barrier), edits, 0.9, "move_barrier", "in_branch")


def _is_uniform(function: Function, statement: Node) -> bool:
    """Whether it stands in loops alone."""
    for outer in ancestors(statement, function.body):
        if outer.type in ("if_statement", "switch_statement", "else_clause", "case_statement"):
            return False
    return True
