"""Random bytes that are the same at every run: a mark must not depend on luck."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_SEED = 0x9E3779B97F4A7C15


class PseudoRandom:
    """A stream of bytes: xorshift64 with the shifts 13, 7, 17 (Marsaglia, "Xorshift RNGs", 2003), little-endian."""

    def __init__(self) -> None:
        self._state = _SEED

    def take(self, size: int) -> bytes:
        """The next `size` bytes; what is left of the last number's eight is not used again."""
        out = bytearray()
        while len(out) < size:
            x = self._state
            x ^= x << 13 & _MASK
            x ^= x >> 7
            x ^= x << 17 & _MASK
            self._state = x
            out += struct.pack("<Q", x)
        return bytes(out[:size])
