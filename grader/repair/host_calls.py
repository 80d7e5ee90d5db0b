"""Changes of calls in host code: which array, how much, which way, in which order, and what is launched.

What is tried follows from what the program's other calls say: their arrays, their sizes, their places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, host_functions, is_statement, operator_of
from grader.repair.host_sizes import size_changes
from grader.repair.launches import Launch, field_changes
from grader.repair.runtime_calls import ALLOCATES, COPIES, FREES, PITCHED, SETS, Call, Host, statement_of
from grader.submission.cpp.tree import ParsedFile, declared_name
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

DIRECTIONS = ("cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice")
STREAM_AT = {"cudaStreamSynchronize": 0, "cudaMemcpyAsync": 4, "cudaMemsetAsync": 3, "cudaEventRecord": 1}
"""Calls that name a stream, and where."""
MAX_NAMES = 6
MAX_STREAMS = 3
_AT_WORK = re.compile(r"\bcuda[A-Z]|<<<")
_NAME = re.compile(r"[A-Za-z_]\w*")
_LEADING = re.compile(r"^(?:d|h|dev|device|host|g|gpu|cpu|c|const)_?(?=[A-Z_a-z])", re.IGNORECASE)


def host_changes(
    host: Host,
    arrays: Collection[str],
    unfilled: Collection[str],
    kernels: Collection[str],
    numbers: Collection[str] = (),
) -> Iterator[Change]:
    """What may be wrong of a file's calls.

    arrays: names that are spoken of already; unfilled: those of them that nothing was copied into.
    kernels: those that are launched nowhere.  numbers: that a template is to be launched with.
    """
    for call in host.calls:
        if call.name in COPIES:
            yield from _ends(host, call, arrays)
            yield from _directions(call)
        yield from size_changes(host, call)
        yield from _places(host, call)
    yield from _pitches(host)
    for name in sorted(unfilled):
        yield from _missing(host, name)
    for launch in host.launches:
        yield from _launch_changes(host, launch, kernels)
        yield from _instances(launch, numbers)
    yield from field_changes(host.parsed)
    yield from stream_changes(host.parsed)


def stream_changes(parsed: ParsedFile) -> Iterator[Change]:
    """Another stream of the same function in a call that waits for one, copies in one, or launches in one."""
    for function in host_functions(parsed):
        places = [place for node in function.nodes if (place := _stream_of(function, node)) is not None]
        texts = list(dict.fromkeys([*map(function.text, places), *_destroyed(function)]))
        waited = Counter(function.text(place) for place in places if _is_waited_for(function, place))
        for node in function.nodes if places else ():
            parts = [n for n in node.named_children if n.type != "comment"] if node.type == "kernel_call_syntax" else []
            for text in texts[:MAX_STREAMS] if 2 <= len(parts) <= 3 else ():
                more = f", {text}" if len(parts) > 2 else f", 0, {text}"
                edit = function.inserted(parts[-1].end_byte, more)
                yield Change("host", function.line(node), (edit,), 1.2, "stream", "stream")
        for place in places:
            own = function.text(place)
            for text in [t for t in texts if t != own][:MAX_STREAMS]:
                # Who waits for one twice has meant another.
                is_twice = _is_waited_for(function, place) and waited[own] > 1 and not waited[text]
                cost = 0.4 if is_twice else 1.3
                yield Change("host", function.line(place), (function.replaced(place, text),), cost, "stream", "stream")


def _is_waited_for(function: Function, place: Node) -> bool:
    call = place.parent.parent if place.parent is not None else None
    callee = call.child_by_field_name("function") if call is not None else None
    return callee is not None and function.text(callee) == "cudaStreamSynchronize"


def _destroyed(function: Function) -> Iterator[str]:
    """The streams that a function gives back: it has made them."""
    for node in function.nodes:
        callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee is not None and given is not None and function.text(callee) == "cudaStreamDestroy":
            yield from map(function.text, given.named_children[:1])


def _stream_of(function: Function, node: Node) -> Node | None:
    """What names a stream in a call of the runtime or in a launch; None of any other node."""
    if node.type == "kernel_call_syntax":
        parts = [n for n in node.named_children if n.type != "comment"]
        return parts[3] if len(parts) > 3 else None
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call_expression" or callee is None or given is None:
        return None
    place = STREAM_AT.get(function.text(callee))
    arguments = [n for n in given.named_children if n.type != "comment"]
    return arguments[place] if place is not None and place < len(arguments) else None


def waits(host: Host, line: int, launched: int = 0) -> Iterator[Change]:
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
                edit = function.inserted(node.start_byte, f"cudaDeviceSynchronize();\n{function.indent(node)}")
                yield Change("host", function.line(node), (edit,), 0.5, "wait", "wait")
                break


# -- which arrays, which way, how much -------------------------------------------------


def _ends(host: Host, call: Call, arrays: Collection[str]) -> Iterator[Change]:
    """Another array to copy to or from, of those that the function copies on the same side; the two exchanged."""
    function = call.function
    for index, detail in ((0, "target"), (1, "source")):
        if index >= len(call.arguments):
            continue
        own = call.text(index)
        near = 0.2 if _names(own) & set(arrays) else 0.8
        for text in _others(host, call, index):
            better = -0.4 if _names(text) & set(arrays) else 0.0
            edit = function.replaced(call.arguments[index], text)
            yield Change("host", call.line, (edit,), 1.2 + near + better, "ends", detail)
    if len(call.arguments) > 1 and "Symbol" not in call.name:
        edits = (
            function.replaced(call.arguments[0], call.text(1)),
            function.replaced(call.arguments[1], call.text(0)),
        )
        yield Change("host", call.line, edits, 2.2, "ends", "ends")


def _others(host: Host, call: Call, index: int) -> list[str]:
    """What else stands on that side of a copy, or is allocated there; for a variable of the device other variables."""
    own = call.text(index)
    is_symbol = "Symbol" in call.name and index == ("From" in call.name)
    texts: dict[str, None] = {}
    if is_symbol:
        for other in host.calls:
            if "Symbol" in other.name:
                texts[other.text(int("From" in other.name))] = None
        text = host.parsed.source.text
        texts |= dict.fromkeys(re.findall(r"\b__(?:constant|device)__\s+(?:[\w:]+\s+){1,4}(\w+)\s*[\[;=]", text))
    else:
        side = _side(call, index)
        for other in host.calls:
            if other.function.item != call.function.item:
                continue
            if other.name in ALLOCATES and side == "device":
                texts |= dict.fromkeys(sorted(_names(other.text(0)) - {"void"}))
            elif other.name in ("cudaMemcpy", "cudaMemcpyAsync"):
                for place in (0, 1):
                    if _side(other, place) == side:
                        texts[other.text(place)] = None
        if side == "host":
            texts |= dict.fromkeys(_host_arrays(call))
    return [text for text in texts if text and text != own][:MAX_NAMES]


def _side(call: Call, index: int) -> str:
    """On which side an end of a copy is, by its direction."""
    kind = call.text(3)
    if "ToSymbol" in call.name:
        return "host" if index == 1 else "symbol"
    if "FromSymbol" in call.name:
        return "host" if index == 0 else "symbol"
    if "HostToDevice" in kind:
        return "host" if index == 1 else "device"
    if "DeviceToHost" in kind:
        return "host" if index == 0 else "device"
    return "device"


def _host_arrays(call: Call) -> Iterator[str]:
    """Arrays of the host that the function declares: as the call has its own, by name or by `.data()`."""
    function = call.function
    shapes = [call.text(i) for i in (0, 1) if _side(call, i) == "host"]
    suffix = next((s[s.index(".") :] for s in shapes if re.fullmatch(r"\w+\.\w+\(\)", s)), "")
    for node in function.nodes:
        kind = node.child_by_field_name("type") if node.type == "declaration" else None
        if kind is None or node.start_byte > call.node.start_byte:
            continue
        is_vector = "vector" in function.text(kind)
        for declarator in node.children_by_field_name("declarator"):
            text = function.text(declarator)
            name = declared_name(declarator)
            if name and is_vector and suffix:
                yield f"{name}{suffix}"
            elif name and not suffix and ("*" in text.partition("=")[0] or "[" in text.partition("=")[0]):
                yield name


def _pitches(host: Host) -> Iterator[Change]:
    """The pitch that an array was allocated with in a copy that names another one."""
    given = {
        (call.function.item.start, call.text(0).rpartition("&")[2].strip()): call.text(1).lstrip("& ")
        for call in host.pitched
        if call.name == "cudaMallocPitch"
    }
    for call in host.pitched:
        for place in PITCHED[call.name] if call.name != "cudaMallocPitch" else ():
            own = given.get((call.function.item.start, call.text(place)), "")
            if own and len(call.arguments) > place + 1 and call.text(place + 1) != own:
                edit = call.function.replaced(call.arguments[place + 1], own)
                yield Change("host", call.line, (edit,), 0.3, "pitch", "pitch")


def _directions(call: Call) -> Iterator[Change]:
    for node in call.arguments[3:4]:
        own = call.function.text(node)
        if own in DIRECTIONS:
            for other in DIRECTIONS:
                if other != own:
                    edit = call.function.replaced(node, other)
                    yield Change("host", call.line, (edit,), 1.3, "direction", "direction")


def directions_at(host: Host, lines: Collection[int]) -> Iterator[Change]:
    """Another direction for all copies in these lines at once: who takes the device's memory for the host's does so
    everywhere."""
    copies = [call for call in host.calls if call.name in COPIES and call.line in lines]
    named = [(call, node) for call in copies for node in call.arguments[3:4] if call.function.text(node) in DIRECTIONS]
    for other in DIRECTIONS:
        edits = tuple(call.function.replaced(node, other) for call, node in named if call.function.text(node) != other)
        if len(edits) > 1:
            last = max(call.line for call, _node in named)
            yield Change("host", copies[0].line, edits, 0.2, "direction", "directions", last)


# -- the order -------------------------------------------------------------------------


def _places(host: Host, call: Call) -> Iterator[Change]:
    """The call before a launch that it stands behind, behind one that it stands before, or nowhere."""
    function, block = call.function, call.statement.parent
    own = function.text(call.statement)
    launches = [
        statement
        for launch in host.launches
        if launch.function.item == function.item
        and (statement := statement_of(function, launch.grid)) is not None
        and statement.start_byte != call.statement.start_byte
    ]
    before = [s for s in launches if s.start_byte < call.statement.start_byte]
    after = [s for s in launches if s.start_byte > call.statement.start_byte]
    away = function.removed(call.statement)
    is_alone = block is not None and block.type == "compound_statement"
    if not is_alone or call.statement.type == "declaration" or call.name in ALLOCATES:
        return
    if call.name in FREES:
        last = _last(block)
        if last is not None and last.start_byte > call.statement.start_byte:
            yield _later(call, last, 0.9)
        yield Change("host", call.line, (away,), 1.9, "order", "extra")
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
    use = next((n for n in uses if is_statement(n) and _names(call.text(0)) & host.parsed.words(n)), None)
    if is_back and before and use is not None:
        # What is looked at between the launch and the copy wants that copy first.
        edit = function.inserted(use.start_byte, f"{own}\n{function.indent(use)}")
        yield Change("host", call.line, (edit, away), 1.0, "order", "earlier", function.line(use))
    for near, statement in enumerate(after if is_back else ()):
        if near < 2:
            yield _later(call, statement, 1.0 + 0.3 * near)
    if call.name in SETS:
        yield Change("host", call.line, (away,), 1.5, "order", "extra")


def _last(block: Node | None) -> Node | None:
    """The last statement of a block that is no return."""
    statements = [n for n in block.named_children if is_statement(n)] if block is not None else []
    return next((n for n in reversed(statements) if n.type != "return_statement"), None)


def _later(call: Call, statement: Node, cost: float) -> Change:
    """The call behind a statement that it stands before."""
    function = call.function
    place = function.inserted(statement.end_byte, f"\n{function.indent(statement)}{function.text(call.statement)}")
    edits = (function.removed(call.statement), place)
    return Change("host", call.line, edits, cost, "order", "later", int(statement.end_point.row) + 1)


def _missing(host: Host, name: str) -> Iterator[Change]:
    """A copy into an array that nothing is copied into, made after another one's; before the first launch else."""
    plain = _LEADING.sub("", name).lower()
    symbol = re.search(rf"\b__(?:constant|device)__\s+(?:[\w:]+\s+)*{re.escape(name)}\s*(\[)?", host.parsed.source.text)
    if symbol is not None:
        yield from _missing_symbol(host, name, plain, bool(symbol[1]))
        return
    for call in host.calls:
        if call.name not in ("cudaMemcpy", "cudaMemcpyAsync") or _side(call, 0) != "device":
            continue
        function = call.function
        if name not in {n for c in host.calls if c.name in ALLOCATES for n in _names(c.text(0))}:
            continue
        sources = _others(host, call, 1)
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


