"""A student's files for one lab, those that `submission.yaml` names, else those that a search finds; and what that
file says of their work where the files do not say it, or say it unclearly.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from grader import yaml_file
from grader.devices import MAX_BLOCK, MAX_THREADS_PER_BLOCK, is_possible_block
from grader.errors import FileError, UsageError
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.submission.search import (
    MAX_SOURCES,
    NOTEBOOK,
    SETTINGS_NAME,
    SUFFIXES,
    kind_at,
    real_path,
    search,
    sources_in,
)
from grader.submission.source import SourceText, decode, named_within, read_notebook, text_of_bytes
from grader.yaml_file import KeyPath, YamlFile, shortened

# Elements: as many as a thousand threads take a thousand of each.
MAX_TILE_ELEMENTS = 1 << 20

_Side = Annotated[int, msgspec.Meta(ge=1, le=65535)]
_Block = Annotated[list[_Side], msgspec.Meta(min_length=1, max_length=3)]
_Line = Annotated[str, msgspec.Meta(max_length=200)]


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


class TitlePageSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a student's university wants on the title page (`grader.result.TitlePage`)."""

    university: _Line = ""
    department: _Line = ""
    course: _Line = ""
    teacher: _Line = ""
    city: _Line = ""
    year: _Line = ""


class _Document(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole of `submission.yaml`; what lies deeper is decoded by itself, so that errors name its key."""

    name: _Line = ""
    group: _Line = ""
    title_page: Any = None
    labs: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Settings:
    """What `submission.yaml` says for one lab.

    title_page: by field of `grader.result.TitlePage`, those that are given.
    unknown_labs: lines of entries for labs that nobody knows.
    document: the file itself, None where there is none.
    """

    name: str = ""
    group: str = ""
    title_page: Mapping[str, str] = field(default_factory=dict)
    lab: LabSettings = field(default_factory=LabSettings)
    unknown_labs: tuple[int, ...] = ()
    document: YamlFile | None = None


def read_file(path: Path) -> YamlFile:
    """The file at `path`, in any encoding that programs are taken in.  Raises FileError: see `yaml_file.read`."""
    return yaml_file.read(path, lambda raw: text_of_bytes(raw)[0])


def read_settings(path: Path, lab_id: str, known_labs: Collection[str] = ()) -> Settings:
    """What the file at `path` says for the lab `lab_id`; every lab's settings are looked through.

    known_labs: names of all labs that there are, as far as known.

    Raises FileError: anything wrong in it, with line, key and what is allowed.  A lab's name that is `lab_id` misspelt
      too: what stands there would be left out without a word.
    """
    file = read_file(path)
    if file.data is None:
        return Settings(document=file)
    data = file.data
    if isinstance(data, dict):
        for key in ("name", "group"):
            if key in data:
                given = file.as_text(data[key], (key,))
                data[key] = "" if given is None else given
        if data.get("labs", ()) is None:
            del data["labs"]
    document = file.decode(_Document)
    labs = {lab: _lab_settings(file, lab, data) for lab, data in document.labs.items()}
    unknown = [lab for lab in labs if lab != lab_id and lab not in known_labs]
    if lab_id not in labs:
        for lab in unknown:
            if _is_misspelt(lab, lab_id):
                raise file.error(msg("submission.no_lab", allowed=_meant(lab_id)), ("labs", lab))
    lines = tuple(file.line(("labs", lab)) for lab in unknown) if known_labs else ()
    return Settings(
        document.name,
        document.group,
        _title_page(file, document.title_page),
        labs.get(lab_id, LabSettings()),
        lines,
        file,
    )


def _title_page(file: YamlFile, given: object) -> dict[str, str]:
    keys = ("title_page",)
    fields = {} if given is None else given
    if isinstance(fields, dict):
        fields = {key: "" if value is None else file.as_text(value, (*keys, str(key))) for key, value in fields.items()}
    fields_given = msgspec.structs.asdict(file.decode(TitlePageSettings, keys, fields))
    return {key: text for key, text in fields_given.items() if text}


def _is_misspelt(name: str, lab_id: str) -> bool:
    def plain(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())[:80]

    return bool(difflib.get_close_matches(plain(name), [plain(lab_id)], cutoff=0.75))


def _meant(lab_id: str) -> Message:
    return msg("yaml.did_you_mean", near=f"`{lab_id}`")


def _lab_settings(file: YamlFile, lab: str, data: object) -> LabSettings:
    keys = ("labs", lab)
    fields = {} if data is None else data
    if isinstance(fields, dict):
        if fields.get("file") is not None:
            fields["file"] = file.as_text(fields["file"], (*keys, "file"))
        if fields.get("variants", ()) is None:
            del fields["variants"]
    entry = file.decode(_LabEntry, keys, fields)
    variants = {
        name: _variant_settings(file, (*keys, "variants", name), given) for name, given in entry.variants.items()
    }
    return LabSettings(entry.file, variants)


def _variant_settings(file: YamlFile, keys: KeyPath, given: object) -> VariantSettings:
    if given is not None and not isinstance(given, (dict, list)):
        # A variant may be given by its kernel's name alone.
        given = {"kernel": file.as_text(given, keys)}
    fields = {} if given is None else given
    if isinstance(fields, dict):
        for key in ("kernel", "arguments"):
            if fields.get(key) is not None:
                fields[key] = file.as_text(fields[key], (*keys, key))
    settings = file.decode(VariantSettings, keys, fields)
    if settings.block is not None:
        x, y, z = [*settings.block, 1, 1][:3]
        if not is_possible_block((x, y, z)):
            sides = dict(zip("xyz", MAX_BLOCK, strict=True))
            text = msg("submission.block", threads=MAX_THREADS_PER_BLOCK, **sides, got=settings.block, count=x * y * z)
            raise file.error(text, (*keys, "block"))
    if settings.tile is not None:
        elements = 1
        for side in settings.tile:
            elements *= side
        if elements > MAX_TILE_ELEMENTS:
            text = msg("submission.tile", limit=MAX_TILE_ELEMENTS, got=settings.tile, count=elements)
            raise file.error(text, (*keys, "tile"))
    return settings


def check_variants(file: YamlFile, lab_id: str, settings: LabSettings, variants: Collection[str]) -> None:
    """Refuse settings for a variant that the lab does not have.  FileError, with its line."""
    for name in settings.variants:
        if name not in variants:
            message = msg("submission.no_variant", allowed=yaml_file.choose(name, variants))
            raise file.error(message, ("labs", lab_id, "variants", name))


def by_variant(settings: LabSettings, variants: Collection[str]) -> Mapping[str, VariantSettings]:
    """The settings of each of the lab's `variants`; empty ones where nothing is said."""
    return {name: settings.variants.get(name, VariantSettings()) for name in variants}


@dataclass(frozen=True, slots=True)
class FoundSubmission:
    """A student's files for one lab.

    student: id, the name of the student's folder (of the file where a lone file was given).
    folder: the student's folder; nothing outside it is read.
    files: the `.cu` files, sorted by name; without any, the notebooks.
    document: where `settings` come from, None where there is no `submission.yaml`.
    unknown_labs: its lines that speak of labs which nobody knows.
    """

    student: str
    lab: str
    folder: Path
    files: tuple[Path, ...]
    name: str = ""
    group: str = ""
    title_page: Mapping[str, str] = field(default_factory=dict)
    settings: LabSettings = field(default_factory=LabSettings)
    document: YamlFile | None = None
    unknown_labs: tuple[int, ...] = ()

    def settings_error(self, message: Message, lab_id: str, variant: str, *keys: str | int) -> FileError:
        """An error in `submission.yaml` at `keys` of a variant's settings.

        Only for what these settings say: without a `submission.yaml` there is nothing to be wrong.
        """
        assert self.document is not None
        return self.document.error(message, ("labs", lab_id, "variants", variant, *keys))


def find_sources(
    path: Path, lab_id: str, known_labs: Collection[str] = (), variants: Sequence[Variant] = ()
) -> FoundSubmission:
    """One student's files for lab `lab_id`: `path` is the student's folder, the lab's folder in it, or one file.

    known_labs: names of all labs that there are: what `submission.yaml` says of any other is a slip.
    variants: the lab's, after which a student's programs may be called.

    Looked for in turn: the file that `submission.yaml` names, `<lab>.cu`, `<lab>/*.cu`, the folder's only `.cu` file,
    all of them where they make up one program or, without a `main`, parts of one, `<lab>.cu` or all `.cu` files of the
    only folder below that has any, programs here or in folders below that are called after the lab, after its variants
    or numbered, with the files that have no `main`.
    With a `<lab>.cu` come the files whose functions it calls; with `.cu` files that have no `main`, the program's
    `.cpp` files.

    Raises UsageError: no such path, one that cannot be read; no `.cu` file (says what was looked for and what lies
      there); several where the lab's is not clear; a file outside the student's folder.
    Raises FileError: `submission.yaml` is wrong: file, line, key and what is allowed.
    """
    kind = kind_at(path)
    if not kind:
        raise UsageError(msg("submission.no_path", path=path))
    path = path if path.name not in {"", ".."} else real_path(path)
    if kind != "folder" and path.suffix.lower() not in SUFFIXES:
        raise UsageError(msg("submission.not_cu", path=path))
    folder = _folder_of_student(path, kind, lab_id)
    settings_file = folder / SETTINGS_NAME if _has_settings(folder) else None
    settings = Settings()
    if settings_file is not None:
        _check_inside(settings_file, folder)
        settings = read_settings(settings_file, lab_id, known_labs)
    if kind == "folder":
        files = _named_files(folder, lab_id, settings) or search(path, folder, lab_id, known_labs, variants)
        student = real_path(folder).name
    else:
        files = [path]
        belongs_to_folder = settings_file is not None or folder != path.parent or path.stem == lab_id
        student = real_path(folder).name if belongs_to_folder else path.stem
    if len(files) > MAX_SOURCES:
        raise UsageError(msg("submission.too_many_files", path=path, count=len(files), limit=MAX_SOURCES))
    for file in files:
        _check_inside(file, folder)
    return FoundSubmission(
        student=student,
        lab=lab_id,
        folder=folder,
        files=tuple(files),
        name=settings.name,
        group=settings.group,
        title_page=settings.title_page,
        settings=settings.lab,
        document=settings.document,
        unknown_labs=settings.unknown_labs,
    )


def _folder_of_student(path: Path, kind: str, lab_id: str) -> Path:
    """The folder that `path` is, or lies in; round one of the lab's, where it is that."""
    if kind == "folder":
        is_lab_s = path.name == lab_id and bool(sources_in(path))
        return real_path(path).parent if is_lab_s else path
    folder = path.parent
    return real_path(folder).parent if real_path(folder).name == lab_id else folder


def read_sources(submitted: FoundSubmission) -> list[SourceText]:
    """The texts of a submission's files, a notebook's programs each by itself.

    Raises UsageError: see `decode` and `read_notebook`.
    """
    texts: list[SourceText] = []
    for file in submitted.files:
        texts += read_notebook(file, submitted.lab) if file.suffix.lower() == NOTEBOOK else [decode(file)]
    root = _common_folder(submitted.files)
    return [named_within(text, root) for text in texts]


def _common_folder(files: Sequence[Path]) -> Path:
    return Path(os.path.commonpath([os.path.normpath(file.parent) for file in files])) if files else Path()


def variant_settings(submitted: FoundSubmission, variants: Collection[str]) -> Mapping[str, VariantSettings]:
    """The student's settings by variant, for the lab's `variants`.

    Raises FileError: settings for a variant that the lab does not have.
    """
    if submitted.document is not None:
        check_variants(submitted.document, submitted.lab, submitted.settings, variants)
    return by_variant(submitted.settings, variants)


def _has_settings(folder: Path) -> bool:
    """Whether `submission.yaml` is there, be it a link that leads nowhere."""
    return os.path.lexists(folder / SETTINGS_NAME)


def _named_files(folder: Path, lab_id: str, settings: Settings) -> list[Path]:
    given = settings.lab.file
    if given is None or settings.document is None:
        return []
    names = [given] if isinstance(given, str) else given
    files = []
    for index, name in enumerate(names):
        file = folder / name
        if kind_at(file) != "file":
            keys = ("labs", lab_id, "file") if isinstance(given, str) else ("labs", lab_id, "file", index)
            raise settings.document.error(msg("submission.no_file", file=shortened(name)), keys)
        files.append(file)
    return files


def _check_inside(file: Path, folder: Path) -> None:
    """A link or a name with `..` must not bring a file of somebody else into a report."""
    if not real_path(file).is_relative_to(real_path(folder)):
        raise UsageError(msg("submission.outside", path=file, folder=folder))
