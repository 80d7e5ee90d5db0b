"""What is wrong at an expression's part, in words too, and changes of comparisons, which decide more than others do,
and of how an index is made of a thread's number, its block's and a loop's: a sign, a factor or a loop's variable that
is missing, the number within the block for that within the grid, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.message import Message, msg
from grader.repair import nodes
from grader.repair.function import Change, Function, Kind, is_rounded_down, stands_in_index
from grader.submission.cpp.tree import LOOPS, WORD, ParsedFile, declared_name, descendants, qualifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node


def kind_at(function: Function, node: Node) -> Kind:
    """Return what is wrong at an expression's part: an index, a guard, a loop's bound, or another expression."""
    inner = argument = node
    for outer in nodes.ancestors(node, function.body):
        if outer.type == "subscript_argument_list":
            return "index"
        if outer.type == "call_expression" and stands_in_index(function, outer, argument):
            return "index"
        if outer.type == "argument_list":
            argument = inner
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
    assigned = next((a for a in nodes.ancestors(node, function.body) if a.type == "assignment_expression"), None)
    if assigned is not None:
        left = assigned.child_by_field_name("left")
        variables = function.known_at(node)
        name = function.text(left) if left is not None else ""
        if name in variables and variables[name].role in ("index", "size"):
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


COMPARISONS = {
    "<": ("<=", ">", ">=", "!="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<", "<="),
    "!=": ("==",),
}
LETS_IN = {"<=": "<", ">": ">="}
WIDENED = {("<", "<="), (">", ">=")}
"""Signs of a condition that lets in, or of a loop, and those with which it lets in more."""
LETS_OUT = {(other, sign) for sign, other in WIDENED}
"""The same of one that turns away."""
NEAR = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
TURNED = {
    (">", "<"): 1.0,
    (">", "<="): 1.8,
    (">=", "<="): 1.0,
    (">=", "<"): 1.2,
    ("<", ">"): 1.0,
    ("<", ">="): 1.2,
    ("<=", ">="): 1.0,
    ("<=", ">"): 1.8,
}
"""What is wrong with a comparison: it points away from where its loop goes, or lets in what is outside."""


AS_WRITTEN = 1.7
"""What a change costs that another one writes better."""


def comparison_changes(function: Function, node: Node) -> Iterator[Change]:
    """Yield the changes of the comparison `node`."""
    operator = node.child_by_field_name("operator")
    left, right = nodes.sides_of(node)
    if operator is None or left is None or right is None:
        return
    sign, line = operator.type, function.line(operator)
    turned = _is_turned(function, node, sign)
    lets_in = _keeps_within(function, node, sign)
    near = 3.2 if _counts_whole_parts(function, node) else 2.2 if lets_in else 1.0
    if sign == "<" and nodes.operator_of(right) == "-" and "".join(function.text(right).split()).endswith("-1"):
        # `i < n` is how `i <= n - 1` is written: what is subtracted goes first.
        near = max(near, AS_WRITTEN)
    for other in COMPARISONS[sign]:
        cost = 2.6 if (sign, other) not in NEAR else near
        if turned:
            cost = min(cost, TURNED.get((sign, other), cost))
        lets_in_more = (sign, other) in (LETS_OUT if nodes.decides_to_leave(node, function.body) else WIDENED)
        group = "widened" if lets_in_more else "comparison"
        yield function.replacement("comparison", operator, other, cost, group, line=line)
    for side in (left, right):
        for step in ("+ 1", "- 1"):
            yield function.insertion(kind_at(function, node), side.end_byte, f" {step}", 3.6, "off_by_one", line=line)


def precedence_change(function: Function, node: Node) -> Change | None:
    """`(a & b) == c` of `a & b == c`, which compares first; None of any other expression."""
    (left, compared), operator = nodes.sides_of(node), nodes.operator_of(node)
    if (
        operator not in ("&", "|", "^")
        or left is None
        or compared is None
        or nodes.operator_of(compared) not in ("==", "!=")
    ):
        return None
    inner, other = nodes.sides_of(compared)
    if inner is None or other is None:
        return None
    first = f"({function.text(left)} {operator} {function.text(inner)})"
    text = f"{first} {nodes.operator_of(compared)} {function.text(other)}"
    # Two truth values are hardly ever joined bit by bit: nobody means that.
    return function.replacement("comparison", node, text, 0.1, "precedence", "precedence")


def _is_turned(function: Function, node: Node, sign: str) -> bool:
    """Whether a comparison is likely to point the wrong way.

    That is so of the condition of a loop that counts up while something is larger (or down while it is smaller), and of
    one that guards something, but lets through what is larger than a name, or turns away what is smaller.
    """
    if sign not in ("<", "<=", ">", ">="):
        return False
    is_larger = sign in (">", ">=")
    for outer in nodes.ancestors(node, function.body):
        if outer.type == "for_statement":
            update = outer.child_by_field_name("update")
            text = function.text(update) if update is not None else ""
            up, down = "++" in text or "+=" in text, "--" in text or "-=" in text
            return (up and is_larger) or (down and not is_larger)
        right = node.child_by_field_name("right")
        if outer.type == "conditional_expression":
            return is_larger and right is not None and right.type == "identifier"
        if outer.type == "if_statement":
            body = outer.child_by_field_name("consequence")
            first = (
                next(iter(nodes.listed(body)), None) if body is not None and body.type == "compound_statement" else body
            )
            leaves = first is not None and first.type in nodes.LEAVES
            return is_larger != leaves and right is not None and right.type == "identifier"
        if outer.type not in ("binary_expression", "parenthesized_expression", "condition_clause"):
            return False
    return False


def _keeps_within(function: Function, node: Node, sign: str) -> bool:
    """Whether a condition turns away indices as large as a size: letting them in is hardly ever right."""
    left, right = nodes.sides_of(node)
    if sign not in ("<", ">=") or left is None or right is None or kind_at(function, node) != "guard":
        return False
    variables = function.known_at(node)
    size = variables.get(function.text(right))
    is_parameter = size is not None and size.role == "size" and size.start == function.body.start_byte
    return is_parameter and any(variables[w].role == "index" for w in function.parsed.words(left) & variables.keys())


def _counts_whole_parts(function: Function, node: Node) -> bool:
    """Whether a loop's bound is a quotient rounded down: one pass more would be one too many at some sizes."""
    right = node.child_by_field_name("right")
    if right is None or kind_at(function, node) != "bound":
        return False
    name = function.text(right)
    values = [n.child_by_field_name("value") for n in function.nodes if n.type == "init_declarator"]
    definitions = [v for v in values if v is not None and v.parent is not None and declared_name(v.parent) == name]
    return any(is_rounded_down(function, side) for side in (right, *definitions))


