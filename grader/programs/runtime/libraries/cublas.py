"""cuBLAS as far as course programs use it, through NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.programs.device_memory import Allocation
from grader.programs.runtime.libraries.operands import (
    INVALID_VALUE,
    MAX_HANDLES,
    Array,
    Refused,
    accept,
    bound_work,
    check_read,
    destroy,
    guarded,
    handle_of,
    matrix_at,
    note_write,
    scalar_at,
    vector_at,
)
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

_NO, _TRANSPOSED, _CONJUGATE = 0, 1, 2


def create(state: State, place: Place, handle: int) -> int:
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(3)
    number = state.handle()
    state.guest.pack("Q", handle, number)
    state.libraries[number] = {}
    return 0


def _operand(matrix: Array, operation: int) -> Array:
    if operation not in (_NO, _TRANSPOSED, _CONJUGATE):
        raise Refused(INVALID_VALUE)
    return matrix if operation == _NO else matrix.T


def _store(state: State, target: tuple[Array, Allocation], value: Array) -> int:
    """Write what a call came to; 0, the status of success."""
    target[0][:] = value
    note_write(state, target[1])
    return 0


def _blend(
    state: State,
    place: Place,
    inputs: tuple[tuple[Array, Allocation], ...],
    target: tuple[Array, Allocation],
    product: Array,
    alpha: int,
    beta: int,
) -> int:
    """target = alpha * product + beta * target, as BLAS ends a product; where beta is 0 the target is not read."""
    dtype = target[0].dtype.str[1:]
    factor, old = scalar_at(state, alpha, dtype), scalar_at(state, beta, dtype)
    check_read(state, place, *inputs, *([target] if old else []))
    scaled = factor * product
    return _store(state, target, scaled + old * target[0] if old else scaled)


def _gemm(dtype: str) -> Callable[..., int]:
    def gemm(
        state: State,
        place: Place,
        handle: int,
        a_operation: int,
        b_operation: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        a: int,
        a_leading: int,
        b: int,
        b_leading: int,
        beta: int,
        c: int,
        c_leading: int,
    ) -> int:
        handle_of(state, handle)
        if min(m, n, k) < 0:
            raise Refused(INVALID_VALUE)
        bound_work(state, m * n * k)
        shape_a, shape_b = (m, k) if a_operation == _NO else (k, m), (k, n) if b_operation == _NO else (n, k)
        first = matrix_at(state, place, a, *shape_a, a_leading, dtype)
        second = matrix_at(state, place, b, *shape_b, b_leading, dtype)
        target = matrix_at(state, place, c, m, n, c_leading, dtype)
        product = _operand(first[0], a_operation) @ _operand(second[0], b_operation)
        return _blend(state, place, (first, second), target, product, alpha, beta)

    return gemm


def _gemv(dtype: str) -> Callable[..., int]:
    def gemv(
        state: State,
        place: Place,
        handle: int,
        operation: int,
        m: int,
        n: int,
        alpha: int,
        a: int,
        leading: int,
        x: int,
        x_step: int,
        beta: int,
        y: int,
        y_step: int,
    ) -> int:
        handle_of(state, handle)
        bound_work(state, abs(m * n))
        matrix = matrix_at(state, place, a, m, n, leading, dtype)
        used = _operand(matrix[0], operation)
        vector = vector_at(state, place, x, used.shape[1], x_step, dtype)
        target = vector_at(state, place, y, used.shape[0], y_step, dtype)
        return _blend(state, place, (matrix, vector), target, used @ vector[0], alpha, beta)

    return gemv


def _geam(dtype: str) -> Callable[..., int]:
    def geam(
        state: State,
        place: Place,
        handle: int,
        a_operation: int,
        b_operation: int,
        m: int,
        n: int,
        alpha: int,
        a: int,
        a_leading: int,
        beta: int,
        b: int,
        b_leading: int,
        c: int,
        c_leading: int,
    ) -> int:
        handle_of(state, handle)
        bound_work(state, abs(m * n))
        factor, other = scalar_at(state, alpha, dtype), scalar_at(state, beta, dtype)
        target = matrix_at(state, place, c, m, n, c_leading, dtype)
        total = np.zeros((m, n), dtype)
        for scale, operation, address, leading in (
            (factor, a_operation, a, a_leading),
            (other, b_operation, b, b_leading),
        ):
            if scale:
                shape = (m, n) if operation == _NO else (n, m)
                matrix = matrix_at(state, place, address, *shape, leading, dtype)
                check_read(state, place, matrix)
                total = total + scale * _operand(matrix[0], operation)
        return _store(state, target, total)

    return geam


def _axpy(dtype: str) -> Callable[..., int]:
    def axpy(
        state: State, place: Place, handle: int, n: int, alpha: int, x: int, x_step: int, y: int, y_step: int
    ) -> int:
        handle_of(state, handle)
        source = vector_at(state, place, x, n, x_step, dtype)
        target = vector_at(state, place, y, n, y_step, dtype)
        check_read(state, place, source, target)
        target[0][:] += scalar_at(state, alpha, dtype) * source[0]
        note_write(state, target[1])
        return 0

    return axpy


def _scal(dtype: str) -> Callable[..., int]:
    def scal(state: State, place: Place, handle: int, n: int, alpha: int, x: int, step: int) -> int:
        handle_of(state, handle)
        target = vector_at(state, place, x, n, step, dtype)
        check_read(state, place, target)
        target[0][:] *= scalar_at(state, alpha, dtype)
        return 0

    return scal


def _result(state: State, address: int, value: Any, dtype: str) -> None:
    if state.memory.is_device_address(address):
        raise Refused(INVALID_VALUE)
    state.guest.write(address, struct.pack("<f" if dtype == "f4" else "<d", float(value)))
    state.wait_for_all()


def _dot(dtype: str) -> Callable[..., int]:
    def dot(state: State, place: Place, handle: int, n: int, x: int, x_step: int, y: int, y_step: int, out: int) -> int:
        handle_of(state, handle)
        first = vector_at(state, place, x, n, x_step, dtype)
        second = vector_at(state, place, y, n, y_step, dtype)
        check_read(state, place, first, second)
        _result(state, out, np.dot(first[0], second[0]), dtype)
        return 0

    return dot


def _norm(dtype: str, which: Callable[[Array], Any]) -> Callable[..., int]:
    def norm(state: State, place: Place, handle: int, n: int, x: int, step: int, out: int) -> int:
        handle_of(state, handle)
        vector = vector_at(state, place, x, n, step, dtype)
        check_read(state, place, vector)
        _result(state, out, which(vector[0]) if n else 0, dtype)
        return 0

    return norm


_TYPES = (("S", "f4"), ("D", "f8"))
_TABLE: dict[str, tuple[str, Callable[..., int]]] = {
    "cublasCreate": ("i", create),
    "cublasDestroy": ("i", destroy),
    "cublasSetStream": ("ii", accept),
    "cublasSetMathMode": ("ii", accept),
    "cublasSetPointerMode": ("ii", accept),
    **{f"cublas{letter}gemm": ("i" * 14, _gemm(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}gemv": ("i" * 12, _gemv(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}geam": ("i" * 13, _geam(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}axpy": ("i" * 7, _axpy(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}scal": ("i" * 5, _scal(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}dot": ("i" * 7, _dot(dtype)) for letter, dtype in _TYPES},
    **{f"cublas{letter}nrm2": ("i" * 5, _norm(dtype, np.linalg.norm)) for letter, dtype in _TYPES},
    **{f"cublas{letter}asum": ("i" * 5, _norm(dtype, lambda v: np.abs(v).sum())) for letter, dtype in _TYPES},
}
HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    name: (kinds, guarded(function)) for name, (kinds, function) in _TABLE.items()
}
