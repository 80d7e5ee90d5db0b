"""What a device allows of a launch, what one that was run, or refused, means for the program; and results of kernels
that are not what they computed when the host gets them, which what checks them has to notice.

Those are changed only in arrays of floating-point numbers, and by so much that no tolerance lets it pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.devices import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, SHARED_BYTES, WARP_LANES
from grader.diagnosis.text import hazard_msg as hazard_message
from grader.message import Message, msg
from grader.programs.device import Outcome
from grader.programs.device_memory import PAGE, Allocation
from grader.programs.records import LIBRARY
from grader.programs.runtime.devices import name_of
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.ordering import NOWHERE, Place
from grader.programs.runtime.silent import may_speak, tell_unfilled
from grader.programs.runtime.state import Kernel, ProgramEnded, State
from grader.programs.sandbox.guest import NULL_BYTES
from grader.ptx.records import Hazard
from grader.submission.kernels.records import LineCount, SeenHazard, SeenLaunch

INVALID_VALUE = 1
"""Returned for every refused launch configuration (CUDA 13.0, an H200; before, cudaErrorInvalidConfiguration)."""
ILLEGAL_ADDRESS = 700
_SHARED_PAGE = 1024
"""The most that a block's shared memory takes: what a block has is bounded by it, on an H200 too."""


@dataclass(frozen=True, slots=True)
class Configured:
    """What stands in a `<<<…>>>`, and where that is."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    place: Place
    is_cooperative: bool = False


def refusal(state: State, kernel: Kernel, entry: str, asked: Configured) -> tuple[int, Any]:
    """Return the error that a device refuses a launch with, and why; (0, None) where it does not."""
    sizes = (asked.grid, asked.block, asked.shared_bytes, asked.is_cooperative)
    wanted = (kernel.unit, entry, kernel.max_dynamic_bytes, *sizes)
    if wanted in state.allowed:
        return 0, None
    refused = _refusal(state, kernel, entry, asked)
    if not refused[0] and state.gpu.is_loaded(kernel.unit):
        state.allowed.add(wanted)
    return refused


def _refusal(state: State, kernel: Kernel, entry: str, asked: Configured) -> tuple[int, Any]:
    model = state.model
    for axis, size, limit in zip("xyz", asked.grid, MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            return INVALID_VALUE, msg("programs.grid_limit", axis=axis, size=size, limit=limit)
    for axis, size, limit in zip("xyz", asked.block, MAX_BLOCK, strict=True):
        if not 1 <= size <= limit:
            return INVALID_VALUE, msg("programs.block_limit", axis=axis, size=size, limit=limit)
    threads = asked.block[0] * asked.block[1] * asked.block[2]
    if threads > MAX_THREADS_PER_BLOCK:
        return INVALID_VALUE, msg("programs.thread_limit", block=sizes_text(asked.block), threads=threads)
    # A module that nothing has asked for is not compiled where no kernel is run.
    static = state.gpu.static_shared_bytes(kernel.unit, entry) if state.gpu.is_loaded(kernel.unit) else 0
    total = static + asked.shared_bytes
    if asked.shared_bytes < 0 or total > max(SHARED_BYTES, min(kernel.max_dynamic_bytes + static, model.shared_opt_in)):
        return INVALID_VALUE, msg(
            "programs.shared_limit", bytes=total, limit=max(SHARED_BYTES, kernel.max_dynamic_bytes)
        )
    if asked.is_cooperative:
        resident = blocks_per_multiprocessor(state, kernel.unit, entry, threads, asked.shared_bytes)
        resident *= model.multiprocessors
        blocks = asked.grid[0] * asked.grid[1] * asked.grid[2]
        if blocks > resident:
            return 720, msg("programs.cooperative_limit", blocks=blocks, limit=resident)
    return 0, None


def place_in(state: State, unit: int, file: str, line: int) -> Place:
    """Return the place of a line that device code names; `NOWHERE` where that is a library's."""
    if file == LIBRARY:
        return NOWHERE
    return Place(line, file if state.sources.has(file) else state.unit_names[unit])


