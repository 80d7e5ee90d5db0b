"""Every function that a program can import is called with anything: nothing but the program itself may end."""

from __future__ import annotations

import random
from typing import Any

import pytest
import wasmtime

from grader.programs.records import RunLimits
from grader.programs.runtime import launches, table
from grader.programs.runtime.devices import MODELS
from grader.programs.runtime.state import ProgramEnded, State
from grader.programs.sandbox.guest import BadPointer, Guest
from grader.programs.sandbox.wasi import HANDLERS, Wasi
from grader.programs.source_lines import SourceLines

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
    store = wasmtime.Store(wasmtime.Engine(config))
    exports = wasmtime.Instance(store, wasmtime.Module(store.engine, MODULE), []).exports(store)
    guest = Guest(store, exports["memory"])
    sources = SourceLines({"a.cu": "cudaMalloc(&d_a, n);\n" * 3})
    state = State(
        guest,
        MODELS["t4"],
        sources,
        ["a.cu"],
        {},
        frozenset(),
        lambda _unit, _names: (PTX, ""),
        lambda _raw: None,
        RunLimits(),
    )
    state.call_guest = lambda name, *values: exports[name](store, *values)  # type: ignore[operator]
    wasi = Wasi(lambda: guest, [b"a"], b"input", {"f": b"data"}, lambda _descriptor, _data: None, lambda: 0, lambda: 0)
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_calls_with_anything_at_all(seed: int) -> None:
    chance = random.Random(seed)
    state, wasi = make()
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
    # Something to hold on to.
    state.guest.write(64, b"k\0")
    launches.HANDLERS["cudaConfigureCall"]
    state.units[1 << 34] = 0
    for _round in range(4000):
        name = chance.choice(names)
        kinds, function = functions[name]
        pool = numbers(state, chance)
        values = [chance.choice([0.0, 1.5, -1e300, float("nan")]) if k == "f" else chance.choice(pool) for k in kinds]
        try:
            code = function(*values)
        except (ProgramEnded, BadPointer, OverflowError, MemoryError):
            continue
        assert isinstance(code, int), name
        assert -(1 << 31) <= code < 1 << 31 or name == "__cudaRegisterFatBinary", (name, code)
        if chance.random() < 0.02:
            state.sticky, state.fault = 0, None
            state.touched_bytes = 0
    state.finish(0)
