"""What cuSPARSE's calls are handed: matrices and vectors by descriptors, and where their values lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.programs.runtime.libraries.calls import (
    INVALID_VALUE,
    MAPPING_ERROR,
    Array,
    Call,
    Operand,
    Refused,
    new_handle,
    served,
)
from grader.programs.runtime.libraries.cublas import DATA_TYPES
from grader.programs.runtime.state import Handlers

STATUSES = {1: 1, INVALID_VALUE: 3, MAPPING_ERROR: 6}
ALLOC_FAILED, NOT_SUPPORTED = 2, 10
_INDICES = {1: "u2", 2: "i4", 3: "i8"}
_ROW_ORDER = 2
_MAX_DENSE = 1 << 26
_FILL, _DIAGONAL = 0, 1


@dataclass(slots=True)
class Sparse:
    """A sparse matrix as its descriptor says it.

    rows, columns: numbers, of "bsr" blocks.  first, second: addresses of what says where values lie: offsets and
    columns ("csr", "bsr"), offsets and rows ("csc"), rows and columns ("coo").  block: rows, columns, order.
    """

    kind: str
    rows: int
    columns: int
    count: int
    first: int
    second: int
    values: int
    types: tuple[str, str]
    base: int
    dtype: str
    block: tuple[int, int, int] = (1, 1, _ROW_ORDER)
    fill: int = 0
    diagonal: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in numbers."""
        return self.rows * self.block[0], self.columns * self.block[1]


@dataclass(slots=True)
class Dense:
    """A dense matrix, or a vector (one column)."""

    rows: int
    columns: int
    leading: int
    values: int
    dtype: str
    order: int = 1

    def operand(self, call: Call) -> Operand:
        """Its numbers as (rows, columns)."""
        if self.order == _ROW_ORDER:
            turned, allocation = call.matrix(self.values, self.columns, self.rows, self.leading, self.dtype)
            return turned.T, allocation
        return call.matrix(self.values, self.rows, self.columns, self.leading, self.dtype)


@dataclass(slots=True)
class SparseVector:
    size: int
    count: int
    indices: int
    values: int
    index_type: str
    base: int
    dtype: str


def type_of(number: int) -> str:
    if number not in DATA_TYPES:
        raise Refused(NOT_SUPPORTED)
    return DATA_TYPES[number]


def _index(number: int) -> str:
    if number not in _INDICES:
        raise Refused(INVALID_VALUE)
    return _INDICES[number]


def _keep(call: Call, handle: int, made: Any) -> None:
    new_handle(call.state, handle, {"descriptor": made}, ALLOC_FAILED)


def find(call: Call, handle: int, kind: type[Any]) -> Any:
    descriptor = call.state.libraries.get(handle, {}).get("descriptor")
    if not isinstance(descriptor, kind):
        raise Refused(INVALID_VALUE)
    return descriptor


def check_sizes(*numbers: int) -> None:
    if min(numbers) < 0:
        raise Refused(INVALID_VALUE)


def create(call: Call, handle: int) -> None:
    new_handle(call.state, handle, {"pointer_mode": 0}, ALLOC_FAILED)


def destroy(call: Call, handle: int) -> int:
    return 0 if call.state.libraries.pop(handle, None) is not None else 1


def accept(call: Call, value: int) -> None:
    """A stream or a mode: where a scalar lies is seen by its address."""


def get_version(call: Call, pointer: int) -> None:
    call.state.guest.pack("i", pointer, 12_600)


def _create_compressed(kind: str) -> Callable[..., None]:
    def create_compressed(call: Call, handle: int, rows: int, columns: int, count: int, offsets: int, indices: int, values: int, offset_type: int, index_type: int, base: int, dtype: int) -> None:  # fmt: skip
        check_sizes(rows, columns, count)
        types = _index(offset_type), _index(index_type)
        _keep(call, handle, Sparse(kind, rows, columns, count, offsets, indices, values, types, base, type_of(dtype)))

    return create_compressed


def create_coo(call: Call, handle: int, rows: int, columns: int, count: int, first: int, second: int, values: int, index_type: int, base: int, dtype: int) -> None:  # fmt: skip
    check_sizes(rows, columns, count)
    types = _index(index_type), _index(index_type)
    _keep(call, handle, Sparse("coo", rows, columns, count, first, second, values, types, base, type_of(dtype)))


def create_bsr(call: Call, handle: int, rows: int, columns: int, count: int, height: int, width: int, offsets: int, indices: int, values: int, offset_type: int, index_type: int, base: int, dtype: int, order: int) -> None:  # fmt: skip
    check_sizes(rows, columns, count, height - 1, width - 1)
    types = _index(offset_type), _index(index_type)
    block = height, width, order
    _keep(
        call, handle, Sparse("bsr", rows, columns, count, offsets, indices, values, types, base, type_of(dtype), block)
    )


def create_dense(
    call: Call, handle: int, rows: int, columns: int, leading: int, values: int, dtype: int, order: int
) -> None:
    if order not in (1, _ROW_ORDER):
        raise Refused(INVALID_VALUE)
    _keep(call, handle, Dense(rows, columns, leading, values, type_of(dtype), order))