MOST_QUOTED = 60
_OF_WARP = re.compile(r"32|(?i:\w*warp\w*)")
_NUMBER = re.compile(r"(?:0[xX][\da-fA-F]+|[\d.]+(?:[eE][-+]?\d+)?)[fFuUlL]*")
_NAME = re.compile(r"[^\W\d]\w*")
_LIMIT = re.compile(r"(?P<index>[^<>=!&|]+?) *(?:<|>=) *\w[\w.]*\)*")
_EXPRESSIONS = ("identifier", "number_literal")
_MADE_OF = ("binary_expression", "parenthesized_expression", "field_expression")


def about_msg(change: Change) -> Message | None:
    """Return which part of the line is wrong, and in what way where that is known; None where it is too long."""
    if not change.code or len(change.code) > MOST_QUOTED:
        return None
    way = (change.was, change.edits[0].text) if len(change.edits) == 1 else ("", "")
    form = "_equal" if way in NEAR and way[1].endswith("=") else "_unequal" if way in NEAR else ""
    if change.detail == "step" and change.was == "blockDim.x" and _OF_WARP.fullmatch(way[1]):
        form = "_lanes"
    if change.kind == "guard" and _are_exchanged(*way):
        form = "_exchanged"
    if form:
        return msg(f"repairs.code{form}", quoted=change.code)
    for name, pattern in (("name", _NAME), ("number", _NUMBER), ("operator", re.compile(r"[^\w\s()]+"))):
        if pattern.fullmatch(way[0]) and pattern.fullmatch(way[1]):
            if change.code != change.was:
                return msg(f"repairs.code_{name}_in", piece=change.was, quoted=change.code)
            if name != "operator":
                return msg(f"repairs.code_{name}", quoted=change.code)
    # Of a condition the whole is no part of it.
    return msg("repairs.code", quoted=change.code) if change.kind != "guard" else None


