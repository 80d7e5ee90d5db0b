"""Changes of loops and of what keeps within limits: where loops start, by how much they go on, elements that are left
over, partners of trees; a condition that tests another index than the one that follows, one side of a border that
nothing tests, a test that others make, and loops that step by what they do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import Change, Function
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, remembered

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_STEPS = 4
"""Steps of other loops that one is tried with."""
WARP = 32
"""Threads; a loop that goes on by as many or more is one of all threads of a block."""
_HALVES = re.compile(r"/=\s*2$|>>=\s*1$")
_LESS_ONE = re.compile(r".*-\s*1\s*")


def loop_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of a function's loops, in order of the text."""
    yield from _partners(function)
    for node in function.nodes:
        if node.type == "for_statement":
            yield from _step(function, node)
            yield from _of_all_threads(function, node)
            yield from _stride(function, node)
            yield from _starts(function, node)
            yield from _starts_at_thread(function, node)
            yield from _without_start(function, node)
            yield from _tail(function, node)


def _partners(function: Function) -> Iterator[Change]:
    """In a loop over `d`, `s[t] += s[t + d]` for threads with `t < d` alone, `s[t] += s[t - d]` with `t >= d`."""
    for node in function.statements:
        assignment = nodes.assignment_of(nodes.inner_of(node))
        target = nodes.index_of(assignment[0]) if assignment is not None else None
        outer = next(
            (a for a in nodes.ancestors(node, function.body) if a.type in ("for_statement", "if_statement")), None
        )
        update = outer.child_by_field_name("update") if outer is not None else None
        if assignment is None or target is None or update is None:
            continue
        for access in function.accesses:
            index = nodes.index_of(access.node)
            if index is None or not assignment[2].start_byte <= access.node.start_byte < assignment[2].end_byte:
                continue
            sign = nodes.operator_of(index)
            own, step = (function.text(n) if n is not None else "" for n in nodes.sides_of(index))
            if sign in ("+", "-") and own == function.text(target) and step in function.parsed.words(update):
                test = f"{own} < {step}" if sign == "+" else f"{own} >= {step}"
                edit = function.inserted(node.start_byte, f"if ({test}) ")
                yield Change("guard", function.line(node), (edit,), 0.8, "tree", "missing")


def _step(function: Function, loop: Node) -> Iterator[Change]:
    step, bound = _step_of(loop), loop.child_by_field_name("condition")
    if step is None or bound is None:
        return
    text = function.text(step)
    # One that goes as far as it reaches runs once.
    runs_once = bound.type == "binary_expression" and _is_right_of(function, bound, text)
    usual = dict.fromkeys([*_steps(function), "blockDim.x", "blockDim.y"])
    constants = [v.name for v in function.known_at(loop).values() if v.role == "size" and not v.start]
    start = loop.child_by_field_name("initializer")
    is_of_grid = start is not None and "blockIdx" in function.parsed.words(start)
    parts = {function.text(side) for side in nodes.sides_of(step) if side is not None and not is_of_grid}
    for other in dict.fromkeys([*usual, *constants]):
        if other != text:
            # The block's own threads step by their number, not by that of the whole grid.
            cost = 0.8 if runs_once or other in parts else 1.6 if other in usual else 2.0
            yield function.replacement("bound", step, other, cost, "step")


def _of_all_threads(function: Function, loop: Node) -> Iterator[Change]:
    """`for (int k = threadIdx.x; …; ++k)` by the number of the block's threads."""
    update, value = loop.child_by_field_name("update"), _start_of(loop)
    if update is None or value is None or "++" not in function.text(update):
        return
    name = update.child_by_field_name("argument")
    if name is not None and "threadIdx" in _begins_at(function, value):
        for other in dict.fromkeys([*_steps(function), "blockDim.x"]):
            yield function.replacement("bound", update, f"{function.text(name)} += {other}", 1.2, "step", "step")


def _steps(function: Function) -> list[str]:
    def steps() -> list[str]:
        items = [item for item in function.parsed.functions.values() if item.is_device]
        loops = [n for item in items for n in descendants(item.node) if n.type == "for_statement"]
        steps = [step for loop in loops if (step := _step_of(loop)) is not None and step.type != "number_literal"]
        return list(dict.fromkeys(function.text(step) for step in steps))[:MAX_STEPS]

    return remembered(function.parsed, "loop steps", steps)


def _step_of(loop: Node) -> Node | None:
    """Return what is added to a loop's variable each time; None where that is 1."""
    update = nodes.assignment_of(loop.child_by_field_name("update"))
    return update[2] if update is not None and update[1] == "+=" else None


