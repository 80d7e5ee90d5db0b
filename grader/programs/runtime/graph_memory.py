"""Memory that nodes of graphs allocate: an address for good, and behind it what the device has, from node to node."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.programs.runtime.errors import CudaError

CHUNK_BYTES = 32 << 20
"""What a graph takes from the device at once."""
USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)
"""`cudaGraphMemAttributeType`."""


@dataclass
class GraphMemory:
    """What the nodes of all graphs have of the device.

    held: by address, bytes of what is allocated now.  kept: what was freed and not trimmed, as bytes and the stream
    that may have them next, None where any may.  high: the most that was used, and reserved, since that was reset.
    """

    held: dict[int, int] = field(default_factory=dict)
    kept: list[tuple[int, int | None]] = field(default_factory=list)
    high: dict[int, int] = field(default_factory=lambda: {USED_HIGH: 0, RESERVED_HIGH: 0})

    def take(self, address: int, size: int, stream: int) -> None:
        """A node allocates.  Raises CudaError 1 where what it allocated before was not freed."""
        if address in self.held:
            raise CudaError(1)
        taken = -(-size // CHUNK_BYTES) * CHUNK_BYTES
        again = next((block for block in self.kept if block[0] == taken and block[1] in (stream, None)), None)
        if again is not None:
            self.kept.remove(again)
        self.held[address] = taken
        for attribute in self.high:
            self.high[attribute] = max(self.high[attribute], self.value(attribute - 1))

    def give_back(self, address: int, stream: int | None) -> None:
        """It is freed, in the order of a stream or of everything.  Raises CudaError 1 where it was not allocated."""
        if address not in self.held:
            raise CudaError(1)
        self.kept.append((self.held.pop(address), stream))

    def value(self, attribute: int) -> int:
        """Raises CudaError 1, there is no such attribute."""
        if attribute in self.high:
            return self.high[attribute]
        if attribute not in (USED, RESERVED):
            raise CudaError(1)
        used = sum(self.held.values())
        return used if attribute == USED else used + sum(size for size, _stream in self.kept)

    def reset(self, attribute: int) -> None:
        """Raises CudaError 1 where it is none of those that hold the most."""
        if attribute not in self.high:
            raise CudaError(1)
        self.high[attribute] = self.value(attribute - 1)
