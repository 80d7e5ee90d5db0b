"""cuRAND's host generators: XORWOW, MRG32k3a and Philox bit for bit as the library's own, the others' numbers by
NumPy.

XORWOW (Marsaglia, "Xorshift RNGs", 2003), MRG32k3a (L'Ecuyer, Operations Research 47(1), 1999) and Philox4x32-10
(Salmon et al., SC 2011).  Results come from many subsequences side by side; of XORWOW's and MRG32k3a's there are 4096
and 81920, 2^67 and 2^76 numbers apart (cuRAND, "Generator options").
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Operand, Refused, Served
from grader.programs.runtime.state import Handlers
from grader.programs.sandbox.guest import RANDOM_INSTRUCTIONS

LANES = 4096
"""Subsequences of XORWOW."""
MRG_LANES = 81_920
_WORDS = 5
_BITS = 32 * _WORDS
_M1, _M2 = 4294967087, 4294944443
_A1 = ((0, 1, 0), (0, 0, 1), (_M1 - 810728, 1403580, 0))
_A2 = ((0, 1, 0), (0, 0, 1), (_M2 - 1370589, 0, 527612))
_MASK = np.uint64(0xFFFFFFFF)


class _Lanes(abc.ABC):
    """The subsequences of a generator, each as far on as it was used; elements are taken from them in turn."""

    count: int
    state: Array

    @abc.abstractmethod
    def step(self, lanes: slice) -> Array:
        """Return the next number of each of these lanes."""


class _Xorwow(_Lanes):
    count = LANES

    def __init__(self, seed: int) -> None:
        low, high = (seed & 0xFFFFFFFF) ^ 0xAAD26B49, (seed >> 32 & 0xFFFFFFFF) ^ 0xF7DCEFDD
        a, b = 1099087573 * low & 0xFFFFFFFF, 2591861531 * high & 0xFFFFFFFF
        words = [123456789 + a, 362436069 ^ a, 521288629 + b, 88675123 ^ b, 5783321 + a]
        beginnings = _lanes(tuple(word & 0xFFFFFFFF for word in words))
        counters = np.full((1, LANES), 6615241 + b + a & 0xFFFFFFFF, np.uint32)
        self.state = np.concatenate([beginnings, counters])

    def step(self, lanes: slice) -> Array:
        """Numbers of 32 bits."""
        state = self.state[:, lanes]
        t = state[0] ^ (state[0] >> np.uint32(2))
        last = state[4] ^ (state[4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))
        state[:4] = state[1:5]
        state[4] = last
        with np.errstate(over="ignore"):
            state[5] += np.uint32(362437)
            numbers: Array = last + state[5]
        return numbers


@cache
def _jumps() -> tuple[Array, ...]:
    """Return matrices over GF(2) that advance a state by 2^67 numbers, and twice, four, … times as far."""
    matrix = np.zeros((_BITS, _BITS), np.float32)
    for column in range(_BITS):
        words = [1 << column % 32 if number == column // 32 else 0 for number in range(_WORDS)]
        t = words[0] ^ words[0] >> 2
        following = [*words[1:], (words[4] ^ words[4] << 4 ^ t ^ t << 1) & 0xFFFFFFFF]
        for number, word in enumerate(following):
            for bit in range(32):
                matrix[32 * number + bit, column] = word >> bit & 1
    jumps = []
    for power in range(67 + 12):
        if power >= 67:
            jumps.append(matrix)
        matrix = matrix @ matrix % 2
    return tuple(jumps)


@lru_cache(4)
def _lanes(words: tuple[int, ...]) -> Array:
    """(5, 4096): where each subsequence begins."""
    bits = np.array([[word >> bit & 1] for word in words for bit in range(32)], np.float32)
    for jump in _jumps():
        bits = np.concatenate([bits, jump @ bits % 2], axis=1)
    packed = bits.astype(np.uint32).reshape(_WORDS, 32, LANES)
    lanes: Array = np.bitwise_or.reduce(packed << np.arange(32, dtype=np.uint32)[None, :, None], axis=1)
    return lanes


class _Mrg32k3a(_Lanes):
    count = MRG_LANES

    def __init__(self, seed: int) -> None:
        x, y = (seed & 0xFFFFFFFF) ^ 0x55555555, (seed >> 32 & 0xFFFFFFFF) ^ 0xAAAAAAAA
        ones = (x, y, x), (y, x, y)
        states = []
        for matrix, modulus, factors in ((_A1, _M1, ones[0]), (_A2, _M2, ones[1])):
            start = [12345 * factor % modulus if seed else 12345 for factor in factors]
            jump: Sequence[Sequence[int]] = matrix
            for _ in range(76):
                jump = _squared(jump, modulus)
            lanes = np.array([[part] for part in start], np.uint64)
            while lanes.shape[1] < MRG_LANES:
                lanes = np.concatenate([lanes, _moved(jump, lanes, modulus)], axis=1)
                jump = _squared(jump, modulus)
            states.append(lanes[:, :MRG_LANES])
        self.state = np.concatenate(states)

    def step(self, lanes: slice) -> Array:
        """Numbers from 1 to 2^32 - 209."""
        m1, m2 = np.uint64(_M1), np.uint64(_M2)
        state = self.state[:, lanes]
        next_one = (np.uint64(1403580) * state[1] + np.uint64(_M1 - 810728) * state[0] % m1) % m1
        next_two = (np.uint64(527612) * state[5] + np.uint64(_M2 - 1370589) * state[3] % m2) % m2
        state[:2], state[2] = state[1:3], next_one
        state[3:5], state[5] = state[4:6], next_two
        numbers: Array = np.where(next_one <= next_two, next_one + m1 - next_two, next_one - next_two)
        return numbers


def _moved(matrix: Sequence[Sequence[int]], states: Array, modulus: int) -> Array:
    rows = []
    for line in matrix:
        # Each product has 64 bits, the sum of three remainders far fewer.
        products = [np.uint64(factor) * part % np.uint64(modulus) for factor, part in zip(line, states, strict=True)]
        rows.append((products[0] + products[1] + products[2]) % np.uint64(modulus))
    return np.stack(rows)


def _squared(matrix: Sequence[Sequence[int]], modulus: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sum(line[k] * matrix[k][j] for k in range(3)) % modulus for j in range(3)) for line in matrix)


_SOBOL_ROWS = (
    (0, ()), (3, (1,)), (7, (1, 3)), (11, (1, 3, 1)), (13, (1, 1, 1)), (19, (1, 1, 3, 3)), (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)), (41, (1, 1, 5, 5, 5)), (47, (1, 1, 7, 11, 19)), (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)), (61, (1, 3, 5, 5, 31)), (67, (1, 3, 3, 9, 7, 49)), (91, (1, 1, 1, 15, 21, 21)),
    (97, (1, 3, 1, 13, 27, 49)), (103, (1, 1, 1, 15, 7, 5)), (109, (1, 3, 1, 15, 13, 25)),
    (115, (1, 1, 5, 5, 19, 61)), (131, (1, 3, 7, 11, 23, 15, 103)),
)  # fmt: skip
"""Of each dimension the primitive polynomial, as bits, and the first direction numbers (Joe and Kuo, "Constructing Sobol
sequences with better two-dimensional projections", 2008, which cuRAND names as its source)."""


def _directions(dimension: int, bits: int) -> list[int]:
    polynomial, first = _SOBOL_ROWS[dimension]
    if not first:
        return [1 << (bits - 1 - bit) for bit in range(bits)]
    degree = len(first)
    numbers = [number << (bits - 1 - bit) for bit, number in enumerate(first)]
    for bit in range(degree, bits):
        number = numbers[bit - degree] ^ numbers[bit - degree] >> degree
        for back in range(1, degree):
            if polynomial >> (degree - back) & 1:
                number ^= numbers[bit - back]
        numbers.append(number)
    return numbers


def sobol(first: int, count: int, bits: int, dimension: int = 0) -> Array:
    """Sobol's sequence in Gray's order (Antonov and Saleev 1979), from the point `first` on, in one dimension."""
    index = np.arange(first, first + count, dtype=np.uint64)
    gray = index ^ index >> np.uint64(1)
    numbers = np.zeros(count, np.uint64)
    for bit, direction in enumerate(_directions(dimension, bits)):
        numbers ^= (gray >> np.uint64(bit) & np.uint64(1)) * np.uint64(direction)
    return numbers


def philox(seed: int, numbers: Array, counters: Array) -> Array:
    """(4, n) numbers: of subsequence `numbers` the group `counters`."""
    c = [counters & _MASK, counters >> np.uint64(32), numbers & _MASK, numbers >> np.uint64(32)]
    low, high = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        shift = np.uint64(32)
        c = [(q >> shift) ^ c[1] ^ np.uint64(low), q & _MASK, (p >> shift) ^ c[3] ^ np.uint64(high), p & _MASK]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c).astype(np.uint32)


