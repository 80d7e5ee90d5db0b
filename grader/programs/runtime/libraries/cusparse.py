"""cuSPARSE through NumPy: matrices and vectors by descriptors, where their values lie, and products of vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
from grader.programs.runtime.state import Handlers

STATUSES = {1: 1, calls.INVALID_VALUE: 3, calls.MAPPING_ERROR: 6}
ALLOC_FAILED, NOT_SUPPORTED = 2, 10
_INDICES = {1: "u2", 2: "i4", 3: "i8"}
_ROW_ORDER = 2
_MAX_BATCHES = 65_536
_FILL, _DIAGONAL = 0, 1


@dataclass(slots=True)
class Sparse:
    """A sparse matrix as its descriptor says it.

    rows, columns: numbers, of "bsr" blocks.  first, second: addresses of what says where values lie: offsets and
    columns ("csr", "bsr"), offsets and rows ("csc"), rows and columns ("coo"), offsets of slices and columns ("sell"),
    none and columns of blocks ("ell").  count: values; of "sell" and "ell" with those that only fill up, whose column
    is -1.  block: rows, columns, order.  slice: how many rows of "sell" lie in columns of their own.  width: how many
    numbers of "ell" lie in a row.
    strides: from one matrix of a batch to the next, of offsets and of values.  levels: a pattern, by its hash, and the
    order in which its triangle is solved.
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
    slice: int = 1
    width: int = 0
    nonzero: int = 0
    fill: int = 0
    diagonal: int = 0
    batches: int = 1
    strides: tuple[int, int] = (0, 0)
    levels: tuple[int, list[tuple[Array, Array]]] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in numbers."""
        if self.kind == "ell":
            return self.rows, self.columns
        return self.rows * self.block[0], self.columns * self.block[1]


@dataclass(slots=True)
class Dense:
    """A dense matrix, or a vector (one column).  stride: from one matrix of a batch to the next."""

    rows: int
    columns: int
    leading: int
    values: int
    dtype: str
    order: int = 1
    batches: int = 1
    stride: int = 0


@dataclass(slots=True)
class SparseVector:
    size: int
    count: int
    indices: int
    values: int
    index_type: str
    base: int
    dtype: str


type_of = partial(calls.one_of, calls.DATA_TYPES, NOT_SUPPORTED)
_index = partial(calls.one_of, _INDICES, calls.INVALID_VALUE)


def _keep(call: Call, handle: int, descriptor: Any) -> None:
    calls.new_handle(call.state, handle, {"descriptor": descriptor}, ALLOC_FAILED)


def find(call: Call, handle: int, kind: Any) -> Any:
    descriptor = call.state.libraries.get(handle, {}).get("descriptor")
    if not isinstance(descriptor, kind):
        raise Refused(calls.INVALID_VALUE)
    return descriptor


def dense_of(call: Call, handle: int, number: int = 0) -> Operand:
    """Return a dense matrix as (rows, columns), that of a number where there are several."""
    matrix: Dense = find(call, handle, Dense)
    if number and matrix.batches > 1:
        matrix = replace(matrix, values=matrix.values + number * matrix.stride * np.dtype(matrix.dtype).itemsize)
    if matrix.order == _ROW_ORDER:
        turned, allocation = call.matrix(matrix.values, matrix.columns, matrix.rows, matrix.leading, matrix.dtype)
        return turned.T, allocation
    return call.matrix(matrix.values, matrix.rows, matrix.columns, matrix.leading, matrix.dtype)


def within(places: Array, bound: int) -> Array:
    """Return `places`.  Raises Refused where one is not in [0, bound)."""
    if len(places) and not 0 <= places.min() <= places.max() < bound:
        raise Refused(calls.INVALID_VALUE)
    return places


def row_starts(lengths: Array) -> Array:
    """Return where rows of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)])


def check_sizes(*numbers: int) -> None:
    if min(numbers) < 0:
        raise Refused(calls.INVALID_VALUE)


def create(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {"pointer_mode": 0}, ALLOC_FAILED)


