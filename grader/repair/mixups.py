"""Changes of what was mixed up: two sizes in one condition, division and remainder, the sides of a difference, two
factors, the first thread and the last, a number and its mask, what an index counts and what a pointer steps by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import kind_at
from grader.repair.function import Change, Function, zero_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_PAIRS = 3
_FRACTION = re.compile(r"(\d+\.\d*|\.\d+)([fF]?)")
_WHOLE = re.compile(r"\d{1,6}")
_LARGEST = re.compile(r"\w*_MAX|INFINITY|HUGE_VALF?|CUDART_\w*INF\w*")


def mixup_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of what was mixed up, in order of the text."""
    for node in function.nodes:
        match node.type:
            case "if_statement" | "while_statement":
                yield from _two_sizes(function, nodes.condition_of(node))
            case "conditional_expression":
                yield from _two_sizes(function, node.child_by_field_name("condition"))
                yield from _filled_up(function, node)
            case "declaration" | "expression_statement":
                yield from _in_two_lines(function, node)
                yield from _quotients(function, node)
                yield from _anew(function, node)
                yield from _coefficients(function, node)
            case "binary_expression":
                yield from _difference(function, node)
                yield from _powers(function, node)
                yield from _mask(function, node)
                yield from _first_and_last(function, node)
                yield from _within_brackets(function, node)
                yield from _both_more(function, node)
            case "number_literal":
                yield from _coefficient(function, node)
            case "identifier":
                yield from _opposite_limit(function, node)
            case "subscript_expression":
                yield from _zero_outside(function, node)
            case "update_expression" | "assignment_expression":
                yield from _pointer_step(function, node)
            case "for_statement":
                yield from _from_lane(function, node)
            case "field_expression":
                yield from _row_length(function, node)


def _two_sizes(function: Function, condition: Node | None) -> Iterator[Change]:
    """`x < width && y < height` with the two sizes exchanged wherever they stand in the condition."""
    if condition is None:
        return
    variables = function.known_at(condition)
    places: dict[str, list[Node]] = {}
    limits = [
        nodes.sides_of(n)[1]
        for n in (condition, *descendants(condition))
        if nodes.operator_of(n) in ("<", "<=", ">", ">=")
    ]
    for node in (name for limit in limits if limit is not None for name in nodes.named_in(limit)):
        if (name := function.text(node)) in variables and variables[name].role == "size":
            places.setdefault(name, []).append(node)
    start, text = function.at(condition.start_byte), function.text(condition)
    for one, other in [*combinations(places, 2)][:MOST_PAIRS]:
        swap = {one: other, other: one}
        turned = text
        for node in sorted((*places[one], *places[other]), key=lambda n: -n.start_byte):
            at = function.at(node.start_byte) - start
            name = function.text(node)
            turned = turned[:at] + swap[name] + turned[at + len(name) :]
        line = function.line(condition)
        yield function.replacement("guard", condition, turned, 1.3, "exchange", "exchanged", line=line)


def _quotients(function: Function, statement: Node) -> Iterator[Change]:
    """`int i = e % n, j = e / n;` with division and remainder in each other's place, in the next statement as well."""
    following = statement.next_named_sibling
    both = [statement, following] if following is not None and following.type == statement.type else [statement]
    operators: dict[str, Node] = {}
    for node in (d for one in both for d in descendants(one)):
        operator, (left, right) = nodes.operator_of(node), nodes.sides_of(node)
        if operator in ("/", "%") and left is not None and right is not None and operator not in operators:
            sign = node.child_by_field_name("operator")
            if sign is not None:
                operators[operator] = sign
    if (
        len(operators) < 2
        or not statement.start_byte <= min(n.start_byte for n in operators.values()) < statement.end_byte
    ):
        return
    one, other = operators["/"].parent, operators["%"].parent
    if one is None or other is None or _texts(function, one) != _texts(function, other):
        return
    edits = function.exchanged(operators["/"], operators["%"])
    yield Change("index", function.line(one), edits, 1.4, "exchange", "quotients")


