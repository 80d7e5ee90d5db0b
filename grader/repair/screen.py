"""Changed kernels and other launches run at one small size: which do not show the fault any more.

A kernel that is changed within itself is compiled as a copy under another name, a batch of copies with the program as
it was handed in; most of a compile's time is the same for one kernel and for a dozen.  Another launch, or a condition
taken away, does not mend a wrong kernel but tells why it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np

from grader.lab.compare import Mask, is_sentinel, wrong_elements
from grader.lab.expected import Array
from grader.launching.kernel import BoundKernel, Loaded, block_of, grid_of
from grader.launching.programs import Built
from grader.launching.trial import Run, Trials
from grader.message import Message, joined, msg, sizes_msg
from grader.repair.barriers import ends_with_return
from grader.repair.function import Change, Function
from grader.repair.nodes import condition_of, only_leaves
from grader.repair.symptom import MOST_INSTRUCTIONS, SmallCase, Symptom, faults, instructions_of
from grader.submission.cpp.tree import declared_name, descendants
from grader.submission.lexical import Edit
from grader.submission.records import LaunchPlan

BATCHES = (8, 16, 32)
"""Changes that are compiled together: few at first, since the likeliest come first; then as many as the last says."""
RETRIES = 3
"""Compiles of a batch without the copies that the compiler refused."""
COPY = "_changed_{number}"
MAX_PARTLY = 1
"""Changes that leave another fault which are graded."""
COMPILING = 60_000
"""Work of compiling and reading a program, in `Budget`'s unit."""
COPYING = 13_000
"""Work of compiling and reading one copy more of a kernel."""
LAUNCHING = 6_000
"""Work of a launch, beside its instructions; twice that, and twice for each instruction, where it is observed."""
ISSUING = 28
"""Work of issuing an instruction, for however many threads execute it together."""
ISSUING_ON = 8
"""The same of instructions after the first `SOON`: what takes long runs as generated code."""
SOON = 5_000
SMALL_BLOCK = 32
"""Threads of a block in whose place fewer show a fault sooner."""


Tried = tuple[Function, Change]
"""A change, and the function that it is made in."""


@dataclass(slots=True)
class Budget:
    """What a search may use; counted, so that it ends at the same place on every machine.

    work: still to be done, in units of about a microsecond on one core of 2024.
    """

    work: int

    @property
    def is_spent(self) -> bool:
        return self.work <= 0

    def compiled(self, copies: int = 0) -> None:
        """Charge a program, and how many copies of a kernel it holds."""
        self.work -= COMPILING + COPYING * copies

    def ran(self, run: Run, observed: bool = True) -> None:
        """Charge a launch."""
        issued = run.outcome.issued or 0
        # What is at fault, and what takes the interpreter too long, no generated code carries out.
        soon = issued if run.outcome.hazards or run.outcome.reason == "steps" else SOON
        work = LAUNCHING + ISSUING * min(issued, soon) + ISSUING_ON * max(0, issued - soon)
        self.work -= 2 * work if observed else work


