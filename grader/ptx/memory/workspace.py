"""What the driver leaves in memory for a launch whose blocks may wait for each other: the barrier of the whole grid.

`cooperative_groups::this_grid()` finds its address in `%envreg1` and `%envreg2` (high and low half), and null there in
any other launch (`cooperative_groups/details/driver_abi.h`).  The barrier itself is code of the kernel: a counter that
each block's first thread adds to, and reads until its highest bit has changed.
"""

from __future__ import annotations

import numpy as np

from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.memory.device import Device

SIZE = 8
"""Bytes: its own size, and the counter."""


def workspace_of(device: Device) -> MemoryArray:
    """That of a device, as it is before a launch; made at first use."""
    found = device.workspace
    if found is None:
        found = device.workspace = device.allocate("barrier of the grid", "global", SIZE, None, initialised=True)
    found.data[:SIZE] = np.array([SIZE, 0], np.uint32).view(np.uint8)
    return found
