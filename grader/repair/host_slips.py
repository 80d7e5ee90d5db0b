"""Changes of what host code has one too many or one too few of: the size of a pointer, the rest of a division, a swap
of two buffers, a launch, an element of a loop, a wait for an event, a copy back; of the array at an offset, and of what
a condition compares.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair.comparisons import precedence_change
from grader.repair.function import Change, Function, host_functions
from grader.repair.host_arguments import ALLOCATES, COPIES, FREES, Call, Host, other_ends, statement_of
from grader.repair.launch_sites import Launch, checked
from grader.repair.nodes import ancestors, arguments_of, is_statement, listed, operator_of, sides_of, value_of
from grader.repair.several_places import replaced_in
from grader.submission.cpp.tree import LOOPS, ParsedFile, declared_name, descendants, node_text

if TYPE_CHECKING:
    from tree_sitter import Node

_SIZE_OF = re.compile(r"sizeof\s*\(?\s*(\w+)\s*\)?")
_WITH_ELEMENTS = frozenset(["fwrite", "fread", "malloc", "calloc", "realloc", "memcpy", "memmove", "memset"])
_POINTER = re.compile(r"((?:\w+(?:\.|->))*\w+)\s*(\+.*)", re.DOTALL)
_ARRAY = re.compile(r"(?:\w+(?:\.|->))*\w+")
_IS_PARITY = re.compile(r"%\s*2\b|&\s*1\b")
_LEAVES = ("break_statement", "return_statement", "continue_statement", "goto_statement", "throw_statement")
_COPIES = ("cudaMemcpy", "cudaMemcpyAsync")
_CLOCK = re.compile(r"\b(?:now|clock|clock_gettime|gettimeofday|omp_get_wtime|timespec_get)\s*\(")
_OF_CUDA = re.compile(r"\bcuda[A-Z]\w*|<<<")
_WAITS_FOR_ALL = re.compile(r"^\s*[^{};]{0,80}\bcuda(?:Device|Thread|Stream)Synchronize\s*\(")
_WAITS = re.compile(r"\bcuda(?:\w+Synchronize|GetLastError|PeekAtLastError|EventRecord|EventElapsedTime)\b")


def host_slip_changes(host: Host, unread: Collection[str] = ()) -> Iterator[Change]:
    """Yield the changes of what stands there once too often or was left out; unread: kernels whose results nobody
    fetches."""
    for launch in host.launches:
        if launch.callee in unread:
            yield from _fetches(host, launch)
            yield from _breaks(launch)
    for function in host_functions(host.parsed):
        yield from _events(function)
        yield from _records_late(function)
        yield from _clocks_early(function)
        yield from _magnitudes(function)
        yield from _sizes_of_pointers(function)
        yield from _rests(function)
        yield from _twice(function)
        yield from _ends(function)
        yield from _conditions(function)
    for call in host.calls:
        yield from _at_offsets(host, call)
        yield from _offsets(call)
        if call.name.startswith("cudaMemset") and call.text(1) not in ("0", "0x00") and call.text(1).isdigit():
            yield call.function.replacement("host", call.arguments[1], "0", 0.6, "unset", "value")
    yield from _swaps(host)
    yield from handed_changes(host)
    for function in host_functions(host.parsed):
        yield from _other_frees(function)
        yield from _fractions(function)
        yield from _inverted(function)
    yield from _inverted_in_macros(host.parsed)
    yield from _left_unfreed(host)


def _breaks(launch: Launch) -> Iterator[Change]:
    """A `break;` at the end of a case that launches something and goes on into the next one."""
    function = launch.function
    case = next((n for n in ancestors(launch.grid, function.body) if n.type == "case_statement"), None)
    following = case.next_named_sibling if case is not None else None
    last = case.named_children[-1] if case is not None else None
    if case is None or following is None or following.type != "case_statement" or last is None or last.type in _LEAVES:
        return
    is_alone = last.start_point.row == last.end_point.row == function.line(launch.grid) - 1
    gap = " " if is_alone and function.text(case).count("\n") == 0 else f"\n{function.indent(last)}"
    edit = function.inserted(last.end_byte, f"{gap}break;")
    yield Change("host", last.end_point.row + 1, (edit,), 0.2, "break", "break")


def _events(function: Function) -> Iterator[Change]:
    """A wait for the event that ends a time, before the time is asked for; both events in each other's place; and the
    record of an event that is not recorded before the launch, or behind it."""
    launched = [s for n in function.nodes if n.type == "kernel_call_syntax" and (s := statement_of(function, n))]
    recorded = [(function.text(arguments_of(n)[0]), n.start_byte) for n in function.nodes if _records(function, n)]
    for node in function.nodes:
        events = arguments_of(node)[1:] if function.callee(node) == "cudaEventElapsedTime" else []
        statement = statement_of(function, node)
        if statement is None or len(events) != 2:
            continue
        line, (first, last) = function.line(node), map(function.text, events)
        ready = checked(function).format(f"cudaEventSynchronize({last})")
        edit = function.inserted(statement.start_byte, f"{ready}\n{function.indent(statement)}")
        yield Change("host", line, (edit,), 0.2, "event", "event_wait")
        yield Change("host", line, function.exchanged(*events), 0.5, "event", "events")
        before = [s for s in launched if s.start_byte < statement.start_byte]
        if not before:
            continue
        place, since = before[-1], before[-2].end_byte if len(before) > 1 else 0
        indent, text = function.indent(place), checked(function)
        if not any(event == first and since <= at < place.start_byte for event, at in recorded):
            edit = function.inserted(place.start_byte, text.format(f"cudaEventRecord({first})") + f"\n{indent}")
            yield Change("host", function.line(place), (edit,), 0.1, "event", "recorded")
        if not any(event == last and place.end_byte <= at < statement.start_byte for event, at in recorded):
            edit = function.inserted(place.end_byte, f"\n{indent}" + text.format(f"cudaEventRecord({last})"))
            yield Change("host", function.line(place), (edit,), 0.1, "event", "recorded_after")


def _records_late(function: Function) -> Iterator[Change]:
    """The record of an event that stands before a launch, moved behind the statement that launches."""
    for node in function.nodes:
        statement = statement_of(function, node) if _records(function, node) else None
        block = statement.parent if statement is not None else None
        following = [n for n in listed(block) if is_statement(n)] if block is not None else []
        for launch in following if statement is not None else ():
            if statement is not None and launch.start_byte > statement.end_byte and "<<<" in function.text(launch):
                text = f"\n{function.indent(launch)}{function.text(statement)}"
                edits = (function.removed(statement), function.inserted(launch.end_byte, text))
                to_line = launch.end_point.row + 1
                yield Change("host", function.line(statement), edits, 0.3, "event", "later", to_line)
                break


def _clocks_early(function: Function) -> Iterator[Change]:
    """What reads a clock before a wait for the device, moved behind that."""
    parsed = function.parsed
    clocks = {name for name, item in parsed.functions.items() if _CLOCK.search(parsed.text(item.node))}
    for statement in function.statements:
        wait = statement.next_named_sibling
        while wait is not None and wait.type == "comment":
            wait = wait.next_named_sibling
        if wait is None or statement.type not in ("declaration", "expression_statement") or not is_statement(wait):
            continue
        text = function.text(statement)
        is_clock = _CLOCK.search(text) is not None or any(name in clocks for name in re.findall(r"(\w+)\s*\(", text))
        if _WAITS_FOR_ALL.search(function.text(wait)) and is_clock and not _OF_CUDA.search(text):
            edits = (function.removed(statement), function.inserted(wait.end_byte, f"\n{function.indent(wait)}{text}"))
            to_line = wait.end_point.row + 1
            yield Change("host", function.line(statement), edits, 0.2, "event", "later", to_line)


def _magnitudes(function: Function) -> Iterator[Change]:
    """The magnitude of a difference of two elements that is compared with its sign."""
    for node in function.nodes:
        if operator_of(node) != "-" or any(n is None or n.type != "subscript_expression" for n in sides_of(node)):
            continue
        if any("abs" in function.callee(outer) for outer in ancestors(node, function.body)):
            continue
        inside = node.parent if node.parent is not None and node.parent.type == "parenthesized_expression" else node
        text = f"fabs({function.text(node)})"
        yield function.replacement("host", inside, text, 0.2, "compared", "magnitude")


def _records(function: Function, node: Node) -> bool:
    is_one = function.callee(node) in ("cudaEventRecord", "cudaEventRecordWithFlags")
    return is_one and bool(arguments_of(node))


def _fetches(host: Host, launch: Launch) -> Iterator[Change]:
    """The copy that brings an array of a launch to the host: as the program fetches it elsewhere, else into an array
    of the host that it has for nothing else."""
    function, statement = launch.function, statement_of(launch.function, launch.grid)
    block = statement.parent if statement is not None else None
    if statement is None or block is None:
        return
    given = {function.text(node) for node in launch.arguments}
    texts: dict[str, str] = {}
    own = [call for call in host.calls if call.function.item == function.item]
    for call in own:
        if call.name in _COPIES and call.text(1) in given and "DeviceToHost" in call.text(3):
            texts.setdefault(function.text(call.statement), call.text(0))
    filled = {call.text(0) for call in own if call.name in _COPIES and "HostToDevice" in call.text(3)}
    for call in own if not texts else ():
        name = next((n for n in given if call.text(0).endswith(f"&{n}")), "")
        if call.name != "cudaMalloc" or not name or name in filled:
            continue
        for target in _unused_arrays(function, own):
            back = f"cudaMemcpy({target}, {name}, {call.text(ALLOCATES[call.name])}, cudaMemcpyDeviceToHost)"
            texts.setdefault(checked(function).format(back), target)
    following = [n for n in listed(block) if is_statement(n) and n.start_byte > statement.start_byte]
    for number, (text, target) in enumerate(texts.items()):
        plain = re.match(r"\w+", target)
        place = next((n for n in following if plain is not None and plain[0] in host.parsed.words(n)), None)
        before = [n for n in following if place is None or n.start_byte < place.start_byte]
        waits = [n for n in before if _WAITS.search(function.text(n))]
        last = waits[-1] if waits and place is None else before[-1] if before and place is not None else statement
        edit = function.inserted(last.end_byte, f"\n{function.indent(statement)}{text}")
        yield Change("host", last.end_point.row + 1, (edit,), 0.3 + 0.2 * number, "missing", "fetch")


def _unused_arrays(function: Function, calls: Collection[Call]) -> Iterator[str]:
    """Arrays of the host from which no call copies, as a copy into them is given them."""
    copied = {call.text(1) for call in calls if call.name in _COPIES}
    for node in function.nodes:
        made = value_of(node)
        if (
            node.type == "init_declarator"
            and made is not None
            and re.search(r"\b(?:malloc|calloc|new)\b", function.text(made))
        ):
            if declared_name(node) not in copied:
                yield declared_name(node)
        elif node.type == "declaration" and re.match(r"(?:std::)?vector\b", function.text(node)):
            names = (declared_name(n) for n in node.children_by_field_name("declarator"))
            yield from (f"{name}.data()" for name in names if f"{name}.data()" not in copied)


def _other_frees(function: Function) -> Iterator[Change]:
    """`free(a)` of what CUDA has allocated."""
    made: dict[str, str] = {}
    for node in function.nodes:
        callee, first = function.callee(node), next(iter(arguments_of(node)), None)
        if callee.startswith(("cudaMalloc", "cudaHostAlloc")) and first is not None:
            made[function.text(first).rpartition("&")[2].strip()] = "cudaFreeHost" if "Host" in callee else "cudaFree"
        elif callee.rpartition("::")[2] == "free" and first is not None and function.text(first) in made:
            text = f"{made[function.text(first)]}({function.text(first)})"
            yield function.replacement("host", node, text, 0.3, "frees", "frees")


def _left_unfreed(host: Host) -> Iterator[Change]:
    """`cudaFree(a)` of another array, that is allocated and that nothing frees."""
    freed = {call.text(0) for call in host.calls if call.name in FREES}
    allocated = [call.text(0).rpartition("&")[2].strip() for call in host.calls if call.name in ALLOCATES]
    for call in host.calls:
        for name in dict.fromkeys(allocated) if call.name in FREES else ():
            if name not in freed and name:
                yield call.function.replacement("host", call.arguments[0], name, 0.3, "frees", "freed_other")


_WHOLE = re.compile(r"\d+|(?:std\s*::\s*)?rand\s*\(\s*\)")
_REAL = re.compile(r"\d\.|\.\d|float|double")


def _fractions(function: Function) -> Iterator[Change]:
    """`1 / (2 * R + 1)` and `rand() / RAND_MAX` of the host, which drop their fractions, as quotients of `float`."""
    for node in function.nodes:
        above, below = sides_of(node) if operator_of(node) == "/" else (None, None)
        if above is None or below is None or not _WHOLE.fullmatch(function.text(above)):
            continue
        if not _REAL.search(function.text(below)):
            text = function.text(above)
            text = f"{text}.0f" if text.isdigit() else f"(float){text}"
            yield function.replacement("host", above, text, 0.6, "fraction", "fraction", line=function.line(node))


def _inverted(function: Function) -> Iterator[Change]:
    """What is done if a call succeeds in place of if it fails, or the other way round."""
    for node in function.nodes:
        sign, operator = operator_of(node), node.child_by_field_name("operator")
        if sign in ("==", "!=") and operator is not None and "cudaSuccess" in function.text(node):
            other = "!=" if sign == "==" else "=="
            yield function.replacement("host", operator, other, 0.4, "inverted", "inverted", line=function.line(node))


def _inverted_in_macros(parsed: ParsedFile) -> Iterator[Change]:
    for item in parsed.items:
        body = item.node.child_by_field_name("value") if item.kind == "macro" and item.active else None
        match = _ASKED_SUCCESS.search(node_text(body)) if body is not None else None
        if body is None or match is None:
            continue
        text, at = node_text(body), match.start("sign")
        other = "!=" if match["sign"] == "==" else "=="
        edit = replaced_in(parsed, body, text[:at] + other + text[at + 2 :])
        line = body.start_point.row + 1 + text.count("\n", 0, at)
        yield Change("host", line, (edit,), 0.4, "inverted", "inverted")


_ASKED_SUCCESS = re.compile(r"(?P<sign>[!=]=)\s*cudaSuccess\b")


def _sizes_of_pointers(function: Function) -> Iterator[Change]:
    """`fwrite(a, sizeof(a), n, file)` with the size of an element in place of a pointer's."""
    pointers = {declared_name(n) for n in descendants(function.item.node) if n.type == "pointer_declarator"}
    for node in function.nodes:
        if function.callee(node).rpartition("::")[2] not in _WITH_ELEMENTS:
            continue
        for part in descendants(node):
            name = _SIZE_OF.fullmatch(function.text(part)) if part.type == "sizeof_expression" else None
            if name is not None and name[1] in pointers:
                yield function.replacement("host", part, f"sizeof(*{name[1]})", -0.5, "pointer", "pointer")


