"""In the child of `confined`: give up every right but those named, then become the command.

Imports next to nothing, so that it takes no time that anybody would notice.
"""

from __future__ import annotations

import json
import os


def main(order: str) -> None:
    """Carry out an order of `confined.run`: command, rights, limits."""
    from grader.processes import confinement, limits

    asked = json.loads(order)
    limits.die_with_parent(os.getppid())
    if asked["landlock"]:
        confinement.confine(asked["rights"])
    limits.bound_for_good(**asked["limits"])
    os.execve(asked["command"][0], asked["command"], {"PATH": ""})
