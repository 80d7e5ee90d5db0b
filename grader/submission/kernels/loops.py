"""The innermost loops of a kernel: where they stand, what they work on, by how much they are unrolled.

As the text shows it: by hand or by `#pragma unroll`.  A loop that does nothing, that never runs or whose sums go
nowhere is unrolled to no purpose; what counts is the loop that does the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.submission.cpp.constants import Lookup
from grader.submission.cpp.syntax import Expression, Number
from grader.submission.cpp.tree import LOOPS, WORD, Item, ParsedFile, declared_name, descendants, remembered
from grader.submission.kernels.kernel import local_values
from grader.submission.kernels.records import Loop, factor_of
from grader.submission.lexical import spend, spend_on

if TYPE_CHECKING:
    from tree_sitter import Node

FULLY = 1024
"""Largest factor of unrolling, and that of a loop that is unrolled altogether."""
FEW_STEPS = 32
"""A loop of no more is unrolled altogether unless a pragma says otherwise."""
UNKNOWN_STEPS = 1024
"""Assumed steps of a loop over a size, whose number the text does not tell."""

_PRAGMA = re.compile(
    r"#[ \t]*pragma[ \t]+(?:GCC[ \t]+|nv_)?unroll\b[ \t]*\(?[ \t]*([^)\n]*)[^\n]*"
    r"|.*?\b_Pragma\s*\(\s*\"\s*(?:GCC\s+|nv_)?unroll\s*([^\"]*)\"\s*\)"
)
_STEP = re.compile(r"(\w+)\s*(?:[-+]=\s*(?P<by>.+)|=\s*\(?\s*\1\s*[-+]\s*(?P<more>[^()]+?)\s*\)?)", re.DOTALL)
_BARRIERS = frozenset(["__syncthreads", "sync", "__syncwarp"])
_MULTIPLYING = re.compile(r"_*fmaf?")


@dataclass(frozen=True, slots=True)
class LoopNode:
    """A loop in the tree; depth: how many others it stands in."""

    node: Node
    depth: int
    is_innermost: bool


def loops_in(parsed: ParsedFile, function: Node) -> tuple[LoopNode, ...]:
    """Every loop of a function, in order of the text."""
    return remembered(parsed, ("loops", function.id), lambda: _find_loops(function))


def _find_loops(function: Node) -> tuple[LoopNode, ...]:
    loops: list[LoopNode] = []
    around: list[int] = []
    for node in descendants(function):
        if node.type in LOOPS:
            while around and node.start_byte >= loops[around[-1]].node.end_byte:
                around.pop()
            if around:
                outer = loops[around[-1]]
                loops[around[-1]] = LoopNode(outer.node, outer.depth, is_innermost=False)
            around.append(len(loops))
            loops.append(LoopNode(node, len(around) - 1, is_innermost=True))
    return tuple(loops)


def called_functions(parsed: ParsedFile, item: Item) -> list[Item]:
    """The file's device functions that a kernel's text names."""
    names = parsed.words(item.node) & parsed.functions.keys()
    return [f for name, f in parsed.functions.items() if name in names and f.is_device and not f.is_kernel]


def pragma_before(parsed: ParsedFile, function: Node, loop: Node) -> tuple[str, int, int] | None:
    """The unroll pragma right before `loop`: its argument ("" for one without), and the bytes that it stands in.

    Comments, and what stands in them, are no pragma.
    """
    plain = remembered(parsed, ("plain", function.id), lambda: _plain_bytes(parsed, function))
    end = loop.start_byte - function.start_byte
    start = end
    while start > 0:
        # Back to the last line that holds anything.
        line = plain.rfind(b"\n", 0, start) + 1
        text = plain[line:end]
        spend_on(len(text))
        if text.strip():
            match = _PRAGMA.fullmatch(text.decode("utf-8", errors="replace").strip())
            if match is None:
                return None
            lead = len(text) - len(text.lstrip())
            if match.group(2) is not None:
                lead = text.rindex(b"_Pragma")
            offset = function.start_byte + line
            return (match.group(1) or match.group(2) or "").strip(), offset + lead, offset + len(text.rstrip())
        start = line - 1
        end = max(start, 0)
    return None


def _plain_bytes(parsed: ParsedFile, function: Node) -> bytes:
    """A function's text with blanks in place of comments and of literals but those of pragmas."""
    data = bytearray(parsed.data[function.start_byte : function.end_byte])
    for node in descendants(function):
        if node.type == "comment":
            start, end = node.start_byte - function.start_byte, node.end_byte - function.start_byte
            data[start:end] = re.sub(rb"[^\n]", b" ", bytes(data[start:end]))
    return bytes(data)


def unroll_factor(parsed: ParsedFile, item: Item, template_values: Mapping[str, str]) -> int:
    """Steps that the loop which does the work does at a time; 1 where it is not unrolled, or there is none.

    A loop counts as unrolled by hand when its counter goes up by k > 1 and its body says the same thing k times over,
    each time further on; one that fills an array in steps of the block is not unrolled.
    """
    return factor_of(innermost_loops(parsed, item, template_values))