def _rests(function: Function) -> Iterator[Change]:
    """`length = n / pieces` in a loop over the pieces: the last one takes what the division leaves over."""
    for node in function.nodes:
        value = value_of(node)
        whole, parts = sides_of(value) if value is not None else (None, None)
        if value is None or operator_of(value) != "/" or whole is None or parts is None or parts.type != "identifier":
            continue
        length, count = declared_name(node), function.text(parts)
        for loop in (n for n in function.nodes if n.type == "for_statement" and n.start_byte > node.end_byte):
            condition, body = (loop.child_by_field_name(name) for name in ("condition", "body"))
            turn, end = sides_of(condition) if condition is not None else (None, None)
            if body is None or turn is None or end is None or function.text(end) != count:
                continue
            name = function.text(turn)
            first = next((s for s in listed(body) if {name, length} <= function.parsed.words(s)), None)
            start = next((n for n in descendants(first or loop) if value_of(n) is not None), None)
            if first is None or start is None:
                continue
            text = f"{name} == {count} - 1 ? {function.text(whole)} - {declared_name(start)} : {length}"
            uses = [n for n in descendants(body) if n.type == "identifier" and n.start_byte > first.end_byte]
            edits = [function.replaced(use, "part") for use in uses if function.text(use) == length]
            if edits and "part" not in function.parsed.words(function.item.node):
                part = f"\n{function.indent(first)}const auto part = {text};"
                edits = [function.inserted(first.end_byte, part), *edits]
                yield Change("host", function.line(node), tuple(edits), 0.2, "rest", "rest")


