"""Getting the device up to speed, and what it can do at most, measured meanwhile."""

from __future__ import annotations

from contextlib import suppress

from grader.gpu.device import driver
from grader.gpu.device.driver import DriverError
from grader.gpu.device.launch import Device
from grader.gpu.messages import Ready

COPY_BYTES = 512 << 20
FMA_BLOCKS_PER_SM = 8
FMA_ROUNDS = 24
_FLOP_PER_THREAD_ROUND = 2 * 16 * 256
_THREADS = 256


def warm_up(device: Device, ready: Ready, busy_ms: float) -> tuple[float, float]:
    """Copy and multiply in turns until the device was busy for `busy_ms`.

    Returns
    -------
    The best copy seen in GB/s (10⁹ bytes read and written a second), the best rate of float32 multiply-adds in
    GFLOP/s.
    """
    nbytes = min(COPY_BYTES, ready.memory_bytes // 16) // 256 * 256
    source, target = int(driver.call("cuMemAlloc", nbytes)), int(driver.call("cuMemAlloc", nbytes))
    events = [driver.call("cuEventCreate", 0) for _index in range(3)]
    blocks = ready.multiprocessors * FMA_BLOCKS_PER_SM
    operations = blocks * _THREADS * FMA_ROUNDS * _FLOP_PER_THREAD_ROUND
    # Zeros would do a little less work.
    device.helpers.set_bytes(source, 0, 1, nbytes, 0x3D)
    best_copy = best_fma = float("inf")
    busy = 0.0
    try:
        while busy < busy_ms:
            driver.call("cuEventRecord", events[0], device.stream)
            driver.call("cuMemcpyDtoDAsync", target, source, nbytes, device.stream)
            driver.call("cuEventRecord", events[1], device.stream)
            device.helpers.multiply_add(source, blocks, FMA_ROUNDS)
            driver.call("cuEventRecord", events[2], device.stream)
            driver.call("cuStreamSynchronize", device.stream)
            copy_ms = float(driver.call("cuEventElapsedTime", events[0], events[1]))
            fma_ms = float(driver.call("cuEventElapsedTime", events[1], events[2]))
            best_copy, best_fma = min(best_copy, copy_ms), min(best_fma, fma_ms)
            busy += copy_ms + fma_ms
    finally:
        for event in events:
            with suppress(DriverError):
                driver.call("cuEventDestroy", event)
        for address in (source, target):
            with suppress(DriverError):
                driver.call("cuMemFree", address)
    return 2 * nbytes / best_copy / 1e6, operations / best_fma / 1e6
