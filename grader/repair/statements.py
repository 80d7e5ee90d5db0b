"""Changes of statements: barriers, guards, first values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.repair.change import Change
from grader.repair.function import BARRIER, Function, ancestors, condition_of, is_statement
from grader.submission.cpp.edits import Edit
from grader.submission.cpp.tree import LOOPS

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_GUARDS = 6
"""Conditions that are tried at one place."""
CALL = f"{BARRIER}();"
_NEAR_END = re.compile(r"(?P<index>\w+) >= (?P<width>\w+)")
_FAR_END = re.compile(r"(?P<index>\w+) < \w+ - (?P<width>\w+)")


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


def _moved(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier after the outermost branch that it stands in, within its loop."""
    outermost = None
    for outer in ancestors(barrier, function.body):
        if outer.type in LOOPS:
            break
        if outer.type == "if_statement":
            outermost = outer
    if outermost is None:
        return
    parent = outermost.parent
    after = f"\n{function.indent(outermost)}{CALL}"
    edits: tuple[Edit, ...]
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


def guard_changes(function: Function, extents: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Conditions for accesses that have none, or too weak ones.

    extents: what the axes of the arrays that the kernel is handed are called in it, by the array's name there.
    """
    shown: set[tuple[int, str]] = set()
    for access in function.nodes:
        if access.type != "subscript_expression" or _is_inner(access):
            continue
        statement = next((a for a in ancestors(access, function.body) if is_statement(a)), None)
        if statement is None or statement.type == "declaration":
            continue
        is_store = _is_stored(access)
        derived = _derived(function, access, extents)
        pool = [(text, 1.4 if n == 0 else 2.2) for n, text in enumerate(derived)]
        pool += [(text, 2.8) for text in _pool(function, access) if text not in derived]
        for text, cost in pool[:MAX_GUARDS]:
            for change in _guarded(function, access, statement, text, cost, is_store, bool(derived)):
                key = (change.edits[0].start, repr(change.edits))
                if key not in shown:
                    shown.add(key)
                    yield change
    yield from _conditions(function, extents)


def _guarded(
    function: Function, access: Node, statement: Node, text: str, cost: float, is_store: bool, is_global: bool
) -> Iterator[Change]:
    line = function.line(access)
    conditions = [a for a in ancestors(access, function.body) if a.type == "if_statement"]
    inside = [c for c in conditions if condition_of(c) is not None and not _holds(c, access)]
    for branch in inside[:1]:
        condition = condition_of(branch)
        assert condition is not None
        if function.text(condition) != text:
            edit = function.replaced(condition, text)
            if is_global:
                yield Change("guard", function.line(branch), (edit,), cost - 0.2, "derived_guard")
            edit = function.replaced(condition, f"{_bracketed(function, condition)} && {text}")
            yield Change("guard", function.line(branch), (edit,), cost + 0.6, "conjunct")
    ternary = next((a for a in ancestors(access, statement) if a.type == "conditional_expression"), None)
    if ternary is not None and not is_store:
        condition = ternary.child_by_field_name("condition")
        if condition is not None and function.text(condition) != text:
            if is_global:
                edit = function.replaced(condition, text)
                yield Change("guard", function.line(ternary), (edit,), cost - 0.1, "derived_guard")
            edit = function.replaced(condition, f"{_bracketed(function, condition)} && {text}")
            yield Change("guard", function.line(ternary), (edit,), cost + 0.6, "conjunct")
    if not is_store and ternary is None and not _is_changed(access):
        edit = function.replaced(access, f"({text} ? {function.text(access)} : 0)")
        yield Change("guard", line, (edit,), cost + 0.5, "ternary", "missing")
    names = set(function.known_at(statement))
    outer: Node | None = statement
    while outer is not None and is_statement(outer):
        if (
            outer.type != "declaration"
            and not any(b.start_byte >= outer.start_byte for b in _barriers_in(function, outer))
            and _usable(function, outer, text, names)
        ):
            edit = function.inserted(outer.start_byte, f"if ({text}) ")
            yield Change("guard", function.line(outer), (edit,), cost + 0.1, "wrap", "missing")
        outer = outer.parent if outer.parent is not None and outer.parent != function.body else None
        while outer is not None and not is_statement(outer) and outer != function.body:
            outer = outer.parent
        if outer == function.body:
            outer = None
    returns = _return_place(function, text)
    if returns is not None:
        edit = function.inserted(returns.end_byte, f"\n{function.indent(returns)}if (!({text})) return;")
        yield Change("guard", returns.end_point.row + 1, (edit,), cost + 0.3, "return", "missing")


def _usable(function: Function, outer: Node, text: str, names: set[str]) -> bool:
    """Whether the names of a condition are known before a statement."""
    from grader.submission.cpp.tree import WORD

    known = set(function.known_at(outer))
    return all(word in known for word in WORD.findall(text) if word in names)


def _barriers_in(function: Function, node: Node) -> list[Node]:
    return [b for b in function.barriers if node.start_byte <= b.start_byte < node.end_byte]


def _return_place(function: Function, text: str) -> Node | None:
    """The declaration after which all names of a condition are known; None where a barrier comes later."""
    from grader.submission.cpp.tree import WORD

    words = set(WORD.findall(text))
    used = [v for v in function.variables if v.name in words and v.role != "array"]
    start = max((v.start for v in used), default=0)
    declarations = [s for s in function.statements if s.type == "declaration" and s.parent == function.body]
    place = next((d for d in declarations if d.start_byte < start <= d.end_byte), None)
    if place is None or any(b.start_byte > place.start_byte for b in function.barriers):
        return None
    return place


def _conditions(function: Function, extents: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Early returns and branches made stricter, or left out."""
    for node in function.nodes:
        if node.type != "if_statement":
            continue
        condition, body = condition_of(node), node.child_by_field_name("consequence")
        if condition is None or body is None:
            continue
        returns = "return" in function.text(body).split(";")[0].replace("{", " ").split()
        for text in _pool(function, body if not returns else node)[:MAX_GUARDS]:
            if returns:
                edit = function.replaced(condition, f"{_bracketed(function, condition)} || !({text})")
                yield Change("guard", function.line(node), (edit,), 3.0, "conjunct")
        if not returns and node.child_by_field_name("alternative") is None:
            edit = Edit(function.at(node.start_byte), function.at(body.start_byte), "")
            yield Change("guard", function.line(node), (edit,), 3.2, "unguarded", "removed")


def _derived(function: Function, access: Node, extents: Mapping[str, Sequence[str]]) -> list[str]:
    """The conditions that keep an access within the array that it is made to, from its index and the array's axes."""
    base = access.child_by_field_name("argument")
    indices = access.child_by_field_name("indices")
    if base is None or indices is None or not indices.named_children:
        return []
    axes = extents.get(function.text(base), ())
    index = indices.named_children[0]
    if len(axes) == 1:
        name = _bare(function, index)
        both = f"{name} >= 0 && {name} < {axes[0]}"
        return [f"{name} < {axes[0]}", both]
    if len(axes) == 2 and index.type == "binary_expression":
        left, right = index.child_by_field_name("left"), index.child_by_field_name("right")
        product = next((s for s in (left, right) if s is not None and "*" in function.text(s)), None)
        if left is None or right is None or product is None:
            return []
        column = right if product == left else left
        row = product.child_by_field_name("left")
        if row is not None:
            rows, columns = f"{_bare(function, row)} < {axes[0]}", f"{_bare(function, column)} < {axes[1]}"
            return [f"{rows} && {columns}", rows, columns]
    return []


def _bare(function: Function, node: Node) -> str:
    text = function.text(node)
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
        text = function.text(node)
    return text


def _pool(function: Function, access: Node) -> list[str]:
    """Conditions of the function's other branches, and comparisons of its indices with its sizes."""
    known = function.known_at(access)
    found: list[str] = []
    for node in function.nodes:
        if node.type == "if_statement":
            condition = condition_of(node)
        elif node.type == "conditional_expression":
            condition = node.child_by_field_name("condition")
        else:
            continue
        if condition is None or function.parsed.words(condition) & {"threadIdx", "blockIdx"}:
            continue
        body = node.child_by_field_name("consequence")
        if body is not None and function.text(body).lstrip("{ ").startswith("return"):
            found.append(f"!({function.text(condition)})")
        else:
            found.append(function.text(condition))
    words = function.parsed.words(access)
    indices = sorted((v for v in known.values() if v.role == "index"), key=lambda v: v.name not in words)
    sizes = [v for v in known.values() if v.role == "size"]
    sizes.sort(key=lambda v: v.start == 0)
    found += _other_ends(tuple(found), [s.name for s in sizes[:2]])
    found += [f"{i.name} < {s.name}" for i in indices[:3] for s in sizes[:2]]
    return list(dict.fromkeys(found))


def _other_ends(conditions: Sequence[str], sizes: Sequence[str]) -> Iterator[str]:
    """What keeps as far from the other end of an array: `i < n - R` beside `i >= R`."""
    for condition in conditions:
        near = _NEAR_END.fullmatch(condition)
        if near is not None:
            yield from (f"{near['index']} < {size} - {near['width']}" for size in sizes if size != near["width"])
        far = _FAR_END.fullmatch(condition)
        if far is not None:
            yield f"{far['index']} >= {far['width']}"


def value_changes(function: Function) -> Iterator[Change]:
    """First values: of variables without one, of sums that go on from one element to the next, of what is left out."""
    for node in function.statements:
        if node.type == "declaration" and "__shared__" not in function.text(node):
            yield from _first_values(function, node)
        elif node.type == "if_statement":
            yield from _else_zero(function, node)
        elif node.type == "expression_statement":
            yield from _reset(function, node)
            edit = function.replaced(node, ";")
            if node not in function.barriers:
                yield Change("expression", function.line(node), (edit,), 4.8, "delete", "removed")


def _first_values(function: Function, node: Node) -> Iterator[Change]:
    type_node = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type == "identifier":
            edit = function.inserted(declarator.end_byte, " = 0")
            yield Change("initial_value", function.line(declarator), (edit,), 1.2, "zero", "missing")
        elif declarator.type == "init_declarator" and type_node is not None:
            value = declarator.child_by_field_name("value")
            name = declarator.child_by_field_name("declarator")
            known = next((v for v in function.variables if name is not None and v.name == function.text(name)), None)
            if value is not None and known is not None and known.role == "value" and function.text(value) != "0":
                yield Change("initial_value", function.line(declarator), (function.replaced(value, "0"),), 2.2, "zero")
            accumulates = name is not None and f"{function.text(name)} +=" in function.text(function.body)
            if accumulates and "int" in function.text(type_node).split():
                edit = function.replaced(type_node, "float")
                yield Change("expression", function.line(node), (edit,), 2.4, "type")


def _else_zero(function: Function, node: Node) -> Iterator[Change]:
    body = node.child_by_field_name("consequence")
    if body is None or node.child_by_field_name("alternative") is not None:
        return
    if body.type == "compound_statement" and len(body.named_children) == 1:
        body = body.named_children[0]
    inner = body.named_children[0] if body.type == "expression_statement" and body.named_children else None
    left = inner.child_by_field_name("left") if inner is not None and inner.type == "assignment_expression" else None
    if left is not None and left.type == "subscript_expression":
        edit = function.inserted(node.end_byte, f"\n{function.indent(node)}else {function.text(left)} = 0;")
        yield Change("initial_value", function.line(node), (edit,), 2.4, "else_zero", "missing")


def _reset(function: Function, node: Node) -> Iterator[Change]:
    """A sum set to 0 where each of the loops around it begins; one that is added to is stored to instead."""
    inner = node.named_children[0] if node.named_children else None
    if inner is None or inner.type != "assignment_expression":
        return
    operator, left = inner.child_by_field_name("operator"), inner.child_by_field_name("left")
    if operator is None or left is None or operator.type != "+=" or left.type != "identifier":
        return
    variable = function.known_at(node).get(function.text(left))
    if variable is None:
        return
    for outer in ancestors(node, function.body):
        if outer.type not in LOOPS or outer.start_byte < variable.start:
            continue
        body = outer.child_by_field_name("body")
        edit = function.inserted(outer.start_byte, f"{variable.name} = 0;\n{function.indent(outer)}")
        if outer.parent is not None and outer.parent.type == "compound_statement":
            yield Change("initial_value", function.line(outer), (edit,), 2.0, "reset", "missing")
        if body is not None and body.type == "compound_statement" and body.named_children:
            first = body.named_children[0]
            edit = function.inserted(first.start_byte, f"{variable.name} = 0;\n{function.indent(first)}")
            yield Change("initial_value", function.line(first), (edit,), 2.6, "reset", "missing")


def _holds(branch: Node, access: Node) -> bool:
    """Whether an access stands in the branch's condition, or in its other half."""
    body = branch.child_by_field_name("consequence")
    return body is None or not body.start_byte <= access.start_byte < body.end_byte


def _bracketed(function: Function, condition: Node) -> str:
    text = function.text(condition)
    return f"({text})" if "||" in text or "?" in text else text


def _is_inner(access: Node) -> bool:
    parent = access.parent
    return (
        parent is not None
        and parent.type == "subscript_expression"
        and parent.child_by_field_name("argument") == access
    )


def _is_stored(access: Node) -> bool:
    parent = access.parent
    return (
        parent is not None and parent.type == "assignment_expression" and parent.child_by_field_name("left") == access
    )


def _is_changed(access: Node) -> bool:
    """Whether it is not only read."""
    parent = access.parent
    if parent is None:
        return False
    return parent.type in ("update_expression", "pointer_expression", "field_expression")
