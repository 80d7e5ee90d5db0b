"""What generated code calls of the host's: what it cannot be certain of by itself, and instructions left to `isa/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.isa.rounding import float64_to_float32, fma_f64


def fma64(a: int, b: int, c: int) -> int:
    """A fused product of float64 bits that is not certain at once."""
    mask = (1 << 64) - 1
    x, y, z = (np.array([bits & mask], np.uint64).view(np.float64) for bits in (a, b, c))
    with np.errstate(all="ignore"):
        return int(fma_f64(x, y, z).view(np.int64)[0])


def function_f32(number: int, bits: int) -> int:
    """An approximated function of float32 bits that is not certain at once; number: which one, as in `runtime.wat`."""
    from grader.ptx.isa.floating import FUNCTIONS

    function = FUNCTIONS[("ex2", "lg2", "sin", "cos")[number]]
    with np.errstate(all="ignore"):
        result = function(np.array([bits & 0xFFFFFFFF], np.uint32).view(np.float32).astype(np.float64))
        return int(float64_to_float32(result, "rn").view(np.int32)[0])


def imports(store: Any, numpy_call: Callable[[int], None]) -> list[Any]:
    """What generated code calls, besides memory; numpy_call: carries out what is left to `isa/`."""
    import wasmtime

    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    return [
        wasmtime.Func(store, wasmtime.FuncType([i32], []), numpy_call),
        wasmtime.Func(store, wasmtime.FuncType([i64, i64, i64], [i64]), fma64),
        wasmtime.Func(store, wasmtime.FuncType([i32, i32], [i32]), function_f32),
    ]
