"""cuBLAS and cuRAND's host generators, as far as course programs use them, through NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.message import msg
from grader.programs.emulated import Allocation
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.state import Place, ProgramEnded, State

Array = npt.NDArray[Any]
NOT_INITIALIZED, INVALID_VALUE, MAPPING_ERROR = 1, 7, 11
CURAND_NOT_INITIALIZED, CURAND_OUT_OF_RANGE, CURAND_LAUNCH_FAILURE = 101, 104, 201
MAX_WORK = 2_000_000_000
"""Multiplications of one call."""
MAX_HANDLES = 1000
_NO, _TRANSPOSED, _CONJUGATE = 0, 1, 2


class Refused(Exception):
    """A call ends with this status of its library's."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    def call(state: State, place: Place, *arguments: Any) -> int:
        try:
            return function(state, place, *arguments)
        except Refused as error:
            return error.status

    return call


# -- memory ---------------------------------------------------------------------------------------


def _place_of(state: State, address: int, size: int, place: Place) -> tuple[Array, Allocation]:
    """`size` bytes of memory that the device reaches."""
    found = state.gpu.find(address)
    offset = address - found.base if found is not None else 0
    if found is None:
        found = shared_at(state, address)
        offset = address - found.host if found is not None else 0
    if found is None or offset < 0 or offset + size > found.size:
        message = msg("programs.library_pointer") if found is None else msg("programs.library_past", array=found.name)
        state.tell("copy_size" if found is not None else "bad_pointer", "error", message, place)
        raise Refused(MAPPING_ERROR)
    if found.host:
        return state.guest.view(address, size), found
    return found.data[offset : offset + size], found


def _matrix(
    state: State, place: Place, address: int, rows: int, columns: int, leading: int, dtype: str
) -> tuple[Array, Allocation]:
    """A matrix in column-major order as (rows, columns), and what it lies in."""
    if min(rows, columns) < 0 or leading < max(1, rows):
        raise Refused(INVALID_VALUE)
    if not rows or not columns:
        return np.empty((rows, columns), dtype), Allocation("", 0, 0, "", 0, "")
    width = np.dtype(dtype).itemsize
    raw, allocation = _place_of(state, address, ((columns - 1) * leading + rows) * width, place)
    if raw.ctypes.data % width:
        state.tell("bad_pointer", "error", msg("programs.library_misaligned"), place)
        raise Refused(MAPPING_ERROR)
    flat = raw.view(dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (width, leading * width)), allocation


def _vector(state: State, place: Place, address: int, count: int, step: int, dtype: str) -> tuple[Array, Allocation]:
    if count < 0 or step == 0:
        raise Refused(INVALID_VALUE)
    matrix, allocation = _matrix(state, place, address, 1, count, abs(step), dtype)
    vector = matrix[0]
    return (vector[::-1] if step < 0 else vector), allocation


def _read(state: State, place: Place, *operands: tuple[Array, Allocation]) -> None:
    """Tell of operands that nobody wrote."""
    for _values, allocation in operands:
        valid = allocation.valid if allocation.array is not None else None
        if valid is not None and not valid.any() and not state.hollow:
            state.tell("uninitialized", "error", msg("programs.library_unwritten", array=allocation.name), place)


def _wrote(state: State, allocation: Allocation) -> None:
    valid = allocation.valid if allocation.array is not None else None
    if valid is not None:
        valid[:] = 1
    allocation.origins.add("kernel")
    allocation.digest = None
    queue = state.streams[0]
    state.begin(queue)


def _scalar(state: State, address: int, dtype: str) -> Any:
    if state.gpu.is_device_address(address):
        raise Refused(INVALID_VALUE)
    layout = "f" if dtype == "f4" else "d"
    return np.dtype(dtype).type(state.guest.unpack(layout, address)[0])


def _handle(state: State, handle: int) -> dict[str, Any]:
    found = state.libraries.get(handle)
    if found is None:
        raise Refused(NOT_INITIALIZED)
    return found