def _are_exchanged(text: str, other: str) -> bool:
    """Whether two conditions differ by two names alone, which have changed places."""
    one, two = WORD.findall(text), WORD.findall(other)
    return (
        len(one) == len(two) and sorted(one) == sorted(two) and sum(a != b for a, b in zip(one, two, strict=True)) == 2
    )


def with_code(parsed: ParsedFile, change: Change) -> Change:
    """Return a change with the expression that its words quote: of a missing condition, what it has to limit.

    That is the smallest expression which all of its edits touch; the same change where there is none.
    """
    if change.code or not change.edits:
        return change
    text = parsed.source.text
    start, end = (
        len(text[:place].encode()) for place in (min(e.start for e in change.edits), max(e.end for e in change.edits))
    )
    is_inserted = start == end
    if is_inserted:
        is_first = not start or parsed.data[start - 1 : start] in (b" ", b"\t", b"\n", b"(")
        start, end = (start, end + 1) if is_first else (start - 1, end)
    node = parsed.root.named_descendant_for_byte_range(start, end)
    while is_inserted and node is not None and node.parent is not None and node.parent.type in _MADE_OF:
        # What is put in belongs to the whole.
        node = node.parent
    if node is None:
        return change
    if change.detail == "missing":
        return replace(change, code=_unlimited(parsed, change, node)) if change.kind == "guard" else change
    if not (node.type.endswith("_expression") or node.type in _EXPRESSIONS):
        return change
    was = text[change.edits[0].start : change.edits[0].end] if len(change.edits) == 1 else ""
    return replace(change, was=was, code=" ".join(parsed.text(nodes.unbracketed(node)).split()))


def _unlimited(parsed: ParsedFile, change: Change, place: Node) -> str:
    """Return what the tests of a missing condition limit and no condition around the place does; "" if not known."""
    text = change.edits[0].text.strip()
    text = text.partition("?")[0] if text.startswith("(") else text.removesuffix("return;").strip()
    tests = [part.strip().removeprefix("if").strip(" !(") for part in re.split(r"&&|\|\|", text)]
    limits = [_LIMIT.fullmatch(test.strip()) for test in tests]
    around = [parsed.text(c) for a in nodes.ancestors(place, parsed.root) if (c := nodes.condition_of(a)) is not None]
    tested = {test.strip(" ()") for condition in around for test in re.split(r"&&|\|\|", condition)}
    names = [m["index"] for m, test in zip(limits, tests, strict=True) if m and test.strip(" ()") not in tested]
    is_whole = all(m is not None and m["index"].count("(") == m["index"].count(")") for m in limits)
    return ", ".join(dict.fromkeys(names)) if is_whole else ""


NEVER_MEANT = -1.0
"""What a change costs of what makes no sense as it is written."""
_BLOCK = re.compile(r"blockIdx\.([xyz])")
_THREAD = re.compile(r"threadIdx\.[xyz]")
_WARP = re.compile(r"8|16|32|64|\w*(?i:warp|group)\w*")