def sizes_text(sizes: tuple[int, int, int]) -> str:
    """Three sizes as "16×16", with the third where it is not 1."""
    return "×".join(str(size) for size in (sizes if sizes[2] != 1 else sizes[:2]))


def blocks_per_multiprocessor(state: State, unit: int, entry: str, threads: int, shared_bytes: int) -> int:
    """Resident blocks by threads, shared memory and their own limit; registers are not known of PTX."""
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        return 0
    m = state.model
    warps = -(-threads // WARP_LANES)
    blocks = min(m.blocks_per_multiprocessor, m.threads_per_multiprocessor // (warps * WARP_LANES))
    shared = state.gpu.static_shared_bytes(unit, entry) + shared_bytes
    shared += 1024 if m.capability >= (8, 0) else 0
    return min(blocks, m.shared_per_multiprocessor // shared) if shared else blocks


def of_null(state: State, record: SeenLaunch, raw: Sequence[bytes], hazards: Sequence[Hazard]) -> tuple[Hazard, ...]:
    """`hazards`, with those that come of null pointers among the arguments, whose bytes are `raw`, as such.

    An index may lead from address 0 to where the host's memory is, which has nothing in its first page; beside a
    pointer of the host's nobody can tell.
    """
    if not hazards:
        return ()
    pointers = [
        (argument.name, int.from_bytes(value, "little"))
        for argument, value in zip(record.arguments, raw, strict=True)
        if argument.is_pointer and not argument.buffer
    ]
    nulls = [name for name, address in pointers if not address]
    reach = state.guest.size() if nulls and len(nulls) == len(pointers) else NULL_BYTES
    name = nulls[0] if len(nulls) == 1 else ""
    return tuple(
        replace(hazard, detail="null", array=name)
        if hazard.detail == "unmapped" and hazard.space != "shared" and hazard.offset_bytes < reach
        else hazard
        for hazard in hazards
    )


def judge(state: State, kernel: Kernel, record: SeenLaunch, outcome: Outcome, place: Place) -> int:
    """Report what a run means for the program, and return what the launch returns."""
    record.thread_instructions = outcome.thread_instructions
    if outcome.status == "ran" and not outcome.hazards and outcome.counters is None:
        return 0
    hazards = _one_a_line(outcome.hazards)
    shared = record.shared_bytes
    if any(hazard.space == "shared" for hazard in hazards):
        shared += state.gpu.static_shared_bytes(kernel.unit, kernel.symbol)
    error_of = partial(_error_of, shared_bytes=shared)
    record.hazards = [SeenHazard(hazard.kind, hazard.line, hazard_message(hazard), hazard.count) for hazard in hazards]
    if outcome.counters is not None:
        record.watched_blocks = outcome.counters.sampled_blocks
        record.counters = [
            LineCount(
                *(c.line, c.space, c.op, c.requests, c.wavefronts, c.sectors, c.ideal, c.ways),
                file="" if c.file == outcome.file else c.file,
            )
            for c in outcome.counters.by_line
        ]
    at = place_in(state, kernel.unit, outcome.file, outcome.line)
    match outcome.status:
        case "too_large":
            billions = f"{state.limits.launch_instructions / 1e9:g}"
            ends = msg("programs.launch_limit", kernel=kernel.display, limit=billions)
            return _traced(state, record, "too_large", msg("programs.too_large", kernel=kernel.display), ends, place)
        case "too_slow":
            ends = msg("programs.launch_seconds", kernel=kernel.display, seconds=int(state.limits.launch_seconds))
            return _traced(state, record, "too_large", msg("programs.too_large", kernel=kernel.display), ends, place)
        case "too_many_steps" | "endless" if any(error_of(hazard) for hazard in hazards):
            pass  # A GPU would have ended the kernel at that access: it is told below.
        case "too_many_steps":
            ends = msg("programs.launch_steps", kernel=kernel.display)
            return _traced(state, record, "too_large", msg("programs.too_large", kernel=kernel.display), ends, place)
        case "unsupported":
            what = {"kernel": kernel.display, "reason": outcome.reason.split("\n")[0]}
            message = msg("programs.kernel_unsupported", **what)
            return _traced(state, record, "unsupported", message, msg("programs.kernel_not_emulated", **what), place)
        case "impossible":
            message = msg("programs.launch_impossible", kernel=kernel.display, reason=outcome.reason)
            state.tell("launch_refused", "error", message, place)
            return failed(state, record, 1, place)
        case "trap" | "grid_sync":
            state.tell("trap", "error", msg(f"programs.{outcome.status}", kernel=kernel.display), at)
            return _faulted(state, record, 710 if "assert" in outcome.reason else 719, place)
        case "refused":
            why = msg("programs.refused_by_card", error=name_of(outcome.code))
            state.tell("launch_refused", "error", msg("programs.launch_refused", kernel=kernel.display, why=why), place)
            return failed(state, record, outcome.code, place)
        case "fault":
            error = name_of(outcome.code)
            if outcome.code == ILLEGAL_ADDRESS and (array := _with_pointers(state, list(state.host_memory))):
                # On the program's own machine both sides have one address for it.
                ends = msg("programs.pointers_on_card", kernel=kernel.display, error=error, array=array)
                record.status = "traced"
                state.tell("unsupported", "error", ends, place)
                raise ProgramEnded(ends)
            state.tell("fault", "error", msg("programs.fault_on_card", kernel=kernel.display, error=error), place)
            return _faulted(state, record, outcome.code, place)
        case "hangs":
            seconds = int(state.limits.launch_seconds)
            ends = msg("programs.hangs_on_card", kernel=kernel.display, seconds=seconds)
            record.status = "traced"
            state.tell("hangs", "error", ends, place)
            raise ProgramEnded(ends)
        case "endless" if outcome.reason == "endless" and (array := _spoken_by(state, record)):
            what = {"kernel": kernel.display, "array": array}
            message = msg("programs.kernel_waits", **what)
            return _traced(state, record, "unsupported", message, msg("programs.kernel_waits_for_host", **what), at)
        case "endless":
            state.tell("endless", "error", msg("programs.endless", kernel=kernel.display), at)
            return _faulted(state, record, 702, place)
    strayed = [hazard for hazard in hazards if hazard.detail == "unmapped" and hazard.space != "shared"]
    if any(shared_at(state, hazard.offset_bytes) for hazard in strayed):
        # A pointer that lies in memory is the host's here; on a GPU both sides have one address for it.
        record.hazards = []
        message = msg("programs.kernel_kept_pointer", kernel=kernel.display)
        return _traced(
            state, record, "unsupported", message, msg("programs.kernel_keeps_pointer", **message.data), place
        )
    code = 0
    for hazard in hazards:
        if hazard.kind == "uninitialized" and not state.hollow and _is_of_copy(state, record, hazard):
            continue
        severity = "error" if hazard.kind != "uninitialized" or not state.hollow else "remark"
        message = _stray_msg(state, kernel, hazard) or hazard_message(hazard)
        state.tell(hazard.kind, severity, message, place_in(state, kernel.unit, hazard.file, hazard.line))
        # An address that is mapped nowhere outweighs all else; of others the first counts.
        code = 700 if hazard.detail in ("unmapped", "null") else code or error_of(hazard)
    return _faulted(state, record, code, place) if code else 0


def _with_pointers(state: State, starts: Sequence[int]) -> str:
    """Return the name of shared memory that holds one of these addresses; "" where none does."""
    addresses = np.array(sorted(starts), np.uint64)
    for host, allocation in state.host_memory.items():
        words = state.guest.view(host, allocation.size // 8 * 8).view(np.uint64)
        if np.isin(words, addresses).any():
            return allocation.name
    return ""


def of_device_in_shared(state: State) -> str:
    """Return the name of shared memory in which a kernel has left the address that such memory has for it."""
    return _with_pointers(state, [allocation.base for allocation in state.host_memory.values()])


def _is_of_copy(state: State, record: SeenLaunch, hazard: Hazard) -> bool:
    """Whether a kernel reads what a copy left out of its array; the copy is reported then."""
    named = {argument.buffer for argument in record.arguments if argument.buffer}
    live = state.memory.live.values()
    allocations = [a for a in live if a.name == hazard.array and (a.name in named or a.kind == "symbol")]
    return len(allocations) == 1 and tell_unfilled(state, allocations[0], record.display, hazard.line)


def _stray_msg(state: State, kernel: Kernel, hazard: Hazard) -> Message | None:
    """What an address is that is no memory of the device; None where it is known no better."""
    if hazard.detail != "unmapped" or hazard.space == "shared":
        return None
    freed = state.memory.find_freed(hazard.offset_bytes)
    if freed is not None:
        return msg("programs.kernel_use_after_free", kernel=kernel.display, array=freed.name)
    if 0 < hazard.offset_bytes < state.guest.size():
        return msg("programs.kernel_host_pointer", kernel=kernel.display)
    return None


def _error_of(hazard: Hazard, shared_bytes: int) -> int:
    """CUDA's error for an access beside an array, 0 where hardware notices nothing.

    shared_bytes: what a block has, of which the array may be a part.
    """
    if hazard.space in ("texture", "surface"):
        return 719
    if hazard.kind != "out_of_bounds":
        return 0
    if hazard.detail == "misaligned":
        return 716
    if hazard.space == "shared":
        return 700 if hazard.offset_bytes >= -(-shared_bytes // _SHARED_PAGE) * _SHARED_PAGE else 0
    end = -(-hazard.array_bytes // PAGE) * PAGE
    return 700 if hazard.space in ("global", "generic") and not -PAGE <= hazard.offset_bytes < end else 0


def _one_a_line(hazards: Sequence[Hazard]) -> list[Hazard]:
    """A loop that the compiler unrolled does the same wrong thing in many instructions of one line: tell it once.

    What ends the kernel on hardware is told before what does not.
    """
    by_line: dict[tuple[str, str, int], Hazard] = {}
    for hazard in sorted(hazards, key=lambda hazard: hazard.detail not in ("unmapped", "null", "misaligned")):
        earlier = by_line.get((hazard.kind, hazard.file, hazard.line))
        count = hazard.count + (earlier.count if earlier else 0)
        by_line[hazard.kind, hazard.file, hazard.line] = replace(earlier or hazard, count=count)
    return sorted(by_line.values(), key=lambda hazard: hazard.line)


def _spoken_by(state: State, record: SeenLaunch) -> str:
    """An array of both sides by which the host may speak to a kernel while that runs; "" where there is none."""
    handed_over = {argument.serial for argument in record.arguments if argument.buffer}
    shared = (a.name for a in state.host_memory.values() if a.serial in handed_over and a.kind != "variable")
    return next(shared, "") if may_speak(state) else ""


def _traced(state: State, record: SeenLaunch, kind: str, message: Message, ends: Message, place: Place) -> int:
    """The launch is known, what it does is not: the data that follow are hollow, or the program `ends`.

    Raises ProgramEnded: launches are not to be passed over.
    """
    record.status = "traced"
    state.hollow = True
    if not state.limits.passes_over:
        state.tell(kind, "error", ends, place)
        raise ProgramEnded(ends)
    state.tell(kind, "warning", message, place)
    return 0


def _faulted(state: State, record: SeenLaunch, code: int, place: Place) -> int:
    """A fault ends the context: this launch has returned by then, every later call tells it."""
    record.status = "faulted"
    record.error = name_of(code)
    state.fault = (code, record, place)
    return 0


def failed(state: State, record: SeenLaunch, code: int, place: Place) -> int:
    """Record a launch that is refused with an error of CUDA's."""
    record.status = "failed"
    record.error = name_of(code)
    state.fail("launch", code, place).launch = record
    return code


_FLOATS = re.compile(r"(float[2-4]?|double)\s*\*")
MORE, TIMES = 1000.0, 2.0
MAX_DOUBLED = 16
"""Copies, each changed by more than the one before: results of one kernel may be held against those of another."""
MAX_ROWS = 1024
"""The most rows of a copy whose numbers are looked at."""
MAX_BYTES = 16 << 20
"""The most bytes of them together."""


def falsify(
    state: State, allocation: Allocation | None, data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]]
) -> None:
    """Change what was just copied to the host of an array that a kernel wrote; rows: of offset in `data` and bytes."""
    written = _floats_of(state, allocation)
    chosen = state.limits.falsified_kernels
    if written is not None and (not chosen or written[0].display in chosen):
        launch, dtype = written
        more = MORE * 2.0 ** (len(state.falsified) % MAX_DOUBLED)
        _change(data, rows, dtype, state.limits.falsifies, more)
        state.falsified.append(launch.display)


def note_largest(
    state: State, allocation: Allocation | None, data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]]
) -> None:
    """Note how large the numbers are that were just copied to the host of an array that a kernel wrote."""
    written = _floats_of(state, allocation)
    if written is None:
        return
    left = MAX_BYTES
    for offset, size in rows[:MAX_ROWS]:
        whole = min(size, left) // written[1].itemsize * written[1].itemsize
        left -= whole
        values = data[offset : offset + whole].view(written[1])
        state.largest = max(state.largest, float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))))


