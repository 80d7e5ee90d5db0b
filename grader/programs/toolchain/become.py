"""In the child of `confined`: give up every right but those named, then become the command.

Imports next to nothing, so that it takes no time that anybody would notice.
"""

from __future__ import annotations

import json
import os

UNCONFINED = "without landlock\n"


def main(order: str) -> None:
    """Carry out an order of `confined.run`: command, rights, limits."""
    import resource

    from grader.compiler import sandbox

    asked = json.loads(order)
    limits = asked["limits"]
    sandbox.die_with_parent()
    if not (asked["landlock"] and sandbox.confine(asked["rights"])):
        os.write(2, UNCONFINED.encode())
    resource.setrlimit(resource.RLIMIT_AS, (limits["address"], limits["address"]))
    resource.setrlimit(resource.RLIMIT_DATA, (limits["data"], limits["data"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file"], limits["file"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"] + 1))
    os.execve(asked["command"][0], asked["command"], {"PATH": ""})
