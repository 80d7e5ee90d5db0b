"""cuBLAS's BLAS-like extensions: sums of matrices, batches and groups of problems, factorisations, least squares, mixed
types, triangles packed and unpacked.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused
from grader.programs.runtime.libraries.cublas import NOT_SUPPORTED
from grader.programs.runtime.libraries.cublas_matrices import (
    LEFT,
    LOWER,
    NO,
    gemm,
    gemv,
    operand,
    product_of,
    solve,
    trsm,
)
from grader.programs.runtime.state import Handlers

MAX_BATCH = 1 << 20
_MOST_ROWS = 1 << 14
_COMPUTE_32F = 68
# `cublasComputeType_t`: what products and factors are of.
_COMPUTED = {
    64: "f2",
    65: "f2",
    68: "f4",
    69: "f4",
    70: "f8",
    71: "f8",
    72: "i4",
    73: "i4",
    74: "f4",
    75: "f4",
    77: "f4",
}


@calls.takes("ta tb m n alpha a lda beta b ldb c ldc")
def geam(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n)
    target, total = call.matrix_of(args, "c", args.m, args.n), np.zeros((args.m, args.n), call.dtype)
    for name, t, scale in (("a", args.ta, call.scalar(args.alpha)), ("b", args.tb, call.scalar(args.beta))):
        if scale:
            matrix = call.matrix_of(args, name, *((args.m, args.n) if t == NO else (args.n, args.m)))
            call.read(matrix)
            total = total + scale * operand(matrix[0], t)
    call.store(target, total)


@calls.takes("side m n a lda x incx c ldc")
def dgmm(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n)
    matrix, target = (call.matrix_of(args, name, args.m, args.n) for name in "ac")
    vector = call.vector_of(args, "x", args.m if args.side == LEFT else args.n)
    call.read(matrix, vector)
    call.store(target, matrix[0] * (vector[0][:, None] if args.side == LEFT else vector[0][None, :]))


_multiplied = partial(calls.one_of, calls.MULTIPLIED_TYPES, NOT_SUPPORTED)


# -- batches ------------------------------------------------------------------------------------------


def numbers_of(count: int) -> range:
    """Return the problems of a batch by number.  Raises Refused where there can't be so many."""
    if not 0 <= count <= MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    return range(count)


def _arrays(names: str) -> list[str]:
    """Return which arguments are arrays: those with a leading dimension or a step."""
    return [name.removeprefix("ld").removeprefix("inc") for name in names.split() if re.fullmatch("ld.|inc.", name)]


def _counted(names: str) -> str:
    before, compute, after = names.partition(" compute")
    return f"{before} count{compute}{after}"


def batched(function: calls.Named) -> calls.Named:
    """Return a function for each problem of a batch, whose arrays' addresses lie in arrays of the device's; `number` is
    the problem's among its arguments.
    """
    arrays = _arrays(function.names)

    def each(call: Call, args: Arguments) -> None:
        addresses = [call.pointers(getattr(args, array), len(numbers_of(args.count))) for array in arrays]
        for number, of in enumerate(zip(*addresses, strict=True)):
            function(call, args.but(number=number, **dict(zip(arrays, of, strict=True))))

    return calls.Named(each, _counted(function.names))


def strided(function: calls.Named) -> calls.Named:
    """Return a function for each problem of a batch, whose arrays lie so many numbers (`sa`) behind one another."""
    arrays = _arrays(function.names)

    def each(call: Call, args: Arguments) -> None:
        kinds = {array: vars(args).get(f"{array}t") for array in arrays}
        widths = {
            array: calls.width_of(call.dtype if kind is None else _multiplied(kind)) for array, kind in kinds.items()
        }
        for number in numbers_of(args.count):
            steps = {array: number * getattr(args, f"s{array}") * widths[array] for array in arrays}
            function(call, args.but(**{array: getattr(args, array) + step for array, step in steps.items()}))

    return calls.Named(each, _counted(re.sub(r"\b(?:ld|inc)(.)\b", r"\g<0> s\1", function.names)))


def factored(matrix: Array, *, is_pivoted: bool = True) -> tuple[Array, Array, int]:
    """L and U of a matrix in one, the rows exchanged at each step from 1 on, and the first step without a pivot or 0."""
    factors = np.array(matrix, copy=True)
    rows, columns = factors.shape
    steps = min(rows, columns)
    pivots, lacking = np.arange(1, steps + 1), 0
    for step in range(steps):
        if is_pivoted:
            best = step + int(np.argmax(np.abs(factors[step:, step].real) + np.abs(factors[step:, step].imag)))
            pivots[step] = best + 1
            if best != step:
                factors[[step, best]] = factors[[best, step]]
        if factors[step, step] == 0:
            lacking = lacking or step + 1
            continue
        factors[step + 1 :, step] /= factors[step, step]
        factors[step + 1 :, step + 1 :] -= np.outer(factors[step + 1 :, step], factors[step, step + 1 :])
    return factors, pivots, lacking


