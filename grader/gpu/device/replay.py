"""Carries out launches that lie in a folder: the program that profilers are put on.

python -m grader.gpu.device.replay FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.driver import DriverError
from grader.gpu.device import launch
from grader.gpu.device.worker import open_device
from grader.gpu.messages import HELPERS_MODULE, SCRIPT_NAME, read_script


def main(arguments: list[str]) -> int:
    """Carry out the launches in a folder, one after another; 1 when one fails."""
    folder = Path(arguments[0])
    script = read_script((folder / SCRIPT_NAME).read_bytes())
    modules = launch.Modules()
    device = open_device(modules, script.modules[HELPERS_MODULE])
    for name, code in script.modules.items():
        if name != HELPERS_MODULE:
            modules.load(name, code)
    for index, asked in enumerate(script.launches):
        memory = bytearray((folder / f"memory.{index}").read_bytes())
        try:
            launch.run(device, modules, asked, memory)
        except (launch.LaunchFailed, DriverError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
