"""Functions and whole programs that are right and cost too much: changes of kernels, launches and calls, each graded.

Device code that is changed is run at the observed size first, where its result has to stay right and what the check
counts has to become less.  A change is shown where every check passes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import structs

from grader.errors import FileError, UsageError
from grader.programs.records import CallLaunch, RunLimits
from grader.programs.sources import Program
from grader.repair.clues import clues_of
from grader.repair.faster_changes import axis_changes, block_changes, padding_changes, shape_changes, strided_changes
from grader.repair.function import Change, Function, changed, functions_of, host_functions
from grader.repair.host_arguments import COPIES, statement_of
from grader.repair.host_calls import stream_changes
from grader.repair.launch_sites import Launch, axes_of, launches_of, source_of
from grader.repair.nodes import listed, value_of
from grader.repair.ranking import changes_of, in_order
from grader.repair.several_places import axis_places
from grader.repair.symptom import LEAST_INSTRUCTIONS, SLOWER
from grader.result import Check
from grader.running.calls import together
from grader.running.function_runs import LIMITS, Called
from grader.submission.cpp.tree import ParsedFile, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

COUNTED = {"bank_conflicts": ("wavefronts", "shared"), "coalescing": ("sectors", "global")}
"""What has to become less, and of which memory."""
OF_ACCESSES = ("index", "padding", "bound")
"""Kinds of changes that an access's cost may be mended by."""
MAX_DEVICE = 16
"""Changes of device code that are run."""
MAX_GRADED = 5
"""Changes that are graded, which takes about as long as the submission's own grading."""
WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaThreadSynchronize")
_STREAM = 3
"""Where a launch names its stream, among what stands between its brackets."""


def changed_program(called: Called, parsed: ParsedFile, change: Change) -> Program | None:
    """Return the program with a change; None where it cannot be read any more."""
    try:
        return called.changed(parsed.file, changed(parsed.source.text, change))
    except (FileError, UsageError):
        return None


def limits_beside(launches: Sequence[CallLaunch], calls: int) -> RunLimits:
    """Return the limits of a changed program for so many calls, by the launches of the unchanged one."""
    used = [launch.thread_instructions for launch in launches]
    most = max(LEAST_INSTRUCTIONS, SLOWER * max(used, default=0))
    whole = max(LEAST_INSTRUCTIONS, SLOWER * sum(used)) * calls
    return structs.replace(LIMITS, launch_instructions=most, kernel_instructions=whole)