def exchanged(right: Array, pivots: Array | None, *, is_back: bool = False) -> Array:
    """Rows exchanged as a factorisation did, or back."""
    permuted = np.array(right, copy=True)
    if pivots is not None:
        order = range(len(pivots) - 1, -1, -1) if is_back else range(len(pivots))
        for row in order:
            other = int(pivots[row]) - 1
            if not 0 <= other < len(permuted):
                raise Refused(calls.INVALID_VALUE)
            if other != row:
                permuted[[row, other]] = permuted[[other, row]]
    return permuted


def solved(factors: Array, pivots: Array | None, right: Array, t: int) -> Array:
    """op(A) x = right, by the factors of A."""
    lower = np.tril(factors, -1) + np.eye(len(factors), dtype=factors.dtype)
    upper = np.triu(factors)
    if t == NO:
        return solve(upper, solve(lower, exchanged(right, pivots), is_lower=True), is_lower=False)
    first = solve(operand(upper, t), right, is_lower=True)
    return exchanged(solve(operand(lower, t), first, is_lower=False), pivots, is_back=True)


def _factors_of(call: Call, args: Arguments) -> tuple[Operand, Array | None]:
    matrix = call.matrix_of(args, "a", args.n, args.n)
    pivots = call.array(args.pivots + 4 * args.n * args.number, args.n, "i4")[0] if args.pivots else None
    return matrix, pivots


def _inform(call: Call, args: Arguments, lacking: int) -> None:
    call.store(call.array(args.info + 4 * args.number, 1, "i4"), lacking)


@calls.takes("n a lda pivots info")
def _getrf(call: Call, args: Arguments) -> None:
    call.work(args.n, args.n, args.n)
    matrix = call.matrix_of(args, "a", args.n, args.n)
    call.read(matrix)
    factors, order, lacking = factored(matrix[0], is_pivoted=args.pivots != 0)
    call.store(matrix, factors)
    if args.pivots:
        call.store(call.array(args.pivots + 4 * args.n * args.number, args.n, "i4"), order)
    _inform(call, args, lacking)


@calls.takes("n a lda pivots c ldc info")
def _getri(call: Call, args: Arguments) -> None:
    call.work(args.n, args.n, args.n)
    matrix, pivots = _factors_of(call, args)
    target = call.matrix_of(args, "c", args.n, args.n)
    call.read(matrix)
    diagonal = np.flatnonzero(np.diag(matrix[0]) == 0)
    if not len(diagonal):
        call.store(target, solved(matrix[0], pivots, np.eye(args.n, dtype=call.dtype), NO))
    _inform(call, args, int(diagonal[0]) + 1 if len(diagonal) else 0)


@calls.takes("t n columns a lda pivots b ldb info")
def _getrs(call: Call, args: Arguments) -> None:
    call.work(args.n, args.n, args.columns)
    matrix, pivots = _factors_of(call, args)
    target = call.matrix_of(args, "b", args.n, args.columns)
    call.read(matrix, target)
    call.store(target, solved(matrix[0], pivots, target[0], args.t))


@calls.takes("t n columns a lda pivots b ldb info count")
def getrs_batched(call: Call, args: Arguments) -> None:
    batched(_getrs)(call, args)
    call.state.guest.pack("i", args.info, 0)


@calls.takes("n a lda c ldc info")
def _inverse(call: Call, args: Arguments) -> None:
    if args.n > 32:
        raise Refused(calls.INVALID_VALUE)
    call.work(args.n, args.n, args.n)
    matrix, target = (call.matrix_of(args, name, args.n, args.n) for name in "ac")
    call.read(matrix)
    factors, order, lacking = factored(matrix[0])
    if not lacking:
        call.store(target, solved(factors, order, np.eye(args.n, dtype=call.dtype), NO))
    _inform(call, args, lacking)


# -- mixed types ------------------------------------------------------------------------------------------


def computing(compute: int, result: int) -> str:
    """Return the type that a product is computed in, by `cublasComputeType_t` and the result's `cudaDataType`."""
    computed = calls.one_of(_COMPUTED, NOT_SUPPORTED, compute)
    return (
        {"f4": "c8", "f8": "c16"}.get(computed, computed) if calls.DATA_TYPES.get(result) in ("c8", "c16") else computed
    )


def _types_of(args: Arguments) -> tuple[str, str, str]:
    return _multiplied(args.at), _multiplied(args.bt), _multiplied(args.ct)


@calls.takes("ta tb m n k alpha a at lda b bt ldb beta c ct ldc compute algorithm")
def gemm_ex(call: Call, args: Arguments) -> None:
    computed = computing(args.compute, args.ct)
    alpha, beta = call.scalar(args.alpha, computed), call.scalar(args.beta, computed)
    product_of(call, args, alpha, beta, _types_of(args), computed)


