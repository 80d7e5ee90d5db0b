"""Where in a folder a student's work lies, and what `submission.yaml` says of it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import FileError, UsageError, system_reason
from grader.files import kind_of, read_plain, real
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.submission.files.host_files import HOST_SUFFIXES, host_files
from grader.submission.files.notebook import read_notebook
from grader.submission.files.source import SourceText, decode, named_within
from grader.submission.files.submission_yaml import (
    SETTINGS_NAME,
    LabSettings,
    Settings,
    VariantSettings,
    by_variant,
    check_variants,
    read_settings,
)
from grader.submission.files.versions import versions_among
from grader.submission.lexical import line_of_main, without_comments
from grader.yaml_file import YamlFile, shortened

SUFFIXES = (".cu", ".ipynb")
"""Of what is graded: programs and notebooks."""
MAX_SOURCES = 32
# Entries of a folder that are looked at; a course has hundreds of students, and a student dozens of files.
MAX_ENTRIES = 10_000
# Bytes of a file that are looked at to tell whose it is.
MAX_LOOKED_AT = 1 << 20

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,100}>\s*)?(?:<<<|\()")
_KERNEL = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")
_WORDS_OF_C = frozenset({"if", "for", "while", "switch", "catch"})
_DEFINED = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")


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
    kind = _kind(path)
    if not kind:
        raise UsageError(msg("submission.no_path", path=path))
    path = path if path.name not in {"", ".."} else _real(path)
    if kind == "folder":
        in_lab_folder = path.name == lab_id and bool(_sources_in(path))
        folder = _real(path).parent if in_lab_folder else path
    else:
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(msg("submission.not_cu", path=path))
        folder = path.parent
        if _real(folder).name == lab_id:
            folder = _real(folder).parent
    settings_file = folder / SETTINGS_NAME if _has_settings(folder) else None
    settings = Settings()
    if settings_file is not None:
        _check_inside(settings_file, folder)
        settings = read_settings(settings_file, lab_id, known_labs)
    if kind == "folder":
        named = _named_files(folder, lab_id, settings)
        files = named or _search(path, folder, lab_id, known_labs, variants)
        files = files if named else [*files, *_host_files(path, files)]
        student = _real(folder).name
    else:
        files = [path]
        belongs_to_folder = settings_file is not None or folder != path.parent or path.stem == lab_id
        student = _real(folder).name if belongs_to_folder else path.stem
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


def read_sources(found: FoundSubmission) -> list[SourceText]:
    """The texts of a submission's files, a notebook's programs each by itself.

    Raises
    ------
    UsageError : see `decode` and `read_notebook`.
    """
    texts: list[SourceText] = []
    for file in found.files:
        texts += read_notebook(file, found.lab) if file.suffix.lower() == SUFFIXES[1] else [decode(file)]
    root = _common_folder(found.files)
    return [named_within(text, root) for text in texts]


def _common_folder(files: Sequence[Path]) -> Path:
    """The innermost folder that all of `files` lie in, as their paths have it."""
    return Path(os.path.commonpath([os.path.normpath(file.parent) for file in files])) if files else Path()


def variant_settings(found: FoundSubmission, variants: Collection[str]) -> Mapping[str, VariantSettings]:
    """The student's settings by variant, for the lab's `variants`.

    Raises
    ------
    FileError : settings for a variant that the lab does not have.
    """
    if found.document is not None:
        check_variants(found.document, found.lab, found.settings, variants)
    return by_variant(found.settings, variants)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What the system says against `path` is the user's to mend: a folder that nobody may look into."""
    try:
        yield
    except OSError as error:
        raise UsageError(msg("submission.unreadable", path=path, reason=system_reason(error))) from error


def _kind(path: Path) -> str:
    with _reading(path):
        return kind_of(path)


def _real(path: Path) -> Path:
    with _reading(path):
        return real(path)


