"""Which GPUs the driver shows, as a program: prints model and UUID of each as JSON, none where there are none."""

from __future__ import annotations

import json

from grader.gpu.device import driver
from grader.gpu.device.driver import DriverError
from grader.gpu.messages import uuid_text


def main() -> None:
    """Print `[[model, UUID], …]` in the driver's order; no context is made."""
    try:
        driver.call("cuInit", 0)
        handles = [driver.call("cuDeviceGet", number) for number in range(driver.call("cuDeviceGetCount"))]
        found = [
            (
                driver.call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(errors="replace"),
                uuid_text(driver.call("cuDeviceGetUuid", handle).bytes),
            )
            for handle in handles
        ]
    except (DriverError, ImportError, RuntimeError, OSError):
        found = []
    print(json.dumps(found))
