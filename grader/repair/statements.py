"""Changes of statements: barriers, and first values of variables, of sums and of elements that a branch leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import BARRIER, Access, Change, Function, Variable, ancestors, condition_of, is_statement
from grader.submission.cpp.tree import LOOPS, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


CALL = f"{BARRIER}();"
ONE_WAY = 0.8
"""By how much later a barrier at the end of a loop is tried that only fills an array or only reads it."""


def barrier_changes(function: Function, shares: bool) -> Iterator[Change]:
    """A barrier after every statement that all threads come by, one moved out of its branch, one taken away.

    shares: whether the kernel has shared memory.
    """
    if not shares:
        return
    yield from _between(function)
    for barrier in function.barriers:
        yield from _moved(function, barrier)
        edit = function.replaced(barrier, ";")
        yield Change("barrier", function.line(barrier), (edit,), 3.5, "remove_barrier", "removed")
    yield from _both(function)
    yield from _in_warps(function)
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


def _between(function: Function) -> Iterator[Change]:
    """`if (t >= d) s[t] += s[t - d];` with a barrier between what is read and what is stored."""
    for node in function.statements:
        branch = node if node.type == "if_statement" and node.child_by_field_name("alternative") is None else None
        body = branch.child_by_field_name("consequence") if branch is not None else node
        if body is not None and body.type == "compound_statement" and len(body.named_children) == 1:
            body = body.named_children[0]
        is_plain = body is not None and body.type == "expression_statement" and bool(body.named_children)
        inner = body.named_children[0] if body is not None and is_plain else None
        if inner is None or inner.type != "assignment_expression" or not _is_uniform(function, node):
            continue
        left, right, operator = (inner.child_by_field_name(name) for name in ("left", "right", "operator"))
        if left is None or right is None or operator is None or node.parent is None:
            continue
        own = function.text(left)
        reads = [a for a in function.accesses if right.start_byte <= a.node.start_byte < right.end_byte]
        others = [a for a in reads if a.array == own.partition("[")[0] and function.text(a.node) != own]
        condition = condition_of(branch) if branch is not None else None
        if not others or (branch is not None and condition is None) or node.parent.type != "compound_statement":
            continue
        indent = function.indent(node)
        test = function.text(condition) if condition is not None else ""
        value = f"{test} ? {function.text(right)} : 0" if test else function.text(right)
        stores = f"{own} {function.text(operator)} read;"
        text = f"const auto read = {value};\n{indent}{CALL}\n{indent}{f'if ({test}) ' if test else ''}{stores}"
        if node.next_named_sibling not in function.barriers:
            text += f"\n{indent}{CALL}"
        edit = function.replaced(node, text)
        yield Change("barrier", function.line(inner), (edit,), 2.0, "barrier", "between")


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
                cost = 1.4 if is_split else 1.2
                yield Change("barrier", function.line(steps[0]), tuple(of_way), cost, "barrier", "warp")


def _stored_in(function: Function, node: Node) -> Iterator[Access]:
    """The elements of arrays that a statement assigns to."""
    for access in function.accesses:
        parent = access.node.parent
        is_inside = node.start_byte <= access.node.start_byte < node.end_byte
        is_assigned = parent is not None and parent.type == "assignment_expression"
        if is_inside and parent is not None and is_assigned and parent.child_by_field_name("left") == access.node:
            yield access


def _with_syncs(function: Function, step: Node, *, is_split: bool) -> Iterator[Edit]:
    """A step with __syncwarp() behind it; is_split: one between what is read and what is stored as well."""
    inner = step.named_children[0] if step.type == "expression_statement" and step.named_children else None
    left, right = (inner.child_by_field_name(side) if inner is not None else None for side in ("left", "right"))
    operator = inner.child_by_field_name("operator") if inner is not None else None
    if is_split and left is not None and right is not None and operator is not None and "[" in function.text(right):
        text = f"{{ const auto read = {function.text(right)}; {WARP_CALL} "
        text += f"{function.text(left)} {function.text(operator)} read; {WARP_CALL} }}"
        yield function.replaced(step, text)
    elif step.type == "compound_statement":
        yield function.inserted(step.end_byte - 1, f"    {WARP_CALL}\n{function.indent(step)}")
    elif step.parent is not None and step.parent.type in LOOPS:
        yield function.inserted(step.start_byte, "{ ")
        yield function.inserted(step.end_byte, f" {WARP_CALL} }}")
    else:
        yield function.inserted(step.end_byte, f" {WARP_CALL}")


def _moved(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier after the outermost branch that it stands in, within its loop; before it where it comes first."""
    yield from _out_of_loop(function, barrier)
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