def _in_two_lines(function: Function, statement: Node) -> Iterator[Change]:
    """`int x = x0 + tx; int y = y0 + ty;` with the first terms of the two in each other's place."""
    following = statement.next_named_sibling
    declarators = statement.children_by_field_name("declarator")
    if following is not None and following.type == "declaration" == statement.type and len(declarators) == 1:
        declarators += following.children_by_field_name("declarator")[:1]
    values = [v for d in declarators[:2] if (v := nodes.value_of(d)) is not None and nodes.operator_of(v) == "+"]
    if len(values) != 2 or kind_at(function, values[0]) != "index":
        return
    firsts = [v.child_by_field_name("left") for v in values]
    variables = function.known_at(values[0])
    names = [function.text(first) for first in firsts if first is not None and first.type == "identifier"]
    if (
        len(names) == 2
        and names[0] != names[1]
        and names[1] in variables
        and firsts[0] is not None
        and firsts[1] is not None
    ):
        line, is_next = function.line(values[0]), function.line(values[1]) > function.line(values[0])
        edits = function.exchanged(firsts[0], firsts[1])
        yield Change("index", line, edits, 1.6, "exchange", "exchanged_next" if is_next else "exchanged")


_NOTHING = re.compile(r"\{?[0., fF]*0[., 0fF]*\}?|make_\w+\([0., fF]*\)")


def _anew(function: Function, statement: Node) -> Iterator[Change]:
    """`s = 0;` left out of a loop that adds to `s`, which is 0 before the loop and used behind it."""
    assignment = nodes.assignment_of(nodes.inner_of(statement))
    loop = next((n for n in nodes.ancestors(statement, function.body) if n.type in LOOPS), None)
    if assignment is None or loop is None or assignment[1] != "=" or assignment[0].type != "identifier":
        return
    name, value = function.text(assignment[0]), function.text(assignment[2])
    variable = function.known_at(statement).get(name)
    declared = [n for n in function.nodes if nodes.value_of(n) is not None and declared_name(n) == name]
    is_before = bool(declared) and declared[-1].start_byte < loop.start_byte
    is_nothing = _NOTHING.fullmatch(value.strip()) is not None
    is_used = any(
        n.type == "identifier" and n.start_byte > loop.end_byte and function.text(n) == name for n in function.nodes
    )
    if (variable is None or variable.role == "value") and is_before and is_nothing and is_used:
        edit = function.removed(statement)
        yield Change("initial_value", function.line(statement), (edit,), 0.8, "anew", "anew", code=name)


def _texts(function: Function, node: Node) -> list[str]:
    return [function.text(side) for side in nodes.sides_of(node) if side is not None]


def _coefficients(function: Function, statement: Node) -> Iterator[Change]:
    """`0.3f * a + 0.6f * b` with the two factors in each other's place."""
    numbers = [
        n
        for n in descendants(statement)
        if n.type == "number_literal"
        and _FRACTION.fullmatch(function.text(n))
        and nodes.operator_of(nodes.outside_brackets(n)) == "*"
    ]
    different = [(a, b) for a, b in combinations(numbers, 2) if function.text(a) != function.text(b)]
    for one, other in different[:MOST_PAIRS]:
        edits = function.exchanged(one, other)
        yield Change("expression", function.line(one), edits, 1.6, "exchange", "coefficients")


def _difference(function: Function, node: Node) -> Iterator[Change]:
    """`b.y - a.y` as `a.y - b.y`: sooner beside other differences that are taken that way round."""
    left, right = nodes.sides_of(node)
    if nodes.operator_of(node) != "-" or left is None or right is None or left.type != right.type:
        return
    if left.type not in ("identifier", "field_expression", "subscript_expression"):
        return
    one, other = (function.text(side) for side in (left, right))
    if kind_at(function, node) != "expression":
        return
    bases = _base(one), _base(other)
    around = node
    for outer in nodes.ancestors(node, function.body):
        around = outer
        if outer.type == "compound_statement":
            break
    ways = Counter(
        (_base(function.text(a)), _base(function.text(b)))
        for n in descendants(around)
        if nodes.operator_of(n) == "-"
        and (a := nodes.sides_of(n)[0]) is not None
        and (b := nodes.sides_of(n)[1]) is not None
    )
    is_odd = bases[0] != bases[1] and ways[bases[::-1]] > ways[bases]
    edits = function.exchanged(left, right)
    cost = -0.8 if is_odd else 2.4
    yield Change("expression", function.line(node), edits, cost, "exchange", "turned_difference")


