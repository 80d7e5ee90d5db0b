"""Changes of which calls host code makes: their order, streams and waits, what is launched, and what lives on.

Lives on: memory that is freed under another name than it was allocated by, and what only the first call does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.repair import host_arguments
from grader.repair.blocks import (
    cap_changes,
    instances,
    launch_call_changes,
    limit_changes,
    loop_changes,
    row_changes,
)
from grader.repair.function import Change, Function, host_functions, parameter_nodes
from grader.repair.host_arguments import field_changes
from grader.repair.host_slips import host_slip_changes
from grader.repair.launch_sites import checked
from grader.repair.nodes import (
    ancestors,
    arguments_of,
    assignment_of,
    condition_of,
    index_of,
    is_statement,
    listed,
    value_of,
)
from grader.repair.several_places import tree_changes
from grader.running.evidence import HostCode
from grader.submission.compile_time import mentioned
from grader.submission.cpp.tree import ParsedFile, declared_name, qualifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node


STREAM_AT = {"cudaStreamSynchronize": 0, "cudaMemcpyAsync": 4, "cudaMemsetAsync": 3, "cudaEventRecord": 1}
"""Calls that name a stream, and where."""
MAX_STREAMS = 3
LEAK = "programs.leak"
_CLOCK = re.compile(r"\bnow\(\)|\bclock\(\)|omp_get_wtime|gettimeofday|clock_gettime|QueryPerformanceCounter")
_AT_WORK = re.compile(r"\bcuda[A-Z]|<<<")
_LEADING = re.compile(r"^(?:d|h|dev|device|host|g|gpu|cpu|c|const)_?(?=[A-Z_a-z])", re.IGNORECASE)


def host_changes(
    host: host_arguments.Host,
    arrays: Collection[str],
    unfilled: Collection[str],
    kernels: Collection[str],
    numbers: Collection[str] = (),
    unread: Collection[str] = (),
) -> Iterator[Change]:
    """What may be wrong of a file's calls.

    arrays: names that are spoken of already; unfilled: those of them that nothing was copied into.
    kernels: those that are launched nowhere.  numbers: that a template is to be launched with.
    unread: kernels whose results nobody fetches.
    """
    for call in host.calls:
        if call.name in host_arguments.COPIES:
            yield from host_arguments.end_changes(host, call, arrays)
            yield from host_arguments.direction_changes(call)
        yield from host_arguments.size_changes(host, call, arrays)
        yield from _places(host, call)
    yield from host_arguments.pitch_changes(host)
    yield from host_arguments.extent_changes(host)
    for name in sorted(unfilled):
        yield from _missing(host, name)
    for launch in host.launches:
        yield from launch_call_changes(host, launch, kernels)
        yield from instances(launch, numbers)
        yield from limit_changes(launch)
    yield from row_changes(host.parsed, kernels)
    yield from field_changes(host.parsed)
    yield from stream_changes(host.parsed)
    yield from given_changes(host.parsed)
    yield from loop_changes(host)
    yield from cap_changes(host)
    yield from tree_changes(host.parsed)
    yield from host_slip_changes(host, unread)


def given_changes(parsed: ParsedFile) -> Iterator[Change]:
    """Yield others of the program's arguments: `atoi(argv[3])` of the next one, or the one before."""
    for function in host_functions(parsed):
        names = [declared_name(inner) for inner, _type in parameter_nodes(function.item)]
        for node in function.nodes if function.item.name == "main" and len(names) > 1 else ():
            array, index = node.child_by_field_name("argument"), index_of(node)
            if node.type != "subscript_expression" or array is None or function.text(array) != names[1]:
                continue
            number = function.text(index) if index is not None else ""
            if index is None or not number.isdigit():
                continue
            for other in (int(number) + 1, int(number) - 1):
                if other > 0:
                    yield function.replacement("host", index, str(other), 1.0, "given", "given")


