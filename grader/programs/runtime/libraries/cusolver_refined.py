"""cuSOLVER's solutions by a factorisation in lower precision, refined until they are those of the higher one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Refused
from grader.programs.runtime.libraries.cusolver import STATUSES
from grader.programs.runtime.state import Handlers

_TYPES = {1203: "f8", 1204: "f4", 1213: "c16", 1214: "c8"}
"""`cusolverPrecType_t` of what solutions are of."""
_BITS = {1205: 11, 1206: 8, 1207: 11, 1215: 11, 1216: 8, 1217: 11, 1204: 24, 1214: 24, 1203: 53, 1213: 53}
"""Of the mantissa of what factors are of: half precision, bfloat16, TF32, and the others."""
_MOST_ITERATIONS = 50


def _rounded(matrix: Array, bits: int) -> Array:
    """Return numbers with so many bits of mantissa, as factors are computed of them."""
    if bits >= np.finfo(matrix.dtype).nmant + 1:
        return matrix
    wide = np.ascontiguousarray(matrix)
    parts = wide.view(wide.real.dtype)
    mantissas, exponents = np.frexp(parts)
    kept = np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits)
    rounded: Array = kept.astype(parts.dtype).view(wide.dtype)
    return rounded


def _in_lower(matrix: Array, bits: int) -> Array:
    low = _rounded(matrix, bits)
    if bits >= 53:
        return low
    return low.astype("c8" if np.iscomplexobj(low) else "f4")


def _solved(matrix: Array, right: Array, bits: int) -> Array:
    low = _in_lower(matrix, bits)
    rhs = right.astype(low.dtype)
    is_square = matrix.shape[0] == matrix.shape[1]
    solved = np.linalg.solve(low, rhs) if is_square else np.linalg.lstsq(low, rhs, rcond=None)[0]
    solution: Array = solved.astype(matrix.dtype)
    return solution


def _refined(matrix: Array, right: Array, bits: int, most: int) -> tuple[Array, int]:
    """Return the solution and how many steps it took, a number below 0 where it was factored in full in the end."""
    columns = matrix.shape[1]
    if bits >= np.finfo(matrix.dtype).nmant + 1:
        return _solved(matrix, right, 53), 0
    least = np.linalg.norm(matrix, np.inf) * np.finfo(matrix.dtype).eps * np.sqrt(columns)
    is_square = matrix.shape[0] == columns
    solution = _solved(matrix, right, bits)
    for step in range(most + 1):
        residual = right - matrix @ solution
        measured = residual if is_square else matrix.conj().T @ residual / max(np.linalg.norm(matrix, np.inf), 1e-300)
        if np.all(np.abs(measured).max(axis=0, initial=0) <= least * np.abs(solution).max(axis=0, initial=0)):
            return solution, step
        if not np.all(np.isfinite(solution)):
            break
        solution = solution + _solved(matrix, residual, bits)
    return _solved(matrix, right, 53), -most - 1


def solve(call: Call, main: int, lowest: int, most: int, m: int, n: int, columns: int, a: int, lda: int, b: int, ldb: int, x: int, ldx: int, steps: int, info: int) -> None:  # fmt: skip
    """main, lowest: `cusolverPrecType_t` of the solution and of the factors.  steps: with the host."""
    if main not in _TYPES or lowest not in _BITS or m < n:
        raise Refused(calls.INVALID_VALUE)
    typed = replace(call, dtype=_TYPES[main])
    call.work(m, n, max(1, n // 16) + columns)
    matrix, right, target = (
        typed.matrix(a, m, n, lda),
        typed.matrix(b, m, columns, ldb),
        typed.matrix(x, n, columns, ldx),
    )
    call.read(matrix, right)
    lacking, count = 0, 0
    try:
        solution, count = _refined(
            matrix[0].copy(), right[0].copy(), _BITS[lowest], most if most > 0 else _MOST_ITERATIONS
        )
        call.store(target, solution)
    except np.linalg.LinAlgError:
        lacking = n
    call.state.guest.pack("i", steps, count)
    call.store(call.array(info, 1, "i4"), lacking)


HANDLERS: Handlers = {"cusolverDnRefined": calls.served(solve, statuses=STATUSES)}
