"""Timed launches in the GPU process: kernels side by side, on data that no launch has seen before.

First the device is brought up to speed, and what it can do at most is measured meanwhile; its clock, measured on the
device and as NVML tells it, is watched from then on.  Every launch of a sample has
arrays of its own, filled afresh before it and checked after it, so that neither an answer kept from an earlier launch
nor work skipped in a later one stays unnoticed.  What is expected does not exist while the student's kernel runs: the
checking kernel makes it afterwards from the same inputs, and it is wiped before the next sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from typing import Any

from grader import driver
from grader.devices import FLOAT_SENTINEL_BYTE, GUARD_BYTE, sentinel_byte
from grader.driver import DriverError, uuid_text
from grader.gpu import messages
from grader.gpu.device.launch import Device, Graph, Graphs, LaunchFailed, Modules, ready_for_launch
from grader.gpu.device.memory import Counts, Elements, Values, aligned

COPY_BYTES = 512 << 20
FMA_BLOCKS_PER_SM = 8
FMA_ROUNDS = 24
_FLOP_PER_THREAD_ROUND = 2 * 16 * 256
_THREADS = 256


def sm_mhz(device: Device, max_mhz: float) -> float:
    """The SM clock now: cycles that one thread counts over the nanoseconds that pass, about 20 µs."""
    counters = device.counters
    device.helpers.clock_probe(counters.at(0), int(20 * max_mhz))
    cycles, nanoseconds, *_rest = counters.read()
    return 1000 * cycles / nanoseconds if nanoseconds else 0.0


def clock_reasons(device: Device) -> int:
    """NVML's bit mask of why the clocks are not at their highest; 0 where NVML does not tell."""
    try:
        from cuda.bindings import nvml

        handle = _nvml_handle(device)
        return int(nvml.device_get_current_clocks_event_reasons(handle)) if handle else 0
    except Exception:
        # NVML is not needed: the bindings raise a class per error, and older ones lack the module.
        return 0


_nvml: dict[str, Any] = {}


def _nvml_handle(device: Device) -> Any:
    if "handle" not in _nvml:
        from cuda.bindings import nvml

        _nvml["handle"] = None
        nvml.init_v2()
        uuid = driver.call("cuDeviceGetUuid", device.handle)
        _nvml["handle"] = nvml.device_get_handle_by_uuid(f"GPU-{uuid_text(uuid.bytes)}")
    return _nvml["handle"]


