"""Launching a kernel on the emulated device."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from grader.ptx.errors import LaunchError
from grader.ptx.frontend.nodes import Function, Module
from grader.ptx.limits import Limits, Tally
from grader.ptx.lowering.program import Linker, program_of
from grader.ptx.machine.chunk import Chunk
from grader.ptx.machine.groups import Frame, Group
from grader.ptx.machine.outcome import Observer, Outcome
from grader.ptx.memory.spaces import Buffer, Device, MemoryArray, Window, shared_window
from grader.ptx.native.engine import Engine
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.observers.races import Races
from grader.ptx.observers.traffic import Traffic
from grader.ptx.records import Index3, LaunchReport
from grader.ptx.values.kinds import Layout

CHUNK_LANES = 16_384
"""Lanes executed side by side: large enough that Python's overhead vanishes, small enough for the L2 cache."""

LAUNCH_CYCLES = 4096
"""Between one chunk's end and the next one's start."""

CONTENDING_LANES = 1024
"""The same for kernels with locks or loops of compare-and-swap."""

LOCAL_BYTES = 128 * 1024 * 1024
"""Local memory of all lanes that run side by side, as far as it is known before the launch (recursion is not)."""

SHARED_BYTES = 8 * 1024 * 1024
"""Shared memory of all blocks that run side by side; what watches it takes twenty times as much."""

MAX_THREADS = 1024
MAX_BLOCK: Index3 = (1024, 1024, 64)
MAX_GRID: Index3 = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
"""Limits of every device since compute capability 3.0 (CUDA C++ programming guide, technical specifications)."""

Argument = Buffer | np.generic | bytes

# glibc hands out blocks above a threshold by mmap and gives them back at once, which makes every temporary array of
# a chunk cost its page faults anew.  Freeing one large block raises the threshold for good (mallopt(3),
# M_MMAP_THRESHOLD): a third off the time of a kernel.  No page of the block is ever touched.
np.empty(30 << 20, np.uint8)


