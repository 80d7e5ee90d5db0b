"""A student's files for one lab: those that `submission.yaml` names, else those that a search finds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import FileError, UsageError
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.submission.search import MAX_SOURCES, NOTEBOOK, SUFFIXES, kind_at, real_path, search, sources_in
from grader.submission.source import SourceText, decode, named_within, read_notebook
from grader.submission.submission_yaml import (
    SETTINGS_NAME,
    LabSettings,
    Settings,
    VariantSettings,
    by_variant,
    check_variants,
    read_settings,
)
from grader.yaml_file import YamlFile, shortened


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

    Raises
    ------
    UsageError : no such path, one that cannot be read; no `.cu` file (says what was looked for and what lies there);
      several where the lab's is not clear; a file outside the student's folder.
    FileError : `submission.yaml` is wrong: file, line, key and what is allowed.
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

    Raises
    ------
    UsageError : see `decode` and `read_notebook`.
    """
    texts: list[SourceText] = []
    for file in submitted.files:
        texts += read_notebook(file, submitted.lab) if file.suffix.lower() == NOTEBOOK else [decode(file)]
    root = _common_folder(submitted.files)
    return [named_within(text, root) for text in texts]


def _common_folder(files: Sequence[Path]) -> Path:
    """The innermost folder that all of `files` lie in, as their paths have it."""
    return Path(os.path.commonpath([os.path.normpath(file.parent) for file in files])) if files else Path()


def variant_settings(submitted: FoundSubmission, variants: Collection[str]) -> Mapping[str, VariantSettings]:
    """The student's settings by variant, for the lab's `variants`.

    Raises
    ------
    FileError : settings for a variant that the lab does not have.
    """
    if submitted.document is not None:
        check_variants(submitted.document, submitted.lab, submitted.settings, variants)
    return by_variant(submitted.settings, variants)


def _has_settings(folder: Path) -> bool:
    """Whether `submission.yaml` is there, be it a link that leads nowhere."""
    return os.path.lexists(folder / SETTINGS_NAME)


def _named_files(folder: Path, lab_id: str, settings: Settings) -> list[Path]:
    """The files that `submission.yaml` names."""
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