def _entries(folder: Path) -> list[Path]:
    """What lies in `folder`, sorted by name."""
    found = []
    with _reading(folder):
        for path in folder.iterdir():
            found.append(path)
            if len(found) > MAX_ENTRIES:
                raise UsageError(msg("submission.entries", path=folder, limit=MAX_ENTRIES))
    return sorted(found)


def _has_settings(folder: Path) -> bool:
    """Whether `submission.yaml` is there, be it a link that leads nowhere."""
    return os.path.lexists(folder / SETTINGS_NAME)


def _sources_in(folder: Path) -> list[Path]:
    if _kind(folder) != "folder":
        return []
    files = [p for p in _entries(folder) if not p.name.startswith(".") and p.suffix.lower() in SUFFIXES]
    files = [p for p in files if _kind(p) != "folder"]
    # Where a program lies beside a notebook, it is what was taken from that.
    return [p for p in files if p.suffix.lower() == SUFFIXES[0]] or files


def _named_files(folder: Path, lab_id: str, settings: Settings) -> list[Path]:
    """The files that `submission.yaml` names."""
    given = settings.lab.file
    if given is None or settings.document is None:
        return []
    names = [given] if isinstance(given, str) else given
    files = []
    for index, name in enumerate(names):
        file = folder / name
        if _kind(file) != "file":
            keys = ("labs", lab_id, "file") if isinstance(given, str) else ("labs", lab_id, "file", index)
            raise settings.document.error(msg("submission.no_file", file=shortened(name)), keys)
        files.append(file)
    return files


