"""Labs graded for their marks alone, in a fraction of the time.

What follows the marks, and none of them depends on, is left out: sweeps, repairs, predicted times and unusual shapes
are tested for themselves.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

from grader.files import data_root
from grader.lab import labs
from grader.lab.records import Drawn, Lab


@cache
def marks_only(name: str) -> Lab:
    """A lab of the package, without its sweeps and repairs, and without unusual shapes and data."""
    return replace(labs.find(name, ()), sweeps=(), repairs="off", drawn=Drawn())


def put_marks_only(
    folder: Path, name: str = "transpose", called: str = "", *, with_repairs: bool = False, with_drawn: bool = False
) -> Path:
    """A lab of the package in `folder`, where commands that run there find it first: cut as by `marks_only`.

    called: its id there, if another.  with_repairs: they are looked for.  with_drawn: with unusual shapes and data.
    Returns its file.
    """
    place = folder / "assignments" / (called or name)
    shutil.copytree(data_root() / "assignments" / name, place)
    file = place / "lab.yaml"
    text = before = file.read_text("utf-8").replace("../../", f"{data_root()}/")
    left_out = {"sweeps": "" if with_repairs else 'repairs: "off"\n'} | ({} if with_drawn else {"drawn": ""})
    for key, instead in left_out.items():
        text, count = re.subn(rf"^{key}:\n(?:[ #-].*\n|\n)+", instead, text, flags=re.MULTILINE)
        assert count == (f"\n{key}:" in before)
    text = re.sub(r"^timing: \{(?!.*predict)", 'timing: {predict: "off", ', text, flags=re.MULTILINE)
    file.write_text(text, "utf-8")
    return file
