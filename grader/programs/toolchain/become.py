"""In the child of `confined`: give up every right but those named, then become the command.

Imports next to nothing, so that it takes no time that anybody would notice.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket


def prepare() -> None:
    """Import what `become` needs."""
    import grader.processes.limits  # noqa: F401


def main(connection: socket.socket, order: str) -> None:
    """Do the same as `become` in a forked child: what it says on its output is the command's errors."""
    # The one descriptor that the command would have and need not.
    os.set_inheritable(connection.fileno(), False)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir(json.loads(order)["folder"])
    become(order)


def become(order: str) -> None:
    """Carry out an order of `confined.run`: command, rights, limits."""
    from grader.processes import limits

    asked = json.loads(order)
    limits.die_with_parent(os.getppid())
    if asked["landlock"]:
        limits.confine(asked["rights"])
    limits.bound_for_good(**asked["limits"])
    os.execve(asked["command"][0], asked["command"], {"PATH": ""})
