"""Changes of how an index is made of a thread's number, its block's and a loop's: a sign, a factor or a loop's variable
that is missing, the number within the block for that within the grid, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import kind_at
from grader.repair.function import Change, Function
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, qualifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node

NEVER_MEANT = -1.0
"""What a change costs of what makes no sense as it is written."""
_BLOCK = re.compile(r"blockIdx\.([xyz])")
_THREAD = re.compile(r"threadIdx\.[xyz]")
_WARP = re.compile(r"8|16|32|64|\w*(?i:warp|group)\w*")


def index_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of how indices are made, in order of the text."""
    made = _made_of_threads(function)
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
            yield from _by_name(function, node, made)
        elif node.type == "subscript_expression":
            yield from _within_block(function, node, made, shared)
        elif node.type == "assignment_expression":
            yield from _with_loop(function, node)
        elif node.type == "expression_statement":
            yield from _as_accessed(function, node)
        elif nodes.operator_of(node) == "*":
            yield from _several_each(function, node)


def _made_of_threads(function: Function) -> dict[str, str]:
    """Return the variables that are made of a thread's number and more, each with that number, `threadIdx.x`."""
    made = {}
    for node in function.nodes:
        value = nodes.value_of(node)
        found = _THREAD.findall(function.text(value)) if value is not None else []
        if value is not None and len(found) == 1 and nodes.operator_of(value) == "+":
            made[declared_name(node)] = found[0]
    return made


def _sum_for_product(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x + blockDim.x + threadIdx.x`, `r + n + c` with a product in place of the first sum."""
    left, right = nodes.sides_of(node)
    sign = node.child_by_field_name("operator")
    outer = nodes.outside_brackets(node)
    if left is None or right is None or sign is None or nodes.operator_of(outer) not in ("+", "-"):
        return
    if kind_at(function, node) not in ("index", "bound"):
        return
    known, text = function.known_at(node), function.text(right)
    is_size = text.startswith(("blockDim.", "gridDim.")) or (text in known and known[text].role == "size")
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


def _by_name(function: Function, node: Node, made: dict[str, str]) -> Iterator[Change]:
    """`(threadIdx.y + j) * width` by the variable that holds the number within the grid: `(y + j) * width`."""
    if kind_at(function, node) != "index" or nodes.value_of(nodes.outside_brackets(node)) is not None:
        return
    known = function.known_at(node)
    for name, thread in made.items():
        if thread == function.text(node) and name in known:
            yield function.replacement("index", node, name, 1.7, "index")


def _within_block(function: Function, node: Node, made: dict[str, str], shared: set[str]) -> Iterator[Change]:
    """`own[i]` of a shared array with the thread's number within its block in place of that within the grid."""
    base, index = node.child_by_field_name("argument"), nodes.index_of(node)
    if base is None or index is None or function.text(base).partition("[")[0] not in shared:
        return
    for name in nodes.named_in(index):
        if name.type == "identifier" and function.text(name) in made:
            yield function.replacement("index", name, made[function.text(name)], 1.6, "index")


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
        known = function.known_at(side)
        accesses = [n for n in (side, *descendants(side)) if n.type == "subscript_expression"]
        indices = {i.id: i for a in accesses if (i := nodes.index_of(a)) is not None}
        for index in indices.values():
            for name in nodes.named_in(index):
                text = function.text(name)
                if (text not in known or known[text].role != "index") and not _THREAD.fullmatch(text):
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
    known = function.known_at(statement)
    own = {word for a in accesses for word in a.words if word in known and known[word].role == "index"}
    if len(own) != 1:
        return
    index = own.pop()
    for node in descendants(statement):
        name = function.text(node) if node.type == "identifier" else ""
        is_inside = any(a.node.start_byte <= node.start_byte < a.node.end_byte for a in accesses)
        if name in known and known[name].role == "index" and name != index and not is_inside:
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
        known = function.known_at(node).get(function.text(limit))
        is_constant = limit.type == "number_literal" or (known is not None and known.start == 0)
        steps = re.search(rf"(?:\+=|\*)\s*{re.escape(block)}(?!\w)", function.text(loop))
        if is_constant and steps is not None and function.text(limit) not in function.text(right):
            more = f" * {function.text(limit)}"
            yield function.insertion("index", node.end_byte, more, 0.2, "times", line=function.line(node))
