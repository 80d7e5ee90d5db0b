"""Changes of barriers (one more, one moved out of its branch or loop, one between what is read and what is stored)
and of early returns, which keep threads from them: left out, made the end of a loop alone, put behind the last one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import BARRIER, Access, Change, Function, zero_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


CALL = f"{BARRIER}();"
BETWEEN = 2.5
"""What a barrier between what is read and what is stored costs: one at the end of the loop may do."""
ONE_WAY = 0.8
"""By how much later a barrier at the end of a loop is tried that only fills an array or only reads it."""
_LOOSER_THAN_NOT = re.compile(r"[-+*/%<>=!&|^?]")
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
MOST_PARTS = 6
"""Statements before the barrier that a condition is put around."""


def barrier_changes(function: Function, shares: bool) -> Iterator[Change]:
    """A barrier after every statement that all threads come by, one moved out of its branch, one taken away.

    shares: whether the kernel has shared memory.
    """
    if not shares:
        return
    yield from _between(function)
    for barrier in function.barriers:
        yield from _moved(function, barrier)
        yield from _later(function, barrier)
        yield function.replacement("barrier", barrier, ";", 3.5, "remove_barrier", "removed")
    yield from _both(function)
    yield from _in_warps(function)
    for statement in function.statements:
        yield from _read_too_early(function, statement)
    for call in function.statements:
        text = function.text(call).replace(" ", "")
        if text.startswith("__syncwarp("):
            yield function.replacement("barrier", call, CALL, -0.3, "barrier", "stronger")
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
            is_whole = statement.type in LOOPS and BARRIER not in function.text(statement)
            # Nothing points to the last line of a loop, whatever its accesses are; one that only fills or only reads
            # is done with before the others go on.
            in_tiles = is_end and BARRIER in function.text(parent)
            cost = 2.0 if in_tiles else 2.4 if is_end else 1.2 if is_whole else 2.2
            if parent.parent is not None and parent.parent.type in LOOPS and _goes_one_way(function, parent):
                cost += ONE_WAY
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
            cost = 2.6 + (ONE_WAY if _goes_one_way(function, statement) else 0.0)
            yield Change("barrier", statement.end_point.row + 1, edits, cost, "barrier", "loop_end")


def _goes_one_way(function: Function, body: Node) -> bool:
    """Whether no array is both stored to and read in a loop: then no iteration waits for another, and a barrier that is
    missing is missing behind the loop."""
    stored, read = set(), set()
    for access in function.accesses:
        if not body.start_byte <= access.node.start_byte < body.end_byte:
            continue
        parent = access.node.parent
        is_target = parent is not None and parent.child_by_field_name("left") == access.node
        operator = parent.child_by_field_name("operator") if is_target and parent is not None else None
        is_plain = operator is not None and operator.type == "="
        if is_target or (parent is not None and parent.type == "update_expression"):
            stored.add(access.array)
        if not is_plain:
            read.add(access.array)
    return not stored & read


def _both(function: Function) -> Iterator[Change]:
    """In a loop without a barrier, two: after what fills shared memory, and at the loop's end."""
    for loop in function.nodes:
        body = loop.child_by_field_name("body") if loop.type in LOOPS else None
        if body is None or body.type != "compound_statement" or BARRIER in function.text(body):
            continue
        inside = [s for s in body.named_children if nodes.is_statement(s)]
        if len(inside) < 2 or not _is_uniform(function, inside[0]):
            continue
        last = inside[-1]
        end = function.inserted(last.end_byte, f"\n{function.indent(last)}{CALL}")
        for statement in inside[:-1]:
            if statement.type != "declaration":
                edit = function.inserted(statement.end_byte, f"\n{function.indent(statement)}{CALL}")
                yield Change("barrier", statement.end_point.row + 1, (edit, end), 2.3, "barrier", "loop_both")


def _between(function: Function) -> Iterator[Change]:
    """`if (t >= d) s[t] += s[t - d];` with a barrier between what is read and what is stored."""
    for node in function.statements:
        yield from _between_lines(function, node)
        branch = node if node.type == "if_statement" and node.child_by_field_name("alternative") is None else None
        body = branch.child_by_field_name("consequence") if branch is not None else node
        assignment = nodes.assignment_of(nodes.inner_of(nodes.only_statement(body)))
        if assignment is None or node.parent is None or not _is_uniform(function, node):
            continue
        left, operator, right = assignment
        own = function.text(left)
        reads = [a for a in function.accesses if right.start_byte <= a.node.start_byte < right.end_byte]
        other_reads = [a for a in reads if a.array == own.partition("[")[0] and function.text(a.node) != own]
        condition = nodes.condition_of(branch) if branch is not None else None
        if not other_reads or (branch is not None and condition is None) or node.parent.type != "compound_statement":
            continue
        indent = function.indent(node)
        test = function.text(condition) if condition is not None else ""
        value = f"{test} ? {function.text(right)} : 0" if test else function.text(right)
        stores = f"{own} {operator} read;"
        text = f"const auto read = {value};\n{indent}{CALL}\n{indent}{f'if ({test}) ' if test else ''}{stores}"
        if node.next_named_sibling not in function.barriers:
            text += f"\n{indent}{CALL}"
        yield function.replacement("barrier", node, text, BETWEEN, "barrier", "between", line=function.line(left))


