"""The files of a package: what they are made from, and how they are written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.files import write_atomically
from grader.lab.records import Lab
from grader.paths import data_root

EPOCH = (2020, 1, 1, 0, 0, 0)
"""Of every file in an archive: the same input makes the same bytes."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a package; name: with `/` between folders."""

    name: str
    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What a package is wanted for.

    language: what students are told in.  built_in: whether the lab comes with the grader; its folder is put into the
    package where not.  requirement: what pip installs the grader from, "" for a wheel in the package.
    secret: of the course, "" for none.
    """

    lab: Lab
    language: str
    built_in: bool
    requirement: str = ""
    secret: str = ""


def template(name: str, order: Order, beside: str = "") -> bytes:
    """A file of `templates/autograders` with the lab's name, the language and what pip installs put in.

    beside: the shell's words for the folder that wheel and constraints lie in.
    """
    text = (data_root() / "templates" / "autograders" / name).read_text("utf-8")
    # Known now, so no script has to ask.
    wheel = f"--constraint {beside}/constraints.txt {beside}/*.whl"
    grader = f'"{order.requirement}"' if order.requirement else wheel
    for key, value in (("LAB", order.lab.id), ("LANGUAGE", order.language), ("GRADER", grader)):
        text = text.replace(f"@{key}@", value)
    return text.encode()


def lab_files(order: Order, prefix: str) -> list[File]:
    """The folder of a lab that does not come with the grader, as `<prefix><lab>/…`; [] for one that does."""
    if order.built_in:
        return []
    folder = order.lab.path.parent
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return [File(f"{prefix}{order.lab.id}/{p.relative_to(folder).as_posix()}", p.read_bytes()) for p in files]


def zipped(files: Sequence[File]) -> bytes:
    """The files as an archive, at its root, with their rights."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            archive.writestr(entry, file.data)
    return stream.getvalue()


def write_folder(folder: Path, files: Sequence[File]) -> None:
    """Write the files below `folder`.

    Raises
    ------
    OSError : one cannot be written.
    """
    for file in files:
        target = folder / file.name
        write_atomically(target, file.data)
        if file.executable:
            target.chmod(target.stat().st_mode | 0o111)
