"""Where in a folder a student's work lies, and what `submission.yaml` says of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from grader import yaml_file
from grader.errors import LabError, UsageError
from grader.i18n import _

SETTINGS_NAME = "submission.yaml"
MAX_SOURCES = 32

_Side = Annotated[int, msgspec.Meta(ge=1, le=65535)]
_Block = Annotated[list[_Side], msgspec.Meta(min_length=1, max_length=3)]


class VariantSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a student says of one variant's kernel.

    arguments: role of each parameter in order (names of the lab's parameters).
    block: threads along x, y, z; tile: elements that a block covers along each grid axis.
    shared_bytes: dynamic shared memory.
    """

    kernel: str | None = None
    arguments: list[str] | None = None
    block: _Block | None = None
    tile: _Block | None = None
    shared_bytes: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] | None = None


class LabSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a student says of their work for one lab."""

    file: str | list[str] | None = None
    variants: dict[str, VariantSettings] = {}


class _LabEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    file: str | list[str] | None = None
    variants: dict[str, Any] = {}


class _Document(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole of `submission.yaml`; what lies deeper is decoded by itself, so that errors name its key."""

    name: str = ""
    group: str = ""
    labs: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class FoundSubmission:
    """A student's files for one lab.

    student: id, the name of the student's folder (of the file where a lone file was given).
    folder: the student's folder; nothing outside it is read.
    files: the `.cu` files, sorted by name.
    settings_file: where `settings` come from, None where there is no `submission.yaml`.
    """

    student: str
    lab: str
    folder: Path
    files: tuple[Path, ...]
    name: str = ""
    group: str = ""
    settings: LabSettings = field(default_factory=LabSettings)
    settings_file: Path | None = None

    def settings_error(self, message: str, lab_id: str, variant: str, *keys: str | int) -> LabError:
        """An error in `submission.yaml` at `keys` of a variant's settings.

        Only for what these settings say: without a `submission.yaml` there is nothing to be wrong.
        """
        file = yaml_file.read(self.settings_file or self.folder / SETTINGS_NAME)
        return file.error(message, ("labs", lab_id, "variants", variant, *keys))


def find_students(path: Path, lab_id: str, known_labs: Collection[str] = ()) -> list[Path]:
    """The students' folders in `path`, sorted: `[path]` itself where that is one student's work.

    A folder is one student's work when it holds a `.cu` file, `submission.yaml` or a folder named after a lab.

    Raises
    ------
    UsageError : no such path, or a folder with nothing in it that could be a student's work.
    """
    if not path.exists():
        raise UsageError(_("{path}: no such file or folder").format(path=path))
    if not path.is_dir() or path.name == lab_id or (path / SETTINGS_NAME).exists() or _sources_in(path):
        return [path]
    folders = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "__")))
    labs = {lab_id, *known_labs}
    if any(folder.name in labs for folder in folders):
        return [path]
    if not folders:
        raise UsageError(_nothing_found(path, lab_id, [path]))
    return folders


def find_sources(path: Path, lab_id: str) -> FoundSubmission:
    """One student's files for lab `lab_id`: `path` is the student's folder, the lab's folder in it, or one file.

    Looked for in turn: the file that `submission.yaml` names, `<lab>.cu`, `<lab>/*.cu`, the folder's only `.cu` file.

    Raises
    ------
    UsageError : no such path; no `.cu` file (says what was looked for and what lies there); several where the lab's
      is not clear; a file outside the student's folder.
    LabError : `submission.yaml` is wrong: file, line, key and what is allowed.
    """
    if not path.exists():
        raise UsageError(_("{path}: no such file or folder").format(path=path))
    path = path if path.name not in {"", ".."} else path.resolve()
    if path.is_dir():
        in_lab_folder = path.name == lab_id and bool(_sources_in(path))
        folder = path.resolve().parent if in_lab_folder else path
    else:
        if path.suffix.lower() != ".cu":
            raise UsageError(_("{path}: not a .cu file; a CUDA program is expected").format(path=path))
        folder = path.parent
        if folder.resolve().name == lab_id:
            folder = folder.resolve().parent
    settings_file = folder / SETTINGS_NAME
    document, lab_settings = _Document(), LabSettings()
    if settings_file.is_file():
        _check_inside(settings_file, folder)
        document, by_lab = _read_settings(settings_file)
        lab_settings = by_lab.get(lab_id, lab_settings)
    if path.is_dir():
        files = _named_files(folder, lab_id, lab_settings, settings_file) or _search(path, folder, lab_id)
        student = folder.resolve().name
    else:
        files = [path]
        belongs_to_folder = settings_file.is_file() or folder != path.parent or path.stem == lab_id
        student = folder.resolve().name if belongs_to_folder else path.stem
    if len(files) > MAX_SOURCES:
        message = _("{path}: {count} .cu files; at most {limit} are allowed")
        raise UsageError(message.format(path=path, count=len(files), limit=MAX_SOURCES))
    for file in files:
        _check_inside(file, folder)
    return FoundSubmission(
        student=student,
        lab=lab_id,
        folder=folder,
        files=tuple(files),
        name=document.name,
        group=document.group,
        settings=lab_settings,
        settings_file=settings_file if settings_file.is_file() else None,
    )


