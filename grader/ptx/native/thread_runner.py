"""Decides which launches have their unwatched blocks carried out thread by thread, or by fours, and does that.

What is measured by the blocks that were watched says how long the others are; all of it is counted, so it is the same
on every machine.  Anything unusual (a fault, a value that nobody wrote, threads that wait at different barriers) ends
the attempt with nothing changed, and the interpreter has these blocks to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Module
from grader.ptx.isa.instructions import facts
from grader.ptx.limits import Budget, DeviceTrap, LimitExceeded
from grader.ptx.lowering.program import program_of
from grader.ptx.machine import operands
from grader.ptx.machine.batch import BlockBatch
from grader.ptx.machine.code import Code
from grader.ptx.memory import Device, MemoryArray
from grader.ptx.native import parted_warps, quads
from grader.ptx.native.generate import Compiled
from grader.ptx.native.host import MAX_BYTES, LinearMemory, TooLarge, Unusual
from grader.ptx.native.inlining import inlined
from grader.ptx.native.memories import Residence, ResidentMemory
from grader.ptx.native.quad_bodies import LANES
from grader.ptx.native.threads import FILLS
from grader.ptx.native.whole_threads import WholeThreads, written
from grader.ptx.records import Hazard, Index3

CHARGE = 6
"""Thread-instructions that are charged as one: one to two billion a second and core are carried out."""
BY_FOURS_CHARGE = 20
"""The same where four threads go together: three to nine billion."""
AT_ONCE_CHARGE = 8
"""Where the interpreter charges thread-instructions as one on the average, it is faster."""
SLICE = 100_000_000
"""Thread-instructions between two looks at the clock."""
CAUTION = 200_000_000
"""Thread-instructions after which a first launch whose blocks all run side by side begins anew, with few of them."""
FIRST_PART = 400_000
"""Instructions of all threads after which a launch of few threads begins anew with nobody watching, at the latest."""
SHARED_FROM = 1_000_000_000
"""Thread-instructions from which blocks are shared among `SHARES` threads, each with a copy of the arrays."""
SHARES = 2
MAX_SHARED_BYTES = 256 << 20
"""Size of arrays beyond which blocks are not shared out: so many bytes are copied and compared for each share."""
PIECES = 64
"""Pieces that the blocks are shared out in, by turns: those of one region may take longer than others."""
MAX_UNDONE_BYTES = 64 << 20
"""Size of arrays beyond which no attempt is made that may have to be undone."""
MAX_COPIED_BYTES = 1 << 30
"""Size of arrays, and of their flags of what was written, beyond which they are not copied for a launch."""
BY_FOURS_FROM = 150_000_000
"""Thread-instructions of a kernel from which four threads go together, which takes longer to compile."""
RACING = 4_000_000_000
"""Thread-instructions from which warps that race go on so, too: what comes out is as little certain in any order."""
COMPILATION = 40_000_000
LAUNCH = 2_000_000
COPIED = 8
"""What compiling a kernel, a launch, and eight bytes that are moved or saved for one take, in thread-instructions of
the interpreter's."""


@dataclass
class Wanted:
    """How many thread-instructions of a kernel would have been worth running apart so far.

    watched: observers have seen a launch and found nothing.  refused: they have found something, or it was in vain.
    parted: it was in vain where all threads of a warp had to meet at one place.
    a_thread: thread-instructions of one thread in the latest launch, 0 before the first.
    """

    instructions: int = 0
    watched: bool = False
    refused: bool = False
    parted: bool = False
    a_thread: int = 0


def is_long_of_few(code: Code, threads: int) -> bool | None:
    """Whether a launch of few threads is so long that only its first part need be watched; None: not known yet."""
    kept: dict[str, Wanted] = code.program.module.derived.get("wanted threads", {})
    history = kept.get(f"{code.name} of few")
    return None if history is None else not history.refused and history.a_thread * threads >= CAUTION


