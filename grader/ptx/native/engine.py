"""Decides which launches generated code carries out, and runs their blocks in it.

Launches of a kernel begin in the interpreter.  When it has issued enough instructions for few lanes the launch starts
anew in generated code, on a copy of the device's memory, and so do later ones at once.  Anything unusual there (a
fault, a race, a value that nobody wrote, a loop that repeats, something that generated code does not do) ends that
attempt, and the interpreter carries out the launch from its start: what is reported never depends on who ran.  All of
this is decided by counting, not by the clock, so it is the same on every machine.

Which lanes of a batch go next is decided here, as `machine/scheduler.py` decides it.  A set of lanes runs in generated
code for as long as it stays whole and nobody else has to go first; it comes back at a barrier, when its lanes part, at
a place where others wait, and when it has had its share of instructions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.ptx.limits import CYCLES, Budget, LimitExceeded, TakesLong
from grader.ptx.machine import operands
from grader.ptx.machine.batch import BlockBatch, Outcome
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.memory import Device
from grader.ptx.native import layout
from grader.ptx.native.generate import Compiled, compiled, imports
from grader.ptx.native.host import LinearMemory, TooLarge, Unusual, call_of
from grader.ptx.native.layout import CONTEXT
from grader.ptx.native.pieces import is_refused
from grader.ptx.observers.traffic import Traffic
from grader.ptx.records import LineCounter
from grader.ptx.values import Array, Lanes

SLICE = 32_000_000
"""Thread-instructions between two looks at the clock."""


@dataclass(slots=True, eq=False)
class _Party:
    """Lanes that stand at the same block; back: they came by a back edge."""

    lanes: Lanes
    block: int
    back: bool = False


class Runner:
    """One launch in generated code."""

    def __init__(self, code: Code, machine_code: Compiled, memory: LinearMemory, budget: Budget, alone: bool) -> None:
        import wasmtime

        self.code = code
        self.memory = memory
        self.budget = budget
        generated = machine_code.generated
        self.generated = generated
        self._calls = [call_of(code, generated, instruction) for instruction in generated.numpy]
        self._tokens: dict[bytes, int] = {}
        self._next_token = 1
        self._loaded: Lanes | None = None
        store = memory.store
        instance = wasmtime.Instance(store, machine_code.module, [memory.memory, *imports(store, self._numpy)])
        run: Any = instance.exports(store)["run"]
        self._run: Callable[[], None] = lambda: run(store)
        self._error = wasmtime.WasmtimeError
        self._trap = wasmtime.Trap
        memory.put(CONTEXT["RACES"], int(not alone))

    # -- a batch -----------------------------------------------------------------------

    def run(self, batch: BlockBatch, symbols: dict[str, int]) -> None:
        """Run a batch to its end.  Raises Unusual, and LimitExceeded as the interpreter would."""
        self.batch = batch
        self._issued_before = self.budget.issued
        memory, code = self.memory, self.code
        addresses = {**batch.addresses, **code.program.addresses, **symbols}
        specials = {name: operands.compute(batch, name) for name in self.generated.specials}
        if any(name not in addresses for name, _ in self.generated.symbols):
            raise Unusual
        memory.begin(batch, addresses, specials)
        self._loaded = None
        root = batch.layout.root
        for index, slot in self.generated.slots.items():
            memory.frames[root.ids, slot] = int(code.fresh_registers[index])
        self.pending: dict[int, list[_Party]] = {}
        self.waiters: list[tuple[_Party, CodeBlock]] = []
        self.queue(_Party(root, 0))
        while self.pending or self.waiters:
            if not self.pending:
                self._release()
                continue
            party = self._next()
            if self.waiters:
                self._refuse_bypass(party)
            self._go(party)
        self._collect()

    def queue(self, party: _Party) -> None:
        """Let a party wait for its turn; one that has only to return does so at once."""
        block = self.code.blocks[party.block]
        if block.leaves:
            self._visit(block, party.lanes.n, party.lanes.n_warps, party.lanes.places)
            self.budget.issued += block.size
            self.batch.retire(party.lanes)
            return
        self.pending.setdefault(party.block, []).append(party)

    def _next(self) -> _Party:
        if len(self.pending) == 1 and not self.waiters:
            _, parties = self.pending.popitem()
        else:
            parties = self.pending.pop(self._choose())
        if len(parties) == 1:
            return parties[0]
        lanes = self.batch.geometry.union([party.lanes for party in parties])
        return _Party(lanes, parties[0].block, all(party.back for party in parties))

    def _choose(self) -> int:
        """Choose the lowest block; lanes one iteration ahead wait for those inside the loop."""
        order = sorted(self.pending)
        best = order[0]
        loop = self.code.loop_at_header.get(best)
        if loop is not None and all(party.back for party in self.pending[best]):
            return next((block for block in order[1:] if block in loop.body), best)
        return best

    def _go(self, party: _Party) -> None:
        """Run a party until it reaches a barrier, parts, returns, or another party has to go first."""
        memory, budget, limits = self.memory, self.budget, self.budget.limits
        lanes, code = party.lanes, self.code
        if time.process_time() - budget.began_s > limits.seconds:
            raise limits.out_of_time(code.blocks[party.block].line)
        self._load(lanes)
        self._set_stops()
        context = memory.words(0, 8)
        fields = memory.bytes[:64].view(np.uint32)
        fields[CONTEXT["BLOCK"] // 4], fields[CONTEXT["BACK"] // 4] = party.block, party.back
        while True:
            left = min(limits.instructions - self._charged(), (limits.issued - budget.issued) * lanes.n)
            fuel = min(SLICE, left)
            context[CONTEXT["FUEL"] // 8], context[CONTEXT["ISSUED"] // 8] = fuel, 0
            try:
                self._run()
            except (self._trap, self._error):
                raise Unusual from None
            budget.issued += int(context[CONTEXT["ISSUED"] // 8])
            self._used += fuel - int(context[CONTEXT["FUEL"] // 8])
            status, index = int(fields[CONTEXT["STATUS"] // 4]), int(fields[CONTEXT["BLOCK"] // 4])
            block = code.blocks[index]
            if status == layout.SPENT:
                # The block that was too much has been taken off the fuel, but not run.
                self._used -= block.size * lanes.n
                limits.check(block.line, self._charged() + block.size * lanes.n, budget.issued + block.size)
                if time.process_time() - budget.began_s > limits.seconds:
                    raise limits.out_of_time(block.line)
                if self.most is not None and self._used >= self.most:
                    raise TakesLong
                continue
            break
        if status == layout.RETURNED:
            self.batch.retire(lanes)
        elif status == layout.BARRIER:
            self.waiters.append((_Party(lanes, index), block))
        elif status == layout.STOPPED:
            self.queue(_Party(lanes, index, bool(fields[CONTEXT["BACK"] // 4])))
        else:
            guard = block.last.guard
            assert guard is not None
            mask = memory.frames[lanes.ids, self.generated.slots[guard.register.index]] != 0
            if guard.negated:
                mask = ~mask
            for chosen, target in zip((mask, ~mask), code.graph.blocks[index].successors, strict=True):
                part = lanes.select(np.flatnonzero(chosen))
                self.queue(_Party(part, target, (index, target) in code.back_edges))

    # -- barriers ----------------------------------------------------------------------

    def _refuse_bypass(self, party: _Party) -> None:
        """Give up where lanes go on past a barrier at which others of their block wait: the interpreter reports it."""
        block = self.code.blocks[party.block]
        for waiting, at in self.waiters:
            if (
                block.does_something
                and party.block in self.code.forward_reach(at.index)
                and len(np.intersect1d(waiting.lanes.blocks, party.lanes.blocks))
            ):
                raise Unusual

    def _release(self) -> None:
        batch, waiters = self.batch, self.waiters
        at = waiters[0][1]
        if any(block is not at for _, block in waiters):
            raise Unusual
        blocks = batch.layout.blocks
        arrived = np.zeros(blocks, np.int64)
        for party, _ in waiters:
            arrived += np.bincount(party.lanes.blocks, minlength=blocks)
        complete = (arrived >= batch.alive) & (arrived > 0)
        if not complete.any():
            raise Unusual
        waiting = np.bincount(waiters[0][0].lanes.blocks, minlength=blocks) > 0
        exited = np.where(complete, batch.layout.threads - batch.alive, 0)
        count = int(exited[waiting].sum())
        if count:
            batch.remark("exited_before_barrier", at.last.location.line, count)
        self.waiters = []
        for party, _ in waiters:
            go = complete[party.lanes.blocks]
            if not go.all():
                if not go.any():
                    self.waiters.append((party, at))
                    continue
                self.waiters.append((_Party(party.lanes.select(np.flatnonzero(~go)), party.block), at))
                party = _Party(party.lanes.select(np.flatnonzero(go)), party.block)
            self.queue(_Party(party.lanes, at.next, at.next_is_back_edge))
        self.memory._view(self.memory.epochs, np.uint32, blocks)[complete] += np.uint32(1)

    # -- what generated code is told -----------------------------------------------------

    def _load(self, lanes: Lanes) -> None:
        if lanes is self._loaded:
            return
        self._loaded = lanes
        memory, ids = self.memory, lanes.ids
        memory._view(memory.list, np.uint32, lanes.n)[:] = ids
        warps = ids >> 5
        starts = np.flatnonzero(np.concatenate([[True], np.diff(warps) != 0]))
        ends = np.append(starts[1:], lanes.n)
        masks = np.bitwise_or.reduceat(np.left_shift(np.int64(1), ids & 31), starts)
        table = memory._view(memory.warps, np.uint32, 4 * len(starts)).reshape(-1, 4)
        table[:, 0], table[:, 1], table[:, 2] = starts, ends, masks
        key = ids.tobytes()
        token = self._tokens.get(key)
        if token is None:
            if len(self._tokens) > 1024:
                self._tokens.clear()
            token = self._tokens[key] = self._next_token
            self._next_token += 1
        memory.put(CONTEXT["N"], lanes.n)
        memory.put(CONTEXT["WARPS"], lanes.n_warps)
        memory.put(CONTEXT["PLACES"], lanes.places)
        memory.put(CONTEXT["TOKEN"], token)

    def _set_stops(self) -> None:
        """Mark the blocks at which another party has to go first or has to be joined."""
        code = self.code
        stops = self.memory.bytes[self.generated.stops : self.generated.stops + len(code.blocks)]
        if not self.pending:
            stops[:] = 0
        elif self.waiters:
            stops[:] = 1
        else:
            lowest = min(self.pending)
            stops[:lowest], stops[lowest:] = 0, 1
            for header, loop in code.loop_at_header.items():
                if header < lowest and not loop.body.isdisjoint(self.pending):
                    stops[header] = 1

    def _numpy(self, number: int) -> None:
        assert self._loaded is not None
        self._calls[number](self.batch, self._loaded, self.memory.frames)

    # -- what came of it -----------------------------------------------------------------

    most: int | None = None
    _used = 0
    """Thread-instructions executed in generated code, in all batches."""

    def _charged(self) -> int:
        return self.budget.charged + self._used

    def _visit(self, block: CodeBlock, lanes: int, warps: int, places: int) -> None:
        block.executions += lanes
        block.places += places
        self.budget.thread_instructions += block.size * lanes
        self.budget.charged += block.size * lanes
        self.budget.warp_instructions += block.size * warps

    def _collect(self) -> None:
        counts = layout.VISIT_BYTES // 8
        visits = self.memory.words(self.generated.visits, counts * len(self.code.blocks)).reshape(-1, counts)
        for block, (lanes, warps, places) in zip(self.code.blocks, visits.tolist(), strict=True):
            if lanes:
                self._visit(block, lanes, warps, places)
        visits[:] = 0
        self._used = 0
        self.batch.pass_time(CYCLES * (self.budget.issued - self._issued_before))

    def counters(self) -> list[LineCounter]:
        """Return what requests cost, by line."""
        counters = []
        for (file, line, space, op, width), where in self.generated.counters.items():
            requests, lanes, wavefronts, sectors, ideal, unique = self.memory.words(where, 6).tolist()
            if not requests:
                continue
            tail = self.memory.bytes[where + 48 : where + 48 + 136].view(np.int32)
            words = tuple(tail[2:].tolist()) if tail[1] else ()
            few_requests, few_lanes = self.memory.words(where + 184, 2).tolist()
            cost = (wavefronts, sectors, ideal, max(int(tail[0]), 1), unique, lanes, words, few_requests, few_lanes)
            counters.append(LineCounter(line, space, op, width, requests, *cost, file=file))
        return counters


PATIENCE = 3000
PATIENCE_PER_INSTRUCTION = 12
"""Instructions that the interpreter issues, in all launches of a kernel, before generated code is worth its
compilation: that takes 25 ms for the runtime and 0.1 ms for an instruction of the kernel, against 8 µs for one that is
issued."""
OVERHEAD = 180
OVERHEAD_OBSERVED = 60
OVERHEAD_BYTES = 20_000
"""A launch of a kernel that is compiled takes 2 ms in generated code before anything is executed, as long as so many
instructions of one lane in the interpreter, and one more for each so many bytes of the device, which are copied."""
RECENT = 4
"""Launches that tell how long the next one will be."""
FEW_LANES = 1024
"""Lanes side by side; where there are more, arrays of them are as fast."""
MAX_COPY_BYTES = 256 << 20
"""Arrays of a device beyond which it is not copied."""

Batches = Callable[[Outcome], Iterator[tuple[BlockBatch, dict[str, int]]]]


@dataclass
class History:
    """What is known of a kernel from its launches.

    issued: instructions, by the interpreter; recently: in each of the latest launches, by whoever ran them.
    generated: launches in generated code.  refused: that was of no use.
    """

    issued: int = 0
    recently: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    generated: int = 0
    refused: bool = False


@dataclass
class Engine:
    """The choice of an engine for one launch.

    code: of the kernel.  lanes: side by side.  alone: there is one thread in all.  observed: traffic and races are
    looked at.  counts_work: `places` of blocks are counted.  interpret: carries out the launch in the interpreter,
    which gives up after so many instructions (`TakesLong`; None: never).  begin, batches: a fresh start, and the
    batches to run.  most: thread-instructions after which generated code gives up so (None: never).
    """

    code: Code
    device: Device
    lanes: int
    alone: bool
    observed: bool
    counts_work: bool
    interpret: Callable[[int | None], Outcome]
    begin: Callable[[int | None], Outcome]
    batches: Batches
    most: int | None = None
    _saved: list[tuple[Array, Array]] = field(default_factory=list)

    def run(self) -> Outcome:
        """Carry out the launch, in generated code where that pays.  Raises TakesLong."""
        if self.lanes > FEW_LANES or _size(self.device) > MAX_COPY_BYTES:
            return self.interpret(None)
        code = self.code
        histories: dict[tuple[str, bool], History] = code.program.module.derived.setdefault("engines", {})
        key = (code.name, self.observed)
        if key not in histories:
            histories[key] = History(refused=any(is_refused(i) for b in code.blocks for i in b.instructions))
        if histories[key].refused:
            return self.interpret(None)
        outcome = self._run(histories[key])
        histories[key].recently.append(outcome.budget.issued)
        return outcome

    def _run(self, history: History) -> Outcome:
        size = sum(block.size for block in self.code.blocks)
        # With every lane an instruction takes the interpreter a little longer, with 1,000 of them twice as long.
        patience = (PATIENCE + PATIENCE_PER_INSTRUCTION * size) * 1000 // (1000 + self.lanes) - history.issued
        overhead = (OVERHEAD_OBSERVED if self.observed else OVERHEAD) * 1000 // (1000 + self.lanes)
        overhead += _size(self.device) // OVERHEAD_BYTES
        if patience <= 0 and len(history.recently) == RECENT and max(history.recently) < overhead:
            # One that is longer after all is the last one.
            return self.interpret(None)
        self._save(patience > 0)
        if patience > 0:
            try:
                outcome = self.interpret(patience)
            except TakesLong:
                history.issued += patience
                self._restore()
            else:
                history.issued += outcome.budget.issued
                return outcome
        generated = self._generated()
        if generated is not None:
            history.generated += 1
            return generated
        history.refused = True
        self._restore()
        return self.interpret(None)

    def _generated(self) -> Outcome | None:
        module = compiled(self.code, self.observed, self.counts_work)
        if module is None:
            return None
        outcome = self.begin(None)
        memory: LinearMemory | None = None
        runner: Runner | None = None
        try:
            for batch, symbols in self.batches(outcome):
                if runner is None:
                    memory = LinearMemory(module, batch, self.device, self.observed)
                    runner = Runner(self.code, module, memory, outcome.budget, self.alone)
                    runner.most = self.most
                runner.run(batch, symbols)
            assert runner is not None and memory is not None
            memory.commit()
            for observer in outcome.observers:
                if isinstance(observer, Traffic):
                    observer.take(runner.counters())
        except (Unusual, TooLarge):
            return None
        except LimitExceeded:
            # What was written up to there is there, as with the interpreter.
            if memory is not None:
                memory.commit()
            raise
        finally:
            if memory is not None:
                memory.close()
        return outcome

    def _save(self, arrays: bool) -> None:
        # Generated code works on copies; the interpreter does not.
        self._cycles = self.device.cycles
        for array in self.device.arrays if arrays else ():
            if array is not None and not array.read_only:
                self._saved.append((array.data, array.data.copy()))
                if array.valid is not None:
                    self._saved.append((array.valid, array.valid.copy()))

    def _restore(self) -> None:
        self.device.cycles = self._cycles
        for data, saved in self._saved:
            data[:] = saved


def _size(device: Device) -> int:
    return sum(len(array.data) for array in device.arrays if array is not None)