def _create_sparse(call: Call, args: Arguments, kind: str) -> None:
    """Make the descriptor of a sparse matrix; arguments as the fields of `Sparse`."""
    check_sizes(args.rows, args.columns, args.count)
    block = (1, 1, _ROW_ORDER)
    if kind == "bsr":
        check_sizes(args.height - 1, args.width - 1)
        block = args.height, args.width, args.order
    matrix = Sparse(
        kind,
        *(args.rows, args.columns, args.count, args.first, args.second, args.values),
        types=(_index(vars(args).get("first_type", args.second_type)), _index(args.second_type)),
        base=args.base,
        dtype=type_of(args.dtype),
        block=block,
    )
    _keep(call, args.handle, matrix)


def _creates(kind: str, names: str) -> calls.Named:
    return calls.Named(lambda call, args: _create_sparse(call, args, kind), f"handle rows columns count {names}")


@calls.takes("handle rows columns count size slice first second values first_type second_type base dtype")
def create_sliced(call: Call, args: Arguments) -> None:
    check_sizes(args.rows, args.columns, args.count, args.size - args.count, args.slice - 1)
    types = _index(args.first_type), _index(args.second_type)
    matrix = Sparse(
        *("sell", args.rows, args.columns, args.size, args.first, args.second, args.values, types, args.base),
        dtype=type_of(args.dtype),
        slice=args.slice,
        nonzero=args.count,
    )
    _keep(call, args.handle, matrix)


@calls.takes("handle rows columns side width second values second_type base dtype")
def create_blocked(call: Call, args: Arguments) -> None:
    check_sizes(args.rows, args.columns, args.width, args.side - 1)
    if args.rows % args.side or args.columns % args.side or args.width % args.side or args.width > args.columns:
        raise Refused(calls.INVALID_VALUE)
    types = _index(args.second_type), _index(args.second_type)
    matrix = Sparse(
        *("ell", args.rows, args.columns, args.rows * args.width, 0, args.second, args.values, types, args.base),
        dtype=type_of(args.dtype),
        block=(args.side, args.side, _ROW_ORDER),
        width=args.width,
        nonzero=args.rows * args.width,
    )
    _keep(call, args.handle, matrix)


@calls.takes("handle rows columns leading values dtype order")
def create_dense(call: Call, args: Arguments) -> None:
    if args.order not in (1, _ROW_ORDER):
        raise Refused(calls.INVALID_VALUE)
    _keep(call, args.handle, Dense(args.rows, args.columns, args.leading, args.values, type_of(args.dtype), args.order))


def create_vector(call: Call, handle: int, size: int, values: int, dtype: int) -> None:
    check_sizes(size)
    _keep(call, handle, Dense(size, 1, max(1, size), values, type_of(dtype)))


@calls.takes("handle size count indices values index_type base dtype")
def create_sparse_vector(call: Call, args: Arguments) -> None:
    check_sizes(args.size, args.count)
    _keep(
        call,
        args.handle,
        SparseVector(
            args.size, args.count, args.indices, args.values, _index(args.index_type), args.base, type_of(args.dtype)
        ),
    )


def set_values(call: Call, handle: int, values: int) -> None:
    find(call, handle, Sparse | Dense | SparseVector).values = values


def set_pointers(call: Call, handle: int, first: int, second: int, values: int) -> None:
    matrix = find(call, handle, Sparse)
    matrix.first, matrix.second, matrix.values = first, second, values


def get_size(call: Call, handle: int, rows: int, columns: int, count: int) -> None:
    matrix = find(call, handle, Sparse)
    numbers = matrix.nonzero if matrix.kind in ("sell", "ell") else matrix.count
    for address, value in ((rows, matrix.shape[0]), (columns, matrix.shape[1]), (count, numbers)):
        call.state.guest.pack("q", address, value)


def set_attribute(call: Call, handle: int, which: int, data: int, size: int) -> None:
    if which not in (_FILL, _DIAGONAL) or size != 4:
        raise Refused(calls.INVALID_VALUE)
    (value,) = call.state.guest.unpack("i", data)
    setattr(find(call, handle, Sparse), "fill" if which == _FILL else "diagonal", value)


def set_dense_batch(call: Call, handle: int, count: int, stride: int) -> None:
    matrix = find(call, handle, Dense)
    if not 1 <= count <= _MAX_BATCHES or (count > 1 and stride < 0):
        raise Refused(calls.INVALID_VALUE)
    matrix.batches, matrix.stride = count, stride


