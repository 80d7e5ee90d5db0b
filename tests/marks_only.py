"""Labs graded for their marks alone, in a fraction of the time.

What follows the marks, and none of them depends on, is left out: sweeps and repairs are tested for themselves.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

from grader.files import data_root
from grader.lab import labs
from grader.lab.records import Lab


@cache
def marks_only(name: str) -> Lab:
    """A lab of the package, without its sweeps and repairs."""
    return replace(labs.find(name, ()), sweeps=(), repairs="off")


def put_marks_only(folder: Path, name: str = "transpose", called: str = "", *, with_repairs: bool = False) -> Path:
    """A lab of the package in `folder`, where commands that run there find it first: without sweeps and repairs.

    called: its id there, if another.  with_repairs: they are looked for.  Returns its file.
    """
    place = folder / "assignments" / (called or name)
    shutil.copytree(data_root() / "assignments" / name, place)
    file = place / "lab.yaml"
    text = file.read_text("utf-8").replace("../../", f"{data_root()}/")
    text, count = re.subn(
        r"^sweeps:\n(?:[ #-].*\n|\n)+", "" if with_repairs else 'repairs: "off"\n', text, flags=re.MULTILINE
    )
    assert count == 1
    file.write_text(text, "utf-8")
    return file