def _is_right_of(function: Function, comparison: Node, text: str) -> bool:
    right = comparison.child_by_field_name("right")
    return right is not None and function.text(right) == text


def _stride(function: Function, loop: Node) -> Iterator[Change]:
    """A loop that begins at the thread's number in the grid and goes on by the threads of its block alone, or by the
    number of blocks alone."""
    start, condition, update = (loop.child_by_field_name(n) for n in ("initializer", "condition", "update"))
    step = nodes.assignment_of(update)
    if step is None or step[1] != "+=":
        return
    if condition is not None and "blockIdx" in function.text(condition):
        # Up to the end of the block's own part.
        return
    words, text = _begins_at(function, start if start is not None else step[0]), function.text(step[2])
    for axis in "xyz":
        if not {f"blockIdx.{axis}", f"threadIdx.{axis}"} <= words:
            continue
        for own, other, detail in (("blockDim", "gridDim", "stride"), ("gridDim", "blockDim", "stride_blocks")):
            if text == f"{own}.{axis}":
                more = f"{text} * {other}.{axis}"
                yield function.replacement("bound", step[2], more, -1.0, "stride", detail, line=function.line(loop))


def _begins_at(function: Function, node: Node) -> set[str]:
    """Return the names that a loop's start is made of, and those that its names were declared with."""
    words = set(function.names_in(node))
    named = words | {function.text(n) for n in (node, *descendants(node)) if n.type == "identifier"}
    for declared in function.nodes:
        value = nodes.value_of(declared)
        if value is not None and declared.end_byte <= node.end_byte and declared_name(declared) in named:
            words |= set(function.names_in(value))
    return words


def _starts(function: Function, loop: Node) -> Iterator[Change]:
    """A loop that counts down to 0 from the last element in place of the number of elements; one that halves its
    variable from half as far."""
    update, condition = loop.child_by_field_name("update"), loop.child_by_field_name("condition")
    value = _start_of(loop)
    if value is None or update is None or condition is None:
        return
    text, line, end = function.text(value), function.line(loop), "".join(function.text(condition).split())
    if "--" in function.text(update) and end.endswith(">=0") and not _LESS_ONE.fullmatch(text):
        yield function.insertion("bound", value.end_byte, " - 1", 0.6, "last", "start", line=line)
    if _HALVES.search(function.text(update)) and nodes.operator_of(value) not in ("/", ">>"):
        half = f"({text}) / 2" if nodes.operator_of(value) else f"{text} / 2"
        yield function.replacement("bound", value, half, 1.0, "half", "start", line=line)


def _starts_at_thread(function: Function, loop: Node) -> Iterator[Change]:
    """A loop that all threads of a block share, `for (k = 0; …; k += blockDim.x)`, from the thread's own number: else
    every thread handles the same elements."""
    step, value = _step_of(loop), _start_of(loop)
    if step is None or value is None or "threadIdx" in _begins_at(function, value):
        return
    words = function.parsed.words(step)
    if "blockDim" not in words and not any(n.isdigit() and int(n) >= WARP for n in words | {function.text(step)}):
        return
    text = function.text(value)
    if "blockIdx" in function.parsed.words(value):
        yield function.insertion(
            "bound", value.end_byte, " + threadIdx.x", 0.6, "start", "start", line=function.line(loop)
        )
        return
    if text != "0":
        return
    others = [v for n in function.nodes if n.type == "for_statement" and (v := _start_of(n)) is not None]
    starts = [function.text(v) for v in others if "threadIdx" in function.parsed.words(v)]
    variables = function.known_at(loop)
    for node in function.nodes:
        declared = nodes.value_of(node)
        if declared is not None and declared_name(node) in variables and "threadIdx" in function.parsed.words(declared):
            starts += [declared_name(node)] if "blockIdx" not in function.parsed.words(declared) else []
    if "threadIdx.y" in function.text(function.body):
        starts.append("threadIdx.y * blockDim.x + threadIdx.x")
    for number, other in enumerate(dict.fromkeys([*starts, "threadIdx.x"])):
        yield function.replacement("bound", value, other, 0.9 + 0.1 * number, "start", "start")


def _without_start(function: Function, loop: Node) -> Iterator[Change]:
    """`for (int k; …)` from 0."""
    start = loop.child_by_field_name("initializer")
    declarator = start.child_by_field_name("declarator") if start is not None else None
    if declarator is not None and declarator.type == "identifier":
        yield function.insertion("bound", declarator.end_byte, " = 0", -0.5, "start", "start", line=function.line(loop))