def _out_of_loop(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier behind the loop that it stands in, where the threads make unlike numbers of passes."""
    loop = next((outer for outer in ancestors(barrier, function.body) if outer.type in LOOPS), None)
    if loop is None or loop.parent is None or loop.parent.type != "compound_statement":
        return
    heads = [loop.child_by_field_name(name) for name in ("initializer", "condition")]
    if any("threadIdx" in function.text(head) for head in heads if head is not None):
        after = function.inserted(loop.end_byte, f"\n{function.indent(loop)}{CALL}")
        edits = (function.removed(barrier), after)
        yield Change("barrier", function.line(barrier), edits, 0.7, "move_barrier", "out_of_loop")


_NARROW = re.compile(
    r"(?:(?:un)?signed\s+)?(?:short|char)(?:\s+(?:unsigned|int))*|ushort|uchar|(?:std::)?u?int(?:8|16)_t"
)
_UNSIGNED = re.compile(r"unsigned(?:\s+(?:int|long))*|size_t|uint32_t|uint64_t|uint")


def value_changes(function: Function) -> Iterator[Change]:
    """First values: of variables without one, of sums that go on from one element to the next, of what is left out."""
    yield from _types(function)
    yield from _smallest(function)
    yield from _signed(function)
    for node in function.statements:
        if node.type == "declaration" and "__shared__" not in function.text(node):
            yield from _first_values(function, node)
            yield from _shadowing(function, node)
        elif node.type == "if_statement":
            yield from _else_zero(function, node)
        elif node.type == "expression_statement":
            yield from _reset(function, node)
            yield from _stale(function, node)
            yield from _atomic(function, node)
            edit = function.replaced(node, ";")
            if node not in function.barriers:
                yield Change("expression", function.line(node), (edit,), 4.8, "delete", "removed")


def _types(function: Function) -> Iterator[Change]:
    """An unsigned variable that has to go below 0, one that is too small for an index, an array that a block shares."""
    for node in function.nodes:
        type_node = node.child_by_field_name("type") if node.type == "declaration" else None
        if type_node is None or "__shared__" in function.text(node):
            continue
        if _UNSIGNED.fullmatch(function.text(type_node)):
            edit = function.replaced(type_node, "int")
            yield Change("expression", function.line(node), (edit,), 2.0, "unsigned", "unsigned")
        if _NARROW.fullmatch(function.text(type_node)):
            edit = function.replaced(type_node, "int")
            yield Change("expression", function.line(node), (edit,), 1.4, "narrow", "narrow")
        if function.is_kernel and any(d.type == "array_declarator" for d in node.children_by_field_name("declarator")):
            edit = function.inserted(node.start_byte, "__shared__ ")
            yield Change(
                "expression",
                function.line(node),
                (edit,),
                1.0 if function.barriers else 1.8,
                "not_shared",
                "not_shared",
            )


_POSITIVE = {"FLT_MIN": "-FLT_MAX", "DBL_MIN": "-DBL_MAX"}
_LARGER = {"max", "fmaxf", "fmax", "atomicMax", "MAX"}


def _smallest(function: Function) -> Iterator[Change]:
    """What a maximum starts from: the smallest positive number, or 0, in place of one that is below all others."""
    words = function.parsed.words(function.body)
    for node in function.nodes:
        text = function.text(node)
        if node.type == "identifier" and text in _POSITIVE:
            edit = function.replaced(node, _POSITIVE[text])
            yield Change("initial_value", function.line(node), (edit,), 0.3, "smallest", "positive")
        elif node.type == "number_literal" and words & _LARGER and re.fullmatch(r"0\.?0*f?|\.0+f?", text):
            outer = node.parent
            if outer is not None and outer.type in (
                "init_declarator",
                "conditional_expression",
                "assignment_expression",
            ):
                for lowest in ("-INFINITY", "-FLT_MAX"):
                    edit = function.replaced(node, lowest)
                    yield Change("initial_value", function.line(node), (edit,), 1.4, "smallest", "zero")


def _signed(function: Function) -> Iterator[Change]:
    """Bytes read as numbers with a sign: `char4` for `uchar4`."""
    edits: list[Edit] = []
    first = 0
    for node in function.nodes:
        text, parent = function.text(node), node.parent
        is_vector = node.type == "type_identifier" and re.fullmatch(r"char[1-4]", text) is not None
        is_plain = node.type == "primitive_type" and text == "char"
        if is_vector or (is_plain and parent is not None and parent.type != "sized_type_specifier"):
            edits.append(function.replaced(node, f"u{text}" if is_vector else "unsigned char"))
            first = first or function.line(node)
    if edits:
        yield Change("expression", first, tuple(edits), 1.0, "signed", "signed")


def _shadowing(function: Function, node: Node) -> Iterator[Change]:
    """A declaration in an inner block that hides a variable of the same name: left out, or made an assignment."""
    declarators = node.children_by_field_name("declarator")
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return
    name = function.text(declarators[0]).partition("=")[0].strip()
    outer = [v for v in function.variables if v.name == name and v.role != "array"]
    is_hiding = any(0 < v.start < node.start_byte < v.end for v in outer)
    if is_hiding and node.parent is not None and node.parent.type == "compound_statement":
        yield Change("expression", function.line(node), (function.removed(node),), 0.2, "shadowed", "shadowed")
        edit = function.replaced(node, f"{function.text(declarators[0])};")
        yield Change("expression", function.line(node), (edit,), 0.4, "shadowed", "shadowed")


def _first_values(function: Function, node: Node) -> Iterator[Change]:
    type_node = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type == "identifier":
            edit = function.inserted(declarator.end_byte, " = 0")
            yield Change("initial_value", function.line(declarator), (edit,), 1.2, "zero", "missing")
        elif declarator.type == "init_declarator" and type_node is not None:
            value = declarator.child_by_field_name("value")
            name = declarator.child_by_field_name("declarator")
            variable = next((v for v in function.variables if name is not None and v.name == function.text(name)), None)
            if value is not None and variable is not None and variable.role == "value" and function.text(value) != "0":
                yield Change("initial_value", function.line(declarator), (function.replaced(value, "0"),), 2.2, "zero")
            accumulates = name is not None and f"{function.text(name)} +=" in function.text(function.body)
            if accumulates and "int" in function.text(type_node).split():
                edit = function.replaced(type_node, "float")
                yield Change("expression", function.line(node), (edit,), 2.4, "type")


def _stale(function: Function, node: Node) -> Iterator[Change]:
    """`x = f(x, y); y = g(x, y);` with `x` as it was before in the second statement."""
    following = node.next_named_sibling
    one = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    two = following.named_children[0] if following is not None and following.named_children else None
    sides = [
        (part.child_by_field_name("left"), part.child_by_field_name("right"))
        for part in (one, two)
        if part is not None and part.type == "assignment_expression"
    ]
    if len(sides) != 2 or following is None or node.parent is None or node.parent.type != "compound_statement":
        return
    (x, made), (y, after) = sides
    if x is None or made is None or y is None or after is None or {x.type, y.type} != {"identifier"}:
        return
    name, other = function.text(x), function.text(y)
    variable = function.known_at(node).get(name)
    places = [n for n in descendants(after) if n.type == "identifier" and function.text(n) == name]
    if name == other or variable is None or not places or not {name, other} <= function.parsed.words(made):
        return
    before = f"const auto {name}_before = {name};\n{function.indent(node)}"
    edits = (function.inserted(node.start_byte, before), *(function.replaced(n, f"{name}_before") for n in places))
    yield Change("expression", function.line(following), edits, 1.6, "stale", "stale")


_VECTOR = re.compile(r"(?:float|double|u?int|u?char|u?short|u?long)([1-4])")
_ADDED = {"+=": "", "-=": "-"}


def _atomic(function: Function, node: Node) -> Iterator[Change]:
    """`a[i] += v`, `a[i]++` and `a[i] = a[i] + v` of an array that several threads add to, as one atomic addition."""
    inner = node.named_children[0] if node.named_children else None
    if inner is None:
        return
    left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    operator, argument = inner.child_by_field_name("operator"), inner.child_by_field_name("argument")
    place, added = left, ""
    if inner.type == "update_expression" and argument is not None:
        place, added = argument, "-1" if "--" in function.text(inner) else "1"
    elif inner.type == "assignment_expression" and left is not None and right is not None and operator is not None:
        text, own = function.text(right), function.text(left)
        if operator.type in _ADDED:
            sign = _ADDED[operator.type]
            added = f"{sign}({text})" if sign else text
        elif operator.type == "=" and right.type == "binary_expression" and text.startswith(f"{own} + "):
            added = text.removeprefix(f"{own} + ")
    is_element = place is not None and place.type in ("subscript_expression", "pointer_expression")
    if added and place is not None and is_element:
        edit = function.replaced(inner, f"atomicAdd(&{function.text(place)}, {added})")
        yield Change("expression", function.line(node), (edit,), 1.4, "atomic", "atomic")


def _else_zero(function: Function, node: Node) -> Iterator[Change]:
    body = node.child_by_field_name("consequence")
    if body is None or node.child_by_field_name("alternative") is not None:
        return
    if body.type == "compound_statement" and len(body.named_children) == 1:
        body = body.named_children[0]
    inner = body.named_children[0] if body.type == "expression_statement" and body.named_children else None
    left = inner.child_by_field_name("left") if inner is not None and inner.type == "assignment_expression" else None
    if left is not None and left.type == "subscript_expression":
        variable = function.known_at(node).get(function.text(left).partition("[")[0])
        vector = _VECTOR.fullmatch(variable.type) if variable is not None else None
        zero = f"make_{vector[0]}({', '.join('0' * int(vector[1]))})" if vector is not None else "0"
        edit = function.inserted(node.end_byte, f"\n{function.indent(node)}else {function.text(left)} = {zero};")
        yield Change("initial_value", function.line(node), (edit,), 2.4, "else_zero", "else")


def _reset(function: Function, node: Node) -> Iterator[Change]:
    """A sum set to 0 where each of the loops around it begins; one that is added to is stored to instead."""
    inner = node.named_children[0] if node.named_children else None
    if inner is None or inner.type != "assignment_expression":
        return
    operator, left = inner.child_by_field_name("operator"), inner.child_by_field_name("left")
    if operator is None or left is None or left.type != "identifier" or not _goes_on(function, inner, operator.type):
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
            cost = 0.6 if _is_stored_behind(function, outer, variable) else 2.0
            yield Change("initial_value", function.line(outer), (edit,), cost, "reset", "missing")
        if body is not None and body.type == "compound_statement" and body.named_children:
            first = body.named_children[0]
            edit = function.inserted(first.start_byte, f"{variable.name} = 0;\n{function.indent(first)}")
            yield Change("initial_value", function.line(first), (edit,), 2.6, "reset", "missing")


def _is_stored_behind(function: Function, loop: Node, variable: Variable) -> bool:
    """Whether a sum is stored behind the loop that makes it, in a loop around that, and goes on to the next element."""
    around = next((a for a in ancestors(loop, function.body) if a.type in LOOPS), None)
    block = loop.parent
    if around is None or block is None or around.start_byte < variable.start:
        return False
    behind = [n for n in block.named_children if n.start_byte > loop.start_byte and n.type == "expression_statement"]
    stores = [n.named_children[0] for n in behind if n.named_children]
    is_set = any(
        n.type == "assignment_expression" and function.text(n).replace(" ", "").startswith(f"{variable.name}=")
        for n in descendants(around)
    )
    rights = [n.child_by_field_name("right") for n in stores if n.type == "assignment_expression"]
    return not is_set and any(r is not None and variable.name in function.parsed.words(r) for r in rights)


def _goes_on(function: Function, assignment: Node, operator: str) -> bool:
    """Whether what is assigned is made of what was there: `s += x`, `s = s + x`, `s = fmaf(a, b, s)`."""
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if operator == "+=" or left is None or right is None:
        return operator == "+="
    return operator == "=" and right.type != "identifier" and function.text(left) in function.parsed.words(right)
