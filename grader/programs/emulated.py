"""The emulated device of a running program: kernels loaded, and run in its memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from contextlib import nullcontext

from grader.programs.device import Asked, Device, Outcome, TooSlow, parts_of
from grader.programs.device_linking import own_name
from grader.programs.device_memory import Allocation, DeviceMemory
from grader.programs.repeats import Repeats
from grader.programs.sandbox.guest import Meter
from grader.ptx import DeviceTrap, Launch, Limits, launch, linked
from grader.ptx.limits import BATCH_LANES, Budget, LaunchError, LimitExceeded, PtxError
from grader.ptx.memory import MemoryArray
from grader.ptx.native.thread_runner import charge_of
from grader.ptx.observers.interface import Observer, Scene

OBSERVED_THREADS = 1 << 20
OBSERVED_BATCHES = 32
"""Of a launch of more threads so many batches of blocks are watched, spread over its grid."""
LATER_BATCHES = 2
"""Of a launch once `RunLimits.watched_instructions` have been watched."""

PRINTED_BYTES = 1 << 20
"""What one launch may print: as much as the buffer of a GPU holds, which has it in another form."""

_CLOCK = re.compile(r"%(?:clock|globaltimer)")


class _Projection(Observer):
    """Gives up on a launch once the blocks that have run show that all of them will take too much."""

    def __init__(self, limit: int, charge: Callable[[], int], blocks: int) -> None:
        self._limit = limit
        self._charge = charge
        self._blocks = blocks
        self._budgets: list[Budget] = []
        """Of the launch, and of those that its kernels made."""

    def begin(self, scene: Scene) -> None:
        """Before each batch of blocks."""
        if not self._budgets or self._budgets[-1] is not scene.budget:
            self._budgets.append(scene.budget)
        if len(self._budgets) > 1:
            return
        used, done = scene.budget.charged, scene.geometry.first_block
        if (
            done
            and used * self._blocks > self._limit * done
            and used * self._blocks > self._limit * self._charge() * done
        ):
            raise LimitExceeded("instructions", 0, "projected")

    def printed(self) -> str:
        """Return what device code had printed until the launch was ended."""
        return "".join(text for budget in self._budgets for text in budget.printf)


class EmulatedDevice(Device):
    """One emulated device: its memory, and kernels that are run in it at once.  Its time is a model's.

    Arguments as `DeviceMemory` takes them.
    """

    def __init__(self, meter: Meter, executes: bool = True) -> None:
        super().__init__()
        self.memory: DeviceMemory = DeviceMemory(meter, executes)
        self._device = self.memory.device
        self._clocked: set[int] = set()
        self._watched_instructions = 0
        self._repeats = Repeats(self.memory, meter)
        self.textures = self._device.textures

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None:
        super().load(unit, ptx, compiler)
        if _CLOCK.search(ptx):
            self._clocked.add(unit)

    def again(self, unit: int, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        # Where device code reads a clock, a kernel need not do the same twice.
        return execute() if unit in self._clocked else self._repeats.run(launch, execute)

    def variable(self, unit: int, name: str) -> Allocation | None:
        for module in self._modules[unit].values():
            variables = linked(module, self._device).variables
            wanted, suffix = parts_of(name), own_name("", unit)
            own = [key for key in variables if key.endswith(suffix) and parts_of(key.removesuffix(suffix)) == wanted]
            variable = variables[own[0]] if own else variables.get(name)
            if variable is None:
                similar = [key for key in variables if parts_of(key) == wanted]
                variable = variables[similar[0]] if len(similar) == 1 else None
            if variable is not None:
                return self._variable(name, variable)
        return None

    def _variable(self, name: str, array: MemoryArray) -> Allocation:
        allocation = self.memory.live.get(array.base)
        return allocation or self.memory.keep(Allocation(name, array.base, array.size, "symbol", 0, "", array=array))

    def run(self, asked: Asked) -> Outcome:
        grid, block, bounds, left, observe = asked.grid, asked.block, asked.bounds, asked.left, asked.observe
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        limit = min(bounds.launch_instructions, left)
        # No kernel that does anything takes fewer.
        if threads * 8 > limit:
            return Outcome("too_large")
        before = self.memory.snapshot() if bounds.passes_over and threads * 200 > limit else None
        observe = observe and (threads * 200 <= limit or not bounds.passes_over)
        limits = Limits(limit, bounds.launch_issued, asked.steps_left, bounds.steps_after_fault, bounds.launch_seconds)
        if not bounds.passes_over:
            limits.printf_bytes = PRINTED_BYTES
        batches = OBSERVED_BATCHES if threads > OBSERVED_THREADS else None
        watchable = bounds.watched_instructions - self._watched_instructions
        if watchable < 0 and threads > BATCH_LANES:
            batches = LATER_BATCHES
        apart = not bounds.passes_over and not asked.at_host
        # What is not watched may be charged less than the first blocks are.
        charge = (lambda: charge_of(self.module(asked.unit, asked.entry), asked.entry, block)) if apart else lambda: 2
        projection = _Projection(limit, charge, grid[0] * grid[1] * grid[2])
        try:
            what = Launch(
                asked.entry,
                grid,
                block,
                list(asked.arguments),
                device=self._device,
                shared_bytes=asked.shared_bytes,
                max_shared_bytes=asked.max_shared_bytes,
                observe=observe,
                observed_batches=batches,
                observed_instructions=max(watchable, 0),
                observers=[projection],
                cooperative=asked.cooperative,
                limits=limits,
                counts_work=bounds.counts_work,
                order=bounds.order,
                unwatched_apart=apart,
            )
            module = self.module(asked.unit, asked.entry)
            file = module.functions[asked.entry].location.file
            with self.memory.at_host_addresses() if asked.at_host else nullcontext():
                report = launch(module, what)
        except LaunchError as error:
            return Outcome("impossible", str(error))
        except LimitExceeded as error:
            if error.kind in ("endless", "deadlock"):
                seen = error.hazards
                return Outcome("endless", error.kind, error.line, seen, printf=projection.printed(), file=file)
            if error.kind == "time":
                if bounds.passes_over:
                    raise TooSlow(limits.seconds) from error
                return Outcome("too_slow")
            self.memory.restore(before)
            if error.kind == "steps":
                return Outcome("too_many_steps", line=error.line, hazards=error.hazards, steps=error.steps, file=file)
            return Outcome("too_large", line=error.line, thread_instructions=limit, charged=limit, file=file)
        except DeviceTrap as error:
            return Outcome(error.kind, str(error), error.line, printf=projection.printed(), file=file)
        except PtxError as error:
            return Outcome("unsupported", str(error))
        if observe:
            counted = report.counters
            share = counted.sampled_blocks / max(counted.total_blocks, 1)
            self._watched_instructions += round(report.thread_instructions * share)
        return Outcome(
            "ran",
            hazards=tuple(report.hazards),
            remarks=tuple(report.remarks),
            counters=report.counters if observe else None,
            thread_instructions=report.thread_instructions,
            charged=report.charged,
            steps=report.steps,
            printf=report.printf,
            shared_bytes=report.shared_bytes,
            work=tuple(report.work),
            file=file,
        )