def stream_changes(parsed: ParsedFile) -> Iterator[Change]:
    """Yield another stream of the same function in calls that wait for one, copy in one, or launch in one."""
    for function in host_functions(parsed):
        places = [place for node in function.nodes if (place := _stream_of(function, node)) is not None]
        texts = list(dict.fromkeys([*map(function.text, places), *_destroyed(function)]))
        waited = Counter(function.text(place) for place in places if _is_waited_for(function, place))
        for node in function.nodes if places else ():
            parts = listed(node) if node.type == "kernel_call_syntax" else []
            for text in texts[:MAX_STREAMS] if 2 <= len(parts) <= 3 else ():
                more = f", {text}" if len(parts) > 2 else f", 0, {text}"
                edit = function.inserted(parts[-1].end_byte, more)
                yield Change("host", function.line(node), (edit,), 1.2, "stream", "stream")
        for place in places:
            own = function.text(place)
            yield from _index_changes(function, place, is_twice=waited[own] > 1)
            for text in [t for t in texts if t != own][:MAX_STREAMS]:
                # Who waits for one twice has meant another.
                is_twice = _is_waited_for(function, place) and waited[own] > 1 and not waited[text]
                cost = 0.4 if is_twice else 1.3
                yield function.replacement("host", place, text, cost, "stream", "stream")


def _index_changes(function: Function, place: Node, *, is_twice: bool) -> Iterator[Change]:
    """Yield another element of an array of streams, where the same one is waited for again and again, or all else in a
    loop takes that of its counter: in a loop that, else the next."""
    index, is_waited_for = index_of(place), _is_waited_for(function, place)
    if index is None or not function.text(index).isdigit():
        return
    for loop in (outer for outer in ancestors(place, function.body) if outer.type == "for_statement"):
        start = loop.child_by_field_name("initializer")
        counters = start.children_by_field_name("declarator") if start is not None else []
        for counter in filter(None, map(declared_name, counters)):
            own = function.text(place)
            meant = own[: own.rindex("[")] + f"[{counter}]"
            if is_waited_for or meant in "".join(function.text(loop).split()):
                yield function.replacement("host", index, counter, 0.2, "stream", "stream")
    if is_twice and is_waited_for:
        yield function.replacement("host", index, str(int(function.text(index)) + 1), 0.3, "stream", "stream")


def _is_waited_for(function: Function, place: Node) -> bool:
    call = place.parent.parent if place.parent is not None else None
    return call is not None and function.callee(call) == "cudaStreamSynchronize"


def _destroyed(function: Function) -> Iterator[str]:
    """Streams that a function destroys: it has created them."""
    for node in function.nodes:
        if function.callee(node) == "cudaStreamDestroy":
            yield from map(function.text, arguments_of(node)[:1])


def _stream_of(function: Function, node: Node) -> Node | None:
    """Return the stream argument of a runtime call or a launch; None for other nodes."""
    if node.type == "kernel_call_syntax":
        place, arguments = 3, listed(node)
    else:
        place, arguments = STREAM_AT.get(function.callee(node), -1), arguments_of(node)
    return arguments[place] if 0 <= place < len(arguments) else None


def waits(host: host_arguments.Host, line: int, launched: int = 0) -> Iterator[Change]:
    """That the host waits for the device before it does what stands in a line, and before the loops around that.

    launched: where it is launched what has to have ended; what is done in another function is called behind that.
    """
    functions = list(host_functions(host.parsed))
    inside = next((f for f in functions if f.line(f.item.node) <= line <= f.item.node.end_point.row + 1), None)
    for function in (f for f in functions if _AT_WORK.search(f.text(f.body))):
        is_elsewhere = inside is not None and inside.item != function.item
        for node in function.statements:
            first, last = function.line(node), node.end_point.row + 1
            is_it = first == line
            if launched and is_elsewhere and inside is not None:
                is_it = first > launched and inside.item.name in host.parsed.words(node)
            elif 0 < launched < line:
                is_it = launched < first <= line <= last
            if is_it and node.parent is not None and node.parent.type == "compound_statement":
                place = _clock_before(function, node, launched) or node
                call = checked(function).format("cudaDeviceSynchronize()")
                edit = function.inserted(place.start_byte, f"{call}\n{function.indent(place)}")
                yield Change("host", function.line(place), (edit,), 0.5, "wait", "wait")
                break