def _start_of(loop: Node) -> Node | None:
    """Return what a loop's variable begins with."""
    start = loop.child_by_field_name("initializer")
    inner = start.child_by_field_name("declarator") if start is not None and start.type == "declaration" else start
    if inner is None:
        return None
    return inner.child_by_field_name("value") or inner.child_by_field_name("right")


_TAIL = re.compile(
    r"\w+ *(?:\+ *(?P<before>\d+) *< *(?P<end>\w+)|\+ *(?P<whole>\d+) *<= *(?P<last>\w+)"
    r"|< *(?P<limit>\w+) *- *(?P<less>\d+))"
)


def _tail(function: Function, loop: Node) -> Iterator[Change]:
    """`for (; k + 3 < n; k += 4)` with a loop behind it for those that are left over, one at a time."""
    condition, steps = _counted_by(function, loop)
    start, body = loop.child_by_field_name("initializer"), loop.child_by_field_name("body")
    parts = _TAIL.fullmatch(function.text(condition)) if condition is not None else None
    if parts is None and condition is not None and body is not None and len(steps) == 1:
        yield from _beyond_last(function, loop, condition, *steps[0])
    if parts is None or not steps or body is None or loop.parent is None or loop.parent.type != "compound_statement":
        return
    (name, step), *beside = steps
    size = parts["end"] or parts["last"] or parts["limit"]
    width = int(parts["whole"] or int(parts["before"] or parts["less"]) + 1)
    following = loop.next_named_sibling
    is_done = following is not None and following.type in LOOPS and name in function.parsed.words(following)
    first = next((n for n in (nodes.listed(body) if body.type == "compound_statement" else [body]) if _adds(n)), None)
    by_one = [(other, _part_of(text, width)) for other, text in beside]
    is_counted = name.isidentifier() and step == str(width) and all(part for _other, part in by_one)
    if is_done or first is None or not is_counted:
        return
    text = _first_term(function, first)
    if re.search(rf"\b{name} *\+|\+ *{name}\b *[\])]", text) and f"{name} + 0" not in text:
        return
    is_declared = start is not None and start.type == "declaration"
    head = f"for (int {name} = {size} / {width} * {width}; " if is_declared else "for (; "
    updates = ", ".join([f"++{name}", *(f"++{o}" if part == "1" else f"{o} += {part}" for o, part in by_one)])
    tail = f"\n{function.indent(loop)}{head}{name} < {size}; {updates}) {text}"
    yield function.insertion("bound", loop.end_byte, tail, 0.5, "tail", "tail", line=function.line(loop))


def _beyond_last(function: Function, loop: Node, condition: Node, name: str, step: str) -> Iterator[Change]:
    """`for (k = 0; k < n; k += 4)` that takes `k + 3` as well, as far as there are four, with a loop for the rest."""
    body, start = loop.child_by_field_name("body"), loop.child_by_field_name("initializer")
    left, right = nodes.sides_of(condition)
    if body is None or left is None or right is None or nodes.operator_of(condition) != "<" or not name.isidentifier():
        return
    if function.text(left) != name:
        return
    width = int(step) if step.isdigit() else 0
    text = function.text(body)
    first = next((n for n in (nodes.listed(body) if body.type == "compound_statement" else [body]) if _adds(n)), None)
    is_row = width > 1 and re.search(rf"\b{name} *\+ *{width - 1}\b", text) is not None
    if not is_row or first is None or right.type != "identifier" or start is None or start.type != "declaration":
        return
    size, term = function.text(right), _first_term(function, first)
    if re.search(rf"\b{name} *\+ *[1-9]", term):
        return
    head = f"for (int {name} = {size} / {width} * {width}; {name} < {size}; ++{name})"
    edits = (
        function.replaced(condition, f"{name} + {width - 1} < {size}"),
        function.inserted(loop.end_byte, f"\n{function.indent(loop)}{head} {term}"),
    )
    yield Change("bound", function.line(loop), edits, 0.3, "tail", "beyond")


def _counted_by(function: Function, loop: Node) -> tuple[Node | None, list[tuple[str, str]]]:
    """Return a loop's condition, and of an update `k += 4, p += 4` each variable and its step; [] of any other."""
    parts = [loop.child_by_field_name("update")]
    while (last := parts[-1]) is not None and last.type == "comma_expression":
        parts[-1:] = [last.child_by_field_name("left"), last.child_by_field_name("right")]
    assignments = [nodes.assignment_of(part) for part in parts]
    steps = [(function.text(a[0]), function.text(a[2])) for a in assignments if a is not None and a[1] == "+="]
    return loop.child_by_field_name("condition"), steps if len(steps) == len(parts) else []