def _set_batch(call: Call, handle: int, count: int, offsets: int, values: int) -> None:
    """Say how many matrices there are, and how far their offsets and their values are apart."""
    if not 1 <= count <= _MAX_BATCHES or min(offsets, values) < 0:
        raise Refused(calls.INVALID_VALUE)
    matrix = find(call, handle, Sparse)
    matrix.batches, matrix.strides = count, (offsets, values)


def set_coo_batch(call: Call, handle: int, count: int, stride: int) -> None:
    _set_batch(call, handle, count, stride, stride)


# -- where values lie ------------------------------------------------------------------------------------


def spread(call: Call, offsets: Operand, base: int, count: int) -> Array:
    """Return the row of each value."""
    starts = offsets[0].astype(np.int64)
    lengths: Array = starts[1:] - starts[:-1]
    if len(lengths) and (lengths.min() < 0 or int(offsets[0][0]) != base or int(lengths.sum()) != count):
        raise Refused(calls.INVALID_VALUE)
    return np.repeat(np.arange(len(lengths)), lengths)


def _places(call: Call, matrix: Sparse) -> tuple[Array, Array]:
    """Return rows and columns of a matrix's values, or of its blocks, from 0 on."""
    lines = matrix.columns if matrix.kind == "csc" else matrix.rows
    first = call.array(matrix.first, matrix.count if matrix.kind == "coo" else lines + 1, matrix.types[0])
    second = call.array(matrix.second, matrix.count, matrix.types[1])
    call.read(first, *([second] if matrix.count else []))
    others = second[0].astype(np.int64) - matrix.base
    if matrix.kind == "coo":
        rows, columns = first[0].astype(np.int64) - matrix.base, others
    else:
        given = spread(call, first, matrix.base, matrix.count)
        rows, columns = (others, given) if matrix.kind == "csc" else (given, others)
    return within(rows, matrix.rows), within(columns, matrix.columns)