def _base(text: str) -> str:
    return re.split(r"\.|->|\[", text)[0]


def _powers(function: Function, node: Node) -> Iterator[Change]:
    """`w * inv * inv` with a third factor, and the other way round: a power that is one too low or too high."""
    left, right = nodes.sides_of(node)
    if nodes.operator_of(node) != "*" or right is None or left is None or right.type != "identifier":
        return
    if kind_at(function, node) != "expression" or nodes.operator_of(nodes.outside_brackets(node)) == "*":
        return
    factors, current = [function.text(right)], left
    while nodes.operator_of(current) == "*":
        inner, last = nodes.sides_of(current)
        if inner is None or last is None:
            return
        factors.append(function.text(last))
        current = inner
    factors.append(function.text(current))
    if factors.count(factors[0]) > 1 and factors[0] == factors[1]:
        more, cost = f" * {factors[0]}", 1.4 if len(factors) > 2 else 2.8
        yield function.insertion("expression", node.end_byte, more, cost, "factor", "power", line=function.line(node))
        if len(factors) > 2:
            yield function.replacement("expression", node, function.text(left), 1.6, "factor", "power")


def _mask(function: Function, node: Node) -> Iterator[Change]:
    """`t & d` as `t & (d - 1)`, what is left of a division by a power of two, and the other way round."""
    right = node.child_by_field_name("right")
    if nodes.operator_of(node) != "&" or right is None:
        return
    inner = nodes.unbracketed(right)
    outer = nodes.outside_brackets(node)
    if nodes.operator_of(outer) in ("==", "!="):
        # One bit is asked for, and is compared with 0.
        return
    if inner.type in ("identifier", "field_expression"):
        text = f"({function.text(inner)} - 1)"
        yield function.replacement(kind_at(function, node), right, text, 1.0, "off_by_one", "mask_less_one")


def _first_and_last(function: Function, node: Node) -> Iterator[Change]:
    """`threadIdx.x == 0` for the last thread, `threadIdx.x == blockDim.x - 1`, and the other way round."""
    left, right = nodes.sides_of(node)
    if nodes.operator_of(node) not in ("==", "!=") or left is None or right is None:
        return
    text = function.text(left)
    variable = function.known_at(node).get(text)
    of_thread = text.startswith("threadIdx.") or text.endswith("thread_rank()")
    if not of_thread and (variable is None or variable.role != "index"):
        return
    if function.text(right) == "0":
        sizes = [text.replace("threadIdx", "blockDim")] if text.startswith("threadIdx.") else []
        sizes += [v.name for v in function.known_at(node).values() if v.role == "size" and v.start == 0]
        for place, size in enumerate(sizes[: MOST_PAIRS + 1]):
            yield function.replacement("guard", right, f"{size} - 1", 2.2 + 0.2 * place, "first_last", "first_last")
    elif nodes.operator_of(right) == "-" and function.text(right).replace(" ", "").endswith("-1"):
        yield function.replacement("guard", right, "0", 2.2, "first_last", "first_last")


def _within_brackets(function: Function, node: Node) -> Iterator[Change]:
    """`a[i] + 1` as `a[i + 1]`, and the other way round."""
    left, right = nodes.sides_of(node)
    if nodes.operator_of(node) not in ("+", "-") or left is None or right is None or right.type != "number_literal":
        return
    sign, number = nodes.operator_of(node), function.text(right)
    if not _WHOLE.fullmatch(number):
        return
    inner = nodes.index_of(left) if left.type == "subscript_expression" else None
    if inner is not None:
        text = function.text(left)
        at = function.at(inner.end_byte) - function.at(left.start_byte)
        moved = f"{text[:at]} {sign} {number}{text[at:]}"
        yield function.replacement("index", node, moved, 1.2, "brackets", "into_index")
    access = node.parent.parent if node.parent is not None else None
    if (
        access is not None
        and access.type == "subscript_expression"
        and nodes.index_of(access) == node
        and not nodes.is_stored(access)
    ) and kind_at(function, access) in ("bound", "index"):
        base = access.child_by_field_name("argument")
        if base is not None:
            moved = f"{function.text(base)}[{function.text(left)}] {sign} {number}"
            yield function.replacement("index", access, moved, 3.0, "brackets", "into_index")