def _missing_symbol(host: Host, name: str, plain: str, is_array: bool) -> Iterator[Change]:
    for launch in host.launches[:1]:
        function = launch.function
        statement = statement_of(function, launch.grid)
        declared = [d for node in function.nodes if node.type == "declaration" for d in _declared(node)]
        declared = [d for d in dict.fromkeys(declared) if function.at(launch.grid.start_byte)]
        declared.sort(key=lambda text: _LEADING.sub("", text).lower() != plain)
        for number, source in enumerate(declared[:MAX_NAMES]):
            if statement is None:
                continue
            sign = "" if is_array else "&"
            text = f"cudaMemcpyToSymbol({name}, {sign}{source}, sizeof({name}));"
            edit = function.inserted(statement.start_byte, f"{text}\n{function.indent(statement)}")
            yield Change("host", function.line(statement), (edit,), 1.0 + 0.3 * number, "missing", "missing_before")


def _declared(node: Node) -> Iterator[str]:
    for declarator in node.children_by_field_name("declarator"):
        name = declared_name(declarator)
        if name:
            yield name


# -- launches --------------------------------------------------------------------------


def _launch_changes(host: Host, launch: Launch, kernels: Collection[str]) -> Iterator[Change]:
    """Another kernel, one that is launched nowhere; arguments exchanged, or another in one's place."""
    function = launch.function
    called = _callee(launch)
    for name in sorted(kernels):
        if called is not None and launch.callee != name:
            edit = function.replaced(called, name)
            yield Change("host", launch.line, (edit,), 1.4, "kernel", "kernel")
    edits = (
        function.replaced(launch.grid, function.text(launch.block)),
        function.replaced(launch.block, function.text(launch.grid)),
    )
    yield Change("launch", launch.line, edits, 2.4, "launch_order", "order")
    for one in range(len(launch.arguments)):
        for other in range(one + 1, len(launch.arguments)):
            first, second = launch.arguments[one], launch.arguments[other]
            if function.text(first) != function.text(second):
                edits = (
                    function.replaced(first, function.text(second)),
                    function.replaced(second, function.text(first)),
                )
                yield Change("launch", launch.line, edits, 1.6 + 0.1 * (other - one), "arguments", "arguments")
    for node in launch.arguments:
        left = node.child_by_field_name("left")
        if left is not None and operator_of(node) in ("-", "+", "/"):
            # `blocks - 1`: one too few, or too many.
            yield Change(
                "launch", launch.line, (function.replaced(node, function.text(left)),), 1.4, "arguments", "argument"
            )
    for neighbour in host.launches:
        text = neighbour.function.text(neighbour.grid)
        if neighbour.function.item == function.item and text != function.text(launch.grid):
            yield Change("launch", launch.line, (function.replaced(launch.grid, text),), 1.9, "grid", "grid")
    others: list[set[str]] = [set() for _argument in launch.arguments]
    for neighbour in host.launches:
        if neighbour.function.item == function.item and len(neighbour.arguments) == len(launch.arguments):
            for place, node in enumerate(neighbour.arguments):
                others[place].add(function.text(node))
    for place, node in enumerate(launch.arguments):
        for text in sorted(others[place] - {function.text(node)}):
            edit = function.replaced(node, text)
            yield Change("launch", launch.line, (edit,), 1.3, "arguments", "argument")


def _callee(launch: Launch) -> Node | None:
    """What is launched, as it is written."""
    call: Node | None = launch.grid
    while call is not None and call.type != "call_expression":
        call = call.parent
    return call.child_by_field_name("function") if call is not None else None


def _instances(launch: Launch, numbers: Collection[str]) -> Iterator[Change]:
    """`kernel<6>` with another number for its template's."""
    function = launch.function
    for node in launch.given:
        if function.text(node).isdigit():
            for number in sorted({*numbers} - {function.text(node)}):
                yield Change("launch", launch.line, (function.replaced(node, number),), 1.0, "instance", "instance")


# -- places in the text ----------------------------------------------------------------


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))


def same(change: Change) -> tuple[Edit, ...]:
    """What a change is known again by."""
    return tuple(sorted(change.edits, key=lambda e: (e.start, e.end, e.text)))