def _part_of(step: str, width: int) -> str:
    """Return what is stepped by for one element where a step is for `width` of them: "n" of "4 * n"; "" if unknown."""
    factors = [factor.strip() for factor in step.split("*")]
    if str(width) not in factors or not all(re.fullmatch(r"\w+", factor) for factor in factors):
        return ""
    factors.remove(str(width))
    return " * ".join(factors) or "1"


def _adds(statement: Node) -> bool:
    assignment = nodes.assignment_of(nodes.inner_of(statement))
    return assignment is not None and assignment[1] == "+="


def _first_term(function: Function, statement: Node) -> str:
    """Return a statement that adds several terms as one that adds the first alone."""
    assignment = nodes.assignment_of(nodes.inner_of(statement))
    assert assignment is not None
    term = assignment[2]
    while nodes.operator_of(term) == "+" and (left := term.child_by_field_name("left")) is not None:
        term = left
    return f"{function.text(assignment[0])} += {function.text(term)};"


MOST_TESTS = 3
_TESTS = ("<", "<=", ">", ">=")
_SHUFFLE = re.compile(r"__shfl(?:_up|_down|_xor)?_sync")


def limit_slips(function: Function) -> Iterator[Change]:
    """Yield the changes of what keeps within limits, in order of the text."""
    tests = list(_tests(function))
    for node in function.nodes:
        match node.type:
            case "conditional_expression":
                yield from _as_it_is_read(function, node)
            case "if_statement":
                condition = nodes.condition_of(node)
                if condition is not None:
                    yield from _other_side(function, condition)
                    yield from _as_others_test(function, condition, tests)
                    yield from _untested(function, node, condition)
            case "for_statement":
                yield from _steps_by_own(function, node)
                yield from _from_below(function, node)
            case "call_expression" if _SHUFFLE.fullmatch(function.callee(node)):
                yield from _mask_first(function, node)


def _as_it_is_read(function: Function, node: Node) -> Iterator[Change]:
    """`i < n ? in[i + 128] : 0` with the index that is read in the condition, `i + 128 < n`."""
    condition, taken = (node.child_by_field_name(name) for name in ("condition", "consequence"))
    inner = nodes.unbracketed(condition) if condition is not None else None
    left = nodes.sides_of(inner)[0] if inner is not None and nodes.operator_of(inner) == "<" else None
    index = nodes.index_of(taken) if taken is not None and taken.type == "subscript_expression" else None
    if left is None or index is None or function.text(left) == function.text(index):
        return
    terms = {function.text(term) for _sign, term in nodes.terms_of(index)}
    if function.text(left) in terms and all(nodes.operator_of(term) == "" for _sign, term in nodes.terms_of(index)):
        yield function.replacement("guard", left, function.text(index), 0.4, "as_read", "as_read")


def _other_side(function: Function, condition: Node) -> Iterator[Change]:
    """`if (i < n - r)` with the border on the other side as well, `i >= r && i < n - r`; so `i >= n - r`, `i >= r`."""
    inner = nodes.unbracketed(condition)
    operator, (left, right) = nodes.operator_of(inner), nodes.sides_of(inner)
    if operator not in ("<", ">=") or left is None or right is None or left.type != "identifier":
        return
    index = function.text(left)
    size, border = nodes.sides_of(right)
    variables, line = function.known_at(condition), function.line(condition)
    if nodes.operator_of(right) == "-" and size is not None and border is not None and border.type == "identifier":
        other = (
            f"{index} >= {function.text(border)} && " if operator == "<" else f"{index} < {function.text(border)} || "
        )
        yield function.insertion("guard", inner.start_byte, other, 0.8, "other_side", "other_side", line=line)
    elif right.type == "identifier" and (variable := variables.get(function.text(right))) is not None:
        sizes = [v.name for v in variables.values() if v.role == "size" and v.name != variable.name and v.start]
        for place, name in enumerate(sizes[:2] if variable.role == "size" else ()):
            limit = f"{name} - {variable.name}"
            other = f" && {index} < {limit}" if operator == ">=" else f" || {index} >= {limit}"
            yield function.insertion(
                "guard", inner.end_byte, other, 1.6 + 0.2 * place, "other_side", "other_side", line=line
            )


def _tests(function: Function) -> Iterator[tuple[str, str]]:
    """Yield index and size of each `column < columns` in any device function of the file."""
    pairs: dict[tuple[str, str], None] = {}
    for item in function.parsed.functions.values():
        for node in descendants(item.node) if item.is_device else ():
            left, right = nodes.sides_of(node) if nodes.operator_of(node) in ("<", ">=") else (None, None)
            if left is not None and right is not None and left.type == right.type == "identifier":
                pairs[function.text(left), function.text(right)] = None
    yield from pairs


