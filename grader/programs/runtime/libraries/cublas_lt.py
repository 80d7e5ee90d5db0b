"""cuBLASLt through NumPy: products whose operands, types, transpositions and last steps descriptors say."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from grader.programs.runtime.libraries.calls import (
    INVALID_VALUE,
    Array,
    Call,
    Operand,
    Refused,
    handle_of,
    new_handle,
    served,
)
from grader.programs.runtime.libraries.cublas import DATA_TYPES, MAX_BATCH, NOT_SUPPORTED, computing
from grader.programs.runtime.libraries.cublas_matrices import NO, multiplied, operand
from grader.programs.runtime.state import Handler, Handlers

_COLUMN, _ROW = 0, 1
_ON_DEVICE = 1
_NO_MEMORY = 3
_RELU, _BIAS, _GELU = 2, 4, 32
_EPILOGUES = {1, _RELU, _BIAS, _RELU | _BIAS, _GELU, _GELU | _BIAS}
_RESULT = struct.Struct("<64xQif16x")
# Attributes by number: name and layout.
_Attributes = Mapping[int, tuple[str, str]]
_OPERATION: _Attributes = {
    0: ("compute", "i"),
    1: ("scale", "i"),
    2: ("pointer_mode", "i"),
    3: ("ta", "i"),
    4: ("tb", "i"),
    7: ("epilogue", "I"),
    8: ("bias", "Q"),
    10: ("bias_stride", "q"),
    15: ("multiprocessors", "i"),
    25: ("fast", "b"),
    26: ("bias_type", "i"),
}
_LAYOUT: _Attributes = {
    0: ("type", "i"),
    1: ("order", "i"),
    2: ("rows", "Q"),
    3: ("columns", "Q"),
    4: ("leading", "q"),
    5: ("batch", "i"),
    6: ("stride", "q"),
}
# What a preference says chooses among ways to the same result, and is kept to be asked for.
_PREFERENCE: _Attributes = {
    0: ("search", "I"),
    1: ("workspace", "Q"),
    3: ("reductions", "I"),
    5: ("align_a", "I"),
    6: ("align_b", "I"),
    7: ("align_c", "I"),
    8: ("align_d", "I"),
    9: ("waves", "f"),
    12: ("ways", "Q"),
}


def create(call: Call, handle: int) -> None:
    new_handle(call.state, handle, {"kind": "lt"}, _NO_MEMORY)


def create_operation(call: Call, pointer: int, compute: int, scale: int) -> None:
    fields = {"kind": "operation", "compute": compute, "scale": scale, "epilogue": 1, "bias_type": -1}
    new_handle(call.state, pointer, fields, _NO_MEMORY)


def create_layout(call: Call, pointer: int, kind: int, rows: int, columns: int, leading: int) -> None:
    fields = {"kind": "layout", "type": kind, "rows": rows, "columns": columns, "leading": leading, "batch": 1}
    new_handle(call.state, pointer, fields, _NO_MEMORY)


def create_preference(call: Call, pointer: int) -> None:
    new_handle(call.state, pointer, {"kind": "preference"}, _NO_MEMORY)


def destroy(call: Call, handle: int) -> None:
    handle_of(call.state, handle)
    del call.state.libraries[handle]


def _attribute(attributes: _Attributes, which: int, size: int) -> tuple[str, str]:
    if which not in attributes:
        raise Refused(NOT_SUPPORTED)
    name, layout = attributes[which]
    if size < struct.calcsize(layout):
        raise Refused(INVALID_VALUE)
    return name, layout


def _setter(attributes: _Attributes) -> Callable[..., None]:
    def set_attribute(call: Call, which: int, value: int, size: int) -> None:
        name, layout = _attribute(attributes, which, size)
        (call.handle[name],) = struct.unpack("<" + layout, call.state.guest.read(value, struct.calcsize(layout)))

    return set_attribute


def _getter(attributes: _Attributes) -> Callable[..., None]:
    def get_attribute(call: Call, which: int, value: int, size: int, written: int) -> None:
        name, layout = _attribute(attributes, which, size)
        call.state.guest.pack(layout, value, call.handle.get(name, 0))
        if written:
            call.state.guest.pack("Q", written, struct.calcsize(layout))

    return get_attribute


def heuristic(call: Call, operation: int, a: int, b: int, c: int, d: int, preference: int, asked: int, results: int, count: int) -> None:  # fmt: skip
    """One way, which wants no memory."""
    layouts = [_record(call, handle, "layout") for handle in (a, b, c, d)]
    _extents(_record(call, operation, "operation"), *layouts)
    _record(call, preference, "preference")
    if asked < 1:
        raise Refused(INVALID_VALUE)
    call.state.guest.write(results, _RESULT.pack(0, 0, 1.0))
    call.state.guest.pack("i", count, 1)


def _record(call: Call, handle: int, kind: str) -> dict[str, Any]:
    record = call.state.libraries.get(handle)
    if record is None or record.get("kind") != kind:
        raise Refused(INVALID_VALUE)
    return record


def _extents(operation: Mapping[str, Any], a: Any, b: Any, c: Any, d: Any) -> tuple[int, int, int]:
    """m, n and k, where operands fit and all that is asked for is served."""
    ta, tb = operation.get("ta", NO), operation.get("tb", NO)
    m, k = (a["rows"], a["columns"]) if ta == NO else (a["columns"], a["rows"])
    inner, n = (b["rows"], b["columns"]) if tb == NO else (b["columns"], b["rows"])
    if inner != k or any((x["rows"], x["columns"]) != (m, n) for x in (c, d)) or len({x["batch"] for x in (a, b, c, d)}) > 1:  # fmt: skip
        raise Refused(INVALID_VALUE)
    is_served = (
        operation["epilogue"] in _EPILOGUES
        and operation.get("pointer_mode", 0) <= _ON_DEVICE
        and operation["scale"] in DATA_TYPES
        and all(x["type"] in DATA_TYPES and x.get("order", _COLUMN) in (_COLUMN, _ROW) for x in (a, b, c, d))
    )
    if not is_served:
        raise Refused(NOT_SUPPORTED)
    return m, n, k


def _matrices(call: Call, address: int, layout: Mapping[str, Any]) -> Iterator[Operand]:
    """One for each of a batch, as (rows, columns) whatever their order is."""
    kind = DATA_TYPES[layout["type"]]
    if not 1 <= layout["batch"] <= MAX_BATCH:
        raise Refused(INVALID_VALUE)
    for number in range(layout["batch"]):
        at = address + number * layout.get("stride", 0) * np.dtype(kind).itemsize
        if layout.get("order", _COLUMN) == _ROW:
            stored, buffer = call.matrix(at, layout["columns"], layout["rows"], layout["leading"], kind)
            yield stored.T, buffer
        else:
            yield call.matrix(at, layout["rows"], layout["columns"], layout["leading"], kind)


def _finished(call: Call, operation: Mapping[str, Any], value: Array, kind: str, number: int) -> Array:
    """A product after its last step: with a number for each row added, and what is below nothing left out."""
    if operation["epilogue"] & _BIAS:
        given = operation["bias_type"]
        dtype = kind if given == -1 else DATA_TYPES.get(given, "")
        if not dtype:
            raise Refused(NOT_SUPPORTED)
        at = operation.get("bias", 0) + number * operation.get("bias_stride", 0) * np.dtype(dtype).itemsize
        bias = call.array(at, len(value), dtype)
        call.read(bias)
        value = value + bias[0].astype(value.dtype)[:, None]
    if operation["epilogue"] & _RELU:
        value = np.maximum(value, 0)
    if operation["epilogue"] & _GELU:
        value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi).astype(value.dtype) * (value + 0.044715 * value**3)))
    return value


def product(call: Call, operation: int, alpha: int, a: int, la: int, b: int, lb: int, beta: int, c: int, lc: int, d: int, ld: int, algorithm: int, workspace: int, size: int, stream: int) -> None:  # fmt: skip
    """D = last step of (alpha op(A) op(B) + beta C)."""
    of = _record(call, operation, "operation")
    layouts = [_record(call, handle, "layout") for handle in (la, lb, lc, ld)]
    m, n, k = _extents(of, *layouts)
    if bool(of["epilogue"] & _BIAS) != bool(of.get("bias", 0)):
        # As the library of CUDA 13 has it: a bias that the last step does not add is an error, too.
        raise Refused(INVALID_VALUE)
    scale = DATA_TYPES[of["scale"]]
    factor, old = call.scalar(alpha, scale), call.scalar(beta, scale)
    computed = computing(of["compute"], layouts[3]["type"])
    call.products(layouts[3]["batch"], m, n, k)
    places = [_matrices(call, address, layout) for address, layout in zip((a, b, c, d), layouts, strict=True)]
    for number, (left, right, before, target) in enumerate(zip(*places, strict=True)):
        call.read(left, right, *([before] if old else []))
        result = multiplied(operand(left[0], of.get("ta", NO)), operand(right[0], of.get("tb", NO)), computed)
        value = result * factor.astype(result.dtype)
        if old:
            value = value + old.astype(result.dtype) * before[0].astype(result.dtype)
        call.store(target, _finished(call, of, value, DATA_TYPES[layouts[3]["type"]], number))


def _object(name: str, attributes: _Attributes, maker: Callable[..., None]) -> dict[str, Handler]:
    return {
        f"{name}Create": served(maker, is_bound=False),
        f"{name}Destroy": served(destroy, is_bound=False),
        f"{name}SetAttribute": served(_setter(attributes)),
        f"{name}GetAttribute": served(_getter(attributes)),
    }


HANDLERS: Handlers = {
    "cublasLtCreate": served(create, is_bound=False),
    "cublasLtDestroy": served(destroy, is_bound=False),
    **_object("cublasLtMatmulDesc", _OPERATION, create_operation),
    **_object("cublasLtMatrixLayout", _LAYOUT, create_layout),
    **_object("cublasLtMatmulPreference", _PREFERENCE, create_preference),
    "cublasLtMatmulAlgoGetHeuristic": served(heuristic),
    "cublasLtMatmul": served(product),
}
