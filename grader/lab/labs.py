"""Where labs are found: built in, in ./assignments, and in folders named on the command line (the last one wins).

And the skeleton of a new one (`grade new-lab`), which can be graded as it stands, to be changed step by step.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError, system_reason
from grader.files import data_root
from grader.lab import interfaces
from grader.lab.records import Lab
from grader.message import Message, msg


def folders(extra_dirs: Sequence[Path] = ()) -> dict[str, Path]:
    """Every lab's folder by its id; a folder is a lab's when it has a lab.yaml.

    Raises UsageError: one of `extra_dirs` is no folder.
    """
    for directory in extra_dirs:
        if not directory.is_dir():
            raise UsageError(msg("labs.no_folder", directory=str(directory)))
    by_name: dict[str, Path] = {}
    for directory in (data_root() / "assignments", Path("assignments"), *extra_dirs):
        if directory.is_dir():
            by_name |= {f.name: f for f in sorted(directory.iterdir()) if (f / "lab.yaml").is_file()}
    return by_name


def find(lab_id: str, extra_dirs: Sequence[Path] = ()) -> Lab:
    """The lab of that id.

    Raises UsageError: there is none; names the available labs, near misses first.
    Raises FileError: its files are wrong.
    """
    from grader.lab.file import load
    from grader.yaml_file import choose

    by_name = folders(extra_dirs)
    if lab_id not in by_name:
        raise UsageError(msg("labs.unknown_lab", lab=lab_id, allowed=choose(lab_id, by_name)))
    return load(by_name[lab_id])


def by_course(lab: Lab) -> tuple[float, str]:
    """What labs are listed by: their place in a course, those that have none last."""
    return (float("inf") if lab.position is None else lab.position, lab.id)


def all_labs(extra_dirs: Sequence[Path] = ()) -> list[Lab]:
    """All labs, by id.  Raises FileError: the files of one are wrong."""
    from grader.lab.file import load

    return [load(folder) for _id, folder in sorted(folders(extra_dirs).items())]


SKELETON = "new_lab"
"""Folder of the skeleton among the templates; @NAME@ and @TITLE@ in its files are replaced."""

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
LONGEST = 40


def create(
    name: str, into: Path, labs_folders: Sequence[Path] = (), signature: str = "", memory: str = "device"
) -> Path:
    """Write the skeleton of a lab `name` into the folder `into`; returns the lab's folder.

    signature: of the function that is asked for, as C++ spells it, and where its pointers lead; "": kernels are.

    Raises UsageError: the name is none for a lab, a lab of that name is there, the folder cannot be written, or no lab
    can be made of the signature.
    """
    folder = free_folder(name, into, labs_folders)
    texts = {"NAME": name, "TITLE": name.replace("-", " ").capitalize()}
    if signature:
        texts |= interfaces.placeholders(signature, memory)
    skeleton = data_root() / "templates" / (interfaces.SKELETON if signature else SKELETON)
    try:
        into.mkdir(parents=True, exist_ok=True)
        # Made aside and moved there whole: a skeleton that is cut short is never taken for a lab.
        with tempfile.TemporaryDirectory(prefix=".new-lab-", dir=into) as aside:
            draft = Path(aside) / name
            # Installing compiles every Python file it brings, those of the skeleton too.
            no_traces = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
            shutil.copytree(skeleton, draft, ignore=no_traces)
            for file in sorted(path for path in draft.rglob("*") if path.is_file()):
                data = file.read_bytes()
                for place, text in texts.items():
                    data = data.replace(f"@{place}@".encode(), text.encode())
                file.write_bytes(data)
                # What is no Python before it is filled in is called otherwise there.
                file.rename(file.with_name(file.name.removesuffix(".in")))
            draft.rename(folder)
    except OSError as error:
        raise UsageError(msg("labs.cannot_write", path=str(folder), reason=system_reason(error))) from error
    return folder


def free_folder(name: str, into: Path, labs_folders: Sequence[Path] = ()) -> Path:
    """The folder of a new lab of that name.  Raises UsageError: the name is none for a lab, or taken."""
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UsageError(msg("labs.new_name", name=repr(name), limit=LONGEST))
    folder = into / name
    existing = folders(labs_folders).get(name)
    if existing is not None or folder.exists() or folder.is_symlink():
        raise UsageError(msg("labs.new_exists", path=str(existing or folder)))
    return folder


def next_steps(name: str, folder: Path, good: str = "grid_stride.cu", recording: str = "") -> list[Message | str]:
    """What to tell of a lab that has been written: where it is, and the commands to go on with.

    good: a right solution in it.  recording: an option that makes the self-test write verdicts, after a space.
    """
    # Labs in ./assignments are found by themselves.
    option = "" if folder.parent == Path("assignments") else f" --labs {shlex.quote(str(folder.parent))}"
    solution = shlex.quote(str(folder / "kernels" / "good" / good))
    return [
        msg("labs.new_made", folder=str(folder)),
        f"  grade selftest {name}{option}{recording}",
        f"  grade {solution} --lab {name}{option}",
    ]
