"""Every function that a program can import is called with anything: nothing but the program itself may end."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import wasmtime

from grader.programs.emulated import EmulatedDevice
from grader.programs.moved import ProgramText, SourceLines
from grader.programs.records import RunLimits
from grader.programs.runtime import table
from grader.programs.runtime.copies import H2D, MAX_ROWS, Rows, memcpy_2d, memset_2d
from grader.programs.runtime.devices import model_of
from grader.programs.runtime.libraries.calls import note_write
from grader.programs.runtime.ordering import NOWHERE
from grader.programs.runtime.state import CudaError, Kernel, ProgramEnded, State
from grader.programs.runtime.table import Calls
from grader.programs.sandbox.guest import BYTES_PER_INSTRUCTION, BadPointer, Guest
from grader.programs.sandbox.process import Code
from grader.programs.sandbox.wasi import HANDLERS, Surroundings, Wasi

CALLS = int(os.environ.get("FUZZED_CALLS", "12000"))
"""In all; a million by hand."""
SEEDS = 6
LOOKED_AT_BYTES = 1 << 20
MOST_PIECES = 16
MODULE = """
(module
  (memory (export "memory") i64 4)
  (global $next (mut i64) (i64.const 4096))
  (func (export "grader_malloc") (param i64) (result i64) (local i64)
    global.get $next local.tee 1
    local.get 0 i64.const 8191 i64.and i64.const 511 i64.add i64.const -256 i64.and i64.add
    i64.const 131071 i64.and global.set $next local.get 1)
  (func (export "grader_free") (param i64))
  (func (export "grader_call") (param i64 i64))
  (func (export "fflush") (param i64) (result i32) i32.const 0)
  (func (export "grader_call_stream") (param i64 i64 i32 i64))
  (func (export "grader_demangle") (param i64) (result i64) i64.const 0))
"""
PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 table[64];
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .b64 %a<2>;
    ld.param.u64 %a0, [p];
    ret;
}
"""


def make() -> tuple[State, Wasi]:
    config = wasmtime.Config()
    config.wasm_memory64 = True
    config.memory_may_move = False
    store = wasmtime.Store(wasmtime.Engine(config))
    exports = wasmtime.Instance(store, wasmtime.Module(store.engine, MODULE), []).exports(store)
    sources = SourceLines({"a.cu": "cudaMalloc(&d_a, n);\n" * 3})
    state = State(
        model_of("t4"),
        ProgramText(sources, ["a.cu"], {}, frozenset()),
        lambda _wanted: Code(PTX, ""),
        lambda _raw: None,
        RunLimits(),
        EmulatedDevice,
    )
    state.calls = Calls([])
    guest = state.guest = Guest(store, exports["memory"], state.meter)
    state.call_guest = lambda name, *values: exports[name](store, *values)  # type: ignore[operator]
    wasi = Wasi(
        lambda: guest,
        Surroundings([b"a"], b"input", {"f": b"data"}),
        lambda _descriptor, _data: None,
        lambda: 0,
        lambda: 0,
        state.meter,
    )
    return state, wasi


def numbers(state: State, chance: random.Random) -> list[int]:
    """Values of every kind: small, huge, negative, addresses of both sides, handles."""
    found = [
        0,
        1,
        2,
        3,
        4,
        8,
        31,
        64,
        255,
        4096,
        65536,
        1 << 20,
        1 << 31,
        1 << 32,
        1 << 40,
        (1 << 63) - 1,
        -1,
        -8,
        -(1 << 63),
    ]
    found += [chance.randrange(1 << 18) for _ in range(6)] + [chance.randrange(-(1 << 63), 1 << 63) for _ in range(3)]
    found += [a.base + chance.choice([0, 4, -4, a.size]) for a in list(state.memory.live.values())[-6:]]
    found += [*state.host_memory][-3:] + [*state.memory.freed][-3:]
    found += (
        [*state.streams][-3:] + [*state.events][-3:] + [*state.libraries][-3:] + [*state.units, *state.kernels][-3:]
    )
    return found


class Refused(Exception):
    """The meter has come to its end."""


class Charges:
    """What a meter was asked for since `begin`: it refuses what is more than is left, and counts the rest."""

    def __init__(self) -> None:
        self.left = self.charged = 0

    def begin(self, instructions: int) -> None:
        self.left, self.charged = instructions, 0

    def spend(self, instructions: int) -> None:
        assert instructions >= 0
        if instructions > self.left:
            raise Refused
        self.left -= instructions
        self.charged += instructions


def contents(state: State) -> dict[object, npt.NDArray[np.uint8]]:
    """Copies of all memory that a call can change, as far as it is small enough to be looked at each time."""
    found: dict[object, npt.NDArray[np.uint8]] = {"host": state.guest.lent(1, state.guest.size() - 1).copy()}
    for allocation in state.memory.live.values():
        if not allocation.host and allocation.size <= LOOKED_AT_BYTES:
            found[allocation.array] = allocation.array.data.copy()
    return found


def changed_bytes(state: State, before: dict[object, npt.NDArray[np.uint8]]) -> int:
    """How many bytes are others now; of what was there before."""
    now = contents(state)
    return sum(int(np.count_nonzero(old != now[key])) for key, old in before.items() if key in now)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_calls_with_anything_at_all_are_charged_before_they_move_anything(seed: int) -> None:
    chance = random.Random(seed)
    calls = CALLS // SEEDS
    while calls > 0:
        # Allocations and handles of one run are bounded.
        calls -= _fuzzed(chance, min(calls, 4000))