_STATUSES = {1: 101, calls.MAPPING_ERROR: 201}
_ALLOCATION_FAILED, _TYPE_ERROR, OUT_OF_RANGE, _NOT_MULTIPLE = 102, 103, 104, 105
_DEFAULT, _XORWOW, _MRG32K3A, _PHILOX = 100, 101, 121, 161
_SOBOL = {201: 32, 203: 64}
"""Bits of a number, by generator."""
_USUAL = {_DEFAULT: _XORWOW, 200: 201}
_KINDS = frozenset({_XORWOW, _MRG32K3A, 141, 142, _PHILOX, *_SOBOL})
_MRG_NORM = 2.3283065498378288e-10
"""About 1 / (m1 + 1), as the library rounds it (read off double precision on an H100): the numbers are from 1 to m1."""
_MRG_BITS = 1.000000048662
_QUASI_DEFAULT = 201
MAX_POISSON_MEAN = 400_000
"""As the documentation of `curandGeneratePoisson` has it."""
_MAX_NUMBERS = 1 << 28
_PIECE = 1 << 20
"""Numbers that are made at once; four of Philox's belong together."""
_COSTS = {_MRG32K3A: 3, 201: 8, 203: 16}
"""How many times as long numbers take as XORWOW's: remainders are divisions, Sobol's are made bit by bit."""
_INVERSE_COST = 8
"""The same for an inverse of the normal distribution."""
_BEGINNING = 10_000_000
"""Instructions to find where all subsequences begin."""


