"""What a program has allocated on the emulated device: found by address, forgotten when freed, put back when asked."""

from __future__ import annotations

import numpy as np
import pytest

from grader.programs.device_memory import DeviceMemory, TooManyAllocations
from grader.programs.sandbox.guest import Meter


def test_an_allocation_is_found_by_every_address_in_it() -> None:
    memory = DeviceMemory(Meter())
    one, other = (memory.allocate(name, 100, "device", 1, "x.cu") for name in ("one", "other"))
    assert memory.find(one.base) is memory.find(one.base + 99) is one
    assert memory.find(other.base) is other
    assert memory.find(0) is None
    assert not memory.is_device_address(1 << 20)
    assert not one.view().any()
    written = one.valid()
    assert written is not None and not written.any()


def test_what_nobody_runs_is_not_watched() -> None:
    assert DeviceMemory(Meter(), executes=False).allocate("a", 100, "device", 1, "x.cu").valid() is None


def test_a_freed_allocation_is_known_as_such() -> None:
    memory = DeviceMemory(Meter())
    gone = memory.allocate("gone", 100, "device", 1, "x.cu")
    memory.free(gone)
    assert memory.find(gone.base) is None
    assert memory.find_freed(gone.base + 99) is gone
    assert memory.find_freed(gone.base + 100) is None


def test_memory_can_be_allocated_and_freed_without_end_but_not_kept() -> None:
    memory = DeviceMemory(Meter())
    for size in (4, 1 << 28) * 2000:
        memory.free(memory.allocate("a", size, "device", 1, "x.cu"))
    kept = [memory.allocate("kept", 4, "device", 1, "x.cu") for _ in range(1000)]
    assert len({allocation.base for allocation in kept}) == 1000
    assert memory.find(kept[-1].base) is kept[-1]
    with pytest.raises(TooManyAllocations):
        for _ in range(1000):
            memory.allocate("a", 4, "device", 1, "x.cu")


def test_a_snapshot_holds_bytes_and_which_of_them_were_written() -> None:
    memory = DeviceMemory(Meter())
    kept = memory.allocate("kept", 16, "device", 1, "x.cu")
    kept.view()[:4] = 7
    written = kept.valid()
    assert written is not None
    written[:4] = 1
    before = memory.snapshot()
    kept.view()[:] = 9
    written[:] = 1
    memory.restore(before)
    assert kept.view().tolist() == [7] * 4 + [0] * 12
    assert written.tolist() == [1] * 4 + [0] * 12


def test_shared_memory_follows_the_host_s() -> None:
    memory = DeviceMemory(Meter())
    shared = memory.share("a", 8, "managed", 1, "x.cu", host=4096)
    memory.refresh(shared, np.arange(8, dtype=np.uint8))
    assert shared.view().tolist() == list(range(8))
    assert not memory.clear(shared)


def test_only_memory_that_no_kernel_holds_on_to_is_exchanged_for_zeros() -> None:
    idle = DeviceMemory(Meter(), executes=False)
    mine = idle.allocate("a", 8, "device", 1, "x.cu")
    mine.view()[:] = 5
    assert idle.clear(mine)
    assert not mine.view().any()
    busy = DeviceMemory(Meter())
    assert not busy.clear(busy.allocate("a", 8, "device", 1, "x.cu"))
