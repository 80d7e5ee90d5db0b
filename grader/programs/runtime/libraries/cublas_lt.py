"""cuBLASLt: products whose operands, types, transpositions and last steps descriptors say."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served, decoded, encoded
from grader.programs.runtime.libraries.cublas import NOT_SUPPORTED
from grader.programs.runtime.libraries.cublas_extensions import MAX_BATCH, computing
from grader.programs.runtime.libraries.cublas_matrices import NO, multiplied, operand
from grader.programs.runtime.state import Handlers

_COLUMN, _ROW = 0, 1
_ON_DEVICE = 1
_NO_MEMORY = 3
_RELU, _BIAS, _GELU = 2, 4, 32
_EPILOGUES = {1, _RELU, _BIAS, _RELU | _BIAS, _GELU, _GELU | _BIAS}
_OF_8_BITS = {28, 29}
_RESULT = struct.Struct("<64xQif16x")
# Attributes by number: name and layout.
_Attributes = Mapping[int, tuple[str, str]]
_OPERATION_HAS: _Attributes = {
    0: ("compute", "i"),
    1: ("scale", "i"),
    2: ("pointer_mode", "i"),
    3: ("ta", "i"),
    4: ("tb", "i"),
    7: ("epilogue", "I"),
    8: ("bias", "Q"),
    10: ("bias_stride", "q"),
    15: ("multiprocessors", "i"),
    17: ("a_factor", "Q"),
    18: ("b_factor", "Q"),
    19: ("c_factor", "Q"),
    20: ("d_factor", "Q"),
    21: ("d_largest", "Q"),
    25: ("fast", "b"),
    26: ("bias_type", "i"),
    31: ("a_scaled_by", "i"),
    32: ("b_scaled_by", "i"),
    33: ("c_scaled_by", "i"),
    34: ("d_scaled_by", "i"),
}
_LAYOUT_HAS: _Attributes = {
    0: ("type", "i"),
    1: ("order", "i"),
    2: ("rows", "Q"),
    3: ("columns", "Q"),
    4: ("leading", "q"),
    5: ("batch", "i"),
    6: ("stride", "q"),
}
# What a preference says chooses among ways to the same result, and is kept to be asked for.
_PREFERENCE_HAS: _Attributes = {
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


def create_lt(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {"kind": "lt"}, _NO_MEMORY)


def _operation(call: Call, compute: int, scale: int) -> dict[str, Any]:
    return {"kind": "operation", "compute": compute, "scale": scale, "epilogue": 1, "bias_type": -1}


def _layout(call: Call, kind: int, rows: int, columns: int, leading: int) -> dict[str, Any]:
    return {"kind": "layout", "type": kind, "rows": rows, "columns": columns, "leading": leading, "batch": 1}


def _preference(call: Call) -> dict[str, Any]:
    return {"kind": "preference"}


def _attribute(attributes: _Attributes, which: int, size: int) -> tuple[str, str]:
    if which not in attributes:
        raise Refused(NOT_SUPPORTED)
    name, layout = attributes[which]
    if size < struct.calcsize(layout):
        raise Refused(calls.INVALID_VALUE)
    return name, layout


def _setter(attributes: _Attributes) -> Served:
    def set_attribute(call: Call, which: int, value: int, size: int) -> None:
        name, layout = _attribute(attributes, which, size)
        (call.handle[name],) = struct.unpack("<" + layout, call.state.guest.read(value, struct.calcsize(layout)))

    return set_attribute


def _getter(attributes: _Attributes) -> Served:
    def get_attribute(call: Call, which: int, value: int, size: int, written: int) -> None:
        name, layout = _attribute(attributes, which, size)
        call.state.guest.pack(layout, value, call.handle.get(name, 0))
        if written:
            call.state.guest.pack("Q", written, struct.calcsize(layout))

    return get_attribute


@calls.takes("operation a b c d preference asked results count")
def heuristic(call: Call, args: Arguments) -> None:
    """One way, which wants no memory."""
    layouts = [_record(call, handle, "layout") for handle in (args.a, args.b, args.c, args.d)]
    _extents(_record(call, args.operation, "operation"), *layouts)
    _record(call, args.preference, "preference")
    if args.asked < 1:
        raise Refused(calls.INVALID_VALUE)
    call.state.guest.write(args.results, _RESULT.pack(0, 0, 1.0))
    call.state.guest.pack("i", args.count, 1)


def _record(call: Call, handle: int, kind: str) -> dict[str, Any]:
    record = call.state.libraries.get(handle)
    if record is None or record.get("kind") != kind:
        raise Refused(calls.INVALID_VALUE)
    return record


def _extents(operation: Mapping[str, Any], a: Any, b: Any, c: Any, d: Any) -> tuple[int, int, int]:
    """Return m, n and k.  Raises Refused where operands do not fit, or what is asked for is not calls.served."""
    ta, tb = operation.get("ta", NO), operation.get("tb", NO)
    m, k = (a["rows"], a["columns"]) if ta == NO else (a["columns"], a["rows"])
    inner, n = (b["rows"], b["columns"]) if tb == NO else (b["columns"], b["rows"])
    if inner != k or any((x["rows"], x["columns"]) != (m, n) for x in (c, d)) or len({x["batch"] for x in (a, b, c, d)}) > 1:  # fmt: skip
        raise Refused(calls.INVALID_VALUE)
    is_served = (
        operation["epilogue"] in _EPILOGUES
        and operation.get("pointer_mode", 0) <= _ON_DEVICE
        and operation["scale"] in calls.DATA_TYPES
        and not any(operation.get(f"{matrix}_scaled_by", 0) for matrix in "abcd")
        and all(
            x["type"] in calls.MULTIPLIED_TYPES and x.get("order", _COLUMN) in (_COLUMN, _ROW) for x in (a, b, c, d)
        )
    )
    # Tensor cores take 8-bit floats in rows of 16 bytes, and before compute capability 10 from Aᵀ B alone.
    is_of_8_bits = any(x["type"] in _OF_8_BITS for x in (a, b))
    is_fit = (ta != NO and tb == NO and not (m % 16 or n % 16 or k % 16)) if is_of_8_bits else True
    if not is_served or not is_fit:
        raise Refused(NOT_SUPPORTED)
    return m, n, k


def _matrices(call: Call, address: int, layout: Mapping[str, Any]) -> Iterator[Operand]:
    """Yield the matrix of each problem of a batch as (rows, columns), whatever its order in memory."""
    kind = calls.MULTIPLIED_TYPES[layout["type"]]
    if not 1 <= layout["batch"] <= MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    for number in range(layout["batch"]):
        at = address + number * layout.get("stride", 0) * calls.width_of(kind)
        if layout.get("order", _COLUMN) == _ROW:
            stored, buffer = call.matrix(at, layout["columns"], layout["rows"], layout["leading"], kind)
            yield stored.T, buffer
        else:
            yield call.matrix(at, layout["rows"], layout["columns"], layout["leading"], kind)


def _finished(call: Call, operation: Mapping[str, Any], value: Array, kind: str, number: int) -> Array:
    """Return a product after its epilogue: a bias for each row, ReLU or GELU."""
    if operation["epilogue"] & _BIAS:
        given = operation["bias_type"]
        dtype = kind if given == -1 else calls.MULTIPLIED_TYPES.get(given, "")
        if not dtype:
            raise Refused(NOT_SUPPORTED)
        at = operation.get("bias", 0) + number * operation.get("bias_stride", 0) * calls.width_of(dtype)
        bias = call.array(at, len(value), dtype)
        call.read(bias)
        if kind == "bf16":
            # As an H200 does: what the bias is added to is rounded first.
            value = decoded(encoded(value, kind), kind).astype(value.dtype)
        value = value + bias[0].astype(value.dtype)[:, None]
    if operation["epilogue"] & _RELU:
        value = np.maximum(value, 0)
    if operation["epilogue"] & _GELU:
        value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi).astype(value.dtype) * (value + 0.044715 * value**3)))
    return value


def _factor(call: Call, operation: Mapping[str, Any], name: str, layout: Mapping[str, Any]) -> Any:
    """Return what a matrix of 8-bit floats is multiplied by, 1 where nothing is said or it is of another type."""
    address = operation.get(f"{name}_factor", 0)
    return call.scalar(address, "f4") if address and layout["type"] in _OF_8_BITS else np.float32(1)


@calls.takes("operation alpha a la b lb beta c lc d ld algorithm workspace size stream")
def product(call: Call, args: Arguments) -> None:
    """D = last step of (alpha op(A) op(B) + beta C)."""
    of = _record(call, args.operation, "operation")
    layouts = [_record(call, handle, "layout") for handle in (args.la, args.lb, args.lc, args.ld)]
    m, n, k = _extents(of, *layouts)
    if bool(of["epilogue"] & _BIAS) != bool(of.get("bias", 0)):
        # As the library of CUDA 13 has it: a bias that the last step does not add is an error, too.
        raise Refused(calls.INVALID_VALUE)
    scale = calls.DATA_TYPES[of["scale"]]
    factor, old = call.scalar(args.alpha, scale), call.scalar(args.beta, scale)
    computed = computing(of["compute"], layouts[3]["type"])
    of_a, of_b, of_c, of_d = (_factor(call, of, name, layout) for name, layout in zip("abcd", layouts, strict=True))
    call.products(layouts[3]["batch"], m, n, k)
    places = [
        _matrices(call, address, layout)
        for address, layout in zip((args.a, args.b, args.c, args.d), layouts, strict=True)
    ]
    for number, (left, right, before, target) in enumerate(zip(*places, strict=True)):
        call.read(left, right, *([before] if old else []))
        result = multiplied(operand(left[0], of.get("ta", NO)), operand(right[0], of.get("tb", NO)), computed)
        value = result * factor.astype(result.dtype) * (of_a * of_b).astype(result.dtype)
        if old:
            value = value + (old * of_c).astype(result.dtype) * before[0].astype(result.dtype)
        value = _finished(call, of, value, calls.MULTIPLIED_TYPES[layouts[3]["type"]], number)
        if of.get("d_largest", 0) and layouts[3]["type"] in _OF_8_BITS:
            call.give(of["d_largest"], np.abs(value).max(initial=0), "f4")
        call.store(target, value * of_d.astype(value.dtype))


def _object(name: str, attributes: _Attributes, fields_of: Callable[..., dict[str, Any]], count: int) -> Handlers:
    """fields_of: of an object that is made by so many numbers."""

    def create(call: Call, pointer: int, *values: int) -> None:
        calls.new_handle(call.state, pointer, fields_of(call, *values), _NO_MEMORY)

    def place(call: Call, pointer: int, *values: int) -> None:
        # The object lies with the program: its address is its handle.
        if len(call.state.libraries) >= calls.MAX_HANDLES:
            raise Refused(_NO_MEMORY)
        call.state.libraries[pointer] = fields_of(call, *values)

    return {
        f"{name}Create": ("i" * (1 + count), calls.served(create, is_bound=False)[1]),
        f"{name}Init": ("i" * (1 + count), calls.served(place, is_bound=False)[1]),
        f"{name}Destroy": calls.served(calls.destroy, is_bound=False),
        f"{name}SetAttribute": calls.served(_setter(attributes)),
        f"{name}GetAttribute": calls.served(_getter(attributes)),
    }


HANDLERS: Handlers = {
    "cublasLtCreate": calls.served(create_lt, is_bound=False),
    "cublasLtDestroy": calls.served(calls.destroy, is_bound=False),
    **_object("cublasLtMatmulDesc", _OPERATION_HAS, _operation, 2),
    **_object("cublasLtMatrixLayout", _LAYOUT_HAS, _layout, 4),
    **_object("cublasLtMatmulPreference", _PREFERENCE_HAS, _preference, 0),
    "cublasLtMatmulAlgoGetHeuristic": calls.served(heuristic),
    "cublasLtMatmul": calls.served(product),
}
