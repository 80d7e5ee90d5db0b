"""A few launches written to a folder, and a small program that carries them out: what profilers are put on.

python -m grader.witnesses.replay FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader.backends.base import LaunchRequest
from grader.backends.gpu_messages import Launch

SCRIPT = "launches.msgpack"


class Script(msgspec.Struct, frozen=True):
    """modules: machine code by name, the grader's own among it.  Memory of launch i lies in the file `memory.i`."""

    modules: dict[str, bytes]
    launches: list[Launch]


def write(folder: Path, modules: Mapping[str, bytes], launches: Sequence[tuple[str, LaunchRequest]]) -> None:
    """Write launches, each with the name of its module, for `main` to read."""
    from grader.backends.gpu import launch_message
    from grader.backends.gpu_region import Region

    messages = []
    for index, (module, request) in enumerate(launches):
        region = Region()
        messages.append(launch_message(module, request, region.place(request)))
        region.fill()
        (folder / f"memory.{index}").write_bytes(region.content())
        region.close()
    (folder / SCRIPT).write_bytes(msgspec.msgpack.encode(Script(dict(modules), messages)))


def main(arguments: list[str]) -> int:
    """Carry out the launches in a folder, one after another; 1 when one fails."""
    from grader.backends import gpu_launch
    from grader.backends.device_memory import HELPERS_MODULE
    from grader.backends.driver import DriverError
    from grader.backends.gpu_worker import open_device

    folder = Path(arguments[0])
    script = msgspec.msgpack.decode((folder / SCRIPT).read_bytes(), type=Script)
    modules = gpu_launch.Modules()
    device = open_device(modules, script.modules[HELPERS_MODULE])
    for name, code in script.modules.items():
        if name != HELPERS_MODULE:
            modules.load(name, code)
    for index, launch in enumerate(script.launches):
        memory = bytearray((folder / f"memory.{index}").read_bytes())
        try:
            gpu_launch.run(device, modules, launch, memory)
        except (gpu_launch.LaunchFailed, DriverError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
