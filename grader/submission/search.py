"""Which files in a student's folder are a lab's, where nobody says so.

What the system says against looking is the user's to mend; CUDA code in files that are called otherwise than `.cu` is
named in a refusal; and a program may have files without kernels besides.
Also which of the programs that lie side by side are one lab's, and which files make up one program.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.errors import UsageError, system_reason
from grader.files import kind_of, read_plain, real
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.submission.lexical import line_of_main, without_comments

SETTINGS_NAME = "submission.yaml"
PROGRAM = ".cu"
NOTEBOOK = ".ipynb"
SUFFIXES = (PROGRAM, NOTEBOOK)
"""Suffixes of files that are graded."""
HOST_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")
"""Suffixes of a program's other files, without kernels."""
# Entries of a folder that are looked at; a course has hundreds of students, and a student dozens of files.
MAX_ENTRIES = 10_000


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What the system says against `path` is the user's to mend: a folder that nobody may look into."""
    try:
        yield
    except OSError as error:
        raise UsageError(msg("submission.unreadable", path=path, reason=system_reason(error))) from error


def kind_at(path: Path) -> str:
    """What lies there, as `grader.files.kind_of` calls it; "" for nothing.

    Raises UsageError: the system does not say, as in everything here.
    """
    with _reading(path):
        return kind_of(path)


def real_path(path: Path) -> Path:
    """`path` without links and `..`."""
    with _reading(path):
        return real(path)


def entries(folder: Path) -> list[Path]:
    """What lies in `folder`, sorted by name."""
    paths = []
    with _reading(folder):
        for path in folder.iterdir():
            paths.append(path)
            if len(paths) > MAX_ENTRIES:
                raise UsageError(msg("submission.entries", path=folder, limit=MAX_ENTRIES))
    return sorted(paths)


def sources_in(folder: Path) -> list[Path]:
    """The programs that lie in `folder`, without any its notebooks; sorted by name, none where it is no folder."""
    if kind_at(folder) != "folder":
        return []
    files = [p for p in entries(folder) if not p.name.startswith(".") and p.suffix.lower() in SUFFIXES]
    files = [p for p in files if kind_at(p) != "folder"]
    # Where a program lies beside a notebook, it is what was taken from that.
    return [p for p in files if p.suffix.lower() == PROGRAM] or files


# Which files make up one program, by what each defines and calls.