def index_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of how indices are made, in order of the text."""
    threads = _thread_of_index(function)
    shared = (
        {
            declared_name(n)
            for node in function.nodes
            if "__shared__" in qualifiers_of(node)
            for n in (node, *descendants(node))
            if n.type == "array_declarator"
        }
        if function.uses_shared
        else set()
    )
    for node in function.nodes:
        if nodes.operator_of(node) == "+":
            yield from _sum_for_product(function, node)
            yield from _without_factor(function, node)
            yield from _of_warps(function, node)
        elif node.type == "field_expression" and _THREAD.fullmatch(function.text(node)):
            yield from _by_name(function, node, threads)
        elif node.type == "subscript_expression":
            yield from _within_block(function, node, threads, shared)
        elif node.type == "assignment_expression":
            yield from _with_loop(function, node)
        elif node.type == "expression_statement":
            yield from _as_accessed(function, node)
        elif nodes.operator_of(node) == "*":
            yield from _several_each(function, node)


def _thread_of_index(function: Function) -> dict[str, str]:
    """Return the variables that are made of a thread's number and more, each with that number, `threadIdx.x`."""
    threads = {}
    for node in function.nodes:
        value = nodes.value_of(node)
        numbers = _THREAD.findall(function.text(value)) if value is not None else []
        if value is not None and len(numbers) == 1 and nodes.operator_of(value) == "+":
            threads[declared_name(node)] = numbers[0]
    return threads