def _floats_of(state: State, allocation: Allocation | None) -> tuple[SeenLaunch, np.dtype[np.floating[Any]]] | None:
    """Return the last launch that may have written an array of floating-point numbers, and their type."""
    if allocation is None:
        return None
    for launch in reversed(state.launches):
        own = [a for a in launch.arguments if a.serial == allocation.serial]
        types = [match for a in own if (match := _FLOATS.match(a.type_text)) is not None and "const" not in a.type_text]
        if types:
            return launch, np.dtype("f8" if types[0][1] == "double" else "f4")
    return None


def _change(
    data: npt.NDArray[np.uint8],
    rows: Sequence[tuple[int, int]],
    dtype: np.dtype[np.floating[Any]],
    way: str,
    least: float,
) -> None:
    total = sum(size for _offset, size in rows)
    left = total // 2 if way == "half" else 0
    few = _few(total // dtype.itemsize) if way == "some" else None
    before = 0
    for offset, size in rows:
        kept = min(left, size) // dtype.itemsize * dtype.itemsize
        left -= kept
        part = data[offset + kept : offset + size // dtype.itemsize * dtype.itemsize]
        values = np.frombuffer(part.tobytes(), dtype)
        more = TIMES * np.abs(values) + dtype.type(least)
        changed = np.full_like(values, np.nan) if way == "nan" else values - more
        if way in ("up", "some"):
            changed = values + more
        if few is not None:
            here = few - before
            chosen = np.zeros(len(values), np.bool_)
            chosen[here[(here >= 0) & (here < len(values))]] = True
            changed = np.where(chosen, changed, values)
        before += len(values)
        part[:] = np.frombuffer(changed.astype(dtype).tobytes(), np.uint8)


def _few(count: int) -> npt.NDArray[np.int64]:
    """Return which elements are changed where a few are: none at an end, nor on the diagonal of a square."""
    side = max(1, math.isqrt(count)) + 1
    places = [int(count * share) for share in (0.13, 0.37, 0.61)]
    return np.array([place + (place % side == 0) for place in places], np.int64)