def _clock_before(function: Function, node: Node, launched: int) -> Node | None:
    """Return the statement between a launch and a node of its block that reads a clock: that waits as well."""
    siblings = node.parent.named_children if node.parent is not None else []
    between = [n for n in siblings if is_statement(n) and launched < function.line(n) < function.line(node)]
    return next((n for n in between if launched and _CLOCK.search(function.text(n))), None)


# -- the order -------------------------------------------------------------------------


def _places(host: host_arguments.Host, call: host_arguments.Call) -> Iterator[Change]:
    """The call moved before a launch that precedes it, behind one that follows it, or removed."""
    function, block = call.function, call.statement.parent
    own = function.text(call.statement)
    launches = [
        statement
        for launch in host.launches
        if launch.function.item == function.item
        and (statement := host_arguments.statement_of(function, launch.grid)) is not None
        and statement.start_byte != call.statement.start_byte
    ]
    before = [s for s in launches if s.start_byte < call.statement.start_byte]
    after = [s for s in launches if s.start_byte > call.statement.start_byte]
    away = function.removed(call.statement)
    is_alone = block is not None and block.type == "compound_statement"
    if not is_alone or call.statement.type == "declaration" or call.name in host_arguments.ALLOCATES:
        return
    if call.name in host_arguments.FREES:
        last = _last(block)
        if last is not None and last.start_byte > call.statement.start_byte:
            yield _later(call, last, 0.9)
        whole = function.body
        used = [n for n in whole.named_children if host_arguments.names_in_text(call.text(0)) & host.parsed.words(n)]
        if block != whole and used and used[-1].start_byte < call.statement.start_byte:
            # In a loop it is freed more than once.
            yield _later(call, used[-1], 0.8)
        detail = "freed_early" if _is_freed_once(host, call) else "extra"
        # What frees several arrays is where they are to be freed.
        beside = sum(c.name in host_arguments.FREES and c.function.item == function.item for c in host.calls)
        cost = 1.9 if beside > 1 else 1.7
        yield replace(Change("host", call.line, (away,), cost, "order", detail), code=function.text(call.node))
        return
    is_back = "DeviceToHost" in call.text(3) or "FromSymbol" in call.name
    for near, statement in enumerate(reversed(before) if not is_back else ()):
        if near < 2 or statement is before[0]:
            edit = function.inserted(statement.start_byte, f"{own}\n{function.indent(statement)}")
            cost, to_line = 1.0 + 0.3 * near, function.line(statement)
            yield Change("host", call.line, (edit, away), cost, "order", "earlier", to_line)
    last_launch = before[-1].end_byte if before else 0
    uses = [
        n
        for n in (block.named_children if block is not None else ())
        if last_launch <= n.start_byte < call.statement.start_byte
    ]
    use = next(
        (n for n in uses if is_statement(n) and host_arguments.names_in_text(call.text(0)) & host.parsed.words(n)), None
    )
    if is_back and before and use is not None:
        # What is looked at between the launch and the copy wants that copy first.
        edit = function.inserted(use.start_byte, f"{own}\n{function.indent(use)}")
        yield Change("host", call.line, (edit, away), 1.0, "order", "earlier", function.line(use))
    for near, statement in enumerate(after if is_back else ()):
        if near < 2:
            yield _later(call, statement, 1.0 + 0.3 * near)
    if call.name in host_arguments.SETS:
        yield replace(Change("host", call.line, (away,), 1.5, "order", "extra"), code=function.text(call.node))


def _is_freed_once(host: host_arguments.Host, call: host_arguments.Call) -> bool:
    """Whether what a call frees is allocated beside it, and no other call frees it."""
    names = host_arguments.names_in_text(call.text(0))
    same = [c for c in host.calls if c.function.item == call.function.item and c.node != call.node]
    same = [c for c in same if names & host_arguments.names_in_text(c.text(0))]
    return not any(c.name in host_arguments.FREES for c in same) and any(
        c.name in host_arguments.ALLOCATES and c.statement.parent == call.statement.parent for c in same
    )


