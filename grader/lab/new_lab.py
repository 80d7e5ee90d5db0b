"""`grade new-lab NAME`: a skeleton of a lab that can be graded as it stands, for a teacher to change step by step."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError, system_reason
from grader.lab import labs
from grader.message import Message, msg
from grader.paths import data_root

SKELETON = "new_lab"
"""Folder of the skeleton among the templates; @NAME@ and @TITLE@ in its files are replaced."""

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
LONGEST = 40


def create(name: str, into: Path, labs_folders: Sequence[Path] = ()) -> Path:
    """Write the skeleton of a lab `name` into the folder `into`; returns the lab's folder.

    Raises
    ------
    UsageError : the name is none for a lab, a lab of that name is there, or the folder cannot be written.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UsageError(msg("labs.new_name", name=repr(name), limit=LONGEST))
    folder = into / name
    known = labs.folders(labs_folders).get(name)
    if known is not None or folder.exists() or folder.is_symlink():
        raise UsageError(msg("labs.new_exists", path=str(known or folder)))
    title = name.replace("-", " ").capitalize()
    try:
        into.mkdir(parents=True, exist_ok=True)
        # Made aside and moved there whole: a skeleton that is cut short is never taken for a lab.
        with tempfile.TemporaryDirectory(prefix=".new-lab-", dir=into) as aside:
            made = Path(aside) / name
            # Installing compiles every Python file it brings, those of the skeleton too.
            no_traces = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
            shutil.copytree(data_root() / "templates" / SKELETON, made, ignore=no_traces)
            for file in sorted(path for path in made.rglob("*") if path.is_file()):
                data = file.read_bytes()
                file.write_bytes(data.replace(b"@NAME@", name.encode()).replace(b"@TITLE@", title.encode()))
            made.rename(folder)
    except OSError as error:
        raise UsageError(msg("labs.cannot_write", path=str(folder), reason=system_reason(error))) from error
    return folder


def next_steps(name: str, folder: Path) -> list[Message | str]:
    """What to tell of a skeleton that has been written: where it is, and the commands to go on with."""
    # Labs in ./assignments are found by themselves.
    option = "" if folder.parent == Path("assignments") else f" --labs {shlex.quote(str(folder.parent))}"
    good = shlex.quote(str(folder / "kernels" / "good" / "grid_stride.cu"))
    return [
        msg("labs.new_made", folder=str(folder)),
        f"  grade selftest {name}{option}",
        f"  grade {good} --lab {name}{option}",
    ]