def _sum_for_product(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x + blockDim.x + threadIdx.x`, `r + n + c` with a product in place of the first sum."""
    left, right = nodes.sides_of(node)
    sign = node.child_by_field_name("operator")
    outer = nodes.outside_brackets(node)
    if left is None or right is None or sign is None or nodes.operator_of(outer) not in ("+", "-"):
        return
    if kind_at(function, node) not in ("index", "bound"):
        return
    variables, text = function.known_at(node), function.text(right)
    is_size = text.startswith(("blockDim.", "gridDim.")) or (text in variables and variables[text].role == "size")
    is_size |= right.type == "number_literal" and text.isdigit() and int(text) > 1
    is_block = _BLOCK.fullmatch(function.text(left)) is not None
    if is_size and (is_block or left.type in ("identifier", "parenthesized_expression", "field_expression")):
        cost = NEVER_MEANT if is_block else 1.4
        yield function.replacement("index", sign, "*", cost, "operator", line=function.line(node))


def _without_factor(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x + threadIdx.x` with the block's size, wherever it stands."""
    left, right = nodes.sides_of(node)
    block = _BLOCK.fullmatch(function.text(left)) if left is not None else None
    if left is None or right is None or block is None or nodes.operator_of(nodes.outside_brackets(node)) == "*":
        return
    if function.text(right) == f"threadIdx.{block[1]}":
        more = f" * blockDim.{block[1]}"
        line = function.line(node)
        yield function.insertion("index", left.end_byte, more, NEVER_MEANT, "global_index", line=line)


def _of_warps(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x * blockDim.x + threadIdx.x / 32` as the number of a warp in the grid, all of it divided."""
    left, right = nodes.sides_of(node)
    if left is None or right is None or nodes.operator_of(right) != "/" or "blockIdx" not in function.text(left):
        return
    one, width = nodes.sides_of(right)
    if one is None or width is None or not _WARP.fullmatch(function.text(width)):
        return
    text = f"({function.text(left)} + {function.text(one)}) / {function.text(width)}"
    yield function.replacement("expression", node, text, 1.0, "brackets", "brackets")


def _by_name(function: Function, node: Node, threads: dict[str, str]) -> Iterator[Change]:
    """`(threadIdx.y + j) * width` by the variable that holds the number within the grid: `(y + j) * width`."""
    if kind_at(function, node) != "index" or nodes.value_of(nodes.outside_brackets(node)) is not None:
        return
    variables = function.known_at(node)
    for name, thread in threads.items():
        if thread == function.text(node) and name in variables:
            yield function.replacement("index", node, name, 1.7, "index")


def _within_block(function: Function, node: Node, threads: dict[str, str], shared: set[str]) -> Iterator[Change]:
    """`own[i]` of a shared array with the thread's number within its block in place of that within the grid."""
    base, index = node.child_by_field_name("argument"), nodes.index_of(node)
    if base is None or index is None or function.text(base).partition("[")[0] not in shared:
        return
    for name in nodes.named_in(index):
        if name.type == "identifier" and function.text(name) in threads:
            yield function.replacement("index", name, threads[function.text(name)], 1.6, "index")


def _with_loop(function: Function, node: Node) -> Iterator[Change]:
    """`tile[ty + k][tx] = in[y * cols + x]` with the loop's variable on the side that lacks it: `(y + k) * cols`."""
    assignment = nodes.assignment_of(node)
    loop = next((n for n in nodes.ancestors(node, function.body) if n.type == "for_statement"), None)
    start = loop.child_by_field_name("initializer") if loop is not None else None
    if assignment is None or loop is None or start is None:
        return
    names = [declared_name(n) for n in (start, *descendants(start)) if n.type == "init_declarator"]
    sides = (assignment[0], assignment[2])
    words = [function.parsed.words(side) for side in sides]
    for variable in names[:1]:
        if (variable in words[0]) == (variable in words[1]):
            continue
        side = sides[variable in words[0]]
        variables = function.known_at(side)
        accesses = [n for n in (side, *descendants(side)) if n.type == "subscript_expression"]
        indices = {i.id: i for a in accesses if (i := nodes.index_of(a)) is not None}
        for index in indices.values():
            for name in nodes.named_in(index):
                text = function.text(name)
                if (text not in variables or variables[text].role != "index") and not _THREAD.fullmatch(text):
                    continue
                is_factor = (
                    nodes.operator_of(nodes.outside_brackets(name)) == "*"
                    and nodes.outside_brackets(name) == name.parent
                )
                more = f"({text} + {variable})" if is_factor else f"{text} + {variable}"
                yield function.replacement("index", name, more, 1.0, "add_term")


def _as_accessed(function: Function, statement: Node) -> Iterator[Change]:
    """`order(v[i], v[i + d], (t & size) == 0)` with the index of the elements in place of another one, `(i & size)`."""
    accesses = [a for a in function.accesses if statement.start_byte <= a.node.start_byte < statement.end_byte]
    variables = function.known_at(statement)
    own = {word for a in accesses for word in a.words if word in variables and variables[word].role == "index"}
    if len(own) != 1:
        return
    index = own.pop()
    for node in descendants(statement):
        name = function.text(node) if node.type == "identifier" else ""
        is_inside = any(a.node.start_byte <= node.start_byte < a.node.end_byte for a in accesses)
        if name in variables and variables[name].role == "index" and name != index and not is_inside:
            yield function.replacement("expression", node, index, 0.9, "index")


def _several_each(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x * B + t` of a block whose threads take C elements each, B apart, in a loop: `blockIdx.x * B * C`."""
    left, right = nodes.sides_of(node)
    if (
        left is None
        or right is None
        or not _BLOCK.fullmatch(function.text(left))
        or nodes.operator_of(nodes.outside_brackets(node)) == "*"
    ):
        return
    block = function.text(nodes.unbracketed(right))
    for loop in function.nodes:
        condition = loop.child_by_field_name("condition") if loop.type in LOOPS else None
        limit = nodes.sides_of(condition)[1] if condition is not None and nodes.operator_of(condition) == "<" else None
        if limit is None or limit.type not in ("identifier", "number_literal") or function.text(limit) == block:
            continue
        variable = function.known_at(node).get(function.text(limit))
        is_constant = limit.type == "number_literal" or (variable is not None and variable.start == 0)
        steps = re.search(rf"(?:\+=|\*)\s*{re.escape(block)}(?!\w)", function.text(loop))
        if is_constant and steps is not None and function.text(limit) not in function.text(right):
            more = f" * {function.text(limit)}"
            yield function.insertion("index", node.end_byte, more, 0.2, "times", line=function.line(node))