def _last(block: Node | None) -> Node | None:
    statements = [n for n in block.named_children if is_statement(n)] if block is not None else []
    return next((n for n in reversed(statements) if n.type != "return_statement"), None)


def _later(call: host_arguments.Call, statement: Node, cost: float) -> Change:
    """The call moved behind a statement that follows it."""
    function = call.function
    place = function.inserted(statement.end_byte, f"\n{function.indent(statement)}{function.text(call.statement)}")
    edits = (function.removed(call.statement), place)
    return Change("host", call.line, edits, cost, "order", "later", int(statement.end_point.row) + 1)


def _missing(host: host_arguments.Host, name: str) -> Iterator[Change]:
    plain = _LEADING.sub("", name).lower()
    symbol = re.search(rf"\b__(?:constant|device)__\s+(?:[\w:]+\s+)*{re.escape(name)}\s*(\[)?", host.parsed.source.text)
    if symbol is not None:
        yield from _missing_symbol(host, name, plain, bool(symbol[1]))
        return
    for call in host.calls:
        if call.name not in ("cudaMemcpy", "cudaMemcpyAsync") or host_arguments.side_of(call, 0) != "device":
            continue
        function = call.function
        if name not in {
            n for c in host.calls if c.name in host_arguments.ALLOCATES for n in host_arguments.names_in_text(c.text(0))
        }:
            continue
        sources = host_arguments.other_ends(host, call, 1)
        sources.sort(key=lambda text: _LEADING.sub("", text.partition(".")[0]).lower() != plain)
        for number, source in enumerate(sources):
            text = function.text(call.statement)
            start = call.statement.start_byte
            parts = [(call.arguments[0], name), (call.arguments[1], source)]
            for node, new in reversed(parts):
                low, high = node.start_byte - start, node.end_byte - start
                data = text.encode()
                text = (data[:low] + new.encode() + data[high:]).decode(errors="replace")
            edit = function.inserted(call.statement.end_byte, f"\n{function.indent(call.statement)}{text}")
            yield Change("host", call.line, (edit,), 1.0 + 0.3 * number, "missing", "missing")


def _missing_symbol(host: host_arguments.Host, name: str, plain: str, is_array: bool) -> Iterator[Change]:
    for launch in host.launches[:1]:
        function = launch.function
        statement = host_arguments.statement_of(function, launch.grid)
        declared = _declared_before(function, launch.grid)
        declared.sort(key=lambda text: _LEADING.sub("", text).lower() != plain)
        for number, source in enumerate(declared[: host_arguments.MAX_NAMES]):
            if statement is None:
                continue
            sign = "" if is_array else "&"
            text = f"cudaMemcpyToSymbol({name}, {sign}{source}, sizeof({name}));"
            edit = function.inserted(statement.start_byte, f"{text}\n{function.indent(statement)}")
            yield Change("host", function.line(statement), (edit,), 1.0 + 0.3 * number, "missing", "missing_before")


def _declared_before(function: Function, place: Node) -> list[str]:
    """Return the names of parameters and of what is declared before a place, where that still lives there."""
    around = {outer.id for outer in ancestors(place, function.item.node)}
    declarators = [inner for inner, _type in parameter_nodes(function.item)]
    for node in function.nodes:
        is_before = node.type == "declaration" and node.end_byte <= place.start_byte
        if is_before and node.parent is not None and node.parent.id in around:
            declarators += node.children_by_field_name("declarator")
    return list(dict.fromkeys(name for declarator in declarators if (name := declared_name(declarator))))


# -- launches --------------------------------------------------------------------------


# -- places in the text ----------------------------------------------------------------


_ALLOCATES = re.compile(r"\b(?:cuda(?:Host)?Malloc\w*|malloc|calloc|realloc|new)\b")
MAX_SIZES = 3
_OF_ONE_NAME = re.compile(r"\s*!?\s*(?P<name>[A-Za-z_]\w*)(?:\s*[=!]=\s*(?:0|false|true|NULL|nullptr))?\s*")


