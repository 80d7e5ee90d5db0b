"""Changes that the rest of a function tells: of what breaks the pattern of its neighbours, and statements left out.

A pattern is made of statements, or terms of one sum, that are alike but for letters and numbers in order, such as
`a.x += f * dx; a.y += f * dy; a.z += f * dy;`, or distances 16, 8, 2, 1.  Statements that are put in: the second of two
stores, storing a vector back, the exchange of two buffers, what ends a branch so that the rest is done else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import kind_at
from grader.repair.function import Change, Function, zero_of
from grader.repair.statements import counted_terms
from grader.submission.cpp.tree import LOOPS, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


LEAST = 3
"""Rows that make a pattern: of two nobody knows which one is wrong."""
MOST = 16
UNLIKE = -1.0
"""What a change costs of the one token that breaks a pattern: it comes before what moves the same numbers elsewhere."""
_TOKEN = re.compile(r"[^\W\d]\w*|\d+\.?\d*\w*|\S")
MEMBERS = "xyzw"
_LETTERS = (MEMBERS, "rgba")
_NUMBERED = re.compile(r"(.*?)(\d+)[uUlLfF]*")
_LANES = 32


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, number or sign, where it stands in the file in characters."""

    text: str
    start: int


def likeness_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of what breaks a pattern, in order of the text."""
    yield from _lacking(function)
    yield from _flat_rows(function)
    yield from _shorter(function)
    for rows in _alike(function):
        tokens = [_tokens(function, row) for row in rows]
        yield from _odd_ones(function, tokens)
        if rows[0].type == "expression_statement":
            yield from _left_out(function, rows, tokens)


def _lacking(function: Function) -> Iterator[Change]:
    """`x0 = blockIdx.x * B - R, y0 = blockIdx.y * B` with the last term that the other axis has."""
    for node in function.nodes:
        rows: list[Node] = []
        if node.type == "declaration":
            following = node.next_named_sibling
            rows = node.children_by_field_name("declarator")
            if len(rows) == 1 and following is not None and following.type == "declaration":
                rows += following.children_by_field_name("declarator")[:1]
        values = [(declared_name(row), value) for row in rows if (value := nodes.value_of(row)) is not None]
        for (one, longer), (other, shorter) in [*pairwise(values), *(pair[::-1] for pair in pairwise(values))]:
            long_tokens, short_tokens = ([t.text for t in _tokens(function, v)] for v in (longer, shorter))
            more = long_tokens[len(short_tokens) :]
            beside = list(zip([one, *long_tokens], [other, *short_tokens], strict=False))
            if len(more) != 2 or more[0] not in "+-*/" or not _are_of_axes(beside):
                continue
            text = f" {more[0]} {more[1]}"
            line = function.line(shorter)
            yield function.insertion("index", shorter.end_byte, text, UNLIKE, "unlike", "lacking", line=line)


def _are_of_axes(beside: Sequence[tuple[str, str]]) -> bool:
    """Whether two rows of tokens differ by the letters x and y alone."""
    swap = str.maketrans("xyXY", "yxYX")
    return beside[0][0] != beside[0][1] and all(
        a in (b, b[:-1] + b[-1:].translate(swap), b.translate(swap)) for a, b in beside
    )


def _flat_rows(function: Function) -> Iterator[Change]:
    """`tile[r * B + c]` of a tile that is declared as `tile[H * W]`, with the length of its rows."""
    sizes: dict[str, list[str]] = {}
    for node in function.nodes:
        size = node.child_by_field_name("size") if node.type == "array_declarator" else None
        if size is not None and nodes.operator_of(size) == "*":
            sizes[declared_name(node)] = [function.text(s) for s in nodes.sides_of(size) if s is not None]
    for access in function.accesses:
        index = nodes.index_of(access.node)
        if access.array not in sizes or index is None:
            continue
        for _sign, term in nodes.terms_of(index):
            factor = term.child_by_field_name("right") if nodes.operator_of(term) == "*" else None
            if factor is None or function.text(factor) in sizes[access.array] or factor.type == "number_literal":
                continue
            for cost, length in ((0.2, sizes[access.array][1]), (0.8, sizes[access.array][0])):
                yield function.replacement("index", factor, length, cost, "flat_row")


def _shorter(function: Function) -> Iterator[Change]:
    """`s.x += d.x * f; s.y += d.y * f; s.z += d.z;` with the factor, or the term, that those beside it have."""
    for block in function.nodes:
        rows = (
            [n for n in nodes.listed(block) if n.type == "expression_statement"]
            if block.type == "compound_statement"
            else []
        )
        shapes = [_shape(function, row) for row in rows]
        for at, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
            around = [n for n in (at - 2, at - 1, at + 1, at + 2) if 0 <= n < len(rows)]
            longer = [n for n in around if len(shapes[n]) == len(shape) + 2]
            if len(longer) < LEAST - 1 or len({shapes[n] for n in longer}) != 1:
                continue
            model = [token.text for token in _tokens(function, rows[longer[0]])]
            other = [token.text for token in _tokens(function, rows[longer[1]])]
            own = _tokens(function, row)
            whole = shapes[longer[0]]
            places = [p for p in range(1, len(whole) - 1) if whole[p] in "+-*/" and whole[p + 1] == "w"]
            for p in (p for p in places if (*whole[:p], *whole[p + 2 :]) == shape):
                word = _of_row(own, model, other, p + 1)
                end = own[p - 1].start + len(own[p - 1].text)
                edit = Edit(end, end, f" {model[p]} {word}")
                yield Change("expression", function.line(row), (edit,), UNLIKE, "unlike", "factor")


def _of_row(own: Sequence[_Token], model: Sequence[str], other: Sequence[str], place: int) -> str:
    """Return a word of two rows as a third one would have it: "dx" of "dy" and "dz" in that of x."""
    word = model[place]
    if word == other[place] or word[:-1] != other[place][:-1]:
        return word
    letters = {token.text[-1] for token in own if token.text[-1] in MEMBERS and token.text not in (*model, *other)}
    return word[:-1] + letters.pop() if len(letters) == 1 else word


def _alike(function: Function) -> Iterator[list[Node]]:
    """Yield runs of neighbours with the same signs in the same places."""
    for node in function.nodes:
        rows: list[Node] = []
        if node.type == "compound_statement":
            rows = [n for n in nodes.listed(node) if n.type in ("expression_statement", "declaration")]
        elif node.type == "declaration":
            rows = node.children_by_field_name("declarator")
        elif nodes.operator_of(node) in ("+", "-") and nodes.operator_of(nodes.outside_brackets(node)) not in (
            "+",
            "-",
        ):
            rows = [term for _sign, term in nodes.terms_of(node)]
        elif node.type == "call_expression":
            rows = nodes.arguments_of(node)
        run: list[Node] = []
        for row in rows:
            if run and (_shape(function, row) != _shape(function, run[-1]) or row.prev_named_sibling is None):
                if LEAST <= len(run) <= MOST:
                    yield run
                run = []
            run.append(row)
        if LEAST <= len(run) <= MOST:
            yield run


def _tokens(function: Function, node: Node) -> list[_Token]:
    start, text = function.at(node.start_byte), function.text(node)
    return [_Token(token.group(), start + token.start()) for token in _TOKEN.finditer(text)]


def _shape(function: Function, node: Node) -> tuple[str, ...]:
    """Return a node's signs, with a mark for every word and one for every number."""
    texts = _TOKEN.findall(function.text(node))
    return tuple("n" if text[0].isdigit() else "w" if text[0].isalpha() or text[0] == "_" else text for text in texts)


