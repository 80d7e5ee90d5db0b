"""cuRAND's pseudorandom generators, bit for bit, in the library's default order.

XORWOW (Marsaglia, "Xorshift RNGs", 2003), MRG32k3a (L'Ecuyer, Operations Research 47(1), 1999) and Philox4x32-10
(Salmon et al., SC 2011).  Results come from many subsequences side by side; of XORWOW's and MRG32k3a's there are 4096
and 81920, 2^67 and 2^76 numbers apart (cuRAND, "Generator options").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LANES = 4096
"""Subsequences of XORWOW."""
MRG_LANES = 81_920
_WORDS = 5
_BITS = 32 * _WORDS
_M1, _M2 = 4294967087, 4294944443
_A1 = ((0, 1, 0), (0, 0, 1), (_M1 - 810728, 1403580, 0))
_A2 = ((0, 1, 0), (0, 0, 1), (_M2 - 1370589, 0, 527612))
_MASK = np.uint64(0xFFFFFFFF)


def xorwow(seed: int, first: int, raws: int) -> Iterator[Array]:
    """Rows of (raws, 4096) numbers, from the element `first` on; each element takes so many of its subsequence."""
    low, high = (seed & 0xFFFFFFFF) ^ 0xAAD26B49, (seed >> 32 & 0xFFFFFFFF) ^ 0xF7DCEFDD
    a, b = 1099087573 * low & 0xFFFFFFFF, 2591861531 * high & 0xFFFFFFFF
    words = [123456789 + a, 362436069 ^ a, 521288629 + b, 88675123 ^ b, 5783321 + a]
    counter = np.uint32(6615241 + b + a & 0xFFFFFFFF)
    state = [word.copy() for word in _lanes(tuple(word & 0xFFFFFFFF for word in words))]
    row = np.empty((raws, LANES), np.uint32)
    skipped = first // LANES
    with np.errstate(over="ignore"):
        while True:
            for number in range(raws):
                t = state[0] ^ (state[0] >> np.uint32(2))
                last = state[4] ^ (state[4] << np.uint32(4)) ^ t ^ (t << np.uint32(1))
                state = [*state[1:], last]
                counter = counter + np.uint32(362437)
                row[number] = last + counter
            if skipped:
                skipped -= 1
            else:
                yield row


@cache
def _jumps() -> tuple[Array, ...]:
    """Matrices over two elements that take a state 2^67 numbers on, and twice, four, … times as far."""
    matrix = np.zeros((_BITS, _BITS), np.float32)
    for column in range(_BITS):
        words = [1 << column % 32 if number == column // 32 else 0 for number in range(_WORDS)]
        t = words[0] ^ words[0] >> 2
        following = [*words[1:], (words[4] ^ words[4] << 4 ^ t ^ t << 1) & 0xFFFFFFFF]
        for number, word in enumerate(following):
            for bit in range(32):
                matrix[32 * number + bit, column] = word >> bit & 1
    found = []
    for power in range(67 + 12):
        if power >= 67:
            found.append(matrix)
        matrix = matrix @ matrix % 2
    return tuple(found)


@lru_cache(4)
def _lanes(words: tuple[int, ...]) -> Array:
    """(5, 4096): where each subsequence begins."""
    bits = np.array([[word >> bit & 1] for word in words for bit in range(32)], np.float32)
    for jump in _jumps():
        bits = np.concatenate([bits, jump @ bits % 2], axis=1)
    packed = bits.astype(np.uint32).reshape(_WORDS, 32, LANES)
    found: Array = np.bitwise_or.reduce(packed << np.arange(32, dtype=np.uint32)[None, :, None], axis=1)
    return found


def mrg32k3a(seed: int, first: int, raws: int) -> Iterator[Array]:
    """Rows of (raws, 81920) numbers from 1 to 2^32 - 209, as `xorwow` gives them."""
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
        states.append(list(lanes[:, :MRG_LANES]))
    one, two = states
    row = np.empty((raws, MRG_LANES), np.uint64)
    m1, m2 = np.uint64(_M1), np.uint64(_M2)
    skipped = first // MRG_LANES
    while True:
        for number in range(raws):
            next_one = (np.uint64(1403580) * one[1] + np.uint64(_M1 - 810728) * one[0] % m1) % m1
            next_two = (np.uint64(527612) * two[2] + np.uint64(_M2 - 1370589) * two[0] % m2) % m2
            one, two = [*one[1:], next_one], [*two[1:], next_two]
            row[number] = np.where(next_one <= next_two, next_one + m1 - next_two, next_one - next_two)
        if skipped:
            skipped -= 1
        else:
            yield row


def _moved(matrix: Sequence[Sequence[int]], states: Array, modulus: int) -> Array:
    rows = []
    for line in matrix:
        # Each product has 64 bits, the sum of three remainders far fewer.
        products = [np.uint64(factor) * part % np.uint64(modulus) for factor, part in zip(line, states, strict=True)]
        rows.append((products[0] + products[1] + products[2]) % np.uint64(modulus))
    return np.stack(rows)


def _squared(matrix: Sequence[Sequence[int]], modulus: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sum(line[k] * matrix[k][j] for k in range(3)) % modulus for j in range(3)) for line in matrix)


def sobol(first: int, count: int, bits: int) -> Array:
    """The first dimension of Sobol's sequence in Gray's order (Antonov and Saleev 1979): the bits of a number reversed."""
    index = np.arange(first, first + count, dtype=np.uint64)
    gray = index ^ index >> np.uint64(1)
    found = np.zeros(count, np.uint64)
    for bit in range(bits):
        found |= (gray >> np.uint64(bit) & np.uint64(1)) << np.uint64(bits - 1 - bit)
    return found


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