def _search(
    path: Path, folder: Path, lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    if path.name == lab_id and folder != path:
        return _sources_in(path)
    here = _sources_in(path)
    named = [file for file in here if file.stem.lower() == lab_id.lower()]
    if named:
        return _with_callees(named[0], [file for file in here if file not in named], known_labs)
    inside = _sources_in(path / lab_id)
    if inside:
        return inside
    if len(here) == 1 or _are_one_program(here) or _are_parts(here, known_labs):
        return here
    if here and _host_files(path, here):
        return here
    deeper = [] if here else _deeper(path / lab_id, lab_id, known_labs) or _deeper(path, lab_id, known_labs)
    below = [file for files in deeper for file in files]
    if len(deeper) == 1 or (below and _host_files(path, below)):
        return below
    versions = _versions(path, [here] if here else deeper, lab_id, known_labs, variants)
    if versions:
        return versions
    here = here or below
    if here:
        names = ", ".join(str(file.relative_to(path)) for file in here[:8])
        raise UsageError(msg("submission.several", path=path, files=names, lab=lab_id, settings=SETTINGS_NAME))
    raise UsageError(_nothing_found(path, lab_id, [path, path / lab_id]))


def _versions(
    path: Path, places: list[list[Path]], lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """Programs that are versions of one lab, and the files that have no `main` beside them; none where it is not clear.

    places: the files of `path`, or those of several folders in it, which tell by their names what each has.
    """
    names: dict[Path, str] = {}
    for files in places:
        programs = [file for file in files if _has_main(file)] if len(files) <= MAX_SOURCES else []
        is_alone = len(places) > 1 and len(programs) == 1
        names |= {f: f.parent.name if is_alone else f"{_inner(f.parent, path)} {f.stem}".strip() for f in programs}
    if len(names) > MAX_SOURCES:
        return []
    versions = versions_among(names, lab_id, known_labs, variants)
    labs = {name.lower() for name in known_labs}
    chosen = {file.parent for file in versions}
    found = []
    for files in places:
        # Of folders those that hold a version, and those that hold no program at all: what several share.
        if any(file.parent in chosen for file in files) or not any(file in names for file in files):
            found += [f for f in files if f in versions or (f not in names and f.stem.lower() not in labs)]
    return found if versions else []


def _inner(folder: Path, path: Path) -> str:
    return "" if folder == path else folder.name


def _are_one_program(files: list[Path]) -> bool:
    """Whether one of the files has `main`, so that the others can only be parts of its program."""
    return 1 < len(files) <= MAX_SOURCES and sum(_has_main(file) for file in files) == 1


def _are_parts(files: list[Path], known_labs: Collection[str]) -> bool:
    """Whether the files are kernels and what launches them, without a `main`, nothing defined in two of them."""
    if not 1 < len(files) <= MAX_SOURCES or any(f.suffix.lower() != SUFFIXES[0] or _has_main(f) for f in files):
        return False
    labs = {name.lower() for name in known_labs}
    if any(file.stem.lower() in labs for file in files):
        return False
    texts = [_plain(file) for file in files]
    defined = [name for text in texts for name in set(_KERNEL.findall(text))]
    called = [set(_CALLED.findall(text)) for text in texts]
    # They belong together where one calls what another one defines.
    is_joined = any(
        name in called[other]
        for i, text in enumerate(texts)
        for name in set(_DEFINED.findall(text)) - _WORDS_OF_C
        for other in range(len(texts))
        if other != i
    )
    return len(defined) == len(set(defined)) and is_joined


def _host_files(path: Path, files: Sequence[Path]) -> list[Path]:
    """The program's files without kernels, where `files` are its `.cu` files and leave `main` to them."""
    if any(file.suffix.lower() != SUFFIXES[0] for file in files) or len(files) > MAX_SOURCES:
        return []
    return host_files(path, files, _entries, _has_main)


def _has_main(file: Path) -> bool:
    return line_of_main(_plain(file)) > 0


def _with_callees(main: Path, others: list[Path], known_labs: Collection[str]) -> list[Path]:
    """A file and those beside it, without `main` and no other lab's, that define what it calls and does not define."""
    text = _plain(main)
    called = set(_CALLED.findall(text)) - set(_DEFINED.findall(text))
    labs = {name.lower() for name in known_labs}
    found = [main]
    for other in others[:MAX_SOURCES]:
        defined = _plain(other)
        is_part = other.stem.lower() not in labs and not line_of_main(defined)
        if is_part and called & set(_DEFINED.findall(defined)):
            found.append(other)
    return sorted(found)


def _plain(file: Path) -> str:
    """A program's text without comments, as far as it matters here; "" of what cannot be read."""
    if file.suffix.lower() not in {SUFFIXES[0], *HOST_SUFFIXES}:
        return ""
    try:
        # What waits for a writer, or never ends, is no file to look into.
        data = read_plain(file, MAX_LOOKED_AT)
    except OSError:
        return ""
    return without_comments(data.decode("utf-8", errors="replace"))


def _deeper(folder: Path, lab_id: str, known_labs: Collection[str]) -> list[list[Path]]:
    """What the folders below, however they are called, hold for the lab: of those with `<lab>.cu` that file, else the
    `.cu` files of each that is not another lab's.  Nothing where there is no such folder."""
    if _kind(folder) != "folder":
        return []
    places = [
        p for p in _entries(folder) if not p.name.startswith((".", "__")) and p.name not in known_labs and _kind(p)
    ]
    found = [sources for place in places if (sources := _sources_in(place))]
    named = [[file] for sources in found for file in sources if file.stem.lower() == lab_id.lower()]
    labs = {name.lower() for name in known_labs}
    return named or [sources for sources in found if not any(file.stem.lower() in labs for file in sources)]


def _nothing_found(path: Path, lab_id: str, looked_in: list[Path]) -> Message:
    lies_there = sorted(
        p.name + ("/" if _kind(p) == "folder" else "")
        for place in looked_in
        if _kind(place) == "folder"
        for p in _entries(place)
    )
    listed = msg("pieces.listed", items=lies_there[:8], more=len(lies_there) > 8)
    shown = listed if lies_there else msg("submission.nothing")
    return msg("submission.none", path=path, lab=lab_id, found=shown)


def _check_inside(file: Path, folder: Path) -> None:
    """A link or a name with `..` must not bring a file of somebody else into a report."""
    if not _real(file).is_relative_to(_real(folder)):
        raise UsageError(msg("submission.outside", path=file, folder=folder))
