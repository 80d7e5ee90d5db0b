"""Launching a kernel on the emulated device."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grader.ptx.affine import Order, geometry_of
from grader.ptx.frontend.nodes import Function, Module
from grader.ptx.limits import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_THREADS,
    Budget,
    LaunchError,
    LimitExceeded,
    Limits,
    Sample,
    TakesLong,
    resident_blocks,
    side_by_side,
    spread,
    three,
)
from grader.ptx.lowering.builtins import carry_out_descendants
from grader.ptx.lowering.program import Linker, program_of
from grader.ptx.machine.batch import BlockBatch, Frame, Group, Outcome, Setting
from grader.ptx.machine.scheduler import Scheduler
from grader.ptx.memory import Buffer, Device, shared_window, workspace_of
from grader.ptx.native.counted_runner import shortcuts_of
from grader.ptx.native.engine import FEW_LANES, Engine
from grader.ptx.native.thread_runner import CAUTION, FIRST_PART, Threads, is_long_of_few, reached_arrays
from grader.ptx.observers.interface import NOBODY, HazardLog, Observer, Scene, Watchers
from grader.ptx.observers.races import Races
from grader.ptx.observers.traffic import Traffic
from grader.ptx.records import DeviceLaunch, Index3, LaunchReport
from grader.ptx.work import work_of

MAX_STATIC_SHARED = 48 * 1024
"""Limits of every device since compute capability 3.0 (CUDA C++ programming guide, technical specifications)."""

Argument = Buffer | np.generic | bytes

LAUNCH_CYCLES = 4096
"""Between one batch's end and the next one's start."""

# glibc hands out blocks above a threshold by mmap and gives them back at once, which makes every temporary array of
# a batch cost its page faults anew.  Freeing one large block raises the threshold for good (mallopt(3),
# M_MMAP_THRESHOLD): a third off the time of a kernel.  No page of the block is ever touched.
np.empty(30 << 20, np.uint8)


@dataclass(frozen=True, slots=True)
class Launch:
    """What is to be run, and how.

    entry: the kernel's name in the PTX.
    grid, block: up to three sizes, x first.
    arguments: a `Buffer` for each pointer, a NumPy scalar for each number, bytes for a struct by value.
    device: where to run; by default the device of the first buffer.
    shared_bytes: dynamic shared memory of a block.
    observe: count traffic and look for races (the observers `Traffic` and `Races`).
    observers: who else watches; bounds and uninitialised reads are always watched.
    observed_batches: at most so many batches of blocks are shown to observers, spread over the grid (None: all).
    observed_instructions: of these batches only as many, spread over those left, as take about so many
        thread-instructions together (None: all; nor where generated code runs few threads).
    limits: when to give up.
    max_shared_bytes: what a block may have in all; above 48 KiB a device needs opting in.
    counts_work: say what was executed by line (`LaunchReport.work`).  order: of turns, see `grader.ptx.affine.Order`.
    cooperative: all blocks run side by side and may wait for each other (`cudaLaunchCooperativeKernel`).
    only: numbers of the blocks that are run, one after the other (None: all of the grid); they may not wait for others.
    unwatched_apart: where observers find nothing in the batches that they see, threads of the others may run one after
        the other: what a kernel free of races computes is the same.  Of a launch of few threads that goes on for long
        only the first part is shown to the observers then, and nothing of it counted.
    moves_no_data: only what observers see is wanted: what is loaded, and computed to be stored, is left out.
    """

    entry: str
    grid: Sequence[int]
    block: Sequence[int]
    arguments: Sequence[Argument] = ()
    device: Device | None = None
    shared_bytes: int = 0
    observe: bool = False
    observers: Sequence[Observer] = ()
    observed_batches: int | None = None
    observed_instructions: int | None = None
    limits: Limits | None = None
    max_shared_bytes: int = MAX_STATIC_SHARED
    cooperative: bool = False
    counts_work: bool = False
    order: int = 0
    only: Sequence[int] | None = None
    unwatched_apart: bool = False
    moves_no_data: bool = False


def launch(module: Module, config: Launch) -> LaunchReport:
    """Run a kernel of a module (from `parse`) to its end, and after it what it and its like have launched themselves.

    Raises LaunchError: the configuration or the arguments are impossible.
    Raises UnsupportedInstruction: an instruction without semantics was reached.
    Raises LimitExceeded: the kernel did not end within `limits`, or waits for ever.
    Raises DeviceTrap: the kernel trapped.
    """
    run = _Run(module, config)
    with np.errstate(all="ignore"):
        outcome = run.carry_out()
    report = run.report(outcome)
    if report.launched:
        _launch_descendants(module, replace(config, device=run.device), report)
    return report


def _launch_descendants(module: Module, config: Launch, report: LaunchReport) -> None:
    """Run what a kernel launched itself, and what that launched; standard observers are shown the first grid only."""
    limits, began_s = config.limits or Limits(), time.process_time()

    def carry_out(launched: DeviceLaunch) -> list[DeviceLaunch]:
        function = module.functions[launched.entry]
        starts = zip(function.parameter_offsets(), function.parameters, strict=True)
        left = replace(
            limits,
            instructions=limits.instructions - report.charged,
            issued=limits.issued - report.issued,
            steps=limits.steps - report.steps,
            seconds=limits.seconds - (time.process_time() - began_s),
            printf_bytes=limits.printf_bytes - len(report.printf),
        )
        left.check(launched.line, 0, 0)
        descendant = replace(
            config,
            entry=launched.entry,
            grid=launched.grid,
            block=launched.block,
            arguments=[launched.parameters[at : at + variable.size_bytes] for at, variable in starts],
            shared_bytes=launched.shared_bytes,
            observe=False,
            cooperative=False,
            counts_work=False,
            only=None,
            limits=left,
        )
        run = _Run(module, descendant)
        with np.errstate(all="ignore"):
            done = run.report(run.carry_out())
        report.thread_instructions += done.thread_instructions
        report.charged += done.charged
        report.warp_instructions += done.warp_instructions
        report.issued += done.issued
        report.steps += done.steps
        report.hazards += done.hazards
        report.remarks += done.remarks
        report.printf += done.printf
        return done.launched

    carry_out_descendants(report.launched, carry_out)


class _Run:
    """One launch under way.  Raises LaunchError where it is impossible."""

    def __init__(self, module: Module, config: Launch) -> None:
        self._config = config
        # Of the clock that the limit on time is held against; engines may begin anew.
        self._began_s = time.process_time()
        devices = (a.device for a in config.arguments if isinstance(a, Buffer))
        self.device = device = config.device or next(devices, None) or Device()
        self.program = program_of(module, config.moves_no_data)
        entry = config.entry
        function = module.functions.get(entry)
        if function is None or not function.is_entry:
            raise LaunchError(f"no kernel {entry!r} in the module; there are: {', '.join(module.entries()) or 'none'}")
        self._function = function
        self._grid, self._block = three(config.grid, "grid", MAX_GRID), three(config.block, "block", MAX_BLOCK)
        self._threads = math.prod(self._block)
        if self._threads > MAX_THREADS:
            text = f"block {self._block} has {self._threads} threads, at most {MAX_THREADS} are allowed"
            raise LaunchError(text, "threads", self._threads, MAX_THREADS)
        check_launch_bounds(function, self._block)
        needs = self.program.needs(entry)
        self._slots = self.program.shared_slots(entry, config.shared_bytes)
        needed = self._shared_bytes = needs.static_bytes + config.shared_bytes
        if needed > config.max_shared_bytes:
            text = f"{needed} bytes of shared memory a block, at most {config.max_shared_bytes}"
            raise LaunchError(text, "shared_memory", needed, config.max_shared_bytes)
        self._parameters = packed_parameters(function, config.arguments)
        self._addresses = linked(module, device, config.limits).addresses
        self._code = self.program.code(entry)
        self._total = math.prod(self._grid)
        self._padded = -(-self._threads // 32) * 32
        if config.cooperative:
            self._together = self._total
            resident = resident_blocks(self._padded, needed)
            if self._total > resident:
                text = f"a cooperative launch of {self._total} blocks, at most {resident} can be resident at once"
                raise LaunchError(text, "cooperative", self._total, resident)
        else:
            self._together = side_by_side(
                self._total,
                self._padded,
                waits=needs.waits,
                contends=needs.contends,
                local_bytes=needs.local_bytes,
                shared_bytes=needed,
            )
        self._starts: Sequence[int] = range(0, self._total, self._together)
        if config.only is not None:
            self._together, self._starts = 1, config.only
        self._watched = spread(len(self._starts), config.observed_batches)

    def carry_out(self) -> Outcome:
        """Run all blocks, in the engine that suits them."""
        config, watched = self._config, len(self._watched)
        if (not config.observers or Watchers(config.observers).nobody) and watched in (0, len(self._starts)):
            lanes = min(self._total, self._together) * self._padded
            observed = config.observe and watched > 0
            is_alone = self._total * self._threads == 1
            handlers = (self._interpret, self._begin, self._batches)
            engine = partial(Engine, self._code, self.device, lanes, is_alone, observed, config.counts_work, *handlers)
            apart = observed and config.unwatched_apart and self._has_few_threads
            is_long = is_long_of_few(self._code, self._total * self._threads) if apart else False
            try:
                anew = self._begun_anew(None) if is_long else None
                return anew or engine(None if is_long is False else CAUTION).run()
            except TakesLong:
                return self._begun_anew(None, CAUTION) or engine().run()
        return self._interpret(None)

    def _begin(self, patience: int | None) -> Outcome:
        for code in self.program.codes():
            for code_block in code.blocks:
                code_block.executions = code_block.places = 0
        config = self._config
        budget = Budget(config.limits or Limits(), began_s=self._began_s, patience=patience)
        budget.printf_left = budget.limits.printf_bytes
        standard: list[Observer] = [Traffic(), Races()] if config.observe else []
        return Outcome(budget, HazardLog(budget.limits.page_bytes), [*standard, *config.observers])

    def _batches(
        self, outcome: Outcome, observed_instructions: int | None = None
    ) -> Iterator[tuple[BlockBatch, dict[str, int]]]:
        """Run through the batches of the grid, each with the addresses of its parameters and variables."""
        sample = Sample(self._watched, observed_instructions)
        for number in range(len(self._starts)):
            watched = sample.takes(number)
            before = outcome.budget.cost
            with self._batch(outcome, *self._blocks_of(number), watched) as ready:
                yield ready
            if watched:
                sample.note(outcome.budget.cost - before)

    def _blocks_of(self, number: int) -> tuple[int, int]:
        first = self._starts[number]
        return first, min(self._together, self._total - first)

    @contextmanager
    def _batch(
        self, outcome: Outcome, first: int, blocks: int, watched: bool
    ) -> Iterator[tuple[BlockBatch, dict[str, int]]]:
        device, config = self.device, self._config
        shared_bytes = (config.shared_bytes, self._shared_bytes)
        workspace = workspace_of(device).base if config.cooperative else 0
        setting = Setting(device, outcome.hazards, outcome.budget, self._addresses, shared_bytes, workspace)
        observers = outcome.observers if watched else ()
        watchers = Watchers(observers) if observers else NOBODY
        geometry = geometry_of(self._block, blocks, first, self._grid, Order(config.order), shares=watchers.nobody)
        shared = shared_window(self._slots, self.program.shared_layout, blocks, device.poison)
        batch = BlockBatch(setting, geometry, shared, watchers)
        try:
            outcome.sampled_blocks += blocks if watched else 0
            scene = Scene(geometry, outcome.hazards, outcome.budget)
            for observer in observers:
                observer.begin(scene)
            symbols = batch.put_parameters(self._parameters)
            symbols.update(batch.local_variables(0, self._function))
            yield batch, symbols
        finally:
            self.program.forget()
            batch.close()
        device.cycles += batch.clock + LAUNCH_CYCLES
        outcome.add_remarks(batch)

    def _interpret(self, patience: int | None) -> Outcome:
        is_short = self._has_few_threads and is_long_of_few(self._code, self._total * self._threads) is False
        threads = self._thread_by_thread() if patience is None and not is_short else None
        if threads is None:
            return self._carried(self._begin(patience), None)
        if self._has_few_threads:
            return self._of_few_threads(threads) or self._carried(self._begin(None), None)
        if threads.refused:
            return self._carried(self._begin(None), None)
        batch_lanes = min(self._total, self._together) * self._padded
        put_back = threads.undo() if self._config.observe and batch_lanes > FEW_LANES else None
        if put_back is None:
            return self._carried(self._begin(None), threads)
        outcome = self._begin(CAUTION // batch_lanes)
        try:
            return self._carried(outcome, threads)
        except TakesLong:
            put_back()
        if threads.is_slower_than(outcome.budget):
            return self._carried(self._begin(None), None)
        # A few blocks of so long a kernel are watched, in generated code.
        few = range(max(FEW_LANES // 2 // self._padded, 1))
        if len(few) < self._total:
            config = replace(
                self._config, only=few, unwatched_apart=False, observed_batches=None, observed_instructions=None
            )
            outcome = _Run(self.program.module, config).carry_out()
            if self._go_on(outcome, threads, [(few.stop, self._total - few.stop)], len(few)):
                return outcome
            put_back()
        return self._carried(self._begin(None), None)

    @property
    def _has_few_threads(self) -> bool:
        return self._total * self._padded <= FEW_LANES

    def _of_few_threads(self, threads: Threads) -> Outcome | None:
        """Watch a launch of few threads; one that goes on for long is begun anew with nobody watching.

        None where it is to be watched to its end.
        """
        every = self._total * self._threads
        put_back = threads.undo()
        if put_back is None:
            return self._begun_anew(threads)
        outcome, is_short = self._begin(min(CAUTION // (self._total * self._padded), FIRST_PART)), True
        try:
            self._carried(outcome, None)
        except TakesLong:
            put_back()
            is_short = False
        is_regular = threads.learn(watched=True, hazards=outcome.hazards.report(), budget=outcome.budget, threads=every)
        if is_short:
            return outcome
        return self._begun_anew(threads, CAUTION) if is_regular else None

    def _begun_anew(self, threads: Threads | None, least: int = 0) -> Outcome | None:
        """Run a launch of `least` thread-instructions (0: as the last one) with nobody watching, if it is long."""
        threads = threads or self._thread_by_thread()
        if threads is None:
            return None
        every = self._total * self._threads
        instructions = least or threads.a_thread * every
        if instructions < CAUTION or threads.refused:
            return None
        outcome = self._begin(None)
        if not self._run_threads(outcome, threads, [(0, self._total)], instructions // self._total + 1):
            return None
        threads.learn(watched=True, hazards=(), budget=outcome.budget, threads=every)
        return outcome

    def _carried(self, outcome: Outcome, threads: Threads | None) -> Outcome:
        try:
            self._run_batches(outcome, threads)
        except LimitExceeded as error:
            if error.kind in ("steps", "endless", "deadlock"):
                error.steps, error.hazards = outcome.budget.steps, tuple(outcome.hazards.report())
            raise
        return outcome

    def _run_batches(self, outcome: Outcome, threads: Threads | None) -> None:
        observed_instructions = self._config.observed_instructions
        if threads is None:
            for batch, symbols in self._batches(outcome, observed_instructions):
                self._interpret_batch(batch, symbols, outcome)
            return
        if (
            not self._config.observe
            and threads.a_thread
            and self._run_threads(outcome, threads, [(0, self._total)], threads.a_thread * self._threads)
        ):
            return
        # The first batch, and those that are watched, tell how long the others are and whether their order shows.
        sample = Sample(self._watched if self._config.observe else (), observed_instructions)
        left, began = [], self.device.cycles
        for number in range(len(self._starts)):
            watched = sample.takes(number)
            if number and not watched:
                left.append(number)
                continue
            before = outcome.budget.cost
            with self._batch(outcome, *self._blocks_of(number), watched) as (batch, symbols):
                self._interpret_batch(batch, symbols, outcome)
            outcome.budget.patience = None
            if watched:
                sample.note(outcome.budget.cost - before)
        ranges = [self._blocks_of(number) for number in left]
        if self._go_on(outcome, threads, ranges, self._total - sum(count for _, count in ranges)):
            self.device.cycles += (self.device.cycles - began) * len(left) // (len(self._starts) - len(left))
            return
        for first, count in ranges:
            with self._batch(outcome, first, count, watched=False) as (batch, symbols):
                self._interpret_batch(batch, symbols, outcome)

    def _go_on(self, outcome: Outcome, threads: Threads, ranges: Sequence[tuple[int, int]], done: int) -> bool:
        """Run the remaining blocks thread by thread after `done` of them, where that is allowed and pays."""
        a_block, left = outcome.budget.thread_instructions // done, sum(count for _, count in ranges)
        watched, hazards = self._config.observe and bool(self._watched), outcome.hazards.report()
        is_regular = threads.learn(watched, hazards, outcome.budget, done * self._threads, a_block * left)
        return bool(ranges) and is_regular and self._run_threads(outcome, threads, ranges, a_block)

    def _interpret_batch(self, batch: BlockBatch, symbols: dict[str, int], outcome: Outcome) -> None:
        lanes = min(self._total, self._together) * self._padded
        wants_every = any(type(observer).executed is not Observer.executed for observer in outcome.observers)
        shortcuts = shortcuts_of(self._code) if lanes > FEW_LANES and not wants_every else {}
        registers = self._code.fresh_registers.copy()
        first = Group(batch, batch.layout.root, [Frame(self._code, registers, symbols)], 0, ())
        Scheduler(batch, shortcuts).run(first)

    def _thread_by_thread(self) -> Threads | None:
        config = self._config
        if not config.unwatched_apart or config.cooperative or config.counts_work or config.order:
            return None
        if self._has_few_threads and not config.observe:
            return None
        variables = linked(self.program.module, self.device).variables.values()
        reached = reached_arrays(self.device, (raw for _, raw in self._parameters), variables)
        return Threads(self._code, self.device, reached, self._has_few_threads)

    def _run_threads(self, outcome: Outcome, threads: Threads, ranges: Sequence[tuple[int, int]], a_block: int) -> bool:
        """Run (first, count) blocks of `a_block` thread-instructions each thread by thread; False if none was run."""
        if not threads.pays(a_block * sum(count for _, count in ranges)):
            return False
        with self._batch(outcome, ranges[0][0], 1, watched=False) as (batch, symbols):
            return threads.run(batch, symbols, ranges, a_block, outcome.budget)

    def report(self, outcome: Outcome) -> LaunchReport:
        budget = outcome.budget
        report = LaunchReport(
            thread_instructions=budget.thread_instructions,
            charged=budget.charged,
            warp_instructions=budget.warp_instructions,
            issued=budget.issued,
            steps=budget.steps,
            remarks=[(kind, line, count) for (kind, line), count in sorted(outcome.remarks.items())],
            printf="".join(budget.printf),
            shared_bytes=self._shared_bytes,
            launched=budget.launched,
        )
        report.counters.sampled_blocks, report.counters.total_blocks = outcome.sampled_blocks, self._total
        counts = report.opcode_counts
        for code in self.program.codes():
            for code_block in code.blocks:
                if code_block.executions:
                    for instruction in code_block.instructions:
                        counts[instruction.opcode] = counts.get(instruction.opcode, 0) + code_block.executions
        if self._config.counts_work:
            report.work = work_of(self.program.codes())
        for observer in outcome.observers:
            observer.finish(report)
        report.hazards = outcome.hazards.report()
        return report


def check_launch_bounds(function: Function, block: Index3) -> None:
    """Raises LaunchError unless `__launch_bounds__()` and `__block_size__()` hold (PTX ISA, .maxntid and .reqntid)."""
    threads = block[0] * block[1] * block[2]
    for name, numbers in function.launch_bounds:
        if name == "maxntid" and threads > math.prod(numbers):
            raise LaunchError(f"the block has {threads} threads, __launch_bounds__ allows {math.prod(numbers)}")
        if name == "reqntid" and block != numbers:
            raise LaunchError(f"the block is {block}, the kernel requires {numbers}")


def packed_parameters(function: Function, arguments: Sequence[Argument]) -> list[tuple[str, bytes]]:
    """(name, bytes) of each parameter.  Raises LaunchError where arguments do not fit."""
    if len(arguments) != len(function.parameters):
        raise LaunchError(f"{function.name} takes {len(function.parameters)} arguments, {len(arguments)} were given")
    packed = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if isinstance(argument, Buffer):
            raw = argument.address.to_bytes(8, "little")
        elif isinstance(argument, bytes):
            raw = argument
        else:
            raw = argument.tobytes()
        if len(raw) != parameter.size_bytes:
            raise LaunchError(f"argument {parameter.name} takes {parameter.size_bytes} bytes, {len(raw)} were given")
        packed.append((parameter.name, raw))
    return packed


def linked(module: Module, device: Device, limits: Limits | None = None) -> Linker:
    """The module as loaded on the device (loaded now, if it was not).

    Raises LimitExceeded when its variables take more than the limits allow.
    """
    cached = device.modules.get(id(module))
    if cached is None:
        cached = device.modules[id(module)] = (module, Linker(program_of(module), device, limits or Limits()))
    return cached[1]