def _odd_ones(function: Function, tokens: Sequence[Sequence[_Token]]) -> Iterator[Change]:
    """Yield the token that one row has and its place in the pattern does not ask for."""
    columns = list(zip(*tokens, strict=True))
    texts = [[token.text for token in column] for column in columns]
    orders = [order for column in texts if (order := _order(column)) is not None]
    for column, own in zip(columns, texts, strict=True):
        if len(set(own)) == 1:
            continue
        for wanted in _wanted(own, orders):
            wrong = [n for n, (one, other) in enumerate(zip(own, wanted, strict=True)) if one != other]
            if len(wrong) != 1:
                continue
            token = column[wrong[0]]
            place = len(function.parsed.source.text[: token.start].encode())
            node = function.parsed.root.named_descendant_for_byte_range(place, place + len(token.text.encode()))
            wanted_text = wanted[wrong[0]]
            if node is not None and function.text(node) == token.text and wanted_text:
                kind = kind_at(function, node)
                yield function.replacement(kind, node, wanted_text, UNLIKE, "unlike", "unlike")


def _order(column: Sequence[str]) -> list[int] | None:
    """Return where each token of a column stands in an order, "dx", "dy", "dz" or "s0", "s1", "s2"; None of others."""
    for _stem, places in _placed(column):
        if all(other - one == 1 for one, other in pairwise(places)):
            return places
    return None


