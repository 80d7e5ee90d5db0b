"""Which GPUs of this machine a group is timed on: all of one model, each submission wholly on one of them.

`nvidia-smi` tells at once which there are; where it cannot say what `CUDA_VISIBLE_DEVICES` makes of them, or is not
there, the driver is asked, which takes half a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.gpu.host.inventory import ListedGpu, visible
from grader.gpu.host.process import has_driver
from grader.processes.system import isolated_python

LIST_LIMIT_S = 60.0
VARIABLE = "CUDA_VISIBLE_DEVICES"
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from grader.gpu.device.listing import main; main()"


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