def _between_lines(function: Function, branch: Node) -> Iterator[Change]:
    """The same of `if (t >= d) { float v = s[t - d]; s[t] += v; }`: what is read becomes known before the branch."""
    body, condition = branch.child_by_field_name("consequence"), nodes.condition_of(branch)
    if branch.type != "if_statement" or body is None or condition is None or not _is_uniform(function, branch):
        return
    lines = nodes.listed(body)
    firsts = list(takewhile(lambda n: n.type == "declaration", lines))
    stores = [a for n in lines[len(firsts) :] for a in _stored_in(function, n)]
    read = {a.array for n in firsts for a in function.accesses if n.start_byte <= a.node.start_byte < n.end_byte}
    if branch.child_by_field_name("alternative") is not None or not read & {a.array for a in stores}:
        return
    test, indent = function.text(condition), function.indent(branch)
    rows = []
    for declaration in firsts:
        declarators = declaration.children_by_field_name("declarator")
        value = nodes.value_of(declarators[0]) if len(declarators) == 1 else None
        if value is None:
            return
        head = function.parsed.data[declaration.start_byte : value.start_byte].decode(errors="replace")
        rows.append(f"{head}{test} ? {function.text(value)} : 0;")
    rest = [function.text(n) for n in lines[len(firsts) :]]
    rows += [CALL, f"if ({test}) {rest[0]}" if len(rest) == 1 else f"if ({test}) {{ {' '.join(rest)} }}"]
    if branch.next_named_sibling not in function.barriers:
        rows.append(CALL)
    text = f"\n{indent}".join(rows)
    yield function.replacement("barrier", branch, text, BETWEEN, "barrier", "between", line=stores[0].line)


WARP_CALL = "__syncwarp();"


def _in_warps(function: Function) -> Iterator[Change]:
    """In a branch, or a device function, that has no barrier: __syncwarp() after each step, and where all lanes store,
    between what a step reads and what it stores."""
    for block in function.nodes:
        if block.type != "compound_statement" or BARRIER in function.text(block):
            continue
        steps = [s for s in block.named_children if s.type in ("expression_statement", "if_statement", *LOOPS)]
        steps = [step for step in steps if any(_stored_in(function, step))]
        if not steps:
            continue
        edits: dict[bool, list[Edit]] = {False: [], True: []}
        for step in steps:
            body = step.child_by_field_name("body") if step.type in LOOPS else None
            for is_split, of_way in edits.items():
                of_way += _with_syncs(function, body if body is not None else step, is_split=is_split)
        for is_split, of_way in edits.items():
            if of_way:
                # Lanes that store what others read in the same step wait in between.
                cost = 1.1 if is_split else 1.2
                yield Change("barrier", function.line(steps[0]), tuple(of_way), cost, "barrier", "warp")


def _stored_in(function: Function, node: Node) -> Iterator[Access]:
    for access in function.accesses:
        if node.start_byte <= access.node.start_byte < node.end_byte and nodes.is_stored(access.node):
            yield access


def _with_syncs(function: Function, step: Node, *, is_split: bool) -> Iterator[Edit]:
    """A step followed by __syncwarp(); is_split: with another one between reading and storing."""
    assignment = nodes.assignment_of(nodes.inner_of(step))
    if is_split and assignment is not None and "[" in function.text(assignment[2]):
        left, operator, right = assignment
        text = f"{{ const auto read = {function.text(right)}; {WARP_CALL} {function.text(left)} {operator} read; "
        yield function.replaced(step, f"{text}{WARP_CALL} }}")
    elif step.type == "compound_statement":
        yield function.inserted(step.end_byte - 1, f"    {WARP_CALL}\n{function.indent(step)}")
    elif step.parent is not None and step.parent.type in LOOPS:
        yield function.inserted(step.start_byte, "{ ")
        yield function.inserted(step.end_byte, f" {WARP_CALL} }}")
    else:
        yield function.inserted(step.end_byte, f" {WARP_CALL}")