def _placed(column: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield what all tokens of a column begin with, and where each one's last letter or its number stands in order."""
    for letters in _LETTERS:
        stems = {text[:-1] for text in column}
        if len(stems) == 1 and all(text[-1] in letters for text in column):
            yield stems.pop(), [letters.index(text[-1]) for text in column]
    numbered = [_NUMBERED.fullmatch(text) for text in column]
    short = [parts for parts in numbered if parts is not None and len(parts[2]) < 4]
    if len(short) == len(column) and len({parts[1] for parts in short}) == 1:
        yield short[0][1], [int(parts[2]) for parts in short]


def _wanted(column: Sequence[str], orders: Sequence[Sequence[int]]) -> Iterator[list[str]]:
    """Yield what a column would be that goes with another one in order, or halves or doubles from row to row."""
    for stem, places in _placed(column):
        for order in orders:
            shifts = [place - there for place, there in zip(places, order, strict=True)]
            usual = max(set(shifts), key=shifts.count)
            if shifts.count(usual) == len(shifts) - 1:
                yield [_token(column, stem, there + usual) for there in order]
        # A column in which one number alone breaks the order needs no other to tell.
        for step in (1, -1):
            firsts = [place - step * n for n, place in enumerate(places)]
            usual = max(set(firsts), key=firsts.count)
            if firsts.count(usual) == len(firsts) - 1 > LEAST - 1:
                yield [_token(column, stem, usual + step * n) for n in range(len(places))]
        yield from _halving(column, stem, places)


def _halving(column: Sequence[str], stem: str, places: Sequence[int]) -> Iterator[list[str]]:
    if stem or min(places) < 1 or len(places) <= LEAST:
        return
    for ordered in (list(places), list(places[::-1])):
        firsts = [n << at for at, n in enumerate(ordered)]
        usual = max(set(firsts), key=firsts.count)
        if firsts.count(usual) == len(firsts) - 1 and all(usual >> at << at == usual for at in range(len(ordered))):
            wanted = [str(usual >> at) for at in range(len(ordered))]
            yield wanted if ordered == list(places) else wanted[::-1]


def _token(column: Sequence[str], stem: str, place: int) -> str:
    """Return the token of a column at a place in its order; the token there is not changed where there is none."""
    letters = next((letters for letters in _LETTERS if all(text[-1] in letters for text in column)), "")
    if letters:
        return stem + letters[place] if 0 <= place < len(letters) else ""
    return f"{stem}{place}"


def _left_out(function: Function, rows: Sequence[Node], tokens: Sequence[Sequence[_Token]]) -> Iterator[Change]:
    """Yield the statement that is missing from `… 16 … 8 … 2 … 1`: rows that differ by one number, which halves or
    doubles, but for one step; of shuffles the first one too, which is half a warp, and the last, which is 1."""
    columns = [[token.text for token in column] for column in zip(*tokens, strict=True)]
    differing = [n for n, column in enumerate(columns) if len(set(column)) > 1]
    if len(differing) != 1 or not all(text.isdigit() and int(text) for text in columns[differing[0]]):
        return
    numbers = [int(text) for text in columns[differing[0]]]
    ratios = [max(a, b) / min(a, b) for a, b in pairwise(numbers)]
    is_one_way = numbers in (sorted(numbers), sorted(numbers, reverse=True))
    if not is_one_way or any(ratio not in (2, 4) for ratio in ratios) or ratios.count(4) > 1:
        return
    missing: list[tuple[int, int, bool]] = []
    if 4 in ratios:
        at = ratios.index(4)
        missing.append((at, min(numbers[at], numbers[at + 1]) * 2, False))
    elif "__shfl" in function.text(rows[0]):
        ends = {numbers[0]: 0, numbers[-1]: len(rows) - 1}
        largest, least = max(numbers), min(numbers)
        if largest == _LANES // 4:
            missing.append((ends[largest], 2 * largest, ends[largest] == 0))
        if least == 2:
            missing.append((ends[least], 1, ends[least] == 0))
    for at, number, is_before in missing:
        token, row = tokens[at][differing[0]], rows[at]
        first = function.at(row.start_byte)
        text = function.text(row)
        copy = text[: token.start - first] + str(number) + text[token.start - first + len(token.text) :]
        margin = " " * row.start_point.column
        place = row.start_byte if is_before else row.end_byte
        more = f"{copy}\n{margin}" if is_before else f"\n{margin}{copy}"
        yield function.insertion(
            "expression", place, more, UNLIKE, "step_left_out", "step_left_out", line=function.line(row)
        )


LEFT_OUT = -1.0
"""What a change costs of what is computed for nothing without it."""
_TOGGLED = re.compile(r"1-(?P<name>\w+)|(?P<by_xor>\w+)\^1|!(?P<negated>\w+)")


def omission_changes(function: Function) -> Iterator[Change]:
    """Yield the changes that put in a statement which was left out."""
    yield from _second_store(function)
    yield from _second_side(function)
    yield from counted_terms(function)
    for node in function.nodes:
        if node.type == "declaration":
            yield from _stored_back(function, node)
            yield from _toggle(function, node)
        elif node.type == "if_statement":
            yield from _done_else(function, node)


def _assignments(*statements: Node) -> list[tuple[Node, str, Node]]:
    """Return the assignments in statements: target, sign and value of each."""
    parts = (part for statement in statements for part in (statement, *descendants(statement)))
    return [assignment for part in parts if (assignment := nodes.assignment_of(part)) is not None]


def _after(function: Function, statement: Node, text: str, cost: float, detail: str) -> Change:
    """Return the change that puts in a statement on a line of its own behind another one."""
    margin = " " * statement.start_point.column
    line = function.parsed.data.count(b"\n", 0, statement.end_byte) + 1
    return function.insertion("expression", statement.end_byte, f"\n{margin}{text}", cost, detail, detail, line=line)


def _copies(function: Function) -> Iterator[tuple[Node, str, str]]:
    """Yield statements that copy an element to an element, with target and source without white space."""
    for node in function.statements:
        assignment = nodes.assignment_of(nodes.inner_of(node))
        if assignment is not None and assignment[1] == "=":
            target, _sign, value = assignment
            if target.type == value.type == "subscript_expression":
                yield node, "".join(function.text(target).split()), "".join(function.text(value).split())


def _second_store(function: Function) -> Iterator[Change]:
    """`v[i] = s[t];` and `v[i + T] = s[t + T];` where both were read so, and one is stored alone."""
    copies = list(_copies(function))
    back = {(source, target): node for node, target, source in copies}
    pairs = [(node, target, source) for node, target, source in copies if (target, source) in back]
    for node, target, source in copies:
        block = node.parent
        if (target, source) in back or block is None:
            continue
        neighbours = (node.prev_named_sibling, node.next_named_sibling)
        beside = [n for n, _t, _s in pairs if n.parent == block and n in neighbours]
        if not beside:
            continue
        assignment = nodes.assignment_of(nodes.inner_of(node))
        if assignment is not None:
            last = back[next((t, s) for n, t, s in pairs if n == beside[0])]
            text = f"{function.text(assignment[2])} = {function.text(assignment[0])};"
            yield _after(function, last, text, LEFT_OUT, "store_left_out")


def _stored_back(function: Function, declaration: Node) -> Iterator[Change]:
    """`float4 v = a[i];` that is changed, and then neither used nor stored: `a[i] = v;` behind the last change."""
    kind = declaration.child_by_field_name("type")
    if kind is None or zero_of(function.text(kind)) == "0":
        return
    for declarator in declaration.children_by_field_name("declarator"):
        value, name = nodes.value_of(declarator), declared_name(declarator)
        if value is None or value.type != "subscript_expression" or not name:
            continue
        block = declaration.parent
        changes = [
            s
            for s in (nodes.listed(block) if block is not None else [])
            if (assignment := nodes.assignment_of(nodes.inner_of(s))) is not None
            and re.fullmatch(rf"{re.escape(name)}(?:\.\w)?", function.text(assignment[0]))
        ]
        if not changes:
            continue
        uses = [n for n in function.nodes if n.type == "identifier" and function.text(n) == name]
        own = [n for n in uses if any(c.start_byte <= n.start_byte < c.end_byte for c in changes)]
        if len(uses) - len(own) == 1:
            text = f"{function.text(value)} = {name};"
            yield _after(function, changes[-1], text, LEFT_OUT, "store_left_out")


def _toggle(function: Function, declaration: Node) -> Iterator[Change]:
    """`cur = 1 - cur;` at the end of a loop that takes `1 - cur` for the other one of two buffers and never changes it:
    before the barrier at its end."""
    for declarator in declaration.children_by_field_name("declarator"):
        name = declared_name(declarator) if nodes.value_of(declarator) is not None else ""
        stored = any(
            nodes.is_stored(n) or (n.parent is not None and n.parent.type == "update_expression")
            for n in function.nodes
            if n.type == "identifier" and function.text(n) == name
        )
        if not name or stored:
            continue
        for node in function.nodes:
            found = _TOGGLED.fullmatch("".join(function.text(node).split()).strip("()"))
            if (
                node.type not in ("binary_expression", "unary_expression")
                or found is None
                or name not in found.groups()
            ):
                continue
            loop = next((n for n in nodes.ancestors(node, function.body) if n.type in LOOPS), None)
            body = loop.child_by_field_name("body") if loop is not None else None
            inner = [n for n in nodes.listed(body) if nodes.is_statement(n)] if body is not None else []
            if loop is None or loop.start_byte < declaration.start_byte or len(inner) < 2:
                continue
            last = inner[-2] if inner[-1] in function.barriers else inner[-1]
            yield _after(function, last, f"{name} = {function.text(node)};", LEFT_OUT, "toggle_left_out")
            return


def _second_side(function: Function) -> Iterator[Change]:
    """The right halo of `right = g + B`, which is computed and never used, as the left one of `left = g - R` is stored:
    `s[l - R] = left >= 0 ? in[left] : 0` with `s[l + B] = right < n ? in[right] : 0` behind it."""
    sums = dict(_sums(function))
    words = [function.text(n) for n in function.nodes if n.type == "identifier"]
    for name, (base, more, place) in sums.items():
        if words.count(name) != 1:
            continue
        for other, (its_base, its_more, its_place) in sums.items():
            if its_base != base or other == name or its_place.parent != place.parent:
                continue
            for statement in function.statements:
                assignment = nodes.assignment_of(nodes.inner_of(statement))
                if (
                    assignment is None
                    or statement.parent != place.parent
                    or other not in function.parsed.words(statement)
                ):
                    continue
                if its_more not in function.text(assignment[0]):
                    continue
                target = function.text(assignment[0]).replace(its_more, more)
                value = re.sub(rf"\b{re.escape(other)}\b", name, function.text(assignment[2]))
                for limited in _limited_above(function, value, name):
                    yield _after(function, statement, f"{target} = {limited};", LEFT_OUT, "side_left_out")


def _sums(function: Function) -> Iterator[tuple[str, tuple[str, str, Node]]]:
    """Yield variables that are a sum of two terms, with its first term, the second one with its sign, the statement."""
    for node in function.nodes:
        value = nodes.value_of(node)
        terms = list(nodes.terms_of(value)) if value is not None else []
        if len(terms) == 2 and node.parent is not None and node.parent.type == "declaration":
            first, second = terms
            yield (
                declared_name(node),
                (function.text(first[1]), f" {second[0]} {function.text(second[1])}", node.parent),
            )


def _limited_above(function: Function, value: str, name: str) -> Iterator[str]:
    """Yield a value with `name >= 0` in it turned into a limit by a size that the function limits others by."""
    below = re.compile(rf"\b{re.escape(name)}\s*>=\s*0\b")
    if not below.search(value):
        yield value
        return
    limits: dict[str, None] = {}
    for node in function.nodes:
        operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
        right = nodes.sides_of(node)[1]
        if operator is not None and operator.type in ("<", ">=") and right is not None and right.type == "identifier":
            limits[function.text(right)] = None
    for limit in list(limits)[:2]:
        yield below.sub(f"{name} < {limit}", value)


def _done_else(function: Function, branch: Node) -> Iterator[Change]:
    """`if (i < r) { out[i] = in[i]; }` before what stores `out[i]` again: the branch is to end with `continue;`, or
    with `return;` where nothing but that follows."""
    body, block = branch.child_by_field_name("consequence"), branch.parent
    if body is None or block is None or branch.child_by_field_name("alternative") is not None:
        return
    if block.type != "compound_statement" or nodes.condition_of(branch) is None:
        return
    later = [n for n in nodes.listed(block) if n.start_byte > branch.end_byte]
    stored = {function.text(target) for target, sign, _value in _assignments(body) if sign == "="}
    again = {function.text(target) for target, sign, _value in _assignments(*later) if sign == "="}
    if not any("[" in target for target in stored & again):
        return
    if any(b.start_byte > branch.end_byte and b.start_byte < block.end_byte for b in function.barriers):
        return
    outer = next((n for n in nodes.ancestors(branch, function.body) if n.type in LOOPS), None)
    is_loop = outer is not None and outer.child_by_field_name("body") == block
    if not is_loop and block != function.body:
        return
    leave = "continue;" if is_loop else "return;"
    edits: tuple[Edit, ...]
    statements = nodes.listed(body) if body.type == "compound_statement" else []
    if statements:
        margin = " " * statements[-1].start_point.column
        edits = (function.inserted(statements[-1].end_byte, f"\n{margin}{leave}"),)
    else:
        edits = (function.inserted(body.start_byte, "{ "), function.inserted(body.end_byte, f" {leave} }}"))
    yield Change("guard", function.line(branch), edits, 0.6, "else", "goes_on")