def create_vector(call: Call, handle: int, size: int, values: int, dtype: int) -> None:
    check_sizes(size)
    _keep(call, handle, Dense(size, 1, max(1, size), values, type_of(dtype)))


def create_sparse_vector(call: Call, handle: int, size: int, count: int, indices: int, values: int, index_type: int, base: int, dtype: int) -> None:  # fmt: skip
    check_sizes(size, count)
    _keep(call, handle, SparseVector(size, count, indices, values, _index(index_type), base, type_of(dtype)))


def set_values(call: Call, handle: int, values: int) -> None:
    descriptor = call.state.libraries.get(handle, {}).get("descriptor")
    if descriptor is None:
        raise Refused(INVALID_VALUE)
    descriptor.values = values


def set_pointers(call: Call, handle: int, first: int, second: int, values: int) -> None:
    matrix = find(call, handle, Sparse)
    matrix.first, matrix.second, matrix.values = first, second, values


def get_size(call: Call, handle: int, rows: int, columns: int, count: int) -> None:
    matrix = find(call, handle, Sparse)
    for address, value in ((rows, matrix.shape[0]), (columns, matrix.shape[1]), (count, matrix.count)):
        call.state.guest.pack("q", address, value)


def set_attribute(call: Call, handle: int, which: int, data: int, size: int) -> None:
    if which not in (_FILL, _DIAGONAL) or size != 4:
        raise Refused(INVALID_VALUE)
    (value,) = call.state.guest.unpack("i", data)
    matrix = find(call, handle, Sparse)
    if which == _FILL:
        matrix.fill = value
    else:
        matrix.diagonal = value


# -- where values lie ------------------------------------------------------------------------------------


def spread(call: Call, offsets: Operand, base: int, count: int) -> Array:
    """Of each value in which row it lies."""
    starts = offsets[0].astype(np.int64)
    lengths: Array = starts[1:] - starts[:-1]
    if len(lengths) and (lengths.min() < 0 or int(offsets[0][0]) != base or int(lengths.sum()) != count):
        raise Refused(INVALID_VALUE)
    return np.repeat(np.arange(len(lengths)), lengths)


def _places(call: Call, matrix: Sparse) -> tuple[Array, Array]:
    """Rows and columns of its values, from 0 on, of blocks where it has blocks."""
    lines = matrix.columns if matrix.kind == "csc" else matrix.rows
    first = call.array(matrix.first, matrix.count if matrix.kind == "coo" else lines + 1, matrix.types[0])
    second = call.array(matrix.second, matrix.count, matrix.types[1])
    call.read(first, *([second] if matrix.count else []))
    others = second[0].astype(np.int64) - matrix.base
    if matrix.kind == "coo":
        rows, columns = first[0].astype(np.int64) - matrix.base, others
    else:
        within = spread(call, first, matrix.base, matrix.count)
        rows, columns = (others, within) if matrix.kind == "csc" else (within, others)
    for places, bound in ((rows, matrix.rows), (columns, matrix.columns)):
        if len(places) and not 0 <= places.min() <= places.max() < bound:
            raise Refused(INVALID_VALUE)
    return rows, columns


def elements(call: Call, matrix: Sparse) -> tuple[Array, Array]:
    """Rows and columns of each number in the order that the numbers lie in."""
    rows, columns = _places(call, matrix)
    if matrix.kind != "bsr":
        return rows, columns
    height, width, order = matrix.block
    inner_rows, inner_columns = np.divmod(np.arange(height * width), width)
    if order != _ROW_ORDER:
        inner_columns, inner_rows = np.divmod(np.arange(height * width), height)
    return (rows[:, None] * height + inner_rows).ravel(), (columns[:, None] * width + inner_columns).ravel()


def values_of(call: Call, matrix: Sparse) -> Operand:
    return call.array(matrix.values, matrix.count * matrix.block[0] * matrix.block[1], matrix.dtype)


def dense_of(call: Call, matrix: Sparse, computed: str) -> Array:
    rows, columns = matrix.shape
    if rows * columns > _MAX_DENSE:
        raise Refused(ALLOC_FAILED)
    call.work(rows, columns)
    values = values_of(call, matrix)
    call.read(values)
    whole = np.zeros((rows, columns), computed)
    np.add.at(whole, elements(call, matrix), values[0].astype(computed))
    return whole


_UNBOUND: dict[str, Any] = {
    "cusparseCreate": create,
    "cusparseDestroy": destroy,
    "cusparseCreateCsr": _create_compressed("csr"),
    "cusparseCreateCsc": _create_compressed("csc"),
    "cusparseCreateCoo": create_coo,
    "cusparseCreateBsr": create_bsr,
    "cusparseCreateDnMat": create_dense,
    "cusparseCreateDnVec": create_vector,
    "cusparseCreateSpVec": create_sparse_vector,
    "cusparseDestroySpMat": destroy,
    "cusparseDestroyDnMat": destroy,
    "cusparseDestroyDnVec": destroy,
    "cusparseDestroySpVec": destroy,
    "cusparseSetValues": set_values,
    "cusparseSetPointers": set_pointers,
    "cusparseSpMatGetSize": get_size,
    "cusparseSpMatSetAttribute": set_attribute,
}
HANDLERS: Handlers = {name: served(function, is_bound=False, statuses=STATUSES) for name, function in _UNBOUND.items()}