def lifetime_changes(host: host_arguments.Host) -> Iterator[Change]:
    """Yield changes of what is freed, and of what is done in the first call alone."""
    for call in host.calls:
        if call.name in host_arguments.FREES:
            yield from _freed(call)
    for function in host_functions(host.parsed):
        yield from _once(host.parsed, function)
    yield from _reset(host)


def _reset(host: host_arguments.Host) -> Iterator[Change]:
    """A number that lives on in a `__device__` variable and that a kernel counts up: set back before the launch."""
    for item in host.parsed.items:
        if item.kind != "variable" or not item.active or not {"__device__"} <= set(qualifiers_of(item.node)):
            continue
        type_node = item.node.child_by_field_name("type")
        for declarator in item.node.children_by_field_name("declarator") if type_node is not None else ():
            inner = declarator.child_by_field_name("declarator") if value_of(declarator) else declarator
            value = value_of(declarator)
            if inner is None or inner.type != "identifier" or type_node is None:
                continue
            name, made = declared_name(declarator), declarator.start_point.row + 1
            first = host.parsed.text(value) if value is not None else "0"
            for launch in host.launches:
                kernel = host.parsed.functions.get(launch.callee)
                statement = host_arguments.statement_of(launch.function, launch.grid)
                if statement is None or kernel is None or name not in mentioned(host.parsed, kernel):
                    continue
                own, indent = f"{name}_at_first", launch.function.indent(statement)
                text = f"const {host.parsed.text(type_node)} {own} = {first};\n{indent}"
                call = checked(launch.function).format(f"cudaMemcpyToSymbol({name}, &{own}, sizeof({own}))")
                text += f"{call}\n{indent}"
                edit = launch.function.inserted(statement.start_byte, text)
                yield Change("host", launch.function.line(statement), (edit,), 0.4, "reset", "reset", made)


def initial_changes(host: host_arguments.Host, arrays: Collection[str]) -> Iterator[Change]:
    """What an array holds before the first launch that is handed it: zeros, or the first element of another array,
    which no maximum or minimum leaves wrong.

    arrays: names of those that hold what nobody wrote, as the kernels' parameters or the host's variables are called.
    """
    initialised: set[tuple[int, str]] = set()
    for call in (c for c in host.calls if c.name in host_arguments.ALLOCATES and not c.name.endswith("Host")):
        own, function = next((name for name in arrays if call.text(0).endswith(f"&{name}")), ""), call.function
        others = [v for v in function.variables if v.role == "array" and v.start == function.body.start_byte]
        others = [v for v in others if own and "const" not in v.type and v.name != own]
        for number, other in enumerate(others[:MAX_SIZES]):
            # What a kernel does not write of it, as a border, is that of the array that it takes turns with.
            text = f"cudaMemcpy({own}, {other.name}, {call.text(1)}, cudaMemcpyDeviceToDevice)"
            line = f"\n{function.indent(call.statement)}{checked(function).format(text)}"
            edit = function.inserted(call.statement.end_byte, line)
            yield Change("host", call.line, (edit,), 0.35 + 0.1 * number, "unset", "unset_copy")
    for launch in host.launches:
        function, variables = launch.function, launch.function.known_at(launch.grid)
        statement = host_arguments.statement_of(function, launch.grid)
        arguments = [(place, function.text(node)) for place, node in enumerate(launch.arguments)]
        pointers = [(place, text) for place, text in arguments if text in variables and variables[text].role == "array"]
        for _place, name in pointers:
            if statement is None or (function.item.start, name) in initialised or name in _read_only(function):
                continue
            initialised.add((function.item.start, name))
            allocated = [
                c.text(1) for c in host.calls if c.name in host_arguments.ALLOCATES and c.text(0).endswith(f"&{name}")
            ]
            numbers = [v.name for v in variables.values() if v.role == "size" and v.start == function.body.start_byte]
            sizes = [*allocated, f"sizeof(*{name})", *(f"{number} * sizeof(*{name})" for number in numbers)]
            plain = variables[name].type.split()[-1:]
            same_type = [
                other for _at, other in pointers if other != name and variables[other].type.split()[-1:] == plain
            ]
            calls = [f"cudaMemset({name}, 0, {size})" for size in sizes[:MAX_SIZES]]
            calls += [
                f"cudaMemcpy({name}, {other}, sizeof(*{name}), cudaMemcpyDeviceToDevice)" for other in same_type[:1]
            ]
            for number, inserted in enumerate(calls):
                text = checked(function).format(inserted)
                edit = function.inserted(statement.start_byte, f"{text}\n{function.indent(statement)}")
                cost = 0.3 + 0.1 * number + (0.0 if name in arrays else 0.5)
                yield Change("host", function.line(statement), (edit,), cost, "unset", "unset")