def _both_more(function: Function, node: Node) -> Iterator[Change]:
    """`(b - a) * (d - c)` as `(b - a + 1) * (d - c + 1)`: how many there are from one to another, both counted."""
    sides = [nodes.unbracketed(side) for side in nodes.sides_of(node) if side is not None]
    if nodes.operator_of(node) != "*" or len(sides) != 2 or any(nodes.operator_of(side) != "-" for side in sides):
        return
    if any(nodes.sides_of(side)[1] is None or function.text(nodes.sides_of(side)[1]).isdigit() for side in sides):  # type: ignore[arg-type]
        return
    edits = tuple(function.inserted(side.end_byte, " + 1") for side in sides)
    yield Change(kind_at(function, node), function.line(node), edits, 1.2, "off_by_one", "both_more")


def _coefficient(function: Function, node: Node) -> Iterator[Change]:
    """A factor or a limit that is half, twice, the root or the square of what is meant: `2 * x` for `4 * x`."""
    text, operator = function.text(node), nodes.operator_of(nodes.outside_brackets(node))
    number = _FRACTION.fullmatch(text)
    if (
        operator not in ("*", "<", ">", "<=", ">=", "/")
        or number is None
        or kind_at(function, node) in ("index", "bound")
    ):
        return
    value = float(number[1])
    if value <= 0:
        return
    for other in dict.fromkeys([2 * value, value / 2, value * value, value**0.5]):
        if other not in (value, 0) and round(other, 6) == other:
            shown = f"{other:g}"
            shown = (shown if "." in shown else f"{shown}.0") + number[2]
            cost = 1.3 if other in (2 * value, value / 2) else 1.8
            yield function.replacement(kind_at(function, node), node, shown, cost, "number")


def _opposite_limit(function: Function, node: Node) -> Iterator[Change]:
    """The most negative number for the largest, `-FLT_MAX` for `FLT_MAX`, where a maximum starts or ends with it."""
    text, outer = function.text(node), node.parent
    if not _LARGEST.fullmatch(text) or outer is None:
        return
    if outer.type == "unary_expression":
        yield function.replacement("initial_value", outer, text, 1.4, "smallest", "other_end")
    else:
        yield function.replacement("initial_value", node, f"-{text}", 1.0, "smallest", "other_end")


_FILLERS = {"int": ("0x7fffffff", "-0x7fffffff - 1"), "unsigned": ("0xffffffff",), "float": ("INFINITY", "-INFINITY")}


def _filled_up(function: Function, node: Node) -> Iterator[Change]:
    """`i < n ? a[i] : 0` with the largest or the smallest number for the 0, where elements are compared, not added."""
    filler, taken = node.child_by_field_name("alternative"), node.child_by_field_name("consequence")
    if filler is None or taken is None or not re.fullmatch(r"-?[01](?:\.0?)?[fF]?", function.text(filler)):
        return
    types = {v.name: v.type for v in function.known_at(node).values() if v.role == "array"}
    words = types.get(function.text(taken).partition("[")[0], "").split()
    for kind, others in _FILLERS.items():
        for place, other in enumerate(others if kind in words else ()):
            yield function.replacement("initial_value", filler, other, 1.8 + 0.3 * place, "neutral", "neutral")


_LIMITED = re.compile(r"min\((?P<index>[^(),]+), *(?P<size>\w+) - 1\)")