class Threads:
    """A launch's chance to have blocks carried out thread by thread.

    code: of the kernel.  reached: the arrays that its arguments and its module's variables lie in.
    few: the launch has few threads, which says nothing of others of the kernel.
    """

    def __init__(self, code: Code, device: Device, reached: Iterable[MemoryArray], few: bool = False) -> None:
        self._code, self._device = code, device
        self._reached = {id(array): array for array in reached}
        kept: dict[str, Wanted] = code.program.module.derived.setdefault("wanted threads", {})
        self._wanted = kept.setdefault(f"{code.name} of few" if few else code.name, Wanted())

    @property
    def refused(self) -> bool:
        """Whether the kernel cannot be run thread by thread, or an earlier launch has shown that."""
        self._wanted.refused |= written(self._code) is None and parted_warps.written(self._code) is None
        return self._wanted.refused

    @property
    def a_thread(self) -> int:
        """Thread-instructions of one thread where a watched launch has shown nothing; else 0."""
        return self._wanted.a_thread if self._wanted.watched else 0

    def undo(self) -> Callable[[], None] | None:
        """Save the arrays and return what restores them; None where nothing is to be undone.

        Of all of the device: the interpreter also stores where only pointers in memory lead.
        """
        if self._wanted.a_thread:
            return None
        every = {id(array): array for array in self._device.arrays if array is not None and not array.read_only}
        arrays = list(every.values())
        if sum(len(array.data) for array in arrays) > MAX_UNDONE_BYTES:
            return None
        kept = [(array, array.data.copy(), None if array.valid is None else array.valid.copy()) for array in arrays]

        def put_back() -> None:
            for array, data, valid in kept:
                array.data[:] = data
                if valid is not None and array.valid is not None:
                    array.valid[:] = valid

        return put_back

    def learn(self, watched: bool, hazards: Sequence[Hazard], budget: Budget, threads: int, left: int = 0) -> bool:
        """What was found where observers have seen blocks; whether the others may and should be carried out so.

        budget: what so many threads took in the interpreter, which is faster where loops are carried out at once.
        left: thread-instructions of the others.
        """
        wanted = self._wanted
        if left >= RACING:
            # Copies that nobody waits for have mostly come by then.
            hazards = [h for h in hazards if h.kind != "race" or (h.within_warp and h.detail != "unfinished_copy")]
        wanted.a_thread = budget.thread_instructions // threads
        wanted.watched |= watched
        wanted.refused |= bool(hazards) or self.is_slower_than(budget)
        return wanted.watched and not wanted.refused

    def is_slower_than(self, budget: Budget) -> bool:
        """Whether the interpreter carries out most of the kernel's loops at once, and so keeps the kernel."""
        self._wanted.refused |= budget.charged * AT_ONCE_CHARGE < budget.thread_instructions
        return self._wanted.refused

    def pays(self, instructions: int) -> bool:
        """Whether the remaining thread-instructions are worth the effort."""
        wanted, residence = self._wanted, self._device.residence
        reached = self._reached.values()
        moved = sum(len(array.data) for array in reached if residence is None or not residence.has(array))
        # What is stored to is saved.
        saved = sum(len(array.data) for array in reached if not array.read_only) // 2
        if instructions < LAUNCH + (moved + saved) // COPIED or self._copied() > MAX_BYTES:
            return False
        wanted.instructions += instructions
        return wanted.instructions >= COMPILATION

    def run(
        self,
        batch: BlockBatch,
        symbols: dict[str, int],
        ranges: Sequence[tuple[int, int]],
        a_block: int,
        budget: Budget,
    ) -> bool:
        """Carry out (first, count) blocks of about so many thread-instructions; batch: any one block of the launch.

        False where nothing was done.

        Raises LimitExceeded.
        """
        whole = self._writing(batch)
        compiled = whole.compiled() if whole is not None else None
        if whole is None or compiled is None:
            self._wanted.refused = True
            return False
        try:
            symbols = {**symbols, **batch.local_variables(0, whole.whole.code.function)}
        except (DeviceTrap, LimitExceeded):
            # Of a function that is perhaps not reached.
            self._wanted.refused = True
            return False
        shares = _shares(ranges) if self._may_share(ranges, a_block) else [ranges]
        try:
            with ExitStack() as stack:
                memories: list[LinearMemory] = []
                for _share in shares:
                    try:
                        memory = self._memory(compiled, batch, is_first=not memories)
                    except TooLarge:
                        if not memories:
                            raise
                        shares = [ranges]
                        break
                    stack.callback(memory.close)
                    memories.append(memory)
                runners = [_Runner(whole, compiled, memory, batch, symbols) for memory in memories]
                limit = _run_all(runners, shares, a_block, budget, BY_FOURS_CHARGE if whole.together > 1 else CHARGE)
                for memory in memories[1:]:
                    memories[0].take_over(memory)
                memories[0].commit()
                if limit is not None:
                    raise limit
        except Unusual:
            if self._wanted.parted or parted_warps.written(self._code) in (None, whole):
                self._wanted.refused = True
                return False
            # Perhaps because threads of a warp met at different places.
            self._wanted.parted = True
            return self.run(batch, symbols, ranges, a_block, budget)
        except TooLarge:
            self._wanted.refused = True
            return False
        return True

    def _writing(self, batch: BlockBatch) -> WholeThreads | None:
        """Return the kernel's text: of four threads at a time where rows consist of fours and that is worth it."""
        code = self._code
        if self._wanted.parted or written(code) is None:
            return parted_warps.written(code)
        if self._wanted.instructions < BY_FOURS_FROM:
            return written(code)
        return by_fours(code, batch.layout.block) or written(code)

    def _memory(self, compiled: Compiled, batch: BlockBatch, is_first: bool) -> LinearMemory:
        """Return the arrays where they live, for the first of those who work on them; copies for the others.

        Raises TooLarge.
        """
        device = self._device
        if is_first:
            try:
                device.residence = device.residence or Residence()
                return ResidentMemory(device.residence, compiled, batch, device, set(self._reached))
            except TooLarge:
                pass
        if self._copied() > MAX_COPIED_BYTES:
            raise TooLarge
        return LinearMemory(compiled, batch, device, observed=False, reached=set(self._reached))

    def _copied(self) -> int:
        return sum(len(array.data) * (2 if array.valid is not None else 1) for array in self._reached.values())

    def _may_share(self, ranges: Sequence[tuple[int, int]], a_block: int) -> bool:
        """Return whether two copies of the arrays pay, and blocks have nothing to do with each other."""
        copied = sum(len(array.data) for array in self._reached.values())
        if copied > MAX_SHARED_BYTES or a_block * sum(count for _, count in ranges) < SHARED_FROM:
            return False
        blocks = inlined(self._code).code.blocks
        instructions = (instruction for block in blocks for instruction in block.instructions)
        return not any(
            facts(i.opcode).memory == "fence" or (i.opcode in ("atom", "red") and "global" in i.modifiers)
            for i in instructions
        )