def _twice(function: Function) -> Iterator[Change]:
    """One of two launches, or calls, that are the same and follow each other."""
    for block in (n for n in function.nodes if n.type == "compound_statement"):
        for first, second in pairwise(listed(block)):
            one, other = ("".join(function.text(n).split()) for n in (first, second))
            if one == other and "<<<" in one:
                edit = function.removed(second)
                yield Change("host", function.line(second), (edit,), 0.4, "twice", "twice")


def _ends(function: Function) -> Iterator[Change]:
    """A loop over elements up to and with the one behind the last."""
    for loop in (n for n in function.nodes if n.type == "for_statement"):
        condition = loop.child_by_field_name("condition")
        operator = condition.child_by_field_name("operator") if condition is not None else None
        if condition is not None and operator is not None and operator_of(condition) == "<=":
            yield function.replacement("bound", operator, "<", 1.2, "loop", "end", line=function.line(loop))


def _conditions(function: Function) -> Iterator[Change]:
    """Conditions that ask for even numbers where odd ones are meant, and what joins bits before it compares them."""
    for node in function.nodes:
        precedence = precedence_change(function, node)
        if precedence is not None:
            yield precedence
        sign, operator = operator_of(node), node.child_by_field_name("operator")
        if sign in ("==", "!=") and operator is not None and _IS_PARITY.search(function.text(node)):
            other = "!=" if sign == "==" else "=="
            yield function.replacement("host", operator, other, 0.4, "parity", "parity", line=function.line(node))


