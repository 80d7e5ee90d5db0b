"""Transforms and sorts of many numbers by NumPy: cuFFT's plans of one to three dimensions, batches, layouts, complex and
real transforms; and CUB's radix sort, as Thrust's `sort` calls it.

In the emulator the kernels of that take ten microseconds of processor time a key: threads rank their keys by votes,
digit by digit, and blocks wait for the sums of those before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.programs.device_memory import DeviceMemory
from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served, served, takes
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.state import Handlers, State

FEWEST = 1 << 14
"""Keys; fewer are sorted by CUB's kernels, which are listed and counted then."""
_COST = 16
"""Cost of sorting a key, in multiplications."""
_BY_KERNELS = 1
_UNSIGNED, _SIGNED, _FLOAT = range(3)


@takes("keys sorted values moved count kind key_bytes value_bytes begin_bit end_bit is_descending stream")
def radix_sort(call: Call, args: Arguments) -> int | None:
    """Sort; `_BY_KERNELS` where that is left to CUB: of few keys, and where kernels do not run here and now."""
    state, count = call.state, args.count
    is_here = isinstance(state.memory, DeviceMemory) and not state.hollow and args.stream not in state.graphs.captures
    is_sound = args.key_bytes in (1, 2, 4, 8) and 0 <= args.begin_bit < args.end_bit <= 8 * args.key_bytes
    if count < FEWEST or not is_here or not is_sound or args.value_bytes < 0:
        return _BY_KERNELS
    key_bytes, moved_bytes = count * args.key_bytes, count * args.value_bytes
    operands = (args.keys, key_bytes), (args.sorted, key_bytes), (args.values, moved_bytes), (args.moved, moved_bytes)
    if not all(_is_within(state, address, size) for address, size in operands if size):
        # Accesses beyond an array are reported by the kernels.
        return _BY_KERNELS
    call.work(count, _COST + args.value_bytes)
    keys = call.array(args.keys, count, f"u{args.key_bytes}")
    values = call.array(args.values, count * args.value_bytes, "u1")
    if any((valid := allocation.valid()) is not None and not valid.all() for _, allocation in (keys, values)):
        # Reads of what nobody has written are reported by the kernels.
        return _BY_KERNELS
    ranks = _ranks(keys[0], args)
    if args.value_bytes or args.kind == _FLOAT or args.end_bit - args.begin_bit < 8 * args.key_bytes:
        order = _order(ranks)
        moved = values[0].reshape(count, -1)[order].reshape(-1) if args.value_bytes else None
        call.store(call.array(args.sorted, count, keys[0].dtype.str), keys[0][order])
        if moved is not None:
            call.store(call.array(args.moved, len(moved), "u1"), moved)
        return None
    ranks.sort()
    if args.is_descending:
        ranks = ~ranks
    sign = keys[0].dtype.type(1 << 8 * args.key_bytes - 1) if args.kind == _SIGNED else keys[0].dtype.type(0)
    call.store(call.array(args.sorted, count, keys[0].dtype.str), ranks ^ sign)
    return None


def _is_within(state: State, address: int, size: int) -> bool:
    """Whether so many bytes lie in one array."""
    allocation = state.memory.find(address)
    begin = allocation.base if allocation is not None else 0
    if allocation is None and (allocation := shared_at(state, address)) is not None:
        begin = allocation.host
    return allocation is not None and begin <= address and address + size <= begin + allocation.size


def _ranks(keys: Array, args: Arguments) -> Array:
    """Return unsigned numbers in whose order the keys go (cub/util_type.cuh, `Traits::TwiddleIn`): -0 is 0."""
    of = keys.dtype.type
    sign = of(1 << 8 * args.key_bytes - 1)
    ranks = keys.copy()
    if args.kind == _SIGNED:
        ranks ^= sign
    elif args.kind == _FLOAT:
        ranks[ranks == sign] = 0
        ranks ^= np.where(ranks & sign, ~of(0), sign)
    if args.is_descending:
        ranks = ~ranks
    bits = args.end_bit - args.begin_bit
    return ranks if bits == 8 * args.key_bytes else ranks >> of(args.begin_bit) & of((1 << bits) - 1)


def _order(ranks: Array) -> Array:
    """Return the places of the keys in order; of equal ones the first comes first."""
    if ranks.dtype.itemsize > 4 or len(ranks) >= 1 << 32:
        return np.argsort(ranks, kind="stable")
    both = ranks.astype(np.uint64) << np.uint64(32) | np.arange(len(ranks), dtype=np.uint64)
    both.sort()
    return both & np.uint64(0xFFFFFFFF)