def _work(count: int) -> None:
    if count > MAX_WORK:
        raise ProgramEnded(msg("programs.too_much_copied"))


# -- cuBLAS ---------------------------------------------------------------------------------------


def create(state: State, place: Place, handle: int) -> int:
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(3)
    number = state.handle()
    state.guest.pack("Q", handle, number)
    state.libraries[number] = {}
    return 0


def destroy(state: State, place: Place, handle: int) -> int:
    _handle(state, handle)
    del state.libraries[handle]
    return 0


def accept(state: State, place: Place, handle: int, *_rest: int) -> int:
    _handle(state, handle)
    return 0


def _operand(matrix: Array, operation: int) -> Array:
    if operation not in (_NO, _TRANSPOSED, _CONJUGATE):
        raise Refused(INVALID_VALUE)
    return matrix if operation == _NO else matrix.T


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
        _handle(state, handle)
        if min(m, n, k) < 0:
            raise Refused(INVALID_VALUE)
        _work(m * n * k)
        shape_a, shape_b = (m, k) if a_operation == _NO else (k, m), (k, n) if b_operation == _NO else (n, k)
        first = _matrix(state, place, a, *shape_a, a_leading, dtype)
        second = _matrix(state, place, b, *shape_b, b_leading, dtype)
        target = _matrix(state, place, c, m, n, c_leading, dtype)
        factor, old = _scalar(state, alpha, dtype), _scalar(state, beta, dtype)
        _read(state, place, first, second, *([target] if old else []))
        product = factor * (_operand(first[0], a_operation) @ _operand(second[0], b_operation))
        target[0][:] = product + old * target[0] if old else product
        _wrote(state, target[1])
        return 0

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
        _handle(state, handle)
        _work(abs(m * n))
        matrix = _matrix(state, place, a, m, n, leading, dtype)
        used = _operand(matrix[0], operation)
        vector = _vector(state, place, x, used.shape[1], x_step, dtype)
        target = _vector(state, place, y, used.shape[0], y_step, dtype)
        factor, old = _scalar(state, alpha, dtype), _scalar(state, beta, dtype)
        _read(state, place, matrix, vector, *([target] if old else []))
        product = factor * (used @ vector[0])
        target[0][:] = product + old * target[0] if old else product
        _wrote(state, target[1])
        return 0

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
        _handle(state, handle)
        _work(abs(m * n))
        factor, other = _scalar(state, alpha, dtype), _scalar(state, beta, dtype)
        target = _matrix(state, place, c, m, n, c_leading, dtype)
        total = np.zeros((m, n), dtype)
        for scale, operation, address, leading in (
            (factor, a_operation, a, a_leading),
            (other, b_operation, b, b_leading),
        ):
            if scale:
                shape = (m, n) if operation == _NO else (n, m)
                matrix = _matrix(state, place, address, *shape, leading, dtype)
                _read(state, place, matrix)
                total = total + scale * _operand(matrix[0], operation)
        target[0][:] = total
        _wrote(state, target[1])
        return 0

    return geam


def _axpy(dtype: str) -> Callable[..., int]:
    def axpy(
        state: State, place: Place, handle: int, n: int, alpha: int, x: int, x_step: int, y: int, y_step: int
    ) -> int:
        _handle(state, handle)
        source = _vector(state, place, x, n, x_step, dtype)
        target = _vector(state, place, y, n, y_step, dtype)
        _read(state, place, source, target)
        target[0][:] += _scalar(state, alpha, dtype) * source[0]
        _wrote(state, target[1])
        return 0

    return axpy


def _scal(dtype: str) -> Callable[..., int]:
    def scal(state: State, place: Place, handle: int, n: int, alpha: int, x: int, step: int) -> int:
        _handle(state, handle)
        target = _vector(state, place, x, n, step, dtype)
        _read(state, place, target)
        target[0][:] *= _scalar(state, alpha, dtype)
        return 0

    return scal