@dataclass(slots=True)
class _Generator:
    """kind: of `curandRngType_t`.  at: the element that the next call begins with.

    dimensions: of Sobol's points, and the one that is made now.
    lanes: where XORWOW's or MRG32k3a's numbers come from, None before the first of them; an element takes one or more of
    one lane, and the next element those of the next lane (held against an H100's numbers of one kind after another).
    """

    kind: int
    is_host: bool
    seed: int = 0
    at: int = 0
    lanes: _Lanes | None = None
    dimensions: int = 1
    dimension: int = 0
    other: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def take(self, count: int, raws: int, *, is_double: bool = False) -> Array:
        """(raws, count) numbers of the generator's own: so many for each of the next elements, or pairs of them."""
        first, self.at = self.at, self.at + count
        if self.kind == _PHILOX:
            # Four results of a subsequence at a time, which for doubles take two groups of it.
            groups = 2 if is_double else 1
            self.at = first + count * raws // groups
            quads = np.arange(first // 4, self.at // 4 + 1, dtype=np.uint64)
            parts = [philox(self.seed, quads, np.full_like(quads, group)) for group in range(groups)]
            numbers = np.concatenate(parts).T.ravel()[first % 4 * groups :]
            return numbers[: count * raws].reshape(count, raws).T
        if self.kind not in (_XORWOW, _MRG32K3A):
            return self.other.integers(0, 1 << 32, (raws, count), np.uint32)
        lanes = self._begun(first, raws)
        numbers = np.empty((raws, count), lanes.state.dtype)
        done = 0
        while done < count:
            start = (first + done) % lanes.count
            size = min(count - done, lanes.count - start)
            for number in range(raws):
                numbers[number, done : done + size] = lanes.step(slice(start, start + size))
            done += size
        return numbers

    def way(self, raws: int) -> int:
        """Instructions that it takes to come to the next element."""
        if self.kind not in (_XORWOW, _MRG32K3A) or self.lanes is not None:
            return 0
        return self.at * raws * _COSTS.get(self.kind, 1) * RANDOM_INSTRUCTIONS + _BEGINNING

    def _begun(self, first: int, raws: int) -> _Lanes:
        """Return the subsequences, advanced by `first` elements of `raws` numbers where nothing was generated yet."""
        if self.lanes is None:
            self.lanes = (_Xorwow if self.kind == _XORWOW else _Mrg32k3a)(self.seed)
            rows, rest = divmod(first, self.lanes.count)
            for _ in range(rows * raws):
                self.lanes.step(slice(None))
            for _ in range(raws if rest else 0):
                self.lanes.step(slice(rest))
        return self.lanes

    def reset(self, seed: int) -> None:
        """Begin anew with a seed."""
        self.seed, self.at, self.lanes = seed, 0, None
        self.other = np.random.default_rng(seed)

    def spread(self, count: int) -> Array:
        """Return the next of Sobol's numbers, in (0, 1)."""
        bits, first, self.at = _SOBOL[self.kind], self.at, self.at + count
        return sobol(first, count, bits, self.dimension) * 2.0**-bits + 2.0 ** -(bits + 1)

    def uniform(self, count: int, dtype: str) -> Array:
        """In (0, 1]."""
        if self.kind in _SOBOL:
            numbers: Array = self.spread(count).astype(dtype)
        elif self.kind == _MRG32K3A:
            numbers = (self.take(count, 1)[0] * _MRG_NORM).astype(dtype)
        elif dtype == "f4":
            numbers = self.take(count, 1)[0].astype("f4") * np.float32(2**-32) + np.float32(2**-33)
        else:
            low, high = self.take(count, 2, is_double=True).astype(np.uint64)
            numbers = (low ^ high << np.uint64(21)) * 2.0**-53 + 2.0**-54
        return numbers

    def normal(self, count: int, dtype: str, mean: float, deviation: float) -> Array:
        """Normal numbers by Box and Muller, in pairs; Sobol's by the inverse of the distribution."""
        if self.kind in _SOBOL:
            inverse = NormalDist(mean, deviation).inv_cdf if deviation > 0 else lambda _part: mean
            return np.array([inverse(part) for part in self.spread(count)])
        pairs = count // 2
        if self.kind == _MRG32K3A:
            first, second = self.take(pairs, 2) * _MRG_NORM
        elif dtype == "f4":
            first, second = (part * 2.0**-32 + 2.0**-33 for part in self.take(pairs, 2))
        else:
            a, b, c, d = self.take(pairs, 4, is_double=True).astype(np.uint64)
            first = (a ^ b << np.uint64(21)) * 2.0**-53 + 2.0**-54
            second = (c ^ d << np.uint64(21)) * 2.0**-53 + 2.0**-54
        radius = np.sqrt(-2 * np.log(first))
        both: Array = np.stack([radius * np.sin(2 * math.pi * second), radius * np.cos(2 * math.pi * second)], axis=1)
        return mean + deviation * both.ravel()


def _create(is_host: bool) -> Served:
    def create(call: Call, handle: int, kind: int) -> None:
        kind = _USUAL.get(kind, kind)
        if kind not in _KINDS:
            raise Refused(_TYPE_ERROR)
        generator = _Generator(kind, is_host)
        calls.new_handle(call.state, handle, {"generator": generator}, _ALLOCATION_FAILED)

    return create


def _of(call: Call) -> _Generator:
    generator = call.handle.get("generator")
    if not isinstance(generator, _Generator):
        raise Refused(1)
    return generator


def seed(call: Call, value: int) -> None:
    generator = _of(call)
    if generator.kind in _SOBOL:
        raise Refused(_TYPE_ERROR)
    generator.reset(value & (1 << 64) - 1)


def offset(call: Call, value: int) -> None:
    if value < 0:
        raise Refused(OUT_OF_RANGE)
    generator = _of(call)
    generator.at, generator.lanes = value, None


def dimensions(call: Call, count: int) -> None:
    """Sets the dimensions of a Sobol generator; those of the table are served."""
    if _of(call).kind not in _SOBOL:
        raise Refused(_TYPE_ERROR)
    if not 1 <= count <= len(_SOBOL_ROWS):
        raise Refused(OUT_OF_RANGE)
    _of(call).dimensions = count


def ordering(call: Call, value: int) -> None:
    """The usual one, and those that give the same; what is seeded lane by lane has other numbers."""
    if value not in ((_QUASI_DEFAULT,) if _of(call).kind in _SOBOL else (100, 101, 103)):
        raise Refused(OUT_OF_RANGE)


def _fill(
    call: Call, out: int, count: int, dtype: str, make: Callable[[_Generator, int], Array], raws: int, cost: int = 1
) -> None:
    """Numbers by pieces, each charged before it is made: `raws` of the generator's an element, and `cost` times that.

    Of points of several dimensions the first of each come first, then the second.
    """
    generator = _of(call)
    if not 0 <= count <= _MAX_NUMBERS:
        raise Refused(OUT_OF_RANGE)
    if count % generator.dimensions:
        raise Refused(_NOT_MULTIPLE)
    if not count:
        return
    each = raws * cost * _COSTS.get(generator.kind, 1) * RANDOM_INSTRUCTIONS
    call.state.meter.spend(generator.way(raws))
    target: Operand | None = None if generator.is_host else call.array(out, count, dtype)
    width = np.dtype(dtype).itemsize
    points, start = count // generator.dimensions, generator.at
    for dimension in range(generator.dimensions):
        generator.at, generator.dimension = start, dimension
        for first in range(points * dimension, points * (dimension + 1), _PIECE):
            size = min(_PIECE, points * (dimension + 1) - first)
            call.state.meter.spend(size * each)
            if target is None:
                call.state.guest.write(out + first * width, make(generator, size).astype(dtype).tobytes())
            else:
                target[0][first : first + size] = make(generator, size)
    if target is not None:
        calls.note_write(call.state, target)
        target[1].origins = {"copied"}


def generate(call: Call, out: int, count: int) -> None:
    def make(generator: _Generator, size: int) -> Array:
        if generator.kind in _SOBOL:
            first, generator.at = generator.at, generator.at + size
            return sobol(first, size, _SOBOL[generator.kind], generator.dimension)
        numbers: Array = generator.take(size, 1)[0]
        if generator.kind == _MRG32K3A:
            numbers = (numbers * _MRG_BITS).astype(np.uint32)
        return numbers

    is_long = _SOBOL.get(_of(call).kind) == 64
    _fill(call, out, count, "u8" if is_long else "u4", make, 1)


def _uniform(dtype: str) -> Served:
    def uniform(call: Call, out: int, count: int) -> None:
        raws = 2 if dtype == "f8" and _of(call).kind != _MRG32K3A else 1
        _fill(call, out, count, dtype, lambda generator, size: generator.uniform(size, dtype), raws)

    return uniform


def _normal(dtype: str, is_log: bool) -> Served:
    def normal(call: Call, out: int, count: int, mean: float, deviation: float) -> None:
        if count % 2 and _of(call).kind not in (*_SOBOL, _PHILOX):
            # Pseudorandom normal numbers come in pairs (cuRAND, generation functions); an H100's library lets Philox's
            # last one go alone.
            raise Refused(_NOT_MULTIPLE)

        kind = _of(call).kind

        def make(generator: _Generator, size: int) -> Array:
            pairs = size if kind in _SOBOL else size + size % 2
            numbers = generator.normal(pairs, dtype, mean, deviation)[:size]
            if is_log:
                np.exp(numbers, out=numbers)
            return numbers

        raws = 1 if kind in _SOBOL else 4 if dtype == "f8" and kind != _MRG32K3A else 2
        _fill(call, out, count, dtype, make, raws, _INVERSE_COST if kind in _SOBOL else 1)

    return normal


def poisson(call: Call, out: int, count: int, mean: float) -> None:
    """Its numbers are NumPy's: how the library makes its own is not published."""
    if not 0 < mean <= MAX_POISSON_MEAN:
        raise Refused(OUT_OF_RANGE)
    _fill(call, out, count, "u4", lambda generator, size: generator.other.poisson(mean, size), 1)


_BOUND: dict[str, Served] = {
    "curandSetPseudoRandomGeneratorSeed": seed,
    "curandSetGeneratorOffset": offset,
    "curandSetGeneratorOrdering": ordering,
    "curandSetStream": calls.set_stream,
    "curandSetQuasiRandomGeneratorDimensions": dimensions,
    "curandGenerate": generate,
    "curandGenerateUniform": _uniform("f4"),
    "curandGenerateUniformDouble": _uniform("f8"),
    "curandGenerateNormal": _normal("f4", False),
    "curandGenerateNormalDouble": _normal("f8", False),
    "curandGenerateLogNormal": _normal("f4", True),
    "curandGenerateLogNormalDouble": _normal("f8", True),
    "curandGeneratePoisson": poisson,
}
_UNBOUND: dict[str, Served] = {
    "curandCreateGenerator": _create(False),
    "curandCreateGeneratorHost": _create(True),
    "curandDestroyGenerator": calls.destroy,
    "curandGetVersion": calls.gives(10_400),
}
HANDLERS: Handlers = {
    **calls.all_served(_UNBOUND, is_bound=False, statuses=_STATUSES),
    **calls.all_served(_BOUND, statuses=_STATUSES),
}
