"""Where labs are found: built in, in ./assignments, and in folders named on the command line (the last one wins)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError
from grader.lab.records import Lab
from grader.message import msg
from grader.paths import data_root


def folders(extra_dirs: Sequence[Path] = ()) -> dict[str, Path]:
    """Every lab's folder by its id; a folder is a lab's when it has a lab.yaml.

    Raises
    ------
    UsageError : one of `extra_dirs` is no folder.
    """
    for directory in extra_dirs:
        if not directory.is_dir():
            raise UsageError(msg("labs.no_folder", directory=str(directory)))
    found: dict[str, Path] = {}
    for directory in (data_root() / "assignments", Path("assignments"), *extra_dirs):
        if directory.is_dir():
            found |= {f.name: f for f in sorted(directory.iterdir()) if (f / "lab.yaml").is_file()}
    return found


def find(lab_id: str, extra_dirs: Sequence[Path] = ()) -> Lab:
    """The lab of that id.

    Raises
    ------
    UsageError : there is none; names the available labs, near misses first.
    FileError : its files are wrong.
    """
    from grader.lab.file import load
    from grader.yaml_file import choose

    known = folders(extra_dirs)
    if lab_id not in known:
        raise UsageError(msg("labs.unknown_lab", lab=lab_id, allowed=choose(lab_id, known)))
    return load(known[lab_id])


def all_labs(extra_dirs: Sequence[Path] = ()) -> list[Lab]:
    """All labs, by id.

    Raises
    ------
    FileError : the files of one are wrong.
    """
    from grader.lab.file import load

    return [load(folder) for _id, folder in sorted(folders(extra_dirs).items())]