def padded(call: Call, matrix: Sparse) -> tuple[Array, Array]:
    """Return rows and columns of all numbers of a matrix some of which only fill up: those have columns below zero."""
    if matrix.kind == "sell":
        slices = -(-matrix.rows // matrix.slice)
        first, second = call.array(matrix.first, slices + 1, matrix.types[0]), _columns_of(call, matrix, matrix.count)
        call.read(first)
        of_slice = spread(call, first, matrix.base, matrix.count)
        starts = first[0].astype(np.int64)[:-1] - matrix.base
        rows = of_slice * matrix.slice + (np.arange(matrix.count) - starts[of_slice]) % matrix.slice
        columns = second
    else:
        side = matrix.block[0]
        across = matrix.width // side
        blocks = _columns_of(call, matrix, matrix.rows // side * across).reshape(-1, across)
        inner = np.tile(np.arange(side), across)
        lines = np.where(blocks < 0, -1, blocks * side).repeat(side, axis=1)
        columns = np.where(lines < 0, -1, lines + inner).repeat(side, axis=0).ravel()
        rows = np.arange(matrix.rows).repeat(matrix.width)
    taken = columns >= 0
    within(rows[taken], matrix.shape[0])
    within(columns[taken], matrix.shape[1])
    return rows, columns


def _columns_of(call: Call, matrix: Sparse, count: int) -> Array:
    """Return columns from 0 on, -1 where the matrix has none."""
    operand = call.array(matrix.second, count, matrix.types[1])
    if count:
        call.read(operand)
    places: Array = operand[0].astype(np.int64)
    return np.where(places < 0, -1, places - matrix.base)


def numbers_of(call: Call, matrix: Sparse, computed: str) -> tuple[Array, Array, Array]:
    """Return rows, columns and values of a matrix's numbers, without those that only fill up."""
    values = values_of(call, matrix)
    call.read(values)
    numbers = values[0].astype(computed)
    if matrix.kind not in ("sell", "ell"):
        return *elements(call, matrix), numbers
    rows, columns = padded(call, matrix)
    taken = columns >= 0
    return rows[taken], columns[taken], numbers[taken]


def elements(call: Call, matrix: Sparse) -> tuple[Array, Array]:
    """Return rows and columns of all numbers, in the order in which they lie."""
    if matrix.kind in ("sell", "ell"):
        raise Refused(NOT_SUPPORTED)
    rows, columns = _places(call, matrix)
    if matrix.kind != "bsr":
        return rows, columns
    height, width, order = matrix.block
    inner_rows, inner_columns = np.divmod(np.arange(height * width), width)
    if order != _ROW_ORDER:
        inner_columns, inner_rows = np.divmod(np.arange(height * width), height)
    return (rows[:, None] * height + inner_rows).ravel(), (columns[:, None] * width + inner_columns).ravel()


def values_of(call: Call, matrix: Sparse) -> Operand:
    if matrix.kind == "ell":
        return call.array(matrix.values, matrix.count, matrix.dtype)
    return call.array(matrix.values, matrix.count * matrix.block[0] * matrix.block[1], matrix.dtype)


# -- vectors ------------------------------------------------------------------------------------------------


def _sparse_vector(call: Call, handle: int) -> tuple[Array, Operand]:
    vector = find(call, handle, SparseVector)
    indices = call.array(vector.indices, vector.count, vector.index_type)
    call.read(indices)
    places = within(indices[0].astype(np.int64) - vector.base, vector.size)
    return places, call.array(vector.values, vector.count, vector.dtype)


def gather(call: Call, y: int, x: int) -> None:
    dense, (places, values) = dense_of(call, y), _sparse_vector(call, x)
    call.read(dense)
    call.store(values, dense[0][places, 0])


def scatter(call: Call, x: int, y: int) -> None:
    dense, (places, values) = dense_of(call, y), _sparse_vector(call, x)
    call.read(values)
    whole = dense[0].copy()
    whole[places, 0] = values[0]
    call.store(dense, whole)


def axpby(call: Call, alpha: int, x: int, beta: int, y: int) -> None:
    dense, dtype, (places, values) = dense_of(call, y), find(call, y, Dense).dtype, _sparse_vector(call, x)
    call.read(values, dense)
    whole = call.scalar(beta, dtype) * dense[0]
    np.add.at(whole[:, 0], places, call.scalar(alpha, dtype) * values[0])
    call.store(dense, whole)


def spvv(call: Call, t: int, x: int, y: int, result: int, compute: int, buffer: int) -> None:
    dense, (places, values) = dense_of(call, y), _sparse_vector(call, x)
    call.read(values, dense)
    computed = type_of(compute)
    numbers = values[0].astype(computed)
    call.give(result, np.dot(numbers.conj() if t == 2 else numbers, dense[0][places, 0].astype(computed)), computed)


_UNBOUND: dict[str, Served] = {
    "cusparseCreate": create,
    **{f"cusparseDestroy{kind}": calls.destroy for kind in ("", "SpMat", "DnMat", "DnVec", "SpVec")},
    "cusparseCreateCsr": _creates("csr", "first second values first_type second_type base dtype"),
    "cusparseCreateCsc": _creates("csc", "first second values first_type second_type base dtype"),
    "cusparseCreateCoo": _creates("coo", "first second values second_type base dtype"),
    "cusparseCreateBsr": _creates("bsr", "height width first second values first_type second_type base dtype order"),
    "cusparseCreateSlicedEll": create_sliced,
    "cusparseCreateBlockedEll": create_blocked,
    "cusparseCreateDnMat": create_dense,
    "cusparseCreateDnVec": create_vector,
    "cusparseCreateSpVec": create_sparse_vector,
    "cusparseSetValues": set_values,
    "cusparseSetPointers": set_pointers,
    "cusparseSpMatGetSize": get_size,
    "cusparseSpMatSetAttribute": set_attribute,
    "cusparseDnMatSetStridedBatch": set_dense_batch,
    "cusparseCsrSetStridedBatch": _set_batch,
    "cusparseCooSetStridedBatch": set_coo_batch,
}
_BOUND: dict[str, Served] = {
    "cusparseSetStream": calls.set_stream,
    "cusparseSetPointerMode": calls.accept,
    "cusparseGetVersion": calls.gives(12_600),
    "cusparseGather": gather,
    "cusparseScatter": scatter,
    "cusparseAxpby": axpby,
    "cusparseSpVV": spvv,
}
HANDLERS: Handlers = {
    **calls.all_served(_UNBOUND, is_bound=False, statuses=STATUSES),
    **calls.all_served(_BOUND, statuses=STATUSES),
}