def innermost_loops(parsed: ParsedFile, item: Item, template_values: Mapping[str, str]) -> tuple[Loop, ...]:
    """The innermost loops of a kernel, and of functions that it calls, that do anything for its result."""
    of_template = {name: parsed.constants.parse(text) for name, text in template_values.items()}
    innermost: list[Loop] = []
    functions: list[tuple[Item, Mapping[str, Expression]]] = [(item, {})]
    # The list grows by what each of them calls.
    for function, given in functions:
        body = function.node.child_by_field_name("body")
        if body is None:
            continue
        values = local_values(parsed, body)

        def look_up(name: str, values: Lookup = values, given: Mapping[str, Expression] = given) -> Expression | None:
            return given.get(name) or of_template.get(name) or values(name)

        functions += [
            (called, _given(parsed, called, function, look_up))
            for called in called_functions(parsed, function)
            if all(called is not other for other, _given_to in functions)
        ]
        loops = loops_in(parsed, body)
        live = _live_names(parsed, body) if loops else frozenset()
        steps: list[tuple[Node, int]] = []
        for loop in loops:
            while steps and loop.node.start_byte >= steps[-1][0].end_byte:
                steps.pop()
            own = _steps(parsed, loop.node, look_up)
            around = steps[-1][1] if steps else 1
            steps.append((loop.node, min(own * around, 1 << 40)))
            if loop.is_innermost and own:
                work = _work(parsed, loop.node, live)
                factor = _factor(parsed, body, [node for node, _steps in steps], look_up) if own > 1 else 1
                start, end = loop.node.start_point.row + 1, loop.node.end_point.row + 1
                # A step of an unrolled loop does the work of several.
                innermost.append(Loop(start, end, factor, work * around * own))
    return tuple(innermost)


def _given(parsed: ParsedFile, function: Item, caller: Item, look_up: Lookup) -> dict[str, Expression]:
    """What a function gives the template's parameters of another that it calls, `tiled<8>(…)`, else their defaults."""
    call = re.search(rf"\b{re.escape(function.name)}\s*<([^<>;{{}}]{{0,200}})>\s*\(", parsed.text(caller.node))
    texts = [part.strip() for part in call[1].split(",")] if call is not None else []
    texts += function.template_defaults[len(texts) :]
    values = (
        (name, parsed.constants.integer(text, look_up) if text else None)
        for name, text in zip(function.template_parameters, texts, strict=False)
    )
    return {name: Number(value) for name, value in values if value is not None}


def _factor(parsed: ParsedFile, function: Node, loops: Sequence[Node], look_up: Lookup) -> int:
    """By its pragma and by hand: `#pragma unroll 1` before a loop that does four steps at a time leaves it those.

    loops: the loop, last, and those around it.  Where it has few steps and no pragma, as one over a thread's elements
    has, the compiler unrolls it altogether: a step of the loop around it is all of it.
    """
    loop = loops[-1]
    factor = _by_hand(parsed, loop, look_up)
    for outer in reversed(loops):
        # A loop with a barrier goes over tiles, whatever is unrolled within.
        if outer is not loop and parsed.words(outer) & _BARRIERS:
            break
        pragma = pragma_before(parsed, function, outer)
        if pragma is not None:
            value = parsed.constants.integer(pragma[0], look_up) if pragma[0] else FULLY
            return min(factor * max(1, value) if value is not None else factor, FULLY)
        if _steps(parsed, outer, look_up) > FEW_STEPS:
            break
    return factor


def _by_hand(parsed: ParsedFile, loop: Node, look_up: Lookup) -> int:
    value = _step(parsed, loop, look_up)
    return value if value is not None and 1 < value <= 64 and _repeats(parsed, loop) >= 2 else 1


def _step(parsed: ParsedFile, loop: Node, look_up: Lookup) -> int | None:
    """What a loop's counter goes up or down by, in its head or, where that says nothing, in its body; None: unknown.

    The counter is what the condition names: `k += 4, p += 4 * n`.
    """
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    update = loop.child_by_field_name("update")
    where = update if update is not None else body
    if condition is None or where is None:
        return None
    counters = parsed.words(condition)
    once = 0
    for node in descendants(where):
        if node.type == "assignment_expression":
            raised = _STEP.fullmatch(parsed.text(node))
            if raised is not None and raised[1] in counters:
                return parsed.constants.integer(raised["by"] or raised["more"], look_up)
        elif node.type == "update_expression":
            argument = node.child_by_field_name("argument")
            once += argument is not None and parsed.text(argument) in counters
    return once or None