_STATUSES = {1: 1, calls.INVALID_VALUE: 4, calls.MAPPING_ERROR: 6}
_ALLOC_FAILED, _INVALID_TYPE, _INVALID_SIZE = 2, 3, 8
C2C, R2C, C2R, Z2Z, D2Z, Z2D = 0x29, 0x2A, 0x2C, 0x69, 0x6A, 0x6C
_TYPES = {
    C2C: ("c8", "c8"),
    R2C: ("f4", "c8"),
    C2R: ("c8", "f4"),
    Z2Z: ("c16", "c16"),
    D2Z: ("f8", "c16"),
    Z2D: ("c16", "f8"),
}
_FORWARD, _INVERSE = -1, 1
_MAX_SIZE = 1 << 28


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where one side of a plan has its numbers: length and step of the batch and of each dimension, in elements."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]

    def place(self, call: Call, address: int, dtype: str) -> tuple[Operand, Array]:
        """Return the memory that it covers, and the numbers in it as an array of `shape`."""
        reach = 1 + sum((length - 1) * step for length, step in zip(self.shape, self.steps, strict=True))
        operand = call.array(address, reach, dtype)
        width = np.dtype(dtype).itemsize
        return operand, np.lib.stride_tricks.as_strided(operand[0], self.shape, [width * step for step in self.steps])


