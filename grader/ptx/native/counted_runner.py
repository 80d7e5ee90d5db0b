"""Carries out loops with a known number of iterations at once: what advances by how much, and how often they go round.

A register that moves is known as the value that it has in the first iteration and the step that every iteration adds.
Where all that an iteration computes from such registers is a sum, a difference or a multiple of them, modulo 2^bits,
it moves as well, and the loop's own registers are found to move by the same step in every iteration to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.ptx import affine
from grader.ptx.access import Access, ResolvedAddress, as_int64, locate
from grader.ptx.affine import Irregular, Moving, Widened, advance, signed
from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register
from grader.ptx.limits import AT_ONCE
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.machine.load_store import mark_written
from grader.ptx.machine.scheduler import Shortcut
from grader.ptx.native.counted_loops import (
    CONTIGUOUS,
    EQUAL,
    SCATTERED,
    UNIFORM,
    UNROLLED,
    VECTOR_BYTES,
    Form,
    Placed,
    Shape,
    Store,
    form_of,
    spans_of,
)
from grader.ptx.native.memories import LoopModule
from grader.ptx.observers.interface import RepeatedAccesses
from grader.ptx.values import Affine, Array, Value, Vec, remember, split_shift

SPARSE = 4
"""How often as large as what a loop accesses the part of an array may be that it is accessed in."""


@dataclass
class Progress:
    """An iteration in terms of the first.

    before: registers as accesses find them, by the place of the access among all; after: as the first iteration leaves
    them.  trips: how many iterations there are, at most as many as were asked for; leaves: the loop is left then.
    """

    before: list[Moving]
    after: dict[int, Moving]
    trips: int = 0
    leaves: bool = False
    widened: Widened = field(default_factory=list)


def progress_of(form: Form, registers: Sequence[Any], register_bytes: Sequence[int], most: int) -> Progress:
    """Return how a loop goes on from the start of an iteration.  Raises Irregular where that cannot be told."""
    first_round = _iteration(form, registers, dict.fromkeys(form.moving, 0))
    steps = {i: affine.difference(registers[i], first_round.after[i][0], 8 * register_bytes[i]) for i in form.moving}
    progress = _iteration(form, registers, steps)
    for index, step in steps.items():
        if signed(progress.after[index][1], 8 * register_bytes[index]) != step:
            raise Irregular
    _count(form, progress, registers, steps, most)
    for value, step, bits, is_signed in progress.widened:
        low_high = affine.bounds(value, bits, is_signed)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if is_signed else (0, 1 << bits)
        if low_high is None:
            raise Irregular
        last = (progress.trips - 1) * step
        if low_high[0] + last < low or low_high[1] + last >= high:
            raise Irregular
    return progress


def _iteration(form: Form, registers: Sequence[Any], steps: dict[int, int]) -> Progress:
    """Compute one iteration of the addressing from registers that move by `steps`."""
    after: dict[int, Moving] = {}
    progress = Progress([], after)

    def read(operand: Operand, bits: int) -> Moving:
        if isinstance(operand, Immediate):
            return operand.value & ((1 << bits) - 1), 0
        assert isinstance(operand, Register)
        if operand.index in after:
            return after[operand.index]
        return registers[operand.index], steps.get(operand.index, 0)

    # Accesses read their addresses where they stand among the instructions.
    places = iter(form.addressing)
    done = 0
    order = {id(i): k for k, i in enumerate(form.block.instructions)}
    pending = next(places, None)
    for access in form.accesses:
        while pending is not None and order[id(pending)] < order[id(access.spec.instruction)]:
            target, moving = _compute(pending, read, progress)
            after[target] = moving
            pending = next(places, None)
            done += 1
        base = after.get(access.base) or (registers[access.base], steps.get(access.base, 0))
        progress.before.append(base)
    while pending is not None:
        target, moving = _compute(pending, read, progress)
        after[target] = moving
        pending = next(places, None)
    return progress


def _compute(i: Instruction, read: Callable[[Operand, int], Moving], progress: Progress) -> tuple[int, Moving]:
    target, *operands = i.operands
    assert isinstance(target, Register)
    bits = int(i.modifiers[-1][1:])
    is_signed = i.modifiers[-1].startswith("s")
    values = [read(operand, bits) for operand in operands]
    result: Moving
    if i.opcode == "mov":
        result = values[0]
    elif i.opcode == "add":
        result = affine.moving_sum(values[0], values[1], bits)
    elif i.opcode == "sub":
        (a, step), (b, other) = values
        result = affine.certain(affine.sub(a, b, bits)), signed(step - other, bits)
    elif i.opcode == "shl":
        (a, step), (b, other) = values
        if other or isinstance(b, (Vec, Affine)) or b >= bits:
            raise Irregular
        result = affine.certain(affine.shl(a, b, bits)), signed(step << b, bits)
    elif i.opcode == "cvt":
        to_bits = int(i.modifiers[0][1:])
        result = affine.moving_converted(values[0], bits, to_bits, is_signed, progress.widened)
    else:
        wide = i.modifiers[0] == "wide"
        result = affine.moving_product(values[0], values[1], bits, wide, is_signed, progress.widened)
        if i.opcode == "mad":
            sum_bits = 2 * bits if wide else bits
            result = affine.moving_sum(result, read(operands[2], sum_bits), sum_bits)
    return target.index, result


def _count(form: Form, progress: Progress, registers: Sequence[Any], steps: dict[int, int], most: int) -> None:
    """Count the iterations that all threads make, where some leave the loop before others."""
    relation, type_name = form.exit.modifiers
    bits = int(type_name[1:])
    is_signed = type_name.startswith("s") and relation not in ("lo", "ls", "hi", "hs")
    sides: list[tuple[set[int], int]] = []
    place = form.block.instructions.index(form.exit)
    for operand in form.exit.operands[1:]:
        value: Value
        if isinstance(operand, Immediate):
            value, step = operand.value & ((1 << bits) - 1), 0
        else:
            assert isinstance(operand, Register)
            value, step = registers[operand.index], steps.get(operand.index, 0)
            written = [i for i in form.addressing if i.operands[0] == operand]
            if written:
                if any(form.block.instructions.index(i) > place for i in written):
                    raise Irregular
                value, step = progress.after[operand.index]
        # Threads that begin in between leave in between.
        extremes = affine.bounds(
            value if isinstance(value, (Vec, Affine)) else value & ((1 << bits) - 1), bits, is_signed
        )
        if extremes is None:
            raise Irregular
        sides.append((set(extremes), step))
    (lefts, left_step), (rights, right_step) = sides
    differs = len(lefts) > 1 or len(rights) > 1
    if left_step == right_step == 0 or (differs and relation in ("eq", "ne")):
        raise Irregular
    exit_ = _Exit(affine.COMPARISONS[relation], form.again, bits, is_signed, may_wrap=not differs)
    counts = {exit_.trips((left, left_step), (right, right_step), most) for left in lefts for right in rights}
    trips = min(trips for trips, _ in counts)
    leaves = (trips, True) in counts
    if len(counts) > 1 and leaves:
        trips, leaves = trips - 1, False
    if not trips:
        raise Irregular
    progress.trips, progress.leaves = trips, leaves


@dataclass(frozen=True)
class _Exit:
    """The comparison that decides whether a loop goes round again; may_wrap: its numbers may wrap around before."""

    holds: Callable[[int, int], bool]
    again: bool
    bits: int
    is_signed: bool
    may_wrap: bool

    def trips(self, left: tuple[int, int], right: tuple[int, int], most: int) -> tuple[int, bool]:
        """Return (iterations of a thread, at most `most`, whether it leaves then), by (number, step) of both sides."""
        (a, step), (b, other) = left, right
        half = 1 << self.bits - 1 if self.is_signed else 0
        mask = (1 << self.bits) - 1
        for trip in range(1, most + 1):
            wrapped = ((a + half) & mask) - half, ((b + half) & mask) - half
            if wrapped != (a, b) and not self.may_wrap:
                raise Irregular
            if self.holds(*wrapped) != self.again:
                return trip, True
            a, b = a + step, b + other
        return most, False


# Carries out the loops, in place of their iterations.

FEWEST_LANES = 256
"""Fewer are no slower one iteration after the other."""
FEWEST_TRIPS = 4
MOST_TRIPS = 4096
"""At once: in between the clock is looked at."""
PATIENCE = 4_000_000
"""Thread-instructions of a loop before it is worth its compilation, of 10 ms."""


def shortcuts_of(code: Code) -> Mapping[CodeBlock, Shortcut]:
    """Return the loops of a kernel that can be carried out at once."""
    kept_with: dict[str, dict[CodeBlock, Shortcut]] = code.program.module.derived.setdefault("counted", {})
    shortcuts = kept_with.get(code.name)
    if shortcuts is None:
        shortcuts = kept_with[code.name] = {}
        for block, node in zip(code.blocks, code.graph.blocks, strict=True):
            form = form_of(code, block, node.successors)
            if form is not None:
                shortcuts[block] = CountedLoop(code, form)
    return shortcuts


@dataclass
class CountedLoop:
    """One loop; called with a group at its header.

    waited: thread-instructions that it has executed, one iteration after the other.  pause: iterations that are not
    looked at any more.  failures: how often in a row it did not move by constants.  refused: there is no WebAssembly.
    """

    code: Code
    form: Form
    waited: int = 0
    pause: int = 0
    failures: int = 0
    refused: bool = False
    modules: dict[Shape, LoopModule | None] = field(default_factory=dict)

    def __call__(self, group: Group) -> bool:
        """Carry out as many iterations as can be told, and tell observers; False where nothing was done."""
        lanes, batch = group.lanes, group.batch
        watchers = batch.watchers
        if self.refused or lanes.n < FEWEST_LANES or len(watchers.repeated) != len(watchers.access):
            return False
        size = self.form.block.size
        self.waited += size * lanes.n
        if self.pause:
            self.pause -= 1
            return False
        try:
            progress = self._progress(group)
            places = self._placed(batch, group, progress)
            is_worth_it = self._is_worth_it(batch, lanes.n, progress.trips)
            accesses = self._accesses(batch, progress, places)
            # Nor will it be in the iterations that are left.
            refused = not is_worth_it or not all(may_repeat(accesses) for may_repeat in watchers.may_repeat)
            results = None if refused else self._computed(group, progress, places)
        except Irregular:
            self.failures += 1
            self.pause = 2 ** min(self.failures, 10)
            return False
        self.failures = 0
        if results is None:
            self.pause = progress.trips - 1
            return False
        self._note_accesses(batch, accesses)
        batch.count(self.form.block, lanes, progress.trips)
        batch.budget.turns += progress.trips
        self._go_on(group, progress, results)
        return True

    def _progress(self, group: Group) -> Progress:
        """Return how the loop goes on, which is the same whenever it is reached with the same values."""
        values: list[Any] = []
        lasts = group.lanes.lasting
        for index in self.form.reads:
            value = group.registers[index]
            if isinstance(value, (Vec, Affine)):
                vec, shift = split_shift(value)
                lasts &= vec.lasting
                values += [id(vec), shift]
            else:
                values += [None, value]
        key = ("progress", id(self.form), *values)
        cached = group.lanes.memo.get(key) if lasts else None
        if cached is None:
            progress = progress_of(self.form, group.registers, self.code.register_bytes, MOST_TRIPS)
            if not lasts:
                return progress
            cached = remember(group.lanes.memo, key, (self.form, progress))
        return cached[1]

    def _is_worth_it(self, batch: BlockBatch, lanes: int, trips: int) -> bool:
        budget, limits = batch.budget, batch.budget.limits
        work = self.form.block.size * trips
        if budget.issued + work > limits.issued or budget.charged + work * lanes // AT_ONCE > limits.instructions:
            return False
        return trips >= FEWEST_TRIPS and self.waited + work * lanes >= PATIENCE

    def _placed(self, batch: BlockBatch, group: Group, progress: Progress) -> list[Placed]:
        """Where the accesses go.  Raises Irregular unless all of them are all right in all iterations.

        That is to say inside their arrays, loads where all is written, and no thread where another one stores.
        """
        places, word, lanes = [], self.form.word, group.lanes
        further = progress.trips - 1
        for access, (value, step) in zip(self.form.accesses, progress.before, strict=True):
            resolved = locate(batch.device, value, access.offset, word, lanes)
            if resolved is None or step % word:
                raise Irregular
            array = resolved.array
            low, high = (0, 0) if resolved.vec is None else resolved.vec.signed_bounds()
            low, high = low + resolved.shift, high + resolved.shift
            first, last = low + min(0, further * step), high + max(0, further * step) + word
            if array.space != "global" or array.rows or first < 0 or last > array.size:
                raise Irregular
            if isinstance(access, Store) and array.read_only:
                raise Irregular
            places.append(Placed(resolved, step, low, isinstance(access, Store)))
        touched = dict.fromkeys((id(where.address.array) for where in places), 0)
        for where in places:
            touched[id(where.address.array)] += progress.trips * lanes.n * word
        for array, low, high in spans_of(places, progress.trips, word).values():
            if high - low > SPARSE * touched[id(array)]:
                # What lies between the accesses would be copied, too.
                raise Irregular
        for where in places:
            if not where.stores:
                _check_written(where, progress.trips, word)
        if self.form.stores:
            _check_apart(places, progress.trips, word)
        return places

    def _accesses(self, batch: BlockBatch, progress: Progress, places: list[Placed]) -> RepeatedAccesses:
        first = tuple(
            Access(access.spec, where.address, batch.geometry)
            for access, where in zip(self.form.accesses, places, strict=True)
        )
        return RepeatedAccesses(first, tuple(where.step for where in places), progress.trips)

    def _note_accesses(self, batch: BlockBatch, accesses: RepeatedAccesses) -> None:
        """Note what was stored, and tell observers of the accesses."""
        if self.form.stores:
            batch.note_change()
        for event, step in zip(accesses.first, accesses.steps, strict=True):
            if event.op == "store":
                for k in range(accesses.times if step else 1):
                    mark_written(batch, event.moved(k * step).address, event.spec)
                if batch.watchers.repeated:
                    # What was there last: of what others stored before it nobody can tell.
                    elements, start = event.address.index(event.width)
                    view = event.address.array.view(event.spec.dtype)
                    event.stored = [Vec(view[start:].take(elements), event.address.lanes)]
        for notify in batch.watchers.repeated:
            notify(accesses)

    def _go_on(self, group: Group, progress: Progress, results: dict[int, Array]) -> None:
        """Set registers and block as the last iteration leaves them."""
        sizes = self.code.register_bytes
        for index, (value, step) in progress.after.items():
            group.registers[index] = advance(value, (progress.trips - 1) * step, 8 * sizes[index])
        for index, result in results.items():
            group.registers[index] = Vec(result, group.lanes)
        if progress.leaves:
            group.block = self.form.after
            group.from_back_edge = (self.form.block.index, self.form.after) in self.code.back_edges
        else:
            group.from_back_edge = True

    def _computed(self, group: Group, progress: Progress, places: list[Placed]) -> dict[int, Array] | None:
        """Run the loop and return its data registers after the last iteration.  Raises Irregular with nothing done."""
        kinds: list[str] = []
        tables: list[int] = []
        offsets: list[Array] = []
        numbers: dict[int, int] = {}
        for where in places:
            vec = where.address.vec
            if vec is None:
                kinds.append(UNIFORM)
                tables.append(-1)
                continue
            kind, table = _neighbours(vec, self.form.word)
            kinds.append(kind)
            if id(vec) not in numbers:
                numbers[id(vec)] = len(offsets)
                offsets.append(table)
            tables.append(numbers[id(vec)])
        if not offsets:
            return None
        shape = Shape(tuple(kinds), tuple(tables))
        if shape not in self.modules:
            self.modules[shape] = LoopModule.of(self.form, shape)
        module = self.modules[shape]
        if module is None:
            self.refused = True
            return None
        return module.run(group, progress.trips, places, offsets)


def _is_written(flags: Array, resolved: ResolvedAddress, low: int, word: int) -> bool:
    starts = resolved.offsets() - low
    return all(flags[starts + byte].all() for byte in range(word))


def _check_written(where: Placed, trips: int, word: int) -> None:
    array = where.address.array
    if array.valid is None:
        return
    ((_, low, high),) = spans_of([where], trips, word).values()
    flags = array.valid[array.storage + low : array.storage + high]
    if not flags.all() and (where.step or not _is_written(flags, where.address, where.low, word)):
        raise Irregular


def _check_apart(places: list[Placed], trips: int, word: int) -> None:
    """Raises Irregular where one thread touches, in any iteration, what another one stores."""
    by_array: dict[int, list[Placed]] = {}
    for where in places:
        by_array.setdefault(id(where.address.array), []).append(where)
    for key, accesses in by_array.items():
        if not any(where.stores for where in accesses):
            continue
        array, step = accesses[0].address.array, abs(accesses[0].step)
        other_arrays = [other[0].address.array for number, other in by_array.items() if number != key]
        if any(where.step != accesses[0].step for where in accesses) or any(
            np.may_share_memory(array.data, other.data) for other in other_arrays
        ):
            raise Irregular
        distinct = {(id(where.address.vec), where.low): where for where in accesses}
        memo = accesses[0].address.vec.memo if len(distinct) == 1 and accesses[0].address.vec is not None else {}
        apart = memo.get(("apart", step, trips))
        if apart is None:
            apart = _are_apart([where.address.offsets() // word for where in distinct.values()], step // word, trips)
            remember(memo, ("apart", step, trips), apart)
        if not apart:
            raise Irregular


def _are_apart(places: list[Array], step: int, trips: int) -> bool:
    """Whether no two threads, (n,) numbers of each access, come to one place within so many steps."""
    words = np.concatenate(places)
    threads = np.tile(np.arange(len(places[0])), len(places))
    # Two come to one place if they are whole steps apart, fewer than there are iterations.
    residues = words % step if step else words
    order = np.lexsort((words, residues))
    words, threads, residues = words[order], threads[order], residues[order]
    close = (residues[1:] == residues[:-1]) & (threads[1:] != threads[:-1])
    return not (close & (words[1:] - words[:-1] < max(step * trips, 1))).any()


def _neighbours(vec: Vec, word: int) -> tuple[str, Array]:
    """How neighbouring lanes of a vector lie, and the byte offsets from the smallest lane's that tell the rest.

    The offsets are one for each vector, or for each lane where lanes are scattered; the last ones are repeated until
    there are as many as are worked on at once.
    """
    cached: tuple[str, Array] | None = vec.memo.get(("neighbours", word))
    if cached is None:
        lanes = VECTOR_BYTES // word
        offsets = (as_int64(vec) - vec.signed_bounds()[0]).astype(np.int32)
        if len(offsets) % lanes:
            offsets = np.pad(offsets, (0, -len(offsets) % lanes), "edge")
        vectors = offsets.reshape(-1, lanes)
        distances = vectors - vectors[:, :1]
        if (distances == np.arange(lanes, dtype=np.int32) * word).all():
            kind, vectors = CONTIGUOUS, vectors[:, :1]
        elif not distances.any():
            kind, vectors = EQUAL, vectors[:, :1]
        else:
            kind = SCATTERED
        if len(vectors) % UNROLLED:
            vectors = np.pad(vectors, ((0, -len(vectors) % UNROLLED), (0, 0)), "edge")
        cached = remember(vec.memo, ("neighbours", word), (kind, vectors.ravel()))
    return cached