@calls.takes("ta tb m n k alpha a at lda b bt ldb beta c ct ldc")
def sgemm_ex(call: Call, args: Arguments) -> None:
    gemm_ex(call, args.but(compute=_COMPUTE_32F))


# -- groups, least squares, packed triangles ---------------------------------------------------------------


def _grouped(call: Call, args: Arguments, types: tuple[str, str, str], computed: str) -> None:
    """Sizes, factors and leading dimensions are arrays of the host's, a number a group."""
    count, width = len(numbers_of(args.count)), np.dtype(computed).itemsize
    names = ("ta", "tb", "m", "n", "k", "lda", "ldb", "ldc", "problems")
    groups = {name: call.state.guest.unpack(f"{count}i", getattr(args, name)) if count else () for name in names}
    problems = groups["problems"]
    if min(problems, default=0) < 0 or sum(problems) > MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    addresses = {array: iter(call.pointers(getattr(args, array), sum(problems))) for array in "abc"}
    for group, size in enumerate(problems):
        of_group = args.but(**{name: numbers[group] for name, numbers in groups.items()})
        alpha, beta = (call.scalar(factor + group * width, computed) for factor in (args.alpha, args.beta))
        for _problem in range(size):
            problem = of_group.but(**{array: next(places) for array, places in addresses.items()})
            product_of(call, problem, alpha, beta, types, computed)


@calls.takes("ta tb m n k alpha a lda b ldb beta c ldc count problems")
def gemm_grouped(call: Call, args: Arguments) -> None:
    _grouped(call, args, (call.dtype, call.dtype, call.dtype), call.dtype)


@calls.takes("ta tb m n k alpha a at lda b bt ldb beta c ct ldc count problems compute")
def gemm_grouped_ex(call: Call, args: Arguments) -> None:
    _grouped(call, args, _types_of(args), computing(args.compute, args.ct))


@calls.takes("t m n columns a lda c ldc")
def _gels(call: Call, args: Arguments) -> None:
    """Least squares: A becomes its QR factorisation, the first rows of C the solution; only as the matrix stands."""
    if args.t != NO or args.m < args.n:
        raise Refused(calls.INVALID_VALUE)
    call.work(args.m, args.n, args.n + args.columns)
    matrix, target = call.matrix_of(args, "a", args.m, args.n), call.matrix_of(args, "c", args.m, args.columns)
    call.read(matrix, target)
    q, r = np.linalg.qr(matrix[0])
    zero = np.flatnonzero(np.diag(r) == 0)
    if not len(zero):
        solution = target[0].copy()
        solution[: args.n] = np.linalg.solve(r, q.conj().T @ target[0])
        call.store(target, solution)
    if args.infos:
        call.store(call.array(args.infos + 4 * args.number, 1, "i4"), int(zero[0]) + 1 if len(zero) else 0)


@calls.takes("t m n columns a lda c ldc info infos count")
def gels_batched(call: Call, args: Arguments) -> None:
    batched(_gels)(call, args)
    call.state.guest.pack("i", args.info, 0)


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
    **calls.of_types("cublas", "geam", geam, calls.ALL),
    **calls.of_types("cublas", "dgmm", dgmm, calls.ALL),
    **calls.of_types("cublas", "gemmBatched", batched(gemm), calls.ALL | {"H": "f2"}),
    **calls.of_types("cublas", "gemmStridedBatched", strided(gemm), calls.ALL | {"H": "f2"}),
    **calls.of_types("cublas", "gemm3mStridedBatched", strided(gemm), calls.COMPLEX),
    **calls.of_types("cublas", "gemvBatched", batched(gemv), calls.ALL),
    **calls.of_types("cublas", "gemvStridedBatched", strided(gemv), calls.ALL),
    **calls.of_types("cublas", "trsmBatched", batched(trsm), calls.ALL),
    **calls.of_types("cublas", "getrfBatched", batched(_getrf), calls.ALL),
    **calls.of_types("cublas", "getriBatched", batched(_getri), calls.ALL),
    **calls.of_types("cublas", "getrsBatched", getrs_batched, calls.ALL),
    **calls.of_types("cublas", "matinvBatched", batched(_inverse), calls.ALL),
    **calls.of_types("cublas", "gemmGroupedBatched", gemm_grouped, calls.REALS),
    **calls.of_types("cublas", "gelsBatched", gels_batched, calls.ALL),
    **calls.of_types("cublas", "tpttr", unpack, calls.ALL),
    **calls.of_types("cublas", "trttp", pack, calls.ALL),
    "cublasGemmEx": calls.served(gemm_ex),
    "cublasGemmBatchedEx": calls.served(batched(gemm_ex)),
    "cublasGemmStridedBatchedEx": calls.served(strided(gemm_ex)),
    "cublasSgemmEx": calls.served(sgemm_ex),
    "cublasGemmGroupedBatchedEx": calls.served(gemm_grouped_ex),
}