def _fuzzed(chance: random.Random, rounds: int) -> int:
    state, wasi = make()
    charges = Charges()
    state.meter.spend = charges.spend
    functions: dict[str, tuple[str, Any]] = {}
    for name in table.CALLS:
        functions[name] = table.find(state, "cuda", name)  # type: ignore[assignment]
    for name in table.INTERNAL:
        functions[name] = table.find(state, "env", name)  # type: ignore[assignment]
    for name in HANDLERS:
        if name != "proc_exit":
            method = getattr(wasi, name)
            functions[name] = ("i" * (method.__code__.co_argcount - 1), method)
    names = sorted(functions)
    charges.begin(1 << 40)
    # Something to hold on to.
    state.guest.write(64, b"k\0")
    state.units[1 << 34] = 0
    for _round in range(rounds):
        name = chance.choice(names)
        kinds, function = functions[name]
        pool = numbers(state, chance)
        values = [chance.choice([0.0, 1.5, -1e300, float("nan")]) if k == "f" else chance.choice(pool) for k in kinds]
        charges.begin(chance.choice([0, 10, 1000, 100_000, 3_000_000_000]))
        before = contents(state)
        try:
            code = function(*values)
        except (ProgramEnded, BadPointer, OverflowError, MemoryError, Refused):
            code = 0
        charges.left = 1 << 40
        # A write of fewer bytes than an instruction's worth counts as nothing beside the call itself.
        most = (charges.charged + MOST_PIECES) * BYTES_PER_INSTRUCTION
        assert changed_bytes(state, before) <= most, (name, values)
        assert isinstance(code, int), name
        assert -(1 << 31) <= code < 1 << 31 or name == "__cudaRegisterFatBinary", (name, code)
        if chance.random() < 0.02:
            state.sticky, state.fault = 0, None
            state.touched_bytes = 0
    state.finish(0)
    return rounds


@pytest.mark.parametrize("pitch", [16, 32])
def test_rows_are_listed_only_of_a_copy_that_keeps_to_its_memory(monkeypatch: pytest.MonkeyPatch, pitch: int) -> None:
    state, _wasi = make()
    array = state.memory.allocate("array", 4 * pitch, "global", 0, "")
    listed: list[int] = []

    def noted(rows: Rows) -> list[tuple[int, int, int]]:
        listed.append(rows.height)
        return [(0, 0, rows.width)]

    def copied(height: int) -> None:
        memcpy_2d(state, NOWHERE, array.base, pitch, 8192, pitch, 16, height, H2D)

    def filled(height: int) -> None:
        memset_2d(state, NOWHERE, array.base, pitch, 0, 16, height)

    monkeypatch.setattr(Rows, "listed", noted)
    for call in (copied, filled):
        with pytest.raises(CudaError):
            call(MAX_ROWS)
        assert not listed
        call(4)
        assert listed.pop() == 4


def function_of(state: State, name: str) -> Any:
    found = table.find(state, "cuda", name)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("symbol", "code"), [("k", 0), ("none", 98)])
def test_a_kernel_is_launched_by_its_handle_before_its_file_is_loaded(symbol: str, code: int) -> None:
    state, _wasi = make()
    state.kernels[77] = Kernel(0, symbol, "k", ())
    state.guest.pack("QQ", 8192, 8192 + 64, 8192 + 64)
    assert function_of(state, "cuLaunchKernel")(77, 1, 1, 1, 1, 1, 1, 0, 0, 8192, 0, 1, 0) == code


def test_more_reflectors_than_a_matrix_has_columns_are_refused_as_lapack_does() -> None:
    state, _wasi = make()
    create, product = (function_of(state, name) for name in ("cusolverDnCreate", "cusolverDnSorgqr"))
    assert create(8192, 1, 0) == 0
    (library,) = state.libraries
    numbers = state.memory.allocate("numbers", 4096, "global", 0, "").base
    for (m, n, k), status in {(8, 4, 4): 0, (8, 4, 5): 3, (1, 0, 8): 3, (4, 8, 4): 3}.items():
        assert product(library, m, n, k, numbers, 8, numbers + 2048, numbers, 0, numbers + 3072, 1, 0) == status


def test_diagonals_of_an_empty_band_matrix_are_not_counted_one_by_one() -> None:
    state, _wasi = make()
    create, product = (function_of(state, name) for name in ("cublasCreate", "cublasStbmv"))
    assert create(8192, 1, 0) == 0
    diagonals = (1 << 31) - 2
    (library,) = state.libraries
    # Lower, not transposed, not unit; no row, and as many diagonals as an int can say.
    assert product(library, 0, 0, 0, 0, diagonals, 4096, diagonals + 1, 4096, 1, 1, 0) == 0


def test_a_sort_beyond_its_arrays_is_left_to_the_kernels_which_tell_of_it() -> None:
    state, _wasi = make()
    count = 20_000
    keys, result, short = (
        state.memory.allocate(name, size, "global", 0, "")
        for name, size in (("keys", 4 * count), ("result", 4 * count), ("short", 4 * count - 4))
    )
    for one in (keys, result):
        note_write(state, (one.view(0, one.size), one))
    sort = function_of(state, "graderRadixSort")
    for given, to, status in ((keys, result, 0), (keys, short, 1), (short, result, 1)):
        assert sort(given.base, to.base, 0, 0, count, 1, 4, 0, 0, 32, 0, 0, 1, 0) == status
    assert sort(keys.base, keys.base, result.base + 4, result.base, count, 1, 4, 4, 0, 32, 0, 0, 1, 0) == 1
    assert not state.findings