MAX_SOURCES = 32
"""Files of one submission, at most."""
# Bytes of a file that are looked at to tell whose it is.
MAX_LOOKED_AT = 1 << 20

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,100}>\s*)?(?:<<<|\()")
_KERNEL_NAME = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")
_WORDS_OF_C = frozenset({"if", "for", "while", "switch", "catch"})
_DEFINED = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}]{0,1000}\)\s*\{")


def has_main(file: Path) -> bool:
    """Whether a file's text defines `main`; a notebook's cells are not looked at."""
    return line_of_main(_text(file)) > 0


def are_one_program(files: list[Path]) -> bool:
    """Whether one of the files has `main`, so that the others can only be parts of its program."""
    return 1 < len(files) <= MAX_SOURCES and sum(has_main(file) for file in files) == 1


def are_parts(files: list[Path], known_labs: Collection[str]) -> bool:
    """Whether the files are kernels and what launches them, without a `main`, nothing defined in two of them."""
    if not 1 < len(files) <= MAX_SOURCES or any(f.suffix.lower() != PROGRAM or has_main(f) for f in files):
        return False
    labs = {name.lower() for name in known_labs}
    if any(file.stem.lower() in labs for file in files):
        return False
    texts = [_text(file) for file in files]
    defined = [name for text in texts for name in set(_KERNEL_NAME.findall(text))]
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


def with_callees(main: Path, others: list[Path], known_labs: Collection[str]) -> list[Path]:
    """A file and those beside it, without `main` and no other lab's, that define what it calls and does not define."""
    text = _text(main)
    called = set(_CALLED.findall(text)) - set(_DEFINED.findall(text))
    labs = {name.lower() for name in known_labs}
    files = [main]
    for other in others[:MAX_SOURCES]:
        defined = _text(other)
        is_part = other.stem.lower() not in labs and not line_of_main(defined)
        if is_part and called & set(_DEFINED.findall(defined)):
            files.append(other)
    return sorted(files)


def _text(file: Path) -> str:
    """A program's text without comments, as far as it matters here; "" of what cannot be read."""
    if file.suffix.lower() not in {PROGRAM, *HOST_SUFFIXES}:
        return ""
    try:
        # What waits for a writer, or never ends, is no file to look into.
        data = read_plain(file, MAX_LOOKED_AT)
    except OSError:
        return ""
    return without_comments(data.decode("utf-8", errors="replace"))


# Which programs that lie side by side are one lab's: `naive.cu`, `tiled.cu`, `padded.cu`, each with its `main`.

_NO_WORD = re.compile(r"\d+")
_NOT_OF_NAME = re.compile(r"[\W_]+")
_LAST_NUMBER = re.compile(r"(.*?)(\d{1,4})(\D*)", re.ASCII | re.DOTALL)
_TASKS = re.compile(
    r"lab|labs|laba|labwork|lr|laboratory|tasks?|t|ex|exercises?|hw|homework|assignment|a|problem|p|question|q|work|week"
    r"|day|lesson|lecture|lec|chapter|ch|module|cuda|cu|main|prog|program|project|zad|zadanie|zadacha|dz|kr|pr|prac"
    r"|practice|praktika|rabota|cwiczenie|tp|td|uebung|лаб|лаба|лабораторная|лабораторнаяработа|лр|работа|задание|задача"
    r"|зад|дз|кр|пр|практика|практическая|занятие|урок|неделя|упражнение"
)


def versions_among(
    programs: Mapping[Path, str], lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """The `programs`, each with its name, that their names make the lab's; none where that is not clear.

    Those called after the lab; else, where two are called after different variants of it, all called after any; else
    all where they are numbered versions: `v1`, `v2`.
    """
    others = {_plain(name) for name in known_labs} - {_plain(lab_id)}
    own = {file: name for file, name in programs.items() if not any(other in _plain(name) for other in others)}
    by_lab = [file for file, name in own.items() if _plain(lab_id) in _plain(name)]
    if by_lab:
        return by_lab
    named: Mapping[Path, set[str]] = {file: _variants_named(name, variants) for file, name in own.items()}
    of_one = {name for of_file in named.values() if len(of_file) == 1 for name in of_file}
    if len(of_one) > 1:
        return [file for file, of_file in named.items() if of_file]
    return list(programs) if _are_numbered(list(programs.values())) else []


def _are_numbered(names: Sequence[str]) -> bool:
    """Whether programs are called alike but for their last number, and not as a term's tasks are: `task1`, `task2`.

    Of `task1_1`, `task1_2` the first number tells the task.
    """
    numbered = [_LAST_NUMBER.fullmatch(name.lower()) for name in names]
    parts = [match.groups() for match in numbered if match is not None]
    heads = {(_plain(head), _plain(tail)) for head, _number, tail in parts}
    numbers = {int(number) for _head, number, _tail in parts}
    if len(parts) != len(names) or len(heads) != 1 or len(numbers) != len(names) or len(names) < 2:
        return False
    ((head, tail),) = heads
    return bool(head or tail) and not _TASKS.fullmatch(head or tail)


def _variants_named(stem: str, variants: Sequence[Variant]) -> set[str]:
    """The variants that a file's name may mean by its first words; a number alone means none."""
    ranks: dict[str, int] = {}
    for variant in variants:
        for rank, pattern in enumerate(variant.names):
            match = re.search(pattern, stem, re.IGNORECASE)
            if match is not None and not _NO_WORD.fullmatch(match.group()):
                ranks[variant.name] = rank
                break
    return {name for name, rank in ranks.items() if rank == min(ranks.values())}


def _plain(name: str) -> str:
    """A name's letters and digits: `box-blur`, `box_blur` and `BoxBlur` are the same."""
    return _NOT_OF_NAME.sub("", name).lower()


# CUDA code in files that are called otherwise than `.cu`: which of them is the program, to be named in a refusal.

_PROSE = (".md",)
_MAY_HOLD_CODE = (".txt", ".cuh", ".h", ".hpp", ".bak", ".old", *_PROSE, *HOST_SUFFIXES)
_MOST_BYTES = 1 << 20
_KERNEL, _LAUNCH = b"__global__", b"<<<"
_PROGRAM = 4
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*[/\\])?([^"/\\\n]+)"', re.MULTILINE)


def misnamed(path: Path, folder: Path, lab_id: str) -> Message | None:
    """Which file in `folder`, of the student's folder `path`, has to be renamed; None where none holds CUDA code.

    Renamed, it must be the whole program: a header that another file includes is needed by its name, and a file that
    only prints `<<<` launches nothing.
    """
    texts = _texts(folder)
    if not any(_KERNEL in text for text in texts.values()):
        return None
    reached = {file: _reached(file, texts) for file in texts}
    included = {other for file, others in reached.items() for other in others if other != file}
    ranks = {file: _rank(reached[file], texts) for file in texts if file not in included or len(included) == len(texts)}
    programs = [file for file, rank in ranks.items() if rank == _PROGRAM and file.suffix.lower() in HOST_SUFFIXES]
    if programs:
        names = ", ".join(str(file.relative_to(path)) for file in programs[:8])
        suffix = programs[0].suffix
        if len(programs) > 1:
            return msg("submission.no_cuda_suffixes", path=path, files=names, suffix=suffix)
        return msg("submission.no_cuda_suffix", path=path, file=names, suffix=suffix, lab=lab_id)
    best = max(ranks, key=lambda file: (ranks[file], file.suffix.lower() not in _PROSE))
    return msg("submission.other_name", path=path, file=str(best.relative_to(path)), lab=lab_id)


def _rank(files: list[Path], texts: dict[Path, bytes]) -> int:
    launches, kernels = (any(sign in texts[file] for file in files) for sign in (_LAUNCH, _KERNEL))
    if launches and kernels:
        return _PROGRAM if any(has_main(file) for file in files) else 3
    return 2 if launches else 1 if kernels else 0


def _texts(folder: Path) -> dict[Path, bytes]:
    if kind_at(folder) != "folder":
        return {}
    texts = {}
    for file in entries(folder)[:MAX_SOURCES]:
        if file.suffix.lower() in _MAY_HOLD_CODE and not file.name.startswith(".") and kind_at(file) == "file":
            with suppress(UsageError, OSError):
                texts[file] = read_plain(file, _MOST_BYTES)
    return texts


def _reached(file: Path, texts: dict[Path, bytes]) -> list[Path]:
    by_name = {other.name: other for other in texts}
    reached, waiting = [file], [file]
    while waiting:
        for name in _INCLUDE.findall(texts[waiting.pop()]):
            other = by_name.get(name.decode("utf-8", "replace"))
            if other is not None and other not in reached:
                reached.append(other)
                waiting.append(other)
    return reached


MAX_HOST_FILES = 24
MAX_FOLDERS = 64
DEPTH = 2

_MADE = re.compile(r"build|cmake\S*|bin|obj|out|debug|release|x64|x86|node_modules|venv|_?tests?", re.IGNORECASE)
"""Folders of what was made, or of other programs."""


def host_files(folder: Path, files: Sequence[Path]) -> list[Path]:
    """The host files in `folder` of the program whose `.cu` files are `files`; none where these have a `main` already,
    or where it is not clear which of several it is."""
    if not files or len(files) > MAX_SOURCES or any(f.suffix.lower() != PROGRAM or has_main(f) for f in files):
        return []
    candidates, folders = [], [(folder, 0)]
    while folders:
        here, depth = folders.pop(0)
        for path in entries(here):
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_dir():
                if depth < DEPTH and len(folders) < MAX_FOLDERS and not _MADE.fullmatch(path.name):
                    folders.append((path, depth + 1))
            elif path.suffix.lower() in HOST_SUFFIXES:
                candidates.append(path)
    mains = [path for path in candidates if has_main(path)]
    return candidates if len(mains) == 1 and len(candidates) <= MAX_HOST_FILES else []


def search(
    path: Path, folder: Path, lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """The lab's files in `path`, the student's `folder` or the lab's folder in it, with the program's host files.

    Raises UsageError: there is none (says what was looked for and what lies there), or it is not clear which.
    """
    files = _sources(path, folder, lab_id, known_labs, variants)
    return [*files, *host_files(path, files)]


def _sources(
    path: Path, folder: Path, lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    if path.name == lab_id and folder != path:
        return sources_in(path)
    here = sources_in(path)
    named = [file for file in here if file.stem.lower() == lab_id.lower()]
    if named:
        return with_callees(named[0], [file for file in here if file not in named], known_labs)
    inside = sources_in(path / lab_id)
    if inside:
        return inside
    if len(here) == 1 or are_one_program(here) or are_parts(here, known_labs):
        return here
    if here and host_files(path, here):
        return here
    deeper = [] if here else _deeper(path / lab_id, lab_id, known_labs) or _deeper(path, lab_id, known_labs)
    below = [file for files in deeper for file in files]
    if len(deeper) == 1 or (below and host_files(path, below)):
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
        programs = [file for file in files if has_main(file)] if len(files) <= MAX_SOURCES else []
        is_alone = len(places) > 1 and len(programs) == 1
        names |= {f: f.parent.name if is_alone else f"{_inner(f.parent, path)} {f.stem}".strip() for f in programs}
    if len(names) > MAX_SOURCES:
        return []
    versions = versions_among(names, lab_id, known_labs, variants)
    labs = {name.lower() for name in known_labs}
    chosen = {file.parent for file in versions}
    kept = []
    for files in places:
        # Folders that hold a version, and those without any program: what several share.
        if any(file.parent in chosen for file in files) or not any(file in names for file in files):
            kept += [f for f in files if f in versions or (f not in names and f.stem.lower() not in labs)]
    return kept if versions else []


def _inner(folder: Path, path: Path) -> str:
    return "" if folder == path else folder.name


def _deeper(folder: Path, lab_id: str, known_labs: Collection[str]) -> list[list[Path]]:
    """What the folders below, however they are called, hold for the lab: of those with `<lab>.cu` that file, else the
    `.cu` files of each that is not another lab's.  Nothing where there is no such folder."""
    if kind_at(folder) != "folder":
        return []
    places = [
        p for p in entries(folder) if not p.name.startswith((".", "__")) and p.name not in known_labs and kind_at(p)
    ]
    groups = [sources for place in places if (sources := sources_in(place))]
    named = [[file] for sources in groups for file in sources if file.stem.lower() == lab_id.lower()]
    labs = {name.lower() for name in known_labs}
    return named or [sources for sources in groups if not any(file.stem.lower() in labs for file in sources)]


def _nothing_found(path: Path, lab_id: str, looked_in: list[Path]) -> Message:
    lies_there = sorted(
        p.name + ("/" if kind_at(p) == "folder" else "")
        for place in looked_in
        if kind_at(place) == "folder"
        for p in entries(place)
    )
    for place in looked_in:
        other_name = misnamed(path, place, lab_id)
        if other_name is not None:
            return other_name
    listed = msg("pieces.listed", items=lies_there[:8], more=len(lies_there) > 8)
    shown = listed if lies_there else msg("submission.nothing")
    return msg("submission.none", path=path, lab=lab_id, found=shown)