class _Runner:
    def __init__(
        self,
        kernel: WholeThreads,
        compiled: Compiled,
        memory: LinearMemory,
        batch: BlockBatch,
        symbols: dict[str, int],
    ) -> None:
        import wasmtime

        self._memory, places = memory, kernel.places
        code, self._blocks = kernel.whole.code, kernel.whole.origins
        self._generated = generated = compiled.generated
        addresses = {**batch.addresses, **code.program.addresses, **symbols}
        if any(name not in addresses for name, _ in generated.symbols):
            raise Unusual
        memory.begin(batch, addresses, {name: operands.compute(batch, name) for name in generated.specials})
        grid = batch.geometry.grid
        for number, value in enumerate(grid):
            memory.put(places.grid + 4 * number, value)
        memory.put(places.threads, batch.layout.threads)
        fills = memory.made_anew()
        if len(fills) > FILLS:
            raise Unusual
        for number, fields in enumerate(fills):
            for position, field in enumerate(fields):
                memory.put(places.fills + 16 * number + 4 * position, field)
        self._run: Any = memory.instance(compiled, _nothing)["run"]
        self._faults = (wasmtime.Trap, wasmtime.WasmtimeError)
        self._sizes = np.array([block.size for block in self._blocks], np.int64)
        self._charges = np.array([block.charge for block in self._blocks], np.int64)
        self._lanes = batch.layout.padded

    def run(self, ranges: Sequence[tuple[int, int]], a_block: int, spent: _Spent) -> None:
        """Run (first, count) blocks.  Raises Unusual, and LimitExceeded."""
        blocks_of_code, memory = self._blocks, self._memory
        visits = memory.words(self._generated.visits, len(blocks_of_code))
        unchecked = 0
        last = ranges[-1][0] + ranges[-1][1]
        for first, count in ranges:
            while count:
                blocks = min(count, max(SLICE // max(a_block, 1), 1))
                try:
                    self._run(memory.store, first, blocks)
                except self._faults:
                    raise Unusual from None
                first, count, unchecked = first + blocks, count - blocks, unchecked + blocks * a_block
                if count == 0 and unchecked < SLICE and first != last:
                    continue
                unchecked = 0
                spent.so_far(int(visits @ self._sizes), int(visits @ self._charges), self._lanes)
                spent.check(blocks_of_code[int((visits * self._sizes).argmax())].line)
                if spent.is_in_vain():
                    return

    def note_executions(self) -> None:
        """Add how often each block of the code was executed."""
        visits = self._memory.words(self._generated.visits, len(self._blocks))
        for block, times in zip(self._blocks, visits.tolist(), strict=True):
            block.executions += times


@dataclass
class _Spent:
    """What one of `shares` threads has spent on its share of a launch's blocks.

    as_one: so many thread-instructions are charged as one.  is_in_vain: whether another thread's attempt has failed.
    """

    budget: Budget
    shares: int
    as_one: int
    is_in_vain: Callable[[], bool]
    thread_instructions: int = 0
    charged: int = 0
    issued: int = 0
    warp_instructions: int = 0

    def so_far(self, thread_instructions: int, charge: int, lanes: int) -> None:
        """Note how many thread-instructions blocks of so many lanes have executed, and for how many they count."""
        before, self.thread_instructions = self.thread_instructions, thread_instructions
        self.charged = charge // self.as_one
        self.issued += (thread_instructions - before) // lanes
        # No fewer than if threads of a warp had always gone together.
        self.warp_instructions += -(-(thread_instructions - before) // 32)

    def check(self, line: int) -> None:
        """Hold the launch to its limits as if each share had cost as much, so that no thread's pace decides.

        Raises LimitExceeded.
        """
        budget, limits = self.budget, self.budget.limits
        limits.check(line, budget.charged + self.shares * self.charged, budget.issued + self.shares * self.issued)
        if time.process_time() - budget.began_s > limits.seconds:
            raise limits.out_of_time(line)

    def charge(self) -> None:
        """Charge it to the launch."""
        self.budget.thread_instructions += self.thread_instructions
        self.budget.charged += self.charged
        self.budget.issued += self.issued
        self.budget.warp_instructions += self.warp_instructions


def _run_all(
    runners: Sequence[_Runner],
    shares: Sequence[Sequence[tuple[int, int]]],
    a_block: int,
    budget: Budget,
    as_one: int,
) -> LimitExceeded | None:
    """Run each share of the blocks in a thread; generated code runs without Python's lock.

    What is computed and charged does not depend on the machine's cores; an attempt in vain is charged nothing.
    Returns the limit that ended it.  Raises Unusual.
    """
    has_failed = Event()
    spent = [_Spent(budget, len(shares), as_one, has_failed.is_set) for _share in shares]
    errors: list[Exception | None] = [None] * len(shares)

    def run(number: int) -> None:
        try:
            runners[number].run(shares[number], a_block, spent[number])
        except Exception as error:
            errors[number] = error
            if not isinstance(error, LimitExceeded):
                has_failed.set()

    others = [Thread(target=run, args=(number,)) for number in range(1, len(shares))]
    for thread in others:
        thread.start()
    try:
        run(0)
    except BaseException:
        has_failed.set()
        raise
    finally:
        for thread in others:
            thread.join()
    failure = next((error for error in errors if error is not None and not isinstance(error, LimitExceeded)), None)
    if failure is not None:
        raise failure
    for runner, one in zip(runners, spent, strict=True):
        one.charge()
        runner.note_executions()
    return next((error for error in errors if isinstance(error, LimitExceeded)), None)


def by_fours(code: Code, block: Index3) -> WholeThreads | None:
    """Return the text of a kernel four of whose threads go together; None where those of such blocks cannot."""
    return quads.written(code) if block[0] % LANES == 0 else None


def charge_of(module: Module, entry: str, block: Index3) -> int:
    """Return how many thread-instructions of a kernel's blocks that nobody watches are charged as one."""
    return BY_FOURS_CHARGE if by_fours(program_of(module).code(entry), block) is not None else CHARGE


def _shares(ranges: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Deal (first, count) blocks out to `SHARES` threads, piece by piece in turn."""
    piece = -(-sum(count for _, count in ranges) // PIECES)
    shares: list[list[tuple[int, int]]] = [[] for _ in range(SHARES)]
    dealt = 0
    for first, count in ranges:
        while count:
            blocks = min(count, piece)
            shares[dealt % SHARES].append((first, blocks))
            first, count, dealt = first + blocks, count - blocks, dealt + 1
    return [share for share in shares if share]


def _nothing(entry: int) -> None:
    """Arrays that are copies need not be saved."""


def reached_arrays(device: Device, parameters: Iterable[bytes], variables: Iterable[MemoryArray]) -> list[MemoryArray]:
    """Return the arrays that a kernel can reach by its arguments, where these show it, and its module's variables."""
    arrays = {id(array): array for array in device.arrays if array is not None}
    by_base = sorted(arrays.values(), key=lambda array: array.base)
    bases = np.array([array.base for array in by_base], np.uint64)
    reached = {id(array): array for array in variables}
    for raw in parameters:
        words = np.frombuffer(raw[: len(raw) // 8 * 8], np.uint64)
        for word, place in zip(words.tolist(), (np.searchsorted(bases, words, "right") - 1).tolist(), strict=True):
            if place >= 0 and word <= by_base[place].base + by_base[place].size:
                reached[id(by_base[place])] = by_base[place]
    return list(reached.values())
