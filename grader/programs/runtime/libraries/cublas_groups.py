"""cuBLAS's products of groups of matrices, each group of sizes of its own, least squares of batches, and triangles packed
and unpacked."""

from __future__ import annotations

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Call, Refused
from grader.programs.runtime.libraries.cublas import type_of
from grader.programs.runtime.libraries.cublas_extensions import MAX_BATCH, batch_of, computing
from grader.programs.runtime.libraries.cublas_matrices import LOWER, NO, product_of
from grader.programs.runtime.state import Handlers

_MOST_ROWS = 1 << 14


def _grouped(
    call: Call,
    sizes: tuple[int, int, int, int, int],
    factors: tuple[int, int],
    places: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    groups: tuple[int, int],
    types: tuple[str, str, str],
    computed: str,
) -> None:
    """sizes, factors, the second of places and of groups: arrays of the host's, a number a group."""
    count, of_group = groups
    if not 0 <= count <= MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    unpack, width = call.state.guest.unpack, np.dtype(computed).itemsize
    ints = [unpack(f"{count}i", array) if count else () for array in (*sizes, *(leading for _array, leading in places))]
    problems = unpack(f"{count}i", of_group) if count else ()
    if min(problems, default=0) < 0 or sum(problems) > MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    addresses = [call.pointers(array, sum(problems)) for array, _leading in places]
    first = 0
    for group, size in enumerate(problems):
        ta, tb, m, n, k, lda, ldb, ldc = (numbers[group] for numbers in ints)
        alpha, beta = (call.scalar(factor + group * width, computed) for factor in factors)
        for number in range(first, first + size):
            a, b, c = (array[number] for array in addresses)
            of = ((a, lda), (b, ldb), (c, ldc))
            product_of(call, (ta, tb), (m, n, k), (alpha, beta), of, types, computed)
        first += size


def gemm_grouped(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, count: int, of_group: int) -> None:  # fmt: skip
    places, types = ((a, lda), (b, ldb), (c, ldc)), (call.dtype, call.dtype, call.dtype)
    _grouped(call, (ta, tb, m, n, k), (alpha, beta), places, (count, of_group), types, call.dtype)


def gemm_grouped_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, count: int, of_group: int, compute: int) -> None:  # fmt: skip
    places, types = ((a, lda), (b, ldb), (c, ldc)), (type_of(at), type_of(bt), type_of(ct))
    _grouped(call, (ta, tb, m, n, k), (alpha, beta), places, (count, of_group), types, computing(compute, ct))


def gels_batched(call: Call, t: int, m: int, n: int, columns: int, a: int, lda: int, c: int, ldc: int, info: int, infos: int, count: int) -> None:  # fmt: skip
    """Least squares: A becomes its QR factorisation, the first rows of C the solution; only as the matrix stands."""
    if t != NO or m < n:
        raise Refused(calls.INVALID_VALUE)
    lacking = []
    for _number, one, other in batch_of(call, count, a, c):
        call.work(m, n, n + columns)
        matrix, target = call.matrix(one, m, n, lda), call.matrix(other, m, columns, ldc)
        call.read(matrix, target)
        q, r = np.linalg.qr(matrix[0])
        zero = np.flatnonzero(np.diag(r) == 0)
        lacking.append(int(zero[0]) + 1 if len(zero) else 0)
        if not len(zero):
            solution = target[0].copy()
            solution[:n] = np.linalg.solve(r, q.conj().T @ target[0])
            call.store(target, solution)
    call.state.guest.pack("i", info, 0)
    if infos:
        call.store(call.array(infos, len(lacking), "i4"), np.array(lacking, np.int32))


def _triangle(call: Call, fill: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of a triangle's numbers, column after column."""
    if not 0 <= n <= _MOST_ROWS:
        raise Refused(calls.INVALID_VALUE)
    call.work(n, n)
    if fill == LOWER:
        columns, rows = np.triu_indices(n)
    else:
        columns, rows = np.tril_indices(n)
    return rows, columns


def unpack(call: Call, fill: int, n: int, packed: int, a: int, lda: int) -> None:
    rows, columns = _triangle(call, fill, n)
    numbers, target = call.array(packed, len(rows)), call.matrix(a, n, n, lda)
    call.read(numbers)
    whole = target[0].copy()
    whole[rows, columns] = numbers[0].ravel()
    call.store(target, whole)


def pack(call: Call, fill: int, n: int, a: int, lda: int, packed: int) -> None:
    rows, columns = _triangle(call, fill, n)
    matrix = call.matrix(a, n, n, lda)
    call.read(matrix)
    call.store(call.array(packed, len(rows)), matrix[0][rows, columns])


HANDLERS: Handlers = {
    **calls.of_types("cublas", "gemmGroupedBatched", gemm_grouped, calls.REALS),
    **calls.of_types("cublas", "gelsBatched", gels_batched, calls.ALL),
    **calls.of_types("cublas", "tpttr", unpack, calls.ALL),
    **calls.of_types("cublas", "trttp", pack, calls.ALL),
    "cublasGemmGroupedBatchedEx": calls.served(gemm_grouped_ex),
}