def _steps(parsed: ParsedFile, loop: Node, look_up: Lookup) -> int:
    """How often a loop's body runs, as far as its head tells; `UNKNOWN_STEPS` by the counter's step elsewhere."""
    condition = loop.child_by_field_name("condition")
    if condition is not None and parsed.constants.integer(parsed.text(condition), look_up) == 0:
        return 0 if loop.type != "do_statement" else 1
    by = _step(parsed, loop, look_up)
    by = by if by is not None and by > 0 else 1
    if loop.type != "for_statement" or condition is None:
        return UNKNOWN_STEPS // min(by, UNKNOWN_STEPS)
    first, last = _first_value(loop), condition.child_by_field_name("right")
    if first is None or last is None or condition.type != "binary_expression":
        return max(1, UNKNOWN_STEPS // by)
    begin, end = parsed.text(first), parsed.text(last)
    operator = condition.child_by_field_name("operator")
    sign = parsed.text(operator) if operator is not None else ""
    if begin == end and sign in {"<", ">", "!="}:
        return 0
    low, high = parsed.constants.integer(begin, look_up), parsed.constants.integer(end, look_up)
    if low is None or high is None or sign not in {"<", "<=", "!="}:
        return max(1, UNKNOWN_STEPS // by)
    return max(0, -(-(high - low + (sign == "<=")) // by))


def _first_value(loop: Node) -> Node | None:
    """What the counter begins with."""
    head = loop.child_by_field_name("initializer")
    for node in descendants(head) if head is not None else ():
        if node.type == "init_declarator":
            return node.child_by_field_name("value")
        if node.type == "assignment_expression":
            return node.child_by_field_name("right")
    return None


def _work(parsed: ParsedFile, loop: Node, live: frozenset[str]) -> int:
    """Elements that the body reads and products that it makes, where what it makes of them reaches the result."""
    body = loop.child_by_field_name("body")
    if body is None:
        return 0
    targets = {name for name, _sources in _assignments(parsed, body)}
    calls = parsed.words(body) & (parsed.constants.macros.keys() | parsed.functions.keys())
    if not targets & live and not calls:
        return 0
    reads = sum(node.type == "subscript_expression" for node in descendants(body))
    return 1 + reads + _repeats(parsed, loop)


def _live_names(parsed: ParsedFile, body: Node) -> frozenset[str]:
    """Variables whose values reach what a function leaves behind: memory that it was handed, shared memory, its value.

    By names alone: each assignment hands on whatever its right side names.
    """
    own: set[str] = set()
    sources: dict[str, set[str]] = {}
    pending: list[str] = []
    for node in descendants(body):
        if node.type == "declaration" and not any(parsed.text(c) == "__shared__" for c in node.children[:3]):
            own |= {declared_name(d) for d in node.children_by_field_name("declarator") if "*" not in parsed.text(d)}
        elif node.type in {"return_statement", "call_expression"}:
            pending += parsed.words(node)
    for name, words in _assignments(parsed, body):
        sources.setdefault(name, set()).update(words)
    # What is no variable of the function's own is memory that others see.
    pending += [name for name in sources if name not in own]
    live: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in live:
            spend(1)
            live.add(name)
            pending += sources.get(name, ())
    return frozenset(live)


def _assignments(parsed: ParsedFile, body: Node) -> Iterator[tuple[str, frozenset[str]]]:
    """Each variable or array that is given a value, with the words that the value is made of."""
    for node in descendants(body):
        if node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                words = WORD.findall(parsed.text(left))
                yield (words[0] if words else ""), parsed.words(right)
        elif node.type == "init_declarator":
            value = node.child_by_field_name("value")
            if value is not None:
                yield declared_name(node), parsed.words(value)
        elif node.type == "update_expression":
            words = WORD.findall(parsed.text(node))
            yield (words[0] if words else ""), frozenset()


def _repeats(parsed: ParsedFile, loop: Node) -> int:
    """How many times the body multiplies: once for each step that it does."""
    body = loop.child_by_field_name("body")
    if body is None:
        return 0
    products = 0
    outside: list[str] = []
    for node in _outside_indices(body):
        if node.type == "binary_expression":
            # `a[i * n + k]` multiplies for an index, not for a result.
            products += any(child.type == "*" for child in node.children)
        elif node.type == "call_expression":
            products += _MULTIPLYING.match(parsed.text(node)) is not None
        elif node.type == "identifier":
            outside.append(parsed.text(node))
    # A step may be a macro: `STEP(k) STEP(k + 1)`.
    for word in outside:
        macro = parsed.constants.macros.get(word)
        if macro is not None:
            products += len(re.findall(r"\*|\bfmaf?\b", _without_indices(macro.body)))
    return products


def _outside_indices(body: Node) -> Iterator[Node]:
    """`body` and what stands in it, but for what stands in brackets."""
    stack = [body]
    while stack:
        spend(1)
        node = stack.pop()
        yield node
        children: Sequence[Node] = node.children
        if node.type == "subscript_expression":
            children = children[:1]
        stack.extend(reversed(children))


def _without_indices(text: str) -> str:
    """`text` without what stands in brackets."""
    spend_on(8 * len(text))
    kept: list[str] = []
    depth = 0
    for piece in re.split(r"([\[\]])", text):
        if piece == "[":
            depth += 1
        elif piece == "]":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(piece)
    return "".join(kept)