@dataclass(frozen=True, slots=True)
class Screen:
    """Runs changes of one kernel against one symptom.

    kernel: as it was graded.  functions: the kernel, then the functions that it calls.
    """

    trials: Trials
    kernel: BoundKernel
    functions: Sequence[Function]
    symptom: Symptom

    def survivors(self, changes: Sequence[Tried], budget: Budget) -> Iterator[Change]:
        """Those of the changes with which the symptom is gone, in their order; then those that leave another fault.

        Of a kernel with two faults a change may mend one: that is right at every size but those off the tile.
        """
        partly = []
        for batch in _batches(changes):
            if budget.is_spent:
                break
            for change, built, entry in self._compiled(batch, budget):
                if budget.is_spent:
                    break
                cured = self._cured(built, entry, budget)
                if cured == len(self.symptom.cases):
                    yield change
                elif cured and all(case.kind == "ragged" for case in self.symptom.cases[cured:]):
                    partly.append(change)
        if self.symptom.cases[0].kind != "ragged":
            yield from partly[:MAX_PARTLY]

    def in_small_blocks(self) -> Screen | None:
        """The same by blocks of few threads at a smaller size, of a fault that shows only beyond one of many.

        None where the fault is seen soon as it is, where blocks divide the data, or the kernel needs its own block.
        Nothing may be said of such a launch: what it lets through is graded as the program launches it.
        """
        first, plan = self.symptom.cases[0], self.kernel.interpretation.launch
        threads, *others = block_of(plan, first.sizes)
        divides = not plan.grid_formula and any(side > 1 for side in plan.tile)
        grows = block_of(plan, {name: 2 * n for name, n in first.sizes.items()})[0] > threads
        is_row = others == [1, 1] and threads > SMALL_BLOCK and not grows
        if first.instructions <= MOST_INSTRUCTIONS or not is_row or divides:
            return None
        own = self.kernel.interpretation
        kernel = self.kernel.read_as(replace(own, launch=replace(plan, block=(SMALL_BLOCK, 1, 1), block_formula=())))
        sizes = {name: n if n <= threads else -(-n * SMALL_BLOCK // threads) for name, n in first.sizes.items()}
        within = {name: min(n, SMALL_BLOCK) for name, n in sizes.items()}
        run = self.trials.run(kernel, first.kind, sizes, observe=self.symptom.is_observed)
        is_shown = bool(faults(run)) if self.symptom.is_observed else not run.is_right
        if run.outcome.status != "ok" or not is_shown or not self.trials.run(kernel, first.kind, within).is_right:
            return None
        case = replace(first, sizes=sizes, instructions=instructions_of(run))
        symptom = replace(self.symptom, cases=(case, *self.symptom.cases[1:]))
        return replace(self, kernel=kernel, symptom=symptom)

    def unchanged(self, *, observe: bool = False) -> Run:
        """Run the kernel as handed in, at the size of the first case."""
        return self.trials.run(self.kernel, self.symptom.cases[0].kind, self.symptom.cases[0].sizes, observe)

    def runs(self, changes: Sequence[Tried]) -> Iterator[tuple[Change, Run]]:
        """Yield each change that compiles, with its run at that size."""
        case = self.symptom.cases[0]
        for change, built, entry in self._compiled(changes, Budget(0)):
            yield (
                change,
                self.trials.run_loaded(
                    self.kernel, Loaded(built, entry), case.kind, case.sizes, instructions=case.instructions
                ),
            )

    def expected(self, output: str) -> Array:
        """Return the expected values of an output at that size."""
        return self.trials.oracle.case(self.symptom.cases[0].sizes, self.kernel.dtypes)[1][output]

    def _cured(self, built: Built, entry: str, budget: Budget) -> int:
        for number, case in enumerate(self.symptom.cases):
            # Watching takes as long again: what is wrong without it need not be watched.
            ways = (True,) if case.observe and self.symptom.is_observed else (False, True) if case.observe else (False,)
            if not all(case.is_clean(self._run(built, entry, case, observe, budget), observe) for observe in ways):
                return number
        return len(self.symptom.cases)

    def _run(self, built: Built, entry: str, case: SmallCase, observe: bool, budget: Budget) -> Run:
        run = self.trials.run_loaded(
            self.kernel, Loaded(built, entry), case.kind, case.sizes, observe, instructions=case.instructions
        )
        budget.ran(run, observe)
        return run

    def _compiled(self, batch: Sequence[Tried], budget: Budget) -> Iterator[tuple[Change, Built, str]]:
        copied = {n for n, (function, _change) in enumerate(batch) if function.is_kernel or self._is_copied(function)}
        copies = {n: copy for n in copied if (copy := self._copy(*batch[n], n)) is not None}
        built, names = self._together(copies, budget)
        for n, (_function, change) in enumerate(batch):
            if n in copied:
                entry = built.result.entries.get(names[n]) if built is not None and n in names else None
                if built is not None and entry is not None:
                    yield change, built, entry
            else:
                budget.compiled()
                alone = self._alone(change)
                if alone is not None:
                    yield change, *alone

    def _together(self, copies: dict[int, str], budget: Budget) -> tuple[Built | None, dict[int, str]]:
        """Compile copies of the kernel together, without those that are refused; return name expressions too."""
        sources = self._sources()
        main = next(iter(sources))
        expression = self.kernel.expression(self.symptom.cases[0].sizes)
        name = self.kernel.binding.kernel.name
        left = dict(copies)
        for _attempt in range(RETRIES):
            if not left:
                break
            budget.compiled(len(left))
            text, first = sources[main], {}
            for n, copy in left.items():
                first[n] = text.count("\n") + 2
                text = f"{text}\n{copy}"
            names = {n: re.sub(rf"\b{re.escape(name)}\b", name + COPY.format(number=n), expression) for n in left}
            built = self.trials.programs.get_text({**sources, main: text}, list(names.values()))
            if built.result.ok or built.result.reason == "missing_entry":
                return built, names
            lines = {d.line for d in built.result.diagnostics if d.severity == "error"}
            starts = sorted(first.items(), key=lambda item: item[1])
            refused = {
                max((s for s in starts if s[1] <= line), key=lambda s: s[1], default=(-1, 0))[0] for line in lines
            }
            if not refused & left.keys():
                break
            left = {n: copy for n, copy in left.items() if n not in refused}
        return None, {}

    def _alone(self, change: Change) -> tuple[Built, str] | None:
        edits = self._resolved(change, 0, -1)
        if edits is None:
            return None
        sources = self._sources()
        own = self.functions[0].parsed.file
        text = _edited(self.kernel.submission.device_source[own], edits, 0)
        expression = self.kernel.expression(self.symptom.cases[0].sizes)
        built = self.trials.programs.get_text({**sources, own: text}, [expression])
        entry = built.result.entries.get(expression)
        return (built, entry) if entry is not None else None

    def _sources(self) -> dict[str, str]:
        program = self.kernel.program(self.symptom.cases[0].sizes)
        return program.submission.program(program.file, dict(program.constants))

    def _is_copied(self, function: Function) -> bool:
        """Whether a function that the kernel calls can be copied with it: one caller, no namespace."""
        name, kernel = function.item.name, self.functions[0]
        callers = [f for f in self.functions if f.item != function.item and name in f.parsed.words(f.item.node)]
        return callers == [kernel] and "::" not in function.item.namespace + kernel.item.namespace and bool(name)

    def _copy(self, function: Function, change: Change, number: int) -> str | None:
        """The text of the changed kernel under another name, after that of the changed function where it calls that.

        None where grading changes the same place.
        """
        kernel, suffix = self.functions[0], COPY.format(number=number)
        nothing = replace(change, edits=())
        own = self.kernel.binding.kernel.name
        if function == kernel:
            text = self._renamed(kernel, change, {own: own + suffix})
        else:
            name = function.item.name
            parts = (
                self._renamed(function, change, {name: name + suffix}),
                self._renamed(kernel, nothing, {own: own + suffix, name: name + suffix}),
            )
            text = None if None in parts else "\n".join(part for part in parts if part is not None)
        if text is None:
            return None
        space = kernel.item.namespace.split("::")[:-1]
        return "".join(f"namespace {n} {{ " for n in space) + text + " }" * len(space)

    def _renamed(self, function: Function, change: Change, names: dict[str, str]) -> str | None:
        """Return a function's text as grading compiles it, changed, with its name and those of callees replaced."""
        start, end = function.at(function.item.start), function.at(function.item.end)
        edits = self._resolved(change, start, end)
        declarator = function.item.node.child_by_field_name("declarator")
        own = declared_name(declarator) if declarator is not None else ""
        if edits is None or declarator is None or own not in names:
            return None
        places = [n for n in descendants(declarator) if n.type == "identifier" and function.text(n) == own][:1]
        places += [n for n in function.nodes if n.type == "identifier" and function.text(n) in names]
        edits += [function.replaced(place, names[function.text(place)]) for place in places]
        if not places or any(a.start < b.end and b.start < a.end for a in edits for b in edits if a is not b):
            return None
        return _edited(self.kernel.submission.device_source[function.parsed.file][start:end], edits, start)

    def _resolved(self, change: Change, start: int, end: int) -> list[Edit] | None:
        """The change with what grading itself edits between `start` and `end`; None where they meet."""
        file = self.functions[0].parsed.file
        values = dict(self.kernel.program(self.symptom.cases[0].sizes).constants)
        edits = list(change.edits)
        for edit in self.kernel.submission.edits.get(file, ()):
            if edit.constant and edit.constant not in values:
                continue
            if end >= 0 and not start <= edit.start < end:
                continue
            if any(edit.start < c.end and c.start < edit.end for c in change.edits):
                return None
            text = f"{edit.text}{values[edit.constant]}" if edit.constant else edit.text
            edits.append(replace(edit, text=text, constant=""))
        return edits


def _batches(changes: Sequence[Tried]) -> Iterator[Sequence[Tried]]:
    start = 0
    for size in chain(BATCHES, repeat(BATCHES[-1])):
        if start >= len(changes):
            return
        yield changes[start : start + size]
        start += size


def _edited(text: str, edits: Sequence[Edit], start: int) -> str:
    for edit in sorted(edits, key=lambda e: (-e.start, -e.end)):
        text = text[: edit.start - start] + edit.text + text[edit.end - start :]
    return text


MAX_GUARDS = 6
"""Conditions of a kernel, and of what it calls, that are taken away."""


# Its own block, its axes exchanged, more blocks.


@dataclass(frozen=True, slots=True)
class OtherLaunch:
    """Another launch that was right: the `check` of a `variant` that it mends, and how that is said."""

    variant: str
    check: str
    hint: Message


def other_launch(screen: Screen, variant: str, budget: Budget) -> OtherLaunch | None:
    """Return the first launch without the fault at any size of the symptom; None: there is none."""
    interpretation = screen.kernel.interpretation
    plan = interpretation.launch
    if not plan.line:
        return None
    for other, hint in _other_plans(plan, screen.symptom.cases[0].sizes):
        kernel = screen.kernel.read_as(replace(interpretation, launch=other))
        for case in screen.symptom.cases:
            run = screen.trials.run(kernel, case.kind, case.sizes, observe=case.observe)
            budget.ran(run, case.observe)
            if run.outcome.status != "ok" or not run.is_right or faults(run):
                break
        else:
            return OtherLaunch(variant, screen.symptom.check, hint)
    return None


def _other_plans(plan: LaunchPlan, sizes: dict[str, int]) -> Iterator[tuple[LaunchPlan, Message]]:
    """Yield launches to try, each with what is said where it is right."""
    x, y, z = block_of(plan, sizes)
    if plan.block_formula and len(plan.tile) > 1:
        threads = (*plan.tile, 1, 1)[:3]
        other = replace(plan, block=(threads[0], threads[1], threads[2]), block_formula=(), grid_formula=())
        yield other, msg("repairs.other_block_first", line=plan.line)
    if len(plan.covers) == 2 and plan.covers[0] != plan.covers[1]:
        other = replace(plan, covers=plan.covers[::-1], grid_formula=plan.grid_formula[::-1])
        yield other, msg("repairs.other_axes", line=plan.line, x=plan.covers[0], y=plan.covers[1])
    if len(set(plan.tile)) > 1 or z > 1:
        return
    blocks = grid_of(plan, sizes)
    for tile in sorted({x, 1} - {plan.tile[0]}, reverse=True):
        # A kernel that takes more than a thread's element with each block needs no more of them.
        if tile < plan.tile[0] and (len(plan.tile) < 2 or x == y):
            other = replace(plan, tile=(tile,) * len(plan.tile), grid_formula=())
            more = grid_of(other, sizes)
            if more != blocks:
                yield (
                    other,
                    msg(
                        "repairs.other_blocks",
                        line=plan.line,
                        sizes=sizes_msg(sizes),
                        blocks=_axes(blocks, len(plan.tile)),
                        more=_axes(more, len(plan.tile)),
                    ),
                )


def _axes(grid: tuple[int, int, int], axes: int) -> str:
    return "×".join(str(n) for n in grid[:axes])


# Which condition of the kernel, or of what it calls, turned the threads away that should have written something.


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A condition without which elements are written that nobody wrote.

    check: the check that found them, of a `variant`.  line: where the condition stands.
    unwritten: how many elements nobody wrote.  right: how many of them are right without the condition; 0 where all
    of them are written then, every one wrong, and no other element is spoilt.
    protects: whether threads leave the arrays without it.  is_mended: whether a change that corrects it is known.
    """

    variant: str
    check: str
    line: int
    unwritten: int
    right: int
    protects: bool
    is_mended: bool = False

    @property
    def hint(self) -> Message:
        """What was seen, as a hint."""
        if self.is_mended:
            return msg("repairs.turned_away_mended", line=self.line, n=self.unwritten)
        if not self.right:
            return msg("repairs.turned_away_wrong", line=self.line, n=self.unwritten)
        message = msg("repairs.turned_away", line=self.line, n=self.unwritten, right=self.right)
        return joined(message, msg("repairs.guard_protects") if self.protects else None) or message


Condition = TurnedAway | OtherLaunch
"""What was seen of a wrong kernel, with no change of it that makes it right."""


def turned_away(screen: Screen, variant: str, functions: Sequence[Function]) -> TurnedAway | None:
    """The condition without which most of what nobody wrote is right, else all of it written; None: there is none."""
    before = screen.unchanged()
    unwritten = _unwritten(screen, before)
    if unwritten is None or not unwritten.any():
        return None
    changes = [(function, change) for function in functions for change in opened(function)][:MAX_GUARDS]
    candidates = []
    for change, run in screen.runs(changes):
        one = _judged(screen, variant, change, before, run, unwritten)
        if one is not None:
            candidates.append(one)
    best = max(candidates, key=lambda one: (one.right, -one.line), default=None)
    if best is None or before.difference is None:
        return None
    element_bytes = screen.expected(before.difference.name).dtype.itemsize
    return None if _is_part_of_vectors(screen, unwritten, element_bytes) else best


def _is_part_of_vectors(screen: Screen, unwritten: Mask, element_bytes: int) -> bool:
    """Whether elements are unwritten beside others that one store of a thread, a vector's, writes with them: then that
    thread was there, and its value lacks a member."""
    counters = screen.unchanged(observe=True).outcome.counters
    rows = counters.by_line if counters is not None else ()
    width = max((row.width_bytes for row in rows if row.space == "global" and row.op == "store"), default=0)
    elements = max(1, width // element_bytes)
    flat = unwritten.ravel()
    groups = flat[: flat.size - flat.size % elements].reshape(-1, elements)
    return bool((groups.any(axis=1) & ~groups.all(axis=1)).any())


def opened(function: Function) -> Iterator[Change]:
    """Yield a function's branches, each with a condition that lets every thread go on."""
    for node in function.nodes:
        condition, body = condition_of(node), node.child_by_field_name("consequence")
        is_choice = node.child_by_field_name("alternative") is not None
        if node.type == "if_statement" and condition is not None and body is not None:
            if not only_leaves(body) and (is_choice or ends_with_return(body)):
                # What it turns away is done in another way.
                continue
            edit = function.replaced(condition, "false" if only_leaves(body) else "true")
            yield Change("guard", function.line(node), (edit,), 0.0, "opened")


def _unwritten(screen: Screen, run: Run) -> Mask | None:
    name = run.difference.name if run.difference is not None else ""
    if run.outcome.status != "ok" or name not in run.outcome.outputs:
        return None
    got, expected = run.outcome.outputs[name], screen.expected(name)
    unwritten: Mask = is_sentinel(got) & (got != expected)
    return unwritten


def _judged(screen: Screen, variant: str, change: Change, before: Run, run: Run, unwritten: Mask) -> TurnedAway | None:
    assert before.difference is not None
    name = before.difference.name
    if run.outcome.status != "ok" or name not in run.outcome.outputs:
        return None
    wrong = _wrong(screen, name, run)
    right = int(np.count_nonzero(unwritten & ~wrong))
    count = int(np.count_nonzero(unwritten))
    if 2 * right < count:
        is_written = not (unwritten & is_sentinel(run.outcome.outputs[name])).any()
        is_spoilt = (wrong & ~_wrong(screen, name, before)).any()
        if right or not is_written or is_spoilt:
            return None
    return TurnedAway(variant, screen.symptom.check, change.line, count, right, run.leaves_its_arrays)


def _wrong(screen: Screen, name: str, run: Run) -> Mask:
    expected = screen.expected(name)
    tolerance = screen.trials.lab.tolerance.at(screen.symptom.cases[0].sizes, str(expected.dtype))
    return wrong_elements(run.outcome.outputs[name], expected, tolerance)