def _result(state: State, address: int, value: Any, dtype: str) -> None:
    if state.gpu.is_device_address(address):
        raise Refused(INVALID_VALUE)
    state.guest.write(address, struct.pack("<f" if dtype == "f4" else "<d", float(value)))
    state.wait_for_all()


def _dot(dtype: str) -> Callable[..., int]:
    def dot(state: State, place: Place, handle: int, n: int, x: int, x_step: int, y: int, y_step: int, out: int) -> int:
        _handle(state, handle)
        first = _vector(state, place, x, n, x_step, dtype)
        second = _vector(state, place, y, n, y_step, dtype)
        _read(state, place, first, second)
        _result(state, out, np.dot(first[0], second[0]), dtype)
        return 0

    return dot


def _norm(dtype: str, which: Callable[[Array], Any]) -> Callable[..., int]:
    def norm(state: State, place: Place, handle: int, n: int, x: int, step: int, out: int) -> int:
        _handle(state, handle)
        vector = _vector(state, place, x, n, step, dtype)
        _read(state, place, vector)
        _result(state, out, which(vector[0]) if n else 0, dtype)
        return 0

    return norm


# -- cuRAND ---------------------------------------------------------------------------------------


def generator(state: State, place: Place, handle: int, kind: int) -> int:
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(102)
    number = state.handle()
    state.guest.pack("Q", handle, number)
    state.libraries[number] = {"random": np.random.default_rng(0)}
    return 0


def _random(state: State, handle: int) -> Any:
    found = state.libraries.get(handle, {}).get("random")
    if found is None:
        raise Refused(CURAND_NOT_INITIALIZED)
    return found


def seed(state: State, place: Place, handle: int, value: int) -> int:
    _random(state, handle)
    state.libraries[handle]["random"] = np.random.default_rng(value & (1 << 64) - 1)
    return 0


def _fill(state: State, place: Place, out: int, count: int, dtype: str, make: Callable[[], Array]) -> int:
    if not 0 <= count <= 1 << 28:
        raise Refused(CURAND_OUT_OF_RANGE)
    if count:
        target = _vector(state, place, out, count, 1, dtype)
        target[0][:] = make()
        _wrote(state, target[1])
        target[1].origins = {"copied"}
    return 0


def generate(state: State, place: Place, handle: int, out: int, count: int) -> int:
    random = _random(state, handle)
    return _fill(state, place, out, count, "u4", lambda: random.integers(0, 1 << 32, count, np.uint32))


def _uniform(dtype: str) -> Callable[..., int]:
    def uniform(state: State, place: Place, handle: int, out: int, count: int) -> int:
        random = _random(state, handle)
        # cuRAND leaves 0 out and takes 1 in.
        return _fill(state, place, out, count, dtype, lambda: 1 - random.random(count, np.dtype(dtype)))

    return uniform


def _normal(dtype: str) -> Callable[..., int]:
    def normal(state: State, place: Place, handle: int, out: int, count: int, mean: float, deviation: float) -> int:
        random = _random(state, handle)
        if count % 2:
            # Pseudorandom normal numbers come in pairs (cuRAND, generation functions).
            raise Refused(105)
        return _fill(state, place, out, count, dtype, lambda: random.normal(mean, abs(deviation), count))

    return normal


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
    "curandCreateGenerator": ("ii", generator),
    "curandDestroyGenerator": ("i", destroy),
    "curandSetPseudoRandomGeneratorSeed": ("ii", seed),
    "curandSetStream": ("ii", accept),
    "curandGenerate": ("iii", generate),
    "curandGenerateUniform": ("iii", _uniform("f4")),
    "curandGenerateUniformDouble": ("iii", _uniform("f8")),
    "curandGenerateNormal": ("iiiff", _normal("f4")),
    "curandGenerateNormalDouble": ("iiiff", _normal("f8")),
}
HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    name: (kinds, _guarded(function)) for name, (kinds, function) in _TABLE.items()
}