def variant_settings(found: FoundSubmission, variants: Collection[str]) -> Mapping[str, VariantSettings]:
    """The student's settings by variant, for the lab's `variants`.

    Raises
    ------
    LabError : settings for a variant that the lab does not have.
    """
    for name in found.settings.variants:
        if name not in variants:
            message = _("the lab has no such variant; {allowed}").format(allowed=yaml_file.choose(name, variants))
            raise found.settings_error(message, found.lab, name)
    return {name: found.settings.variants.get(name, VariantSettings()) for name in variants}


def _read_settings(path: Path) -> tuple[_Document, dict[str, LabSettings]]:
    file = yaml_file.read(path)
    if file.data is None:
        return _Document(), {}
    document = file.decode(_Document)
    labs = {}
    for lab, data in document.labs.items():
        keys = ("labs", lab)
        entry = file.decode(_LabEntry, keys, {} if data is None else data)
        variants = {}
        for name, given in entry.variants.items():
            # A variant may be given by its kernel's name alone.
            fields = {"kernel": given} if isinstance(given, str) else {} if given is None else given
            variants[name] = file.decode(VariantSettings, (*keys, "variants", name), fields)
        labs[lab] = LabSettings(entry.file, variants)
    return document, labs


def _sources_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        p for p in folder.iterdir() if p.suffix.lower() == ".cu" and not p.name.startswith(".") and not p.is_dir()
    )


def _named_files(folder: Path, lab_id: str, settings: LabSettings, settings_file: Path) -> list[Path]:
    """The files that `submission.yaml` names."""
    if settings.file is None:
        return []
    names = [settings.file] if isinstance(settings.file, str) else settings.file
    files = []
    for index, name in enumerate(names):
        file = folder / name
        if not file.is_file():
            keys = ("labs", lab_id, "file") if isinstance(settings.file, str) else ("labs", lab_id, "file", index)
            message = _("no such file: {file}").format(file=name)
            raise yaml_file.read(settings_file).error(message, keys)
        files.append(file)
    return files


def _search(path: Path, folder: Path, lab_id: str) -> list[Path]:
    if path.name == lab_id and folder != path:
        return _sources_in(path)
    here = _sources_in(path)
    named = [file for file in here if file.stem.lower() == lab_id.lower()]
    if named:
        return named[:1]
    inside = _sources_in(path / lab_id)
    if inside:
        return inside
    if len(here) == 1:
        return here
    if here:
        message = _("{path}: several .cu files ({files}) and none is called {lab}.cu; name the right one in {settings}")
        names = ", ".join(file.name for file in here[:8])
        raise UsageError(message.format(path=path, files=names, lab=lab_id, settings=SETTINGS_NAME))
    raise UsageError(_nothing_found(path, lab_id, [path, path / lab_id]))


def _nothing_found(path: Path, lab_id: str, looked_in: list[Path]) -> str:
    lies_there = sorted(
        p.name + ("/" if p.is_dir() else "") for place in looked_in if place.is_dir() for p in place.iterdir()
    )
    shown = ", ".join(lies_there[:8]) + (", …" if len(lies_there) > 8 else "") if lies_there else _("nothing")
    message = _("{path}: no .cu file; looked for {lab}.cu and {lab}/*.cu; there lies: {found}")
    return message.format(path=path, lab=lab_id, found=shown)


def _check_inside(file: Path, folder: Path) -> None:
    """A link or a name with `..` must not bring a file of somebody else into a report."""
    if not file.resolve().is_relative_to(folder.resolve()):
        raise UsageError(_("{path}: lies outside the student's folder {folder}").format(path=file, folder=folder))