def _zero_outside(function: Function, node: Node) -> Iterator[Change]:
    """`a[min(r, n - 1) * n + min(c, n - 1)]` with 0 beyond: the last elements would be added again."""
    index = nodes.index_of(node)
    if index is None or nodes.is_stored(node) or nodes.operator_of(index) == "":
        return
    text = function.text(node)
    limits = list(_LIMITED.finditer(text))
    if not limits or text.count("min(") != len(limits):
        return
    tests = " && ".join(f"{m['index'].strip()} < {m['size']}" for m in limits)
    plain = _LIMITED.sub(
        lambda m: m["index"].strip() if re.fullmatch(r"[\w.]+", m["index"].strip()) else f"({m['index'].strip()})", text
    )
    types = {v.name: v.type for v in function.known_at(node).values() if v.role == "array"}
    element = re.sub(r"\b(?:const|volatile|__restrict__)\b|\*", "", types.get(text.partition("[")[0], "")).strip()
    yield function.replacement("guard", node, f"({tests}) ? {plain} : {zero_of(element)}", 0.9, "clamped", "clamped")


def _pointer_step(function: Function, node: Node) -> Iterator[Change]:
    """`p++`, `p += 1` and `p += m` with a size of the function in place of the step: a pointer that goes down a column
    goes on by a row's length."""
    variables = function.known_at(node)
    assignment = nodes.assignment_of(node)
    argument = node.child_by_field_name("argument")
    target = assignment[0] if assignment is not None and assignment[1] == "+=" else argument
    if target is None or (assignment is None and "++" not in function.text(node)):
        return
    name = function.text(target)
    if target.type != "identifier" or name not in variables or variables[name].role != "array":
        return
    step = function.text(assignment[2]) if assignment is not None else "1"
    sizes = [v for v in variables.values() if v.role == "size" and v.name != step]
    for place, size in enumerate(sorted(sizes, key=lambda v: v.start == 0)):
        cost = 1.0 + 0.2 * place
        yield function.replacement("index", node, f"{name} += {size.name}", cost, "pointer_step", "pointer_step")
    if assignment is not None and step != "1":
        yield function.replacement("index", node, f"{name}++", 1.6, "pointer_step", "pointer_step")


def _from_lane(function: Function, loop: Node) -> Iterator[Change]:
    """`for (k = first; k < end; k += 32)` from the thread's own element, `first + lane`: else all of a warp handle the
    same ones."""
    start, update = loop.child_by_field_name("initializer"), nodes.assignment_of(loop.child_by_field_name("update"))
    if start is None or update is None or update[1] != "+=":
        return
    value = next((v for n in (start, *descendants(start)) if (v := nodes.value_of(n)) is not None), None)
    if value is None:
        assignment = next((a for n in (start, *descendants(start)) if (a := nodes.assignment_of(n)) is not None), None)
        value = assignment[2] if assignment is not None else None
    if value is None or value.type not in ("identifier", "subscript_expression", "number_literal"):
        return
    lanes = {
        declared_name(n): text
        for n in function.nodes
        if (v := nodes.value_of(n)) is not None
        and "threadIdx" in (text := function.text(v))
        and nodes.operator_of(v) in ("%", "&")
    }
    variables = function.known_at(loop)
    for lane in lanes:
        if lane in variables and lane not in function.parsed.words(value):
            text = lane if function.text(value) == "0" else f"{function.text(value)} + {lane}"
            yield function.replacement("bound", value, text, 0.4, "from_lane", "start")


def _row_length(function: Function, node: Node) -> Iterator[Change]:
    """`a[row * blockDim.x + k]` by the length of a row: a size of the kernel."""
    text = function.text(node)
    if not re.fullmatch(r"blockDim\.[xyz]", text) or kind_at(function, node) != "index":
        return
    left, right = nodes.sides_of(nodes.outside_brackets(node))
    if nodes.operator_of(nodes.outside_brackets(node)) != "*" or left is None or right is None:
        return
    beside = left if nodes.unbracketed(right) == node else right
    if "blockIdx" in function.text(beside):
        return
    for variable in function.known_at(node).values():
        if variable.role == "size" and variable.start == function.body.start_byte:
            yield function.replacement("index", node, variable.name, 1.9, "size")