@dataclass(frozen=True, slots=True)
class _Plan:
    """embeds: of input and output, the numbers of `cufftPlanMany`: embedding, step, distance; None for the usual."""

    sizes: tuple[int, ...]
    kind: int
    batch: int
    embeds: tuple[tuple[tuple[int, ...], int, int] | None, tuple[tuple[int, ...], int, int] | None]

    def layouts(self, is_in_place: bool) -> tuple[_Layout, _Layout]:
        """Return the layouts of the input and of the output."""
        half = (*self.sizes[:-1], self.sizes[-1] // 2 + 1)
        padded = (*self.sizes[:-1], 2 * half[-1]) if is_in_place else self.sizes
        input_type, output_type = _TYPES[self.kind]
        is_real = input_type[0] == "f" or output_type[0] == "f"
        layouts = []
        for dtype, embed in zip((input_type, output_type), self.embeds, strict=True):
            shape = half if is_real and dtype[0] == "c" else self.sizes
            usual = half if is_real and dtype[0] == "c" else padded if is_real else self.sizes
            within, step, distance = embed or (usual, 1, math.prod(usual))
            steps = [step * math.prod(within[axis + 1 :]) for axis in range(len(shape))]
            layouts.append(_Layout((self.batch, *shape), (distance, *steps)))
        return layouts[0], layouts[1]


def _plan_of(call: Call) -> _Plan:
    plan = call.handle.get("plan")
    if not isinstance(plan, _Plan):
        raise Refused(1)
    return plan


def _new(call: Call, handle: int, plan: _Plan | None) -> None:
    if len(call.state.libraries) >= calls.MAX_HANDLES:
        raise Refused(_ALLOC_FAILED)
    # A plan's handle is an int: no other library's is so small.
    call.state.handle()
    number = call.state.next_handle
    call.state.guest.pack("i", handle, number)
    call.state.libraries[number] = {"plan": plan}


def _made(sizes: tuple[int, ...], kind: int, batch: int, *embeds: Any) -> _Plan:
    if kind not in _TYPES:
        raise Refused(_INVALID_TYPE)
    if batch < 1 or min(sizes) < 1 or math.prod(sizes) * batch > _MAX_SIZE:
        raise Refused(_INVALID_SIZE)
    return _Plan(sizes, kind, batch, (embeds[0], embeds[1]) if embeds else (None, None))


def _numbers(call: Call, address: int, count: int) -> tuple[int, ...]:
    return tuple(call.state.guest.unpack(f"{count}i", address))


_MANY = "rank n inembed istride idist onembed ostride odist kind batch"


def _many(call: Call, args: Arguments) -> _Plan:
    """Return the plan of `_MANY`: of input and output, where the sizes are that they lie within, a step and a distance."""
    if not 1 <= args.rank <= 3:
        raise Refused(calls.INVALID_VALUE)
    embeds = []
    for address, step, distance in (
        (args.inembed, args.istride, args.idist),
        (args.onembed, args.ostride, args.odist),
    ):
        within = _numbers(call, address, args.rank) if address else ()
        if address and (min(within) < 1 or step < 1 or distance < 0 or max(*within, step, distance) > _MAX_SIZE):
            raise Refused(calls.INVALID_VALUE)
        embeds.append((within, step, distance) if address else None)
    # Where one of them is left out the usual layout holds for both (cuFFT, "Advanced data layout").
    return _made(_numbers(call, args.n, args.rank), args.kind, args.batch, *(embeds if all(embeds) else (None, None)))


def plan_1d(call: Call, handle: int, nx: int, kind: int, batch: int) -> None:
    _new(call, handle, _made((nx,), kind, batch))


def plan_2d(call: Call, handle: int, nx: int, ny: int, kind: int) -> None:
    _new(call, handle, _made((nx, ny), kind, 1))


def plan_3d(call: Call, handle: int, nx: int, ny: int, nz: int, kind: int) -> None:
    _new(call, handle, _made((nx, ny, nz), kind, 1))


@calls.takes(f"handle {_MANY}")
def plan_many(call: Call, args: Arguments) -> None:
    _new(call, args.handle, _many(call, args))


def create(call: Call, handle: int) -> None:
    _new(call, handle, None)


def _keep(call: Call, plan: _Plan, size: int) -> None:
    call.handle["plan"] = plan
    if size:
        call.state.guest.pack("Q", size, 0)


def make_1d(call: Call, nx: int, kind: int, batch: int, size: int) -> None:
    _keep(call, _made((nx,), kind, batch), size)


def make_2d(call: Call, nx: int, ny: int, kind: int, size: int) -> None:
    _keep(call, _made((nx, ny), kind, 1), size)


def make_3d(call: Call, nx: int, ny: int, nz: int, kind: int, size: int) -> None:
    _keep(call, _made((nx, ny, nz), kind, 1), size)


@calls.takes(f"{_MANY} size")
def make_many(call: Call, args: Arguments) -> None:
    _keep(call, _many(call, args), args.size)


def get_size(call: Call, size: int) -> None:
    _plan_of(call)
    call.state.guest.pack("Q", size, 0)


def _execute(kind: int) -> Served:
    def complex_transform(call: Call, source: int, target: int, direction: int) -> None:
        if direction not in (_FORWARD, _INVERSE):
            raise Refused(calls.INVALID_VALUE)
        _transform(call, kind, source, target, direction)

    def real_transform(call: Call, source: int, target: int) -> None:
        _transform(call, kind, source, target, _FORWARD if kind in (R2C, D2Z) else _INVERSE)

    return complex_transform if kind in (C2C, Z2Z) else real_transform


def _transform(call: Call, kind: int, source: int, target: int, direction: int) -> None:
    plan = _plan_of(call)
    if plan.kind != kind:
        raise Refused(_INVALID_TYPE)
    count = math.prod(plan.sizes) * plan.batch
    call.work(count, count.bit_length())
    input_layout, output_layout = plan.layouts(source == target)
    input_type, output_type = _TYPES[kind]
    read, numbers = input_layout.place(call, source, input_type)
    written, place = output_layout.place(call, target, output_type)
    call.read(read)
    axes = tuple(range(1, len(plan.sizes) + 1))
    wide = numbers.astype("f8" if input_type[0] == "f" else "c16")
    if kind in (R2C, D2Z):
        transformed: Array = np.fft.rfftn(wide, axes=axes)
    elif kind in (C2R, Z2D):
        transformed = np.fft.irfftn(wide, plan.sizes, axes) * math.prod(plan.sizes)
    else:
        transformed = (
            np.fft.fftn(wide, axes=axes)
            if direction == _FORWARD
            else np.fft.ifftn(wide, axes=axes) * math.prod(plan.sizes)
        )
    call.store((place, written[1]), transformed)


_UNBOUND: dict[str, Served] = {
    "cufftPlan1d": plan_1d,
    "cufftPlan2d": plan_2d,
    "cufftPlan3d": plan_3d,
    "cufftPlanMany": plan_many,
    "cufftCreate": create,
    "cufftDestroy": calls.destroy,
    "cufftGetVersion": calls.gives(12_000),
}
_BOUND: dict[str, Served] = {
    "cufftMakePlan1d": make_1d,
    "cufftMakePlan2d": make_2d,
    "cufftMakePlan3d": make_3d,
    "cufftMakePlanMany": make_many,
    "cufftGetSize": get_size,
    "cufftSetStream": calls.set_stream,
    "cufftSetWorkArea": calls.accept,
    "cufftSetAutoAllocation": calls.accept,
    **{
        f"cufftExec{name}": _execute(kind)
        for name, kind in (("C2C", C2C), ("R2C", R2C), ("C2R", C2R), ("Z2Z", Z2Z), ("D2Z", D2Z), ("Z2D", Z2D))
    },
}
HANDLERS: Handlers = {
    "graderRadixSort": served(radix_sort, is_bound=False),
    **calls.all_served(_UNBOUND, is_bound=False, statuses=_STATUSES),
    **calls.all_served(_BOUND, statuses=_STATUSES),
}
