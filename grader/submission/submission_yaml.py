"""`submission.yaml`: what a student says of their work where the files do not say it, or say it unclearly."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from grader import yaml_file
from grader.devices import MAX_BLOCK, MAX_THREADS_PER_BLOCK, is_possible_block
from grader.message import Message, msg
from grader.submission.source import text_of_bytes
from grader.yaml_file import KeyPath, YamlFile

SETTINGS_NAME = "submission.yaml"
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
    """The file at `path`, in any encoding that programs are taken in.

    Raises
    ------
    FileError : see `yaml_file.read`.
    """
    return yaml_file.read(path, lambda raw: text_of_bytes(raw)[0])


def read_settings(path: Path, lab_id: str, known_labs: Collection[str] = ()) -> Settings:
    """What the file at `path` says for the lab `lab_id`; every lab's settings are looked through.

    known_labs: names of all labs that there are, as far as known.

    Raises
    ------
    FileError : anything wrong in it, with line, key and what is allowed.  A lab's name that is `lab_id` misspelt too:
      what stands there would be left out without a word.
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
    said = msgspec.structs.asdict(file.decode(TitlePageSettings, keys, fields))
    return {key: text for key, text in said.items() if text}


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