def _as_others_test(function: Function, condition: Node, tests: list[tuple[str, str]]) -> Iterator[Change]:
    """`if (row < rows)` with another test that the file makes elsewhere, of what the condition does not name."""
    variables, words = function.known_at(condition), function.parsed.words(condition)
    leaves = nodes.decides_to_leave(condition.children[0] if condition.children else condition, function.body)
    count = 0
    for index, size in tests:
        is_known = (
            index in variables
            and variables[index].role == "index"
            and size in variables
            and variables[size].role == "size"
        )
        if not is_known or words & {index, size} or count >= MOST_TESTS:
            continue
        count += 1
        other = f" || {index} >= {size}" if leaves else f" && {index} < {size}"
        line = function.line(condition)
        yield function.insertion("guard", condition.end_byte, other, 1.2, "as_others", "missing", line=line)


def _untested(function: Function, branch: Node, condition: Node) -> Iterator[Change]:
    """`if (c < cols)` with `r < rows` as well: of the indices that are made of a thread's number one that no condition
    tests, and a size of the kernel's that limits none, if there is one."""
    body = branch.child_by_field_name("consequence")
    tested = {
        word for node in function.nodes if nodes.operator_of(node) in _TESTS for word in function.parsed.words(node)
    }
    variables, words = function.known_at(condition), function.parsed.words(condition)
    sizes = [v.name for v in variables.values() if v.role == "size" and v.start == function.body.start_byte]
    if body is None or not any(size in words for size in sizes):
        return
    indices = [
        declared_name(node)
        for node in function.nodes
        if (value := nodes.value_of(node)) is not None
        and "threadIdx" in function.text(value)
        and "blockIdx" in function.text(value)
    ]
    leaves = nodes.only_leaves(body)
    for index in (name for name in dict.fromkeys(indices) if name in variables and name not in tested):
        for size in [name for name in sizes if name not in tested] or sizes:
            test = f" || {index} >= {size}" if leaves else f" && {index} < {size}"
            line = function.line(condition)
            yield function.insertion("guard", condition.end_byte, test, 0.2, "untested", "missing", line=line)


def _steps_by_own(function: Function, loop: Node) -> Iterator[Change]:
    """`for (j = 0; j < n; i += B)` with the variable that the loop counts; `d -= 2` of what goes down by halves."""
    update, start = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
    condition = loop.child_by_field_name("condition")
    names = [declared_name(n) for n in descendants(start) if n.type == "init_declarator"] if start is not None else []
    assignment = nodes.assignment_of(update)
    target = assignment[0] if assignment is not None else None
    if update is not None and update.type == "update_expression":
        target = update.child_by_field_name("argument")
    if update is None or target is None or condition is None or len(names) != 1:
        return
    if (
        function.text(target) != names[0]
        and names[0] in function.parsed.words(condition)
        and target.type == "identifier"
    ):
        yield function.replacement("bound", target, names[0], -1.0, "step", "step")
    if assignment is not None and assignment[1] == "-=" and function.text(assignment[2]) == "2":
        text = f"{function.text(target)} /= 2"
        yield function.replacement("bound", update, text, 1.0, "step", "step")
    elif assignment is not None and assignment[1] == "+=" and function.text(assignment[2]) == "2":
        yield function.replacement("bound", update, f"{function.text(target)} *= 2", 1.6, "step", "step")


def _from_below(function: Function, loop: Node) -> Iterator[Change]:
    """`for (k = r; k <= r; k++)` from `-r`."""
    start, condition = loop.child_by_field_name("initializer"), loop.child_by_field_name("condition")
    right = (
        nodes.sides_of(condition)[1] if condition is not None and nodes.operator_of(condition) in ("<=", "<") else None
    )
    if start is None or right is None:
        return
    for node in descendants(start):
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None and value.type == "identifier" and function.text(value) == function.text(right):
            yield function.replacement("bound", value, f"-{function.text(value)}", -1.0, "start", "start")


def _mask_first(function: Function, call: Node) -> Iterator[Change]:
    """`__shfl_down_sync(v, 0xffffffff, d)` with the mask as its first argument."""
    arguments = nodes.arguments_of(call)
    if len(arguments) > 2 and arguments[1].type == "number_literal" and arguments[0].type != "number_literal":
        edits = function.exchanged(arguments[0], arguments[1])
        yield Change("expression", function.line(call), edits, -1.0, "exchange", "mask_first")