def _read_only(function: Function) -> set[str]:
    of_names = ((inner, inner.parent) for inner, _type in parameter_nodes(function.item))
    return {declared_name(n) for n, o in of_names if o is not None and "const" in function.text(o).partition("*")[0]}


def _freed(call: host_arguments.Call) -> Iterator[Change]:
    """Of two swapped pointers, free the one that is not the caller's."""
    function, own = call.function, call.text(0)
    parameters = {declared_name(inner) for inner, _type in parameter_nodes(function.item) if inner.type != "identifier"}
    for other in sorted(_swapped_with(function, own)):
        for name in sorted(parameters - {own, other}):
            edit = function.replaced(call.arguments[0], f"{own} != {name} ? {own} : {other}")
            yield Change("host", call.line, (edit,), 0.3, "freed", "freed")


def _swapped_with(function: Function, name: str) -> set[str]:
    """What a pointer is exchanged with: `swap(a, b)`, or `a = b` beside `b = …`."""
    partners: set[str] = set()
    assigned: dict[str, set[str]] = {}
    for node in function.nodes:
        if function.callee(node).rpartition("::")[2] == "swap":
            names = {function.text(argument).lstrip("& ") for argument in arguments_of(node)}
            partners |= names - {name} if name in names else set()
        assignment = assignment_of(node)
        if assignment is not None:
            assigned.setdefault(function.text(assignment[0]), set()).add(function.text(assignment[2]))
    sides = {other for other, values in assigned.items() if name in values} | assigned.get(name, set())
    return partners | (sides & assigned.keys() if name in assigned else set())


def _once(parsed: ParsedFile, function: Function) -> Iterator[Change]:
    """What stands behind a flag that lives on, in every call: `if (!ready) { … }` without its condition."""
    kept = {name for item in parsed.items if item.kind == "variable" and item.active for name in item.names}
    for node in function.nodes:
        if node.type == "declaration" and "static" in qualifiers_of(node):
            kept |= {declared_name(declarator) for declarator in node.children_by_field_name("declarator")}
    for node in function.nodes:
        if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
            continue
        condition, body = condition_of(node), node.child_by_field_name("consequence")
        flag = _OF_ONE_NAME.fullmatch(function.text(condition)) if condition is not None else None
        if condition is None or body is None or flag is None or flag["name"] not in kept:
            continue
        if not _ALLOCATES.search(function.text(body)):
            yield function.replacement("host", node, function.text(body), 0.4, "once", "once")


_GIVES_BACK = re.compile(r"\b(?:cuda(?:Free|HostUnregister)\w*|free|delete)\b")


def leaves_memory(before: HostCode, after: HostCode, text: str, new_text: str, *, was_whole: bool) -> bool:
    """Whether with a change memory is left behind that was given back without it.

    before, after: the host code as it was run without the change and with it.  text, new_text: a file likewise.
    was_whole: it came to its end without the change, so that what it left then was seen; else the change is asked
    whether it takes away a call that gives memory back.
    """
    known, left = ({f.message.data["array"] for f in h.untidy if f.message.id == LEAK} for h in (before, after))
    return bool(left - known) and (was_whole or len(_GIVES_BACK.findall(new_text)) < len(_GIVES_BACK.findall(text)))
