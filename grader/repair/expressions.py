"""Changes of one expression: another name, number, operator, comparison or order of indices, and of what kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import COMPARISONS, LETS_IN, comparison_changes, kind_at, precedence_change
from grader.repair.function import BUILTINS, Change, Function, Kind, Variable, is_own_call, is_rounded_down
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, remembered
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


WORD_BITS = 32
"""How wide numbers are that are shifted."""
LUCKY = 1.5
"""What a change costs more that may pass because what it asks is never so."""
ARITHMETIC = {"+": ("-", "*"), "-": ("+",), "*": ("+", "/"), "/": ("%", "*"), "%": ("/",), "^": ("+",)}
DROPPED = (*"+-*/%&", "<<", ">>")
"""Operators that are left out with what stands on their right."""
LOGIC = {"&&": "||", "||": "&&"}
ASSIGNMENTS = {"=": ("+=",), "+=": ("=", "-="), "-=": ("+=",), "*=": ("/=", "+="), "/=": ("*=",), ">>=": ("<<=",)}
# No octal one: as a number with a point it is another.
_INTEGER = re.compile(r"(?:0|[1-9]\d{0,17})[uUlL]*")
_FLOAT = re.compile(r"(\d*\.\d*|\d+)([eE][+-]?\d+)?[fF]?")


def expression_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of a function's expressions, in order of the text."""
    for node in function.nodes:
        match node.type:
            case "field_expression":
                yield from _component(function, node)
            case "identifier":
                yield from _name(function, node)
            case "number_literal":
                yield from _number(function, node)
            case "binary_expression":
                yield from _binary(function, node)
            case "assignment_expression":
                yield from _assignment(function, node)
            case "update_expression":
                yield from _update(function, node)
            case "subscript_expression":
                yield from _subscript(function, node)
            case "call_expression" if is_own_call(function, node):
                yield from _arguments(function, node)
            case "call_expression":
                yield from _other_function(function, node)
            case "break_statement":
                yield from _going_on(function, node)


def _change(
    function: Function, node: Node, text: str, cost: float, group: str, kind: Kind | None = None
) -> Iterator[Change]:
    change_kind = kind or kind_at(function, node)
    is_of_template = node.parent is not None and node.parent.type == "template_argument_list"
    yield function.replacement(change_kind, node, text, cost, group, "template" if is_of_template else "")


def _component(function: Function, node: Node) -> Iterator[Change]:
    """One axis or builtin variable for another, `threadIdx.x` for `threadIdx.y`; one member of a struct for another."""
    base, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if base is None or field is None:
        return
    if function.text(base) not in BUILTINS:
        yield from _name(function, node)
        return
    name, axis = function.text(base), function.text(field)
    usual = _usual_axis(function, node)
    for other in "xyz":
        if other != axis and (other != "z" or ".z" in function.text(function.body)):
            yield from _change(function, node, f"{name}.{other}", 0.5 if other == usual else 1.5, "axis")
    meant = _meant(function, node, name, axis)
    for other in BUILTINS:
        if other != name and not (other.endswith("Idx") and nodes.divides(node)):
            near = {name, other} in ({"threadIdx", "blockIdx"}, {"blockDim", "gridDim"})
            cost = 0.5 if other == meant else 3.5 if near else 5.0
            yield from _change(function, node, f"{other}.{axis}", cost, "builtin")