def warm_up(device: Device, ready: messages.Ready, busy_ms: float) -> tuple[float, float]:
    """Copy and multiply in turns until the device was busy for `busy_ms`.

    Returns the best copy seen in GB/s (10⁹ bytes read and written a second), the best rate of float32 multiply-adds in
    GFLOP/s.
    """
    nbytes = min(COPY_BYTES, ready.memory_bytes // 16) // 256 * 256
    source, target = int(driver.call("cuMemAlloc", nbytes)), int(driver.call("cuMemAlloc", nbytes))
    events = [driver.call("cuEventCreate", 0) for _index in range(3)]
    blocks = ready.multiprocessors * FMA_BLOCKS_PER_SM
    operations = blocks * _THREADS * FMA_ROUNDS * _FLOP_PER_THREAD_ROUND
    # Zeros would do a little less work.
    device.helpers.set_bytes(source, 0, 1, nbytes, 0x3D)
    best_copy = best_fma = float("inf")
    busy = 0.0
    try:
        while busy < busy_ms:
            driver.call("cuEventRecord", events[0], device.stream)
            driver.call("cuMemcpyDtoDAsync", target, source, nbytes, device.stream)
            driver.call("cuEventRecord", events[1], device.stream)
            device.helpers.multiply_add(source, blocks, FMA_ROUNDS)
            driver.call("cuEventRecord", events[2], device.stream)
            driver.call("cuStreamSynchronize", device.stream)
            copy_ms = float(driver.call("cuEventElapsedTime", events[0], events[1]))
            fma_ms = float(driver.call("cuEventElapsedTime", events[1], events[2]))
            best_copy, best_fma = min(best_copy, copy_ms), min(best_fma, fma_ms)
            busy += copy_ms + fma_ms
    finally:
        for event in events:
            with suppress(DriverError):
                driver.call("cuEventDestroy", event)
        for address in (source, target):
            with suppress(DriverError):
                driver.call("cuMemFree", address)
    return 2 * nbytes / best_copy / 1e6, operations / best_fma / 1e6


GUARD_GAP_BYTES = 4096
"""Between neighbouring arrays of a sample."""

MEMORY_SHARE = 0.35
"""Share of the free device memory for the arrays of a sample; the expected values take as much again."""

FLUSH_L2 = 2
"""Size of what is read to evict the L2 cache, over the cache's."""

_WARM_LAUNCHES = 3
_LONG_US = 1000.0
"""What takes so long takes as long the second time as the third."""
_INPUTS, _GUARDS, _WRONG, _UNWRITTEN, _ZEROS = range(5)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the arrays of one launch lie within its `stride` bytes, sorted by name."""

    arrays: tuple[messages.Array, ...]
    offsets: Mapping[str, int]
    stride: int

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Offset and length of every guard zone."""
        edges = [(0, self.offsets[self.arrays[0].name])]
        for array, following in zip(self.arrays, [*self.arrays[1:], None], strict=True):
            begin = self.offsets[array.name] + array.nbytes
            end = self.stride if following is None else self.offsets[following.name]
            edges.append((begin, end - begin))
        return edges

    @property
    def signature(self) -> tuple[object, ...]:
        """A key that is equal for kernels that take the same arrays."""
        return tuple((a.name, a.dtype, a.count, a.is_output) for a in self.arrays)


def layout_of(launch: messages.Launch) -> Layout:
    """The layout of a launch's arrays, with a gap before, between and after them."""
    arrays = tuple(sorted((a for a in launch.arguments if isinstance(a, messages.Array)), key=lambda a: a.name))
    offsets, position = {}, GUARD_GAP_BYTES
    for array in arrays:
        offsets[array.name] = position
        position += aligned(array.nbytes) + GUARD_GAP_BYTES
    return Layout(arrays, offsets, position)


@dataclass(slots=True)
class _Prepared:
    """A target with everything that its samples need."""

    target: messages.Target
    function: Any
    layout: Layout
    facts: messages.KernelFacts
    batch: int = 1
    sample: Graph | None = None
    check: Graph | None = None


class Rounds:
    """The targets of one `Prepare`, ready to be timed.

    Raises LaunchFailed: a target's launch was refused, or its kernel failed.  Raises DriverError: memory ran out, or
    something else failed.
    """

    def __init__(self, device: Device, modules: Modules, order: messages.Prepare, memory: Any) -> None:
        self._device = device
        self._order = order
        self._shared = memory
        self._owned: list[int] = []
        self._filled: tuple[object, ...] | None = None
        self._targets: dict[str, _Prepared] = {}
        for target in order.targets:
            function = modules.function(target.launch.module, target.launch.entry)
            facts = ready_for_launch(device, function, target.launch)
            self._targets[target.name] = _Prepared(target, function, layout_of(target.launch), facts)
        self._pools = {key: (self._upload(key, memory), count - 1) for key, (_at, count) in order.pools.items()}
        flush_bytes = FLUSH_L2 * driver.attribute(device.handle, "L2_CACHE_SIZE") if order.l2 == "cold" else 0
        self._graphs = Graphs(device, self._allocate(max(16, flush_bytes)), flush_bytes)
        self._max_mhz = driver.attribute(device.handle, "CLOCK_RATE") / 1000
        self._nothing_us = self._graphs.nothing_us()
        self._empty_us = self._graphs.empty_us()
        # One set of arrays is enough for the estimates.
        self._arena = self._expected = 0
        self._make_room()
        self.prepared = self._prepare()

    def close(self) -> None:
        """Give back all memory."""
        for prepared in self._targets.values():
            self._drop_graphs(prepared)
        for address in self._owned:
            with suppress(DriverError):
                driver.call("cuMemFree", address)

    def round(self, names: list[str], key: int) -> messages.RoundDone:
        """Time each of `names` once, in this order."""
        times: dict[str, float] = {}
        problems: list[messages.Problem] = []
        for position, name in enumerate(names):
            times[name], sample_problems = self._sample(self._targets[name], key + position)
            problems += sample_problems
        return messages.RoundDone(
            times_us=times, problems=problems, sm_mhz=self._clock(), reasons=clock_reasons(self._device)
        )

    def _prepare(self) -> messages.Prepared:
        problems: list[messages.Problem] = []
        estimates = {}
        for prepared in self._targets.values():
            self._build(prepared)
            times: list[float] = []
            while len(times) < (_WARM_LAUNCHES if min(times, default=0.0) < _LONG_US else 2):
                elapsed_us, sample_problems = self._sample(prepared, len(times))
                times.append(elapsed_us)
                problems += sample_problems
            estimates[prepared.target.name] = min(times[1:])
        free, _total = driver.call("cuMemGetInfo")
        stride = max(r.layout.stride for r in self._targets.values())
        room = max(1, int(free * MEMORY_SHARE) // stride)
        for prepared in self._targets.values():
            wanted = ceil(self._graphs.tick_us / (self._order.clock_share * max(estimates[prepared.target.name], 1.0)))
            prepared.batch = max(1, min(wanted, self._order.max_batch, room))
        if any(prepared.batch > 1 for prepared in self._targets.values()):
            self._make_room()
            for prepared in self._targets.values():
                self._build(prepared)
                _time, sample_problems = self._sample(prepared, _WARM_LAUNCHES)
                problems += sample_problems
        return messages.Prepared(
            batch={name: r.batch for name, r in self._targets.items()},
            estimate_us=estimates,
            empty_us=self._empty_us - self._nothing_us,
            facts={name: r.facts for name, r in self._targets.items()},
            problems=problems,
        )

    def _sample(self, prepared: _Prepared, key: int) -> tuple[float, list[messages.Problem]]:
        """Return the time of one launch, µs, and what was wrong with the results."""
        helpers, layout, sets = self._device.helpers, prepared.layout, prepared.batch
        signature = (layout.signature, sets)
        if self._filled != signature:
            helpers.set_bytes(self._arena, 0, 1, layout.stride * sets, GUARD_BYTE)
            self._filled = signature
        for index, array in enumerate(layout.arrays):
            base = self._arena + layout.offsets[array.name]
            if array.is_output:
                helpers.set_bytes(
                    base, layout.stride, sets, array.nbytes, 0 if array.is_zeroed else sentinel_byte(array.dtype)
                )
            else:
                pool, mask = self._pools[f"{array.name}:{array.dtype}"]
                elements = Elements(base, layout.stride, sets, array.count, array.width)
                helpers.fill(elements, Values(pool, mask, _mixed(key, index)))
        assert prepared.sample is not None
        self._mark(prepared.target.name)
        try:
            prepared.sample.run()
        except DriverError as error:
            raise LaunchFailed(error, "kernel", prepared.target.name) from error
        self._mark("")
        elapsed_us = max(fmean(prepared.sample.intervals_us()) - self._nothing_us, 0.0)
        return elapsed_us, self._check(prepared, key) if prepared.check is not None else []

    def _mark(self, name: str) -> None:
        """Note the kernel at work: if it never ends, nobody here will be able to say which it was."""
        self._shared[: messages.PROGRESS_BYTES] = name.encode()[: messages.PROGRESS_BYTES].ljust(
            messages.PROGRESS_BYTES, b"\0"
        )

    def _check(self, prepared: _Prepared, key: int) -> list[messages.Problem]:
        """Have the checking kernel compute what is expected, compare, and wipe it."""
        helpers, layout, sets, counters = self._device.helpers, prepared.layout, prepared.batch, self._device.counters
        counters.clear()
        for offset, nbytes in layout.gaps:
            helpers.check_bytes(self._arena + offset, layout.stride, sets, nbytes, GUARD_BYTE, counters.at(_GUARDS))
        for index, array in enumerate(layout.arrays):
            if not array.is_output:
                base = self._arena + layout.offsets[array.name]
                pool, mask = self._pools[f"{array.name}:{array.dtype}"]
                elements = Elements(base, layout.stride, sets, array.count, array.width)
                helpers.check_filled(elements, Values(pool, mask, _mixed(key, index)), counters.at(_INPUTS))
        assert prepared.check is not None
        prepared.check.start()
        total = 0
        for array in layout.arrays:
            if array.is_output:
                offset = layout.offsets[array.name]
                helpers.compare(
                    Elements(self._arena + offset, layout.stride, sets, array.count, array.width),
                    self._expected + offset,
                    array.dtype,
                    (self._order.absolute, self._order.relative),
                    Counts(counters.at(_WRONG), counters.at(_UNWRITTEN), counters.at(_ZEROS)),
                )
                helpers.set_bytes(
                    self._expected + offset, layout.stride, sets, array.nbytes, sentinel_byte(array.dtype)
                )
                total += array.count * sets
        counts = counters.read()
        name = prepared.target.name
        problems = []
        if counts[_INPUTS]:
            # What is expected was made from inputs that are no longer the ones given.
            problems.append(messages.Problem(name, "input_changed", counts[_INPUTS], total))
        elif counts[_WRONG]:
            kind = "unwritten" if counts[_UNWRITTEN] == counts[_WRONG] else "wrong"
            problems.append(messages.Problem(name, kind, counts[_WRONG], total))
        elif 2 * counts[_ZEROS] > total:
            # Within a tolerance that is wide for these values, yet no answer.
            problems.append(messages.Problem(name, "wrong", counts[_ZEROS], total))
        if counts[_GUARDS]:
            problems.append(messages.Problem(name, "guard", counts[_GUARDS], total))
            self._filled = None
        return problems

    def _build(self, prepared: _Prepared) -> None:
        """Build the graphs of a target for its batch."""
        self._drop_graphs(prepared)
        launches = [
            (prepared.function, prepared.target.launch, self._at(prepared.layout, s)) for s in range(prepared.batch)
        ]
        try:
            prepared.sample = self._graphs.timed(launches)
        except DriverError as error:
            raise LaunchFailed(error, "launch", prepared.target.name) from error
        checker = self._targets.get(prepared.target.checked_by)
        if checker is not None and checker.layout.signature == prepared.layout.signature:
            checks = [
                (checker.function, checker.target.launch, self._at(prepared.layout, s, expected=True))
                for s in range(prepared.batch)
            ]
            prepared.check = self._graphs.plain(checks)

    def _at(self, layout: Layout, index: int, expected: bool = False) -> dict[str, int]:
        """Return the addresses of the arrays of one launch; with `expected`, outputs go where they are compared."""
        return {
            a.name: (self._expected if expected and a.is_output else self._arena)
            + layout.stride * index
            + layout.offsets[a.name]
            for a in layout.arrays
        }

    def _drop_graphs(self, prepared: _Prepared) -> None:
        for graph in (prepared.sample, prepared.check):
            if graph is not None:
                graph.close()
        prepared.sample = prepared.check = None

    def _clock(self) -> float:
        return sm_mhz(self._device, self._max_mhz)

    def _make_room(self) -> None:
        """Allocate the arrays of the largest sample, and those expected of them."""
        for address in (self._arena, self._expected):
            if address:
                driver.call("cuMemFree", address)
                self._owned.remove(address)
        self._arena = self._expected = 0
        nbytes = max(r.layout.stride * r.batch for r in self._targets.values())
        self._arena = self._allocate(nbytes)
        self._expected = self._allocate(nbytes)
        self._device.helpers.set_bytes(self._expected, 0, 1, nbytes, FLOAT_SENTINEL_BYTE)
        self._filled = None

    def _upload(self, key: str, memory: Any) -> int:
        from grader.gpu.device.memory import copy_in

        offset, count = self._order.pools[key]
        width = next(
            a.width
            for s in self._order.targets
            for a in s.launch.arguments
            if isinstance(a, messages.Array) and f"{a.name}:{a.dtype}" == key
        )
        address = self._allocate(count * width)
        copy_in(address, memory, count * width, offset)
        return address

    def _allocate(self, nbytes: int) -> int:
        address = int(driver.call("cuMemAlloc", nbytes))
        self._owned.append(address)
        return address


def _mixed(key: int, index: int) -> int:
    return (key * 0x9E3779B97F4A7C15 + index * 0xD1B54A32D192ED03) & 0xFFFFFFFFFFFFFFFF