def launch(
    module: Module,
    entry: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Argument],
    *,
    device: Device | None = None,
    shared_bytes: int = 0,
    observe: bool = False,
    observers: Sequence[Observer] = (),
    observed_chunks: int | None = None,
    limits: Limits | None = None,
    max_shared_bytes: int = MAX_STATIC_SHARED,
) -> LaunchReport:
    """Run a kernel to its end.

    Parameters
    ----------
    module : from `parse`.
    entry : the kernel's name in the PTX.
    grid, block : up to three sizes, x first.
    arguments : a `Buffer` for each pointer, a NumPy scalar for each number, bytes for a struct by value.
    device : where to run; by default the device of the first buffer.
    shared_bytes : dynamic shared memory of a block.
    observe : count traffic and look for races (the observers `Traffic` and `Races`).
    observers : what else to watch (see `grader.ptx.observers`); bounds and uninitialised reads are always watched.
    observed_chunks : at most so many chunks of blocks are shown to the observers, spread over the grid (None: all).
    limits : when to give up.
    max_shared_bytes : what a block may have in all; above 48 KiB a device needs opting in.

    Raises
    ------
    LaunchError : the configuration or the arguments are impossible.
    UnsupportedInstruction : an instruction without semantics was reached.
    LimitExceeded : the kernel did not end within `limits`, or waits for ever.
    DeviceTrap : the kernel trapped.
    """
    started = time.perf_counter()
    if device is None:
        device = next((a.device for a in arguments if isinstance(a, Buffer)), None) or Device()
    program = program_of(module)
    function = module.functions.get(entry)
    if function is None or not function.is_entry:
        raise LaunchError(f"no kernel {entry!r} in the module; there are: {', '.join(module.entries()) or 'none'}")
    grid3, block3 = _three(grid, "grid", MAX_GRID), _three(block, "block", MAX_BLOCK)
    threads = block3[0] * block3[1] * block3[2]
    if threads > MAX_THREADS:
        text = f"block {block3} has {threads} threads, at most {MAX_THREADS} are allowed"
        raise LaunchError(text, "threads", threads, MAX_THREADS)
    _check_launch_bounds(function, block3)
    needs = program.needs(entry)
    slots, static = program.shared_slots(entry, shared_bytes), needs.static_bytes
    needed = static + shared_bytes
    if needed > max_shared_bytes:
        text = f"{needed} bytes of shared memory a block, at most {max_shared_bytes}"
        raise LaunchError(text, "shared_memory", needed, max_shared_bytes)
    parameters = _parameters(function, arguments)
    addresses = linked(module, device, limits).addresses
    code = program.code(entry)
    total = grid3[0] * grid3[1] * grid3[2]
    padded = -(-threads // 32) * 32
    together = max(1, CHUNK_LANES // padded)
    if needs.waits:
        # Blocks that wait for each other must run side by side, as far as memory allows.
        together = max(together, min(total, 16 * CHUNK_LANES // padded))
    elif needs.contends:
        # Of those who want one place in one step all but one have to try again: n threads take n² / 2 attempts.
        together = max(1, CONTENDING_LANES // padded)
    # Local memory has a copy for every lane.
    together = min(together, LOCAL_BYTES // (padded * max(1, needs.local_bytes)))
    together = max(1, min(together, SHARED_BYTES // max(1, static + shared_bytes)))
    starts = range(0, total, together)
    watched = _spread(len(starts), observed_chunks)

    def begin(patience: int | None) -> Outcome:
        """A fresh start: nothing executed, nothing found."""
        for known in program.codes():
            for code_block in known.blocks:
                code_block.executions = 0
        tally = Tally(limits or Limits(), started=started, patience=patience)
        tally.printf_left = tally.limits.printf_bytes
        return Outcome(tally, HazardLog(), [Traffic(), Races(), *observers] if observe else list(observers))

    def chunks(outcome: Outcome) -> Iterator[tuple[Chunk, dict[str, int]]]:
        """The chunks of the grid, one after the other, each with the addresses of its parameters and variables."""
        for number, first in enumerate(starts):
            blocks = min(together, total - first)
            layout = Layout(block3, blocks)
            shared = shared_window(slots, program.shared_layout, blocks, device.poison)
            chunk = Chunk(device, layout, first, grid3, shared, outcome.hazards, outcome.tally)
            try:
                chunk.shared_bytes = (shared_bytes, static + shared_bytes)
                chunk.addresses = addresses
                if number in watched:
                    outcome.sampled_blocks += blocks
                    for observer in outcome.observers:
                        observer.attach(chunk)
                symbols = _parameter_arrays(chunk, parameters)
                symbols.update(chunk.local_variables(0, function))
                yield chunk, symbols
            finally:
                chunk.close()
            device.cycles += chunk.clock + LAUNCH_CYCLES
            outcome.add_remarks(chunk)

    def interpret(patience: int | None) -> Outcome:
        outcome = begin(patience)
        for chunk, symbols in chunks(outcome):
            registers = code.fresh_registers.copy()
            chunk.run(Group(chunk, chunk.layout.root, [Frame(code, registers, symbols)], 0, ()))
        return outcome

    engine = None
    if not observers and len(watched) in (0, len(starts)):
        engine = Engine.for_launch(code, device, min(total, together) * padded, observe and len(watched) > 0)
    try:
        with np.errstate(all="ignore"):
            alone = total * threads == 1
            outcome = interpret(None) if engine is None else engine.run(interpret, begin, chunks, alone)
    finally:
        program.forget()
    tally = outcome.tally
    report = LaunchReport(
        thread_instructions=tally.thread_instructions,
        warp_instructions=tally.warp_instructions,
        remarks=[(kind, line, count) for (kind, line), count in sorted(outcome.remarks.items())],
        printf="".join(tally.printf),
    )
    report.counters.sampled_blocks, report.counters.total_blocks = outcome.sampled_blocks, total
    counts = report.opcode_counts
    for known in program.codes():
        for code_block in known.blocks:
            if code_block.executions:
                for instruction in code_block.instructions:
                    counts[instruction.opcode] = counts.get(instruction.opcode, 0) + code_block.executions
    for observer in outcome.observers:
        observer.finish(report)
    report.hazards = outcome.hazards.report()
    report.elapsed_s = time.perf_counter() - started
    return report


def linked(module: Module, device: Device, limits: Limits | None = None) -> Linker:
    """The module as loaded on the device (loaded now, if it was not).

    Raises LimitExceeded when its variables take more than the limits allow.
    """
    found = device.modules.get(id(module))
    if found is None:
        found = device.modules[id(module)] = (module, Linker(program_of(module), device, limits or Limits()))
    return found[1]


def _three(sizes: Sequence[int], what: str, limits: Index3) -> Index3:
    padded = (*[int(size) for size in sizes], 1, 1, 1)[:3]
    for axis, size, limit in zip("xyz", padded, limits, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"{what}.{axis} is {size}, allowed are 1 to {limit}")
    return padded[0], padded[1], padded[2]


def _check_launch_bounds(function: Function, block: Index3) -> None:
    """What `__launch_bounds__()` and `__block_size__()` promise must hold (PTX ISA, .maxntid and .reqntid)."""
    threads = block[0] * block[1] * block[2]
    for name, numbers in function.launch_bounds:
        if name == "maxntid" and threads > math.prod(numbers):
            raise LaunchError(f"the block has {threads} threads, __launch_bounds__ allows {math.prod(numbers)}")
        if name == "reqntid" and block != numbers:
            raise LaunchError(f"the block is {block}, the kernel requires {numbers}")


def _parameters(function: Function, arguments: Sequence[Argument]) -> list[tuple[str, bytes]]:
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


def _parameter_arrays(chunk: Chunk, parameters: list[tuple[str, bytes]]) -> dict[str, int]:
    window: Window = chunk.local
    symbols = {}
    for name, raw in parameters:
        data = np.zeros(-(-len(raw) // 16) * 16, np.uint8)
        data[: len(raw)] = np.frombuffer(raw, np.uint8)
        array = MemoryArray(name, "param", window.next_base(), len(raw), data, read_only=True)
        window.arrays.append(array)
        symbols[name] = array.base
    return symbols


def _spread(count: int, wanted: int | None) -> Collection[int]:
    """Which of `count` chunks to watch: the first, the last, and evenly between."""
    if wanted is None or wanted >= count:
        return range(count)
    if wanted <= 0:
        return set()
    return {round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)}