_AXES = re.compile(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")


def _usual_axis(function: Function, node: Node) -> str:
    """Return the axis of all other builtin variables in `blockIdx.x * blockDim.x + threadIdx.y`, of three or more."""
    whole = node
    while nodes.operator_of(nodes.outside_brackets(whole)) in ("+", "*"):
        whole = nodes.outside_brackets(whole)
    axes = _AXES.findall(function.text(whole))
    if function.text(node).startswith("blockIdx.") and len(axes) == 1:
        # Of `blockIdx.y * S + tx` that of the thread.
        threads = {_thread_axes(function).get(function.text(n), "") for n in nodes.named_in(whole)} - {""}
        return threads.pop() if len(threads) == 1 else ""
    own = _AXES.findall(function.text(node))
    others = set(axes) - set(own)
    return others.pop() if len(axes) > 2 and len(others) == 1 and axes.count(own[0] if own else "") == 1 else ""


def _thread_axes(function: Function) -> dict[str, str]:
    """Return variables that are a thread's number along one axis, each with that axis."""
    values = {declared_name(n): function.text(v) for n in function.nodes if (v := nodes.value_of(n)) is not None}
    return {name: value[-1] for name, value in values.items() if re.fullmatch(r"threadIdx\.[xyz]", value)}


def _meant(function: Function, node: Node, name: str, axis: str) -> str:
    """Return what is usual in a builtin variable's place: of `threadIdx.x * blockDim.x` the block's number, beside
    `blockIdx.x * …` the thread's; "" where that stands there."""
    outer = nodes.outside_brackets(node)
    one, other = (function.text(side).replace(" ", "") if side is not None else "" for side in nodes.sides_of(outer))
    own = f"{name}.{axis}"
    if nodes.operator_of(outer) == "*" and name == "threadIdx":
        return "blockIdx" if f"blockDim.{axis}" in (one, other) else ""
    beside = other if one == own else one
    if nodes.operator_of(outer) == "+" and name == "blockIdx" and f"{own}*" in f"{beside}*":
        return "threadIdx"
    return ""


def _name(function: Function, node: Node) -> Iterator[Change]:
    parent = node.parent
    if parent is None or _is_declared(node) or parent.type in ("call_expression", "field_expression"):
        return
    variables = function.known_at(node)
    own = variables.get(function.text(node))
    if own is None or (_is_target(node) and own.role != "array"):
        return
    is_size = kind_at(function, node) == "array_size"
    beside = function.names_in(parent) if nodes.operator_of(parent) in ("+", "-") else set()
    is_leaving = nodes.decides_to_leave(node, function.body)
    for other in variables.values():
        if other.name == own.name:
            continue
        cost = _exchange_cost(own, other)
        if cost is None or (other.role == "index" and nodes.divides(node)):
            continue
        if is_size and other.name in beside:
            # `s[BLOCK + RADIUS]` is not meant to be `s[BLOCK + BLOCK]`, though that may be large enough.
            continue
        if own.role == "size" and other.role == "index" and _is_first_factor(node):
            # Of `count * n * n + i` a row's length is no row's number.
            cost = 2.2
        if is_leaving:
            # What leaves out the rest for no good reason does so for no other one either: see `unguarded`.
            cost += LUCKY
        if own.role == "array" and own.start > other.start == function.body.start_byte and _is_written(node):
            # What a block gathers in an array of its own is not meant to go into the caller's, though that be right.
            cost += LUCKY
        if own.role == "array" and other.name in _unread(function) and not _is_written(node):
            cost = 0.4
        if own.role == "array" and _is_odd_one(function, node, other.name):
            cost = 0.6
        yield from _change(function, node, other.name, cost, own.role if own.role == other.role else "roles")


def _is_first_factor(node: Node) -> bool:
    outer = node.parent
    is_left = outer is not None and outer.child_by_field_name("left") == node
    return is_left and outer is not None and nodes.operator_of(outer) == "*"


def _unread(function: Function) -> frozenset[str]:
    """Return parameters that are never mentioned, and arrays of the function's own that are filled and never read."""

    def made() -> frozenset[str]:
        arrays = {v.name: v.start > function.body.start_byte for v in function.variables if v.role == "array"}
        uses = [n for n in function.nodes if n.type == "identifier" and not _is_declared(n)]
        return frozenset(arrays) - {t for n in uses if not (arrays.get(t := function.text(n)) and _is_written(n))}

    return remembered(function.parsed, ("unread", function.item.start), made)


def _is_odd_one(function: Function, node: Node, other: str) -> bool:
    """Whether an element of an array that is stored to elsewhere is read once among several of another array."""
    own, statement = function.text(node), next(a for a in nodes.ancestors(node, function.body) if nodes.is_statement(a))
    read = [a.array for a in function.accesses if statement.start_byte <= a.node.start_byte < statement.end_byte]
    is_odd = read.count(own) == 1 < read.count(other) and not _is_written(node)
    return is_odd and any(a.array == own and nodes.is_stored(a.node) for a in function.accesses)


def _exchange_cost(own: Variable, other: Variable) -> float | None:
    if own.role == other.role:
        if own.role == "array":
            return 3.5 if own.type.split()[-1:] == other.type.split()[-1:] else None
        return {"size": 1.9, "index": 2.2, "value": 4.0}[own.role]
    if {own.role, other.role} == {"size", "index"}:
        return 4.5
    return None


def _is_declared(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type in (
        "array_declarator",
        "pointer_declarator",
        "init_declarator",
        "reference_declarator",
    ):
        if parent.child_by_field_name("declarator") != node:
            return False
        node, parent = parent, parent.parent
    return parent is not None and parent.type in ("declaration", "parameter_declaration", "function_declarator")


def _is_written(node: Node) -> bool:
    """Whether an array's element is stored to, or its address handed on, as to an atomic operation."""
    access = node.parent
    while access is not None and access.parent is not None and access.parent.type == "subscript_expression":
        access = access.parent
    if access is None or access.type != "subscript_expression":
        return False
    return _is_target(access) or (access.parent is not None and access.parent.type == "pointer_expression")


def _is_target(node: Node) -> bool:
    return nodes.is_stored(node) or (node.parent is not None and node.parent.type == "update_expression")


def _number(function: Function, node: Node) -> Iterator[Change]:
    text = function.text(node)
    kind = kind_at(function, node)
    if _INTEGER.fullmatch(text):
        value = int(text.rstrip("uUlL"))
        near = 1.8 if value < 4 else 2.8
        if kind == "array_size":
            near = 2.5
        if nodes.divides(node) and value > 2 and not _of_warp(function, node):
            # Halves are what most is divided into.
            yield from _change(function, node, "2", 1.3, "number", kind)
        if (warp := _of_warp(function, node)) not in (0, value):
            yield from _change(function, node, str(warp), 1.7, "number", kind)
        for other in (value - 1, value + 1):
            # `k + 0` is `k`, and that is tried as well.
            if other == 1 and nodes.operand_of(node)[0] == "*":
                # The factor is left out then.
                continue
            if (other > 0 or (other == 0 and not _is_added(node))) and _has_sense(node, other):
                yield from _change(function, node, str(other), near, "number", kind)
        if nodes.operand_of(node)[0] == "&" and value & (value + 1) == 0:
            # Half and twice as many of a power of two.
            for other in (2 * value + 1, value // 2):
                yield from _change(function, node, str(other), 1.6, "number", kind)
        if value > 1:
            zero, one = (3.8, 3.8) if kind == "guard" else (2.4, 3.4)
            for other, cost in ((0, zero), (1, one)):
                if _has_sense(node, other) and (other != 1 or nodes.operand_of(node)[0] != "*"):
                    yield from _change(function, node, str(other), cost, "number", kind)
            if kind in ("array_size", "index", "bound"):
                if _has_sense(node, 2 * value):
                    yield from _change(function, node, str(2 * value), 3.6, "number", kind)
                yield from _change(function, node, str(value // 2), 3.6, "number", kind)
    elif _FLOAT.fullmatch(text):
        is_zero = float(text.rstrip("fF")) == 0
        if not is_zero and not _has_sense(node, 0):
            return
        yield from _change(
            function, node, "1.0f" if is_zero else "0.0f", 2.4 if not is_zero else 3.4, "number", "initial_value"
        )


def _of_warp(function: Function, node: Node) -> int:
    """Return what a thread's number is divided, shifted or masked by for its warp or lane; 0 where that isn't done."""
    operator, is_right = nodes.operand_of(node)
    whole = nodes.outside_brackets(node)
    if not is_right or "threadIdx" not in function.parsed.words(whole):
        return 0
    return {"/": 32, "%": 32, ">>": 5, "&": 31}.get(operator, 0)


def _has_sense(node: Node, value: int) -> bool:
    """Whether a number may stand in a node's place: no divisor is 0, no bits are moved out of their word, and no factor
    makes the term vanish."""
    operator, is_right = nodes.operand_of(node)
    if operator in ("/", "%", "/=", "%="):
        return not is_right or value > (operator[0] == "%")
    if operator in ("<<", ">>", "<<=", ">>="):
        return not is_right or value < WORD_BITS
    return value != 0 or operator not in ("*", "*=")


def _is_added(node: Node) -> bool:
    parent = node.parent
    return (
        parent is not None and nodes.operator_of(parent) in ("+", "-") and parent.child_by_field_name("right") == node
    )


def _binary(function: Function, node: Node) -> Iterator[Change]:
    operator = node.child_by_field_name("operator")
    left, right = nodes.sides_of(node)
    if operator is None or left is None or right is None:
        return
    sign, line = operator.type, function.line(operator)
    precedence = precedence_change(function, node)
    if precedence is not None:
        yield precedence
    if sign in COMPARISONS:
        yield from comparison_changes(function, node)
    if sign in LOGIC:
        edits = tuple(
            function.replaced(one, LETS_IN[one.type])
            for side in (left, right)
            if (one := side.child_by_field_name("operator")) is not None and one.type in LETS_IN
        )
        if len(edits) == 2:
            # `row <= n && col <= n`: who lets in one too many along one axis does so along the other.
            yield Change("comparison", line, edits, 1.2, "comparison")
        cost = 0.9 if _contradicts(function, node, sign) else 2.4
        yield function.replacement("guard", operator, LOGIC[sign], cost, "logic", line=line)
        yield from _change(function, node, function.text(left), 2.6, "drop", "guard")
        yield from _change(function, node, function.text(right), 2.6, "drop", "guard")
    kind = kind_at(function, node)
    for other in ARITHMETIC.get(sign, ()):
        cost = 2.6 if {sign, other} == {"+", "-"} else 3.6
        group = "plus" if (sign, other) == ("-", "+") else "operator"
        yield function.replacement(kind, operator, other, cost, group, line=line)
    if sign in DROPPED and kind != "expression":
        literal = right.type == "number_literal"
        near = 1.6 if function.text(right) == "1" else 2.3
        if right.type == "sizeof_expression" and sign == "*":
            # Pointers and indices count elements.
            literal, near = True, -0.6
        group = "surplus_term" if literal and kind == "index" and sign in "+-" else "drop"
        yield from _change(function, node, function.text(left), near if literal else 3.8, group, kind)
        if sign in "+*":
            near = 2.3 if sign == "*" and left.type == "number_literal" else 3.8
            yield from _change(function, node, function.text(right), near, "drop", kind)
    if sign == "+" and nodes.operator_of(left) == "*":
        yield from _exchanged(function, left.child_by_field_name("left"), right, kind)
    if sign == "+" and nodes.operator_of(right) == "*":
        yield from _exchanged(function, right.child_by_field_name("left"), left, kind)
    if sign == "/" and kind in ("bound", "index"):
        rounded = f"({function.text(left)} + {function.text(right)} - 1) / {_factor(function, right)}"
        cost = 1.4 if is_rounded_down(function, node) and "blockIdx" not in function.text(node) else 2.2
        yield from _change(function, node, rounded, cost, "round_up", kind)
    if sign == "*" and kind == "bound":
        for variable in function.known_at(node).values():
            if variable.role == "size" and variable.name in function.names_in(node):
                yield function.insertion(kind, node.end_byte, f" * {variable.name}", 3.2, "times", line=line)
    if sign == "/" and right.type == "parenthesized_expression":
        for edit in _by_one(function, right):
            yield Change(kind, line, (edit,), 2.4, "divisor")
    if sign == "/" and kind == "expression":
        yield from _divided(function, node, left, right)


def _contradicts(function: Function, node: Node, sign: str) -> bool:
    """Whether a connection of tests makes little sense: `a < n || b < m` lets in what one of them turns away, and
    `a >= n && b >= m` keeps in what one of them turns away; so does `&&` beside `||` without brackets."""
    outer = node.parent
    if sign == "||" and any(nodes.operator_of(side) == "&&" for side in nodes.sides_of(node) if side is not None):
        return True
    leaves = nodes.decides_to_leave(node, function.body)
    tests = [nodes.operator_of(nodes.unbracketed(side)) for side in nodes.sides_of(node) if side is not None]
    is_of_limits = all(test in COMPARISONS and test not in ("==", "!=") for test in tests)
    if not is_of_limits or (outer is not None and nodes.operator_of(outer) in LOGIC):
        return False
    return sign == ("&&" if leaves else "||")


def _by_one(function: Function, side: Node) -> Iterator[Edit]:
    """Yield the edits that make an expression one more and one less: `n` in place of `(n - 1 + 1)`."""
    inner = nodes.unbracketed(side)
    left, right = nodes.sides_of(inner)
    for sign, opposite in (("+", "-"), ("-", "+")):
        is_undone = right is not None and nodes.operator_of(inner) == opposite and function.text(right) == "1"
        if is_undone and left is not None:
            whole = side if left.type in ("identifier", "field_expression", "number_literal") else inner
            yield function.replaced(whole, function.text(left))
        else:
            yield function.inserted(inner.end_byte, f" {sign} 1")


def _divided(function: Function, node: Node, left: Node, right: Node) -> Iterator[Change]:
    """A division of integers as one of floating-point numbers: `1 / 2`, `1 / n`, `(float)(a / b)`."""
    numbers = [side.type == "number_literal" and _INTEGER.fullmatch(function.text(side)) for side in (left, right)]
    if any(side.type == "number_literal" and not number for side, number in zip((left, right), numbers, strict=True)):
        return
    outer = node.parent
    cast = outer.parent if outer is not None and outer.type == "parenthesized_expression" else None
    # Of two numbers the quotient is known, and a fraction is lost for nothing: nobody means 3 / 2 by 1.
    values = [int(function.text(side).rstrip("uUlL")) if all(numbers) else 0 for side in (left, right)]
    is_uneven = values[1] > 1 and values[0] % values[1] > 0
    is_likely = numbers[0] or (cast and cast.type == "cast_expression")
    cost = -2.0 if is_uneven else 0.2 if all(numbers) else 0.8 if is_likely else 2.4
    side = left if numbers[0] or not numbers[1] else right
    text = function.text(side)
    text = text.rstrip("uUlL") + ".0f" if side.type == "number_literal" else f"(float){_factor(function, side)}"
    yield function.replacement("expression", side, text, cost, "division", "division", line=function.line(node))


def _exchanged(function: Function, one: Node | None, other: Node, kind: Kind) -> Iterator[Change]:
    """`row * pitch + col` with `row` and `col` in each other's place."""
    if one is not None and function.text(one) != function.text(other):
        edits = (function.replaced(one, _factor(function, other)), function.replaced(other, function.text(one)))
        yield Change(kind if kind != "expression" else "index", function.line(one), edits, 1.8, "exchange", "exchanged")


def _arguments(function: Function, node: Node) -> Iterator[Change]:
    """`AT(M, r, c)` with two of its arguments in each other's place: arrays among each other, numbers likewise."""
    arguments = nodes.arguments_of(node)
    variables = function.known_at(node)
    arrays = [(v := variables.get(function.text(a))) is not None and v.role == "array" for a in arguments]
    for first, one in enumerate(arguments):
        for second in range(first + 1, len(arguments)):
            other = arguments[second]
            if arrays[first] == arrays[second] and function.text(one) != function.text(other):
                edits = function.exchanged(one, other)
                cost = (3.0 if arrays[first] else 1.8) + 0.3 * (second - first - 1)
                yield Change(kind_at(function, one), function.line(one), edits, cost, "exchange")


OPPOSITE = {"min": "max", "fminf": "fmaxf", "fmin": "fmax", "atomicMin": "atomicMax"}
OPPOSITE |= {"__shfl_down_sync": "__shfl_up_sync"}
OPPOSITE |= {other: name for name, other in OPPOSITE.items()}
_NO_LIMIT = {"min": re.compile("0"), "max": re.compile(r".*-\s*[\w.]+")}
"""What the smaller, and the larger, of two numbers is never meant to be limited by: 0, and what is left of a size."""


def _other_function(function: Function, node: Node) -> Iterator[Change]:
    """`max(i, n - 1)` for `min(i, n - 1)`, and shuffles the other way."""
    callee = node.child_by_field_name("function")
    name = function.callee(node).rpartition("::")[2]
    if callee is None or name not in OPPOSITE:
        return
    text = function.text(callee).replace(name, OPPOSITE[name])
    if "shfl" in name:
        yield function.replacement("expression", callee, text, 0.9, "opposite", "shuffle_way")
        return
    limits, arguments = _NO_LIMIT.get(name), [function.text(a) for a in nodes.arguments_of(node)]
    is_turned = limits is not None and any(map(limits.fullmatch, arguments)) and (name == "min" or "0" not in arguments)
    yield function.replacement("expression", callee, text, 0.5 if is_turned else 1.8, "opposite", "opposite")


def _going_on(function: Function, node: Node) -> Iterator[Change]:
    """`continue` for the `break` of a loop, which leaves out all that comes after what one iteration leaves out."""
    outer = next((n for n in nodes.ancestors(node, function.body) if n.type in (*LOOPS, "switch_statement")), None)
    if outer is not None and outer.type == "for_statement":
        yield function.replacement("guard", node, "continue;", 1.5, "break", "break")


def _factor(function: Function, node: Node) -> str:
    text = function.text(node)
    return f"({text})" if node.type == "binary_expression" else text


def _subscript(function: Function, node: Node) -> Iterator[Change]:
    """`t[a][b]` with its indices exchanged, or one more or less."""
    outer = node.child_by_field_name("indices")
    inner_node = node.child_by_field_name("argument")
    if outer is None or inner_node is None or not outer.named_children:
        return
    last = outer.named_children[0]
    if inner_node.type == "subscript_expression":
        inner = inner_node.child_by_field_name("indices")
        if inner is not None and function.text(inner) != function.text(outer):
            edits = function.exchanged(inner, outer)
            yield Change("index", function.line(node), edits, 1.5, "exchange", "exchanged")
    for step in (" + 1", " - 1"):
        yield function.insertion("index", last.end_byte, step, 3.4, "off_by_one", line=function.line(node))


def _assignment(function: Function, node: Node) -> Iterator[Change]:
    operator = node.child_by_field_name("operator")
    if operator is None:
        return
    for other in ASSIGNMENTS.get(operator.type, ()):
        kind = kind_at(function, node)
        change_kind: Kind = "initial_value" if {operator.type, other} == {"=", "+="} else kind
        cost = 2.0 if change_kind == "initial_value" else 3.0
        if (operator.type, other) == ("=", "+=") and _is_lost(function, node):
            cost = 0.5
        detail = {("+=", "="): "stored", ("=", "+="): "added"}.get((operator.type, other), "")
        yield function.replacement(change_kind, operator, other, cost, "assignment", detail)


def _is_lost(function: Function, node: Node) -> bool:
    """Whether all but the last of what a loop gives a variable is lost: it starts as 0, and isn't used within."""
    left, right = nodes.sides_of(node)
    name = function.text(left) if left is not None and left.type == "identifier" else ""
    loop = next((n for n in nodes.ancestors(node, function.body) if n.type in LOOPS), None)
    declared = [n for n in function.nodes if (value := nodes.value_of(n)) is not None and declared_name(n) == name]
    if loop is None or right is None or len(declared) != 1 or declared[0].start_byte > loop.start_byte:
        return False
    value = nodes.value_of(declared[0])
    is_zero = value is not None and re.fullmatch(r"0(?:\.0?)?[fF]?", function.text(value)) is not None
    uses = [n for n in descendants(loop) if n.type == "identifier" and function.text(n) == name]
    return is_zero and len(uses) == 1


def _update(function: Function, node: Node) -> Iterator[Change]:
    text = function.text(node)
    other = text.replace("++", "--") if "++" in text else text.replace("--", "++")
    yield from _change(function, node, other, 3.0, "operator")
