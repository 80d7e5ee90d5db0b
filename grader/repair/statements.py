"""Changes of statements: barriers, and first values of variables, of sums and of elements that a branch leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import BARRIER, Access, Change, Function, Variable
from grader.repair.nodes import (
    ancestors,
    assignment_of,
    condition_of,
    inner_of,
    is_statement,
    is_stored,
    only_statement,
)
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
        yield function.replacement("barrier", barrier, ";", 3.5, "remove_barrier", "removed")
    yield from _both(function)
    yield from _in_warps(function)
    for call in function.statements:
        text = function.text(call).replace(" ", "")
        if text.startswith("__syncwarp("):
            yield function.replacement("barrier", call, CALL, 0.8, "barrier", "stronger")
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
        assignment = assignment_of(inner_of(only_statement(body)))
        if assignment is None or node.parent is None or not _is_uniform(function, node):
            continue
        left, operator, right = assignment
        own = function.text(left)
        reads = [a for a in function.accesses if right.start_byte <= a.node.start_byte < right.end_byte]
        other_reads = [a for a in reads if a.array == own.partition("[")[0] and function.text(a.node) != own]
        condition = condition_of(branch) if branch is not None else None
        if not other_reads or (branch is not None and condition is None) or node.parent.type != "compound_statement":
            continue
        indent = function.indent(node)
        test = function.text(condition) if condition is not None else ""
        value = f"{test} ? {function.text(right)} : 0" if test else function.text(right)
        stores = f"{own} {operator} read;"
        text = f"const auto read = {value};\n{indent}{CALL}\n{indent}{f'if ({test}) ' if test else ''}{stores}"
        if node.next_named_sibling not in function.barriers:
            text += f"\n{indent}{CALL}"
        yield function.replacement("barrier", node, text, 2.0, "barrier", "between", line=function.line(left))


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
    for access in function.accesses:
        if node.start_byte <= access.node.start_byte < node.end_byte and is_stored(access.node):
            yield access


def _with_syncs(function: Function, step: Node, *, is_split: bool) -> Iterator[Edit]:
    """A step followed by __syncwarp(); is_split: with another one between reading and storing."""
    assignment = assignment_of(inner_of(step))
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


def _moved(function: Function, barrier: Node) -> Iterator[Change]:
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
    for outer in ancestors(statement, function.body):
        if outer.type in ("if_statement", "switch_statement", "else_clause", "case_statement"):
            return False
    return True


def _out_of_loop(function: Function, barrier: Node) -> Iterator[Change]:
    """The barrier moved behind its loop, where threads make different numbers of passes."""
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
    """Another type: for an unsigned variable that goes below 0, a narrow index, an array that a block shares."""
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
    """A maximum started below all numbers in place of the smallest positive number or 0."""
    words = function.parsed.words(function.body)
    for node in function.nodes:
        text = function.text(node)
        if node.type == "identifier" and text in _POSITIVE:
            yield function.replacement("initial_value", node, _POSITIVE[text], 0.3, "smallest", "positive")
        elif node.type == "number_literal" and words & _LARGER and re.fullmatch(r"0\.?0*f?|\.0+f?", text):
            outer = node.parent
            if outer is not None and outer.type in (
                "init_declarator",
                "conditional_expression",
                "assignment_expression",
            ):
                for lowest in ("-INFINITY", "-FLT_MAX"):
                    yield function.replacement("initial_value", node, lowest, 1.4, "smallest", "zero")


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
    """A declaration that hides an outer variable of the same name, left out or made an assignment."""
    declarators = node.children_by_field_name("declarator")
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return
    name = function.text(declarators[0]).partition("=")[0].strip()
    outer = [v for v in function.variables if v.name == name and v.role != "array"]
    is_hiding = any(0 < v.start < node.start_byte < v.end for v in outer)
    if is_hiding and node.parent is not None and node.parent.type == "compound_statement":
        yield Change("expression", function.line(node), (function.removed(node),), 0.2, "shadowed", "shadowed")
        yield function.replacement("expression", node, f"{function.text(declarators[0])};", 0.4, "shadowed", "shadowed")


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
                yield function.replacement("initial_value", value, "0", 2.2, "zero", line=function.line(declarator))
            accumulates = name is not None and f"{function.text(name)} +=" in function.text(function.body)
            if accumulates and "int" in function.text(type_node).split():
                yield function.replacement("expression", type_node, "float", 2.4, "type", line=function.line(node))


def _stale(function: Function, node: Node) -> Iterator[Change]:
    """`x = f(x, y); y = g(x, y);` with `x` as it was before in the second statement."""
    following, block = node.next_named_sibling, node.parent
    first, second = assignment_of(inner_of(node)), assignment_of(inner_of(following))
    if first is None or second is None or following is None or block is None or block.type != "compound_statement":
        return
    (x, _sign, value), (y, _next_sign, next_value) = first, second
    if {x.type, y.type} != {"identifier"}:
        return
    name, other = function.text(x), function.text(y)
    variable = function.known_at(node).get(name)
    places = [n for n in descendants(next_value) if n.type == "identifier" and function.text(n) == name]
    if name == other or variable is None or not places or not {name, other} <= function.parsed.words(value):
        return
    before = f"const auto {name}_before = {name};\n{function.indent(node)}"
    edits = (function.inserted(node.start_byte, before), *(function.replaced(n, f"{name}_before") for n in places))
    yield Change("expression", function.line(following), edits, 1.6, "stale", "stale")


_VECTOR = re.compile(r"(?:float|double|u?int|u?char|u?short|u?long)([1-4])")
_ADDED = {"+=": "", "-=": "-"}


def _atomic(function: Function, node: Node) -> Iterator[Change]:
    """`a[i] += v`, `a[i]++` and `a[i] = a[i] + v` of an array that several threads add to, as one atomic addition."""
    inner, assignment = inner_of(node), assignment_of(inner_of(node))
    place: Node | None = None
    added = ""
    if inner is not None and inner.type == "update_expression":
        place, added = inner.child_by_field_name("argument"), "-1" if "--" in function.text(inner) else "1"
    elif assignment is not None:
        place, operator, right = assignment
        text, own = function.text(right), function.text(place)
        if operator in _ADDED:
            added = f"{_ADDED[operator]}({text})" if _ADDED[operator] else text
        elif operator == "=" and right.type == "binary_expression" and text.startswith(f"{own} + "):
            added = text.removeprefix(f"{own} + ")
    is_element = place is not None and place.type in ("subscript_expression", "pointer_expression")
    if added and inner is not None and place is not None and is_element:
        text = f"atomicAdd(&{function.text(place)}, {added})"
        yield function.replacement("expression", inner, text, 1.4, "atomic", "atomic", line=function.line(node))


def _else_zero(function: Function, node: Node) -> Iterator[Change]:
    assignment = assignment_of(inner_of(only_statement(node.child_by_field_name("consequence"))))
    if assignment is None or node.child_by_field_name("alternative") is not None:
        return
    left = assignment[0]
    if left.type == "subscript_expression":
        variable = function.known_at(node).get(function.text(left).partition("[")[0])
        vector = _VECTOR.fullmatch(variable.type) if variable is not None else None
        zero = f"make_{vector[0]}({', '.join('0' * int(vector[1]))})" if vector is not None else "0"
        text = f"\n{function.indent(node)}else {function.text(left)} = {zero};"
        yield function.insertion(
            "initial_value", node.end_byte, text, 2.4, "else_zero", "else", line=function.line(node)
        )


def _reset(function: Function, node: Node) -> Iterator[Change]:
    """A sum set to 0 where each of the loops around it begins."""
    assignment = assignment_of(inner_of(node))
    if assignment is None or assignment[0].type != "identifier" or not _goes_on(function, *assignment):
        return
    variable = function.known_at(node).get(function.text(assignment[0]))
    if variable is None:
        return
    zeroed = f"{variable.name} = 0;\n"
    for outer in ancestors(node, function.body):
        if outer.type not in LOOPS or outer.start_byte < variable.start:
            continue
        body = outer.child_by_field_name("body")
        firsts = body.named_children[:1] if body is not None and body.type == "compound_statement" else []
        places = [(outer, 0.6 if _is_stored_behind(function, outer, variable) else 2.0)]
        if outer.parent is None or outer.parent.type != "compound_statement":
            places = []
        for place, cost in (*places, *((first, 2.6) for first in firsts)):
            text = f"{zeroed}{function.indent(place)}"
            yield function.insertion(
                "initial_value", place.start_byte, text, cost, "reset", "missing", line=function.line(place)
            )


def _is_stored_behind(function: Function, loop: Node, variable: Variable) -> bool:
    """Whether a sum is stored behind its loop, within another loop that does not reset it."""
    around = next((a for a in ancestors(loop, function.body) if a.type in LOOPS), None)
    if around is None or loop.parent is None or around.start_byte < variable.start:
        return False
    behind = (n for n in loop.parent.named_children if n.start_byte > loop.start_byte)
    values = [assignment[2] for n in behind if (assignment := assignment_of(inner_of(n))) is not None]
    is_reset = any(
        assignment[1] == "=" and function.text(assignment[0]) == variable.name
        for n in descendants(around)
        if (assignment := assignment_of(n)) is not None
    )
    return not is_reset and any(variable.name in function.parsed.words(value) for value in values)


def _goes_on(function: Function, left: Node, operator: str, right: Node) -> bool:
    """Whether what is assigned is made of what was there: `s += x`, `s = s + x`, `s = fmaf(a, b, s)`."""
    is_own = operator == "=" and right.type != "identifier" and function.text(left) in function.parsed.words(right)
    return operator == "+=" or is_own