def _at_offsets(host: Host, call: Call) -> Iterator[Change]:
    """Another array at the same offset: `d_in + first` as `d_out + first`."""
    for index, detail in ((0, "target"), (1, "source")) if call.name in _COPIES else ():
        parts = _POINTER.fullmatch(call.text(index))
        if parts is None:
            continue
        for text in other_ends(host, call, index):
            if re.fullmatch(r"\w+", text) and text != parts[1]:
                edit = call.function.replaced(call.arguments[index], f"{text} {parts[2]}")
                yield Change("host", call.line, (edit,), 1.6, "ends", detail)


def _offsets(call: Call) -> Iterator[Change]:
    """The same offset on both sides of a copy: `d_in` beside `in + first`; or none on either."""
    for index, other in ((0, 1), (1, 0)) if call.name in _COPIES else ():
        parts = _POINTER.fullmatch(call.text(other))
        if parts is not None and parts[2].lstrip("+ ").isdigit():
            detail = "source" if other else "target"
            yield call.function.replacement(
                "host", call.arguments[other], parts[1], 0.5, "ends", detail, line=call.line
            )
        if parts is not None and _ARRAY.fullmatch(call.text(index)):
            edit = call.function.inserted(call.arguments[index].end_byte, f" {parts[2]}")
            yield Change("host", call.line, (edit,), 0.8, "ends", "source" if index else "target")