def _later(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier after the statement that follows it, which stores what the barrier is to wait for."""
    following = barrier.next_named_sibling
    if following is not None and nodes.is_statement(following) and following.type not in ("declaration", *nodes.LEAVES):
        after = function.inserted(following.end_byte, f"\n{function.indent(following)}{CALL}")
        edits = (function.removed(barrier), after)
        yield Change("barrier", function.line(barrier), edits, 1.2, "move_barrier", "later")


def _read_too_early(function: Function, statement: Node) -> Iterator[Change]:
    """`v = tile[x][y];` after the barrier that it stands before, where `v` is first used: it keeps what was there too
    early."""
    inner = nodes.assignment_of(nodes.inner_of(statement))
    declarators = statement.children_by_field_name("declarator") if statement.type == "declaration" else []
    value = nodes.value_of(declarators[0]) if len(declarators) == 1 else inner[2] if inner is not None else None
    name = declared_name(declarators[0]) if declarators else function.text(inner[0]) if inner is not None else ""
    if value is None or not name.isidentifier():
        return
    reads = [a for a in function.accesses if value.start_byte <= a.node.start_byte < value.end_byte]
    barrier = statement.next_named_sibling
    while barrier is not None and barrier not in function.barriers and name not in function.parsed.words(barrier):
        barrier = barrier.next_named_sibling
    if not reads or barrier is None or barrier not in function.barriers:
        return
    text = f"\n{function.indent(barrier)}{function.text(statement)}"
    edits = (function.removed(statement), function.inserted(barrier.end_byte, text))
    line = function.line(statement)
    yield Change("barrier", line, edits, 0.6, "move_barrier", "too_early", function.line(barrier))


def _moved(function: Function, barrier: Node) -> Iterator[Change]:
    yield from _out_of_loop(function, barrier)
    outermost = None
    edits: tuple[Edit, ...]
    for outer in nodes.ancestors(barrier, function.body):
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
    for outer in nodes.ancestors(statement, function.body):
        if outer.type in ("if_statement", "switch_statement", "else_clause", "case_statement"):
            return False
    return True


def _out_of_loop(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier moved behind its loop, where threads make different numbers of passes."""
    loop = next((outer for outer in nodes.ancestors(barrier, function.body) if outer.type in LOOPS), None)
    if loop is None or loop.parent is None or loop.parent.type != "compound_statement":
        return
    heads = [loop.child_by_field_name(name) for name in ("initializer", "condition")]
    if any("threadIdx" in function.text(head) for head in heads if head is not None):
        after = function.inserted(loop.end_byte, f"\n{function.indent(loop)}{CALL}")
        edits = (function.removed(barrier), after)
        yield Change("barrier", function.line(barrier), edits, 0.7, "move_barrier", "out_of_loop")


def ends_with_return(body: Node) -> bool:
    """Whether the last that a branch does is to return."""
    inner = nodes.listed(body) if body.type == "compound_statement" else [body]
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
    if body is None or not nodes.only_leaves(body):
        return
    yield Change("guard", line, (left_out,), before, "returns", "returns")
    if any(outer.type in LOOPS for outer in nodes.ancestors(node, function.body)):
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
    following = [n for n in siblings if n.start_byte > node.end_byte and nodes.is_statement(n)]
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
    variables = function.known_at(node)
    own = {word for word in function.parsed.words(condition) if word in variables and variables[word].role == "index"}
    parts = [
        (first, end)
        for first, end in _parts(function, following[: following.index(last) + 1])
        if any(own & function.parsed.words(n) for n in _statements_between(first, end))
    ]
    if body is not None and nodes.only_leaves(body) and 0 < len(parts) <= MOST_PARTS:
        guard = _opposite(function, condition)
        guards = [edit for first, end in parts for edit in _under(function, guard, first, end)]
        edits = (left_out, *guards, *moved)
        yield Change("guard", line, edits, before - 0.4, "returns", "returns_around", function.line(barriers[0]))


def _statements_between(first: Node, last: Node) -> Iterator[Node]:
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
                yield from _parts(function, [n for n in inner.named_children if nodes.is_statement(n)])
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
            value = nodes.value_of(declarator)
            if value is not None and any(n.type == "subscript_expression" for n in (value, *descendants(value))):
                yield function.replaced(value, f"{guard} ? {function.text(value)} : {zero}")
    elif first == last:
        yield function.inserted(first.start_byte, f"if ({guard}) ")
    else:
        yield function.inserted(first.start_byte, f"if ({guard}) {{ ")
        yield function.inserted(last.end_byte, " }")


def _opposite(function: Function, condition: Node) -> str:
    """Return a condition's opposite: `row < n && column < n` of `row >= n || column >= n`."""
    inner = nodes.unbracketed(condition)
    operator = nodes.operator_of(inner)
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    if left is not None and right is not None and operator in _OPPOSITE:
        return f"{function.text(left)} {_OPPOSITE[operator]} {function.text(right)}"
    if left is not None and right is not None and operator == "||":
        return f"{_opposite(function, left)} && {_opposite(function, right)}"
    argument = inner.child_by_field_name("argument") if inner.type == "unary_expression" else None
    if argument is not None and function.text(inner).startswith("!"):
        return function.text(nodes.unbracketed(argument))
    text = function.text(inner)
    return f"!({text})" if _LOOSER_THAN_NOT.search(text) else f"!{text}"


def continue_changes(function: Function, node: Node) -> Iterator[Change]:
    """Yield `if (condition) continue;` left out, where it does nothing else and has no `else`."""
    body = node.child_by_field_name("consequence")
    is_alone = body is not None and nodes.only_leaves(body) and node.child_by_field_name("alternative") is None
    if is_alone and body is not None and "continue" in function.text(body):
        edit = _left_out(function, node)
        yield Change("guard", function.line(node), (edit,), 2.0, "unguarded", "continues")


def _left_out(function: Function, node: Node) -> Edit:
    is_in_block = node.parent is not None and node.parent.type == "compound_statement"
    return function.removed(node) if is_in_block else function.replaced(node, ";")