def cheaper(called: Called, check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """Changes that may make `check` pass, which a right submission fails because of what it costs, in their order."""
    return islice((row for changes_for in COSTS[check.check] for row in changes_for(called, check)), MAX_GRADED)


# -- device code ------------------------------------------------------------------------------


def _of_device(called: Called, check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    functions = [
        function
        for parsed in called.files
        for name, item in parsed.functions.items()
        if item.is_kernel
        for function in functions_of(parsed, name)
    ]
    observed = _Observed(called)
    before = observed.cost()
    if before is None:
        return
    for function, change in islice(_ranked(functions, check), MAX_DEVICE):
        after = observed.cost(function.parsed, change)
        if after is not None and (check.check not in COUNTED or after < before):
            yield function.parsed, change


def _ranked(functions: Sequence[Function], check: Check) -> Iterator[tuple[Function, Change]]:
    """Yield changes made for the check first, then changes of the accesses in its lines."""
    if check.check == "bank_conflicts":
        for parsed in {id(f.parsed): f.parsed for f in functions}.values():
            own = [function for function in functions if function.parsed is parsed]
            yield from ((own[0], change) for change in padding_changes(own))
    if check.check == "coalescing":
        yield from ((f, change) for f in functions for change in strided_changes(f))
    yield from ((f, change) for f in functions if f.is_kernel for change in axis_changes(f))
    if check.check in COUNTED:
        lines = [n for n in (check.line, *check.data.get("lines", [])) if isinstance(n, int)]
        ranked = in_order(clues_of(functions, check.check, [], None, lines, {}), changes_of(functions, {}, ()))
        yield from (row for row in ranked if row[1].kind in OF_ACCESSES)


@dataclass
class _Observed:
    """The observed case, run with changes of device code, each within a few times the work of the original."""

    called: Called
    limits: RunLimits = LIMITS

    def cost(self, parsed: ParsedFile | None = None, change: Change | None = None) -> int | None:
        """Return what is counted, with a change or without; None where the result is wrong."""
        runs = self.called.runs
        case = next(case for case in runs.named() if case.kind == "observe")
        if parsed is None or change is None:
            observation = self.called.compiled.run(*runs.begun(case, self.limits))
        elif (program := changed_program(self.called, parsed, change)) is None:
            return None
        else:
            observation = self.called.compiled.run_with(program, *runs.begun(case, self.limits))
        run = runs.judged(case, observation) if observation is not None else None
        if observation is None or run is None or run.outcome.status != "ok" or not run.is_right:
            return None
        launches = [launch for call in observation.calls for launch in call.launches]
        if change is None:
            self.limits = limits_beside(launches, len(case.data))
        counters = together(launches, "")
        return sum(counters.total(metric, space) for metric, space in COUNTED.values())


# -- host code --------------------------------------------------------------------------------


def _of_order(called: Called, _check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """Grid and block of a launch in each other's place: with few elements both launches come to the same."""
    for parsed in called.files:
        for launch in launches_of(parsed):
            if launch.function.text(launch.grid) != launch.function.text(launch.block):
                edits = launch.function.exchanged(launch.grid, launch.block)
                yield parsed, Change("launch", launch.line, edits, 1.0, "launch_order", "order")


def _of_blocks(called: Called, check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """Blocks of as many threads in another shape, for warps of like work; else of another size, with the grid that
    follows."""
    if check.check == "divergence":
        yield from ((p, change) for p in called.files for launch in launches_of(p) for change in shape_changes(launch))
        return
    blocks = {
        launch.kernel.partition("<")[0]: launch.block
        for observation in called.runs.observations[:1]
        for call in observation.calls
        for launch in call.launches
    }
    for parsed in called.files:
        for launch in launches_of(parsed):
            if launch.callee in blocks:
                for change in block_changes(launch, parsed, blocks[launch.callee]):
                    yield parsed, replace(change, detail="size")


def _crossed(called: Called, _check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """Rows by y and columns by x where a kernel has them the other way round, with the grid that follows."""
    for parsed in called.files:
        for launch in launches_of(parsed):
            item = parsed.functions.get(launch.callee)
            kernel = functions_of(parsed, launch.callee) if item is not None and item.is_kernel else []
            values = _thread_values(kernel[0]) if kernel else {}
            names = _grid_names(launch)
            if set(values) == {"x", "y"} and len(names) == 2:
                own, host = kernel[0], launch.function
                edits = [own.replaced(values[a], own.text(values[b])) for a, b in (("x", "y"), ("y", "x"))]
                for nodes, (other, *_rest) in (names, names[::-1]):
                    edits += [host.replaced(node, host.text(other)) for node in nodes]
                yield parsed, Change("index", own.line(values["x"]), tuple(edits), 1.5, "axis", "crossed")


def _thread_values(kernel: Function) -> dict[str, Node]:
    """Return, by axis, the first variable's value that depends on the thread's index along that axis alone."""
    values: dict[str, Node] = {}
    for node in kernel.nodes:
        value = value_of(node)
        axes = (
            {kernel.text(axis) for base, axis in axis_places(kernel, value) if base == "threadIdx"} if value else set()
        )
        if value is not None and len(axes) == 1:
            values.setdefault(axes.pop(), value)
    return values


def _grid_names(launch: Launch) -> list[list[Node]]:
    """Return, for each axis of a two-dimensional grid, the places of its one name that is none of the block's."""
    function = launch.function
    sides = {function.text(n) for axis in axes_of(function, launch.block) for n in descendants(axis)}
    nodes_of_axes = []
    for axis in axes_of(function, launch.grid)[:2]:
        source = source_of(function, axis)
        nodes = [n for n in descendants(source) if n.type == "identifier" and function.text(n) not in sides]
        nodes = [n for n in nodes if n.parent is None or n.parent.type not in ("field_expression", "call_expression")]
        if len({function.text(n) for n in nodes}) == 1:
            nodes_of_axes.append(nodes)
    return nodes_of_axes if len(axes_of(function, launch.grid)) == 2 else []


def _needless(called: Called, check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """Copies and waits removed: the one that the check names first, then the last of each kind."""
    names = WAITS if check.check == "overlap" else (*COPIES, *WAITS)
    rows: list[tuple[bool, int, ParsedFile, Change]] = []
    for parsed in called.files:
        for function in host_functions(parsed):
            for node in function.nodes:
                statement = statement_of(function, node) if function.callee(node) in names else None
                if statement is not None:
                    is_told = function.line(node) == check.line
                    change = Change(
                        "host", function.line(node), (function.removed(statement),), 1.0, "call", "needless"
                    )
                    rows.append((not is_told, -len(rows), parsed, change))
    rows.sort(key=lambda row: row[:2])
    return ((parsed, change) for _is_other, _number, parsed, change in rows)


def _of_streams(called: Called, _check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    return ((parsed, change) for parsed in called.files for change in stream_changes(parsed))


def _asynchronous(called: Called, _check: Check) -> Iterator[tuple[ParsedFile, Change]]:
    """All copies beside a launch put into its stream, so that the host goes on."""
    for parsed in called.files:
        for function in host_functions(parsed):
            for node in function.nodes:
                parts = listed(node)
                launch = statement_of(function, node)
                if node.type != "kernel_call_syntax" or len(parts) <= _STREAM or launch is None:
                    continue
                copies = [n for n in function.nodes if function.callee(n) == "cudaMemcpy"]
                copies = [n for n in copies if _block(function, n) == launch.parent]
                edits = [edit for copy in copies for edit in _in_stream(function, copy, function.text(parts[_STREAM]))]
                if edits:
                    lines = [function.line(copy) for copy in copies]
                    yield parsed, Change("host", lines[0], tuple(edits), 1.0, "stream", "asynchronous", lines[-1])


def _in_stream(function: Function, copy: Node, stream: str) -> Iterator[Edit]:
    callee, arguments = copy.child_by_field_name("function"), copy.child_by_field_name("arguments")
    if callee is not None and arguments is not None:
        yield function.replaced(callee, "cudaMemcpyAsync")
        yield function.inserted(arguments.end_byte - 1, f", {stream}")


def _block(function: Function, node: Node) -> Node | None:
    statement = statement_of(function, node)
    return statement.parent if statement is not None else None


COSTS: Mapping[str, Sequence[Callable[[Called, Check], Iterator[tuple[ParsedFile, Change]]]]] = {
    "bank_conflicts": (_of_device,),
    "coalescing": (_of_device, _crossed),
    "divergence": (_of_blocks, _of_device),
    "occupancy": (_of_order, _of_blocks),
    "launches": (_needless,),
    "overlap": (_needless, _of_streams, _asynchronous),
}
"""Checks of what right code costs that a change of one place may mend, in the order in which they are looked at, and
what is tried for each."""