def _swaps(host: Host) -> Iterator[Change]:
    """Two buffers that take turns, exchanged at the end of a loop around their launch."""
    for launch in host.launches:
        function = launch.function
        statement = statement_of(function, launch.grid)
        loop = next((n for n in ancestors(launch.grid, function.body) if n.type in LOOPS), None)
        body = loop.child_by_field_name("body") if loop is not None else None
        known = function.known_at(launch.grid)
        # Members are arrays where both are handed over side by side: `b.front, b.back`.
        texts = [function.text(n) for n in launch.arguments]
        members = [text for text in texts[:2] if _ARRAY.fullmatch(text) and text not in known and "." in text]
        names = [text for text in texts if text in known and known[text].role == "array"]
        names = names if len(names) > 1 else members
        if statement is None or body is None or body.type != "compound_statement" or len(names) < 2:
            continue
        if not any(is_statement(n) and "swap" in function.text(n) for n in listed(body)):
            last = listed(body)[-1]
            text = f"\n{function.indent(last)}std::swap({names[0]}, {names[1]});"
            yield function.insertion("host", last.end_byte, text, 0.6, "swap", "swap", line=function.line(last))


def handed_changes(host: Host) -> Iterator[Change]:
    """Yield other variables of the same type for what functions of the program's own that copy are handed; sooner such
    as none of them is handed yet."""
    copying = {c.function.item.name.rpartition("::")[2] for c in host.calls if c.name in COPIES}
    for function in host_functions(host.parsed):
        calls = [n for n in function.nodes if _own_name(function, n) in copying]
        places = [(n, a) for n in calls for a in arguments_of(n) if a.type == "identifier"]
        handed = {function.text(argument) for _call, argument in places}
        types = _types(function)
        for call, argument in places:
            own = function.text(argument)
            for name, kind in types.items():
                if own in types and kind == types[own] and name != own:
                    cost = 1.0 if name not in handed else 1.6
                    yield function.replacement(
                        "host", argument, name, cost, "handed", "handed", line=function.line(call)
                    )


def _own_name(function: Function, call: Node) -> str:
    return re.split(r"\.|->|::", function.callee(call))[-1]


def _types(function: Function) -> dict[str, str]:
    """Return types of variables that the function declares, by name: with the stars of each."""
    types: dict[str, str] = {}
    for node in function.nodes:
        kind = node.child_by_field_name("type") if node.type == "declaration" else None
        for declarator in node.children_by_field_name("declarator") if kind is not None else ():
            if kind is not None and (name := declared_name(declarator)):
                types[name] = function.text(kind) + "*" * function.text(declarator).partition(name)[0].count("*")
    return types
