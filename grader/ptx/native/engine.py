"""Decides which launches generated code carries out, and hands them over.

Launches of a kernel begin in the interpreter.  When it has issued enough instructions for few lanes the launch starts
anew in generated code, on a copy of the device's memory, and so do later ones at once.  Anything unusual there (a
fault, a race, a value that nobody wrote, a loop that repeats, something that generated code does not do) ends that
attempt, and the interpreter carries out the launch from its start: what is reported never depends on who ran.  All of
this is decided by counting, not by the clock, so it is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.ptx.errors import LimitExceeded
from grader.ptx.limits import TakesLong
from grader.ptx.machine.block_batch import BlockBatch, Outcome
from grader.ptx.machine.code import Code
from grader.ptx.memory.device import Device
from grader.ptx.native.kernel import is_refused
from grader.ptx.observers.traffic import Traffic
from grader.ptx.values.lanes import Array

PATIENCE = 3000
PATIENCE_PER_INSTRUCTION = 12
"""Instructions that the interpreter issues, in all launches of a kernel, before generated code is worth its
compilation: that takes 25 ms for the runtime and 0.1 ms for an instruction of the kernel, against 8 µs for one that is
issued."""
FEW_LANES = 1024
"""Lanes side by side; where there are more, arrays of them are as fast."""
MAX_COPY_BYTES = 256 << 20
"""Arrays of a device beyond which it is not copied."""

Batches = Callable[["Outcome"], Iterator[tuple["BlockBatch", dict[str, int]]]]


@dataclass
class History:
    """What is known of a kernel from its launches.

    issued: instructions, by the interpreter.  generated: launches in generated code.  refused: that was of no use.
    """

    issued: int = 0
    generated: int = 0
    refused: bool = False


class Engine:
    """The choice of an engine for one launch."""

    def __init__(self, code: Code, device: Device, lanes: int, observed: bool, history: History) -> None:
        self.code = code
        self.device = device
        self.lanes = lanes
        self.observed = observed
        self.history = history
        self._saved: list[tuple[Array, Array]] = []

    @classmethod
    def for_launch(cls, code: Code, device: Device, lanes: int, observed: bool) -> Engine | None:
        """An engine where generated code may come to be used, None where the interpreter does everything.

        code: of the kernel.  lanes: side by side.  observed: traffic and races are looked at.
        """
        arrays = [array for array in device.arrays if array is not None]
        if lanes > FEW_LANES or sum(len(array.data) for array in arrays) > MAX_COPY_BYTES:
            return None
        histories: dict[tuple[str, bool], History] = code.program.module.derived.setdefault("engines", {})
        key = (code.name, observed)
        if key not in histories:
            histories[key] = History(refused=any(is_refused(i.opcode) for b in code.blocks for i in b.instructions))
        history = histories[key]
        return None if history.refused else cls(code, device, lanes, observed, history)

    def run(
        self,
        interpret: Callable[[int | None], Outcome],
        begin: Callable[[int | None], Outcome],
        batches: Batches,
        alone: bool,
    ) -> Outcome:
        """Carry out the launch.

        interpret: all of it in the interpreter, giving up after so many instructions (`TakesLong`).  begin, batches:
        a fresh start, and the batches to run.  alone: there is one thread in all.
        """
        history = self.history
        size = sum(block.size for block in self.code.blocks)
        # With every lane an instruction takes the interpreter a little longer, with 1,000 of them twice as long.
        patience = (PATIENCE + PATIENCE_PER_INSTRUCTION * size) * 1000 // (1000 + self.lanes) - history.issued
        self._save()
        if patience > 0:
            try:
                outcome = interpret(patience)
            except TakesLong:
                history.issued += patience
                self._restore()
            else:
                history.issued += outcome.budget.issued
                return outcome
        generated = self._generated(begin, batches, alone)
        if generated is not None:
            history.generated += 1
            return generated
        history.refused = True
        self._restore()
        return interpret(None)

    def _generated(self, begin: Callable[[int | None], Outcome], batches: Batches, alone: bool) -> Outcome | None:
        from grader.ptx.native.calls import Unusual
        from grader.ptx.native.generate import compiled
        from grader.ptx.native.memory import LinearMemory, TooLarge
        from grader.ptx.native.runner import Runner

        module = compiled(self.code, self.observed)
        if module is None:
            return None
        outcome = begin(None)
        memory: LinearMemory | None = None
        runner: Runner | None = None
        try:
            for batch, symbols in batches(outcome):
                if runner is None:
                    memory = LinearMemory(module, batch, self.device, self.observed)
                    runner = Runner(self.code, module, memory, outcome.budget, alone)
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

    def _save(self) -> None:
        self._cycles = self.device.cycles
        for array in self.device.arrays:
            if array is not None and not array.read_only:
                self._saved.append((array.data, array.data.copy()))
                if array.valid is not None:
                    self._saved.append((array.valid, array.valid.copy()))

    def _restore(self) -> None:
        self.device.cycles = self._cycles
        for data, saved in self._saved:
            data[:] = saved
