"""Which GPUs this machine has, and which of them a group is timed on: all of one model, each submission wholly on one.

`nvidia-smi` tells at once which there are: in a thirtieth of a second, without a context or `cuInit`.  Where it cannot
say what `CUDA_VISIBLE_DEVICES` makes of them, or is not there, the driver is asked, which takes half a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from grader.gpu.host.process import has_driver
from grader.processes.system import isolated_python

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


LIST_LIMIT_S = 60.0
VARIABLE = "CUDA_VISIBLE_DEVICES"
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from grader.gpu.device.driver import main; main()"


def several_gpus(listed: Sequence[ListedGpu] | None) -> list[str]:
    """The GPUs of the first one's model, as `on` takes them; [] where there is one at most, or nobody can tell.

    GPUs of another model are left alone: their times compare with nothing.  `CUDA_VISIBLE_DEVICES` holds.
    """
    asked = os.environ.get(VARIABLE)
    seen = visible(listed, asked) if listed is not None else None
    # Which of several models is the first is the driver's to say.
    if seen is None or len({gpu.model for gpu in seen}) > 1:
        # One name, whatever it means, is one GPU.
        return told_by(start_listing()) if asked is None or "," in asked else []
    return [gpu.uuid for gpu in seen] if len(seen) > 1 else []


def start_listing() -> subprocess.Popen[bytes] | None:
    """Begin to ask the driver for its GPUs; None where there is no driver, or no process can be started."""
    if not has_driver():
        return None
    paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
    try:
        return subprocess.Popen(
            [*isolated_python(), "-c", _START, paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
    except OSError:
        return None


def told_by(listing: subprocess.Popen[bytes] | None) -> list[str]:
    """The same as the driver tells it."""
    if listing is None:
        return []
    with listing:
        try:
            said, _nothing = listing.communicate(timeout=LIST_LIMIT_S)
            found = json.loads(said)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            listing.kill()
            return []
    return of_one_model([(str(model), str(uuid)) for model, uuid in found])


def of_one_model(found: Sequence[tuple[str, str]]) -> list[str]:
    """Of models and UUIDs those of the first model, [] if that is one alone."""
    # Parts of one GPU have its UUID, and a process sees but one of them.
    chosen = list(dict.fromkeys(f"GPU-{uuid}" for model, uuid in found if model == found[0][0]))
    return chosen if len(chosen) > 1 else []


@contextmanager
def on(gpu: str) -> Iterator[None]:
    """Processes that are started in the block see this GPU alone; "": what this one sees."""
    before = os.environ.get(VARIABLE)
    if gpu:
        os.environ[VARIABLE] = gpu
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
