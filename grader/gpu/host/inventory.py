"""Which GPUs this machine has, as `nvidia-smi` tells: in a thirtieth of a second, without a context or `cuInit`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

LIMIT_S = 60.0
_FIELDS = ("name", "memory.total", "driver_version", "uuid", "mig.mode.current")


class ListedGpu(NamedTuple):
    """One GPU.  memory: with its unit, as it is told; is_split: whether programs see parts of it (MIG)."""

    model: str
    memory: str
    driver: str
    uuid: str
    is_split: bool

    @property
    def memory_bytes(self) -> int:
        """0 where it is not told in MiB."""
        number, _space, unit = self.memory.partition(" ")
        return int(number) << 20 if unit == "MiB" and number.isdecimal() else 0


def inventory() -> list[ListedGpu] | None:
    """The GPUs in the order of their places on the bus; None where that cannot be found out."""
    try:
        asked = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _read(asked.stdout) if asked.returncode == 0 else None


def _read(said: str) -> list[ListedGpu] | None:
    found = []
    for line in said.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(_FIELDS):
            return None
        model, memory, driver, uuid, mig = fields
        found.append(ListedGpu(model, memory, driver, uuid, is_split=mig == "Enabled"))
    return found


def visible(listed: Sequence[ListedGpu], asked: str | None) -> list[ListedGpu] | None:
    """Those that a program sees where `CUDA_VISIBLE_DEVICES` is `asked`; None where only the driver can tell.

    What the variable's numbers mean is the driver's to say but where they name all GPUs, or one.  Source: CUDA
    Programming Guide, "CUDA Environment Variables".
    """
    if any(gpu.is_split for gpu in listed):
        return None
    if asked is None:
        return list(listed)
    names = [name.strip() for name in asked.split(",")]
    by_uuid = {gpu.uuid: gpu for gpu in listed}
    if all(name in by_uuid for name in names):
        return [by_uuid[name] for name in dict.fromkeys(names)]
    is_every_one = sorted(names) == sorted(str(number) for number in range(len(listed)))
    return list(listed) if is_every_one else None
