"""Which files in a student's folder are a lab's, where nobody says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from grader.errors import UsageError
from grader.lab.records import Variant
from grader.message import Message, msg
from grader.submission.files.entries import entries, kind_at, sources_in
from grader.submission.files.host_files import host_files
from grader.submission.files.misnamed import misnamed
from grader.submission.files.one_program import MAX_SOURCES, are_one_program, are_parts, has_main, with_callees
from grader.submission.files.submission_yaml import SETTINGS_NAME
from grader.submission.files.versions import versions_among


def search(
    path: Path, folder: Path, lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """The lab's files in `path`, the student's `folder` or the lab's folder in it, with the program's host files.

    Raises
    ------
    UsageError : there is none (says what was looked for and what lies there), or it is not clear which.
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
    found = []
    for files in places:
        # Of folders those that hold a version, and those that hold no program at all: what several share.
        if any(file.parent in chosen for file in files) or not any(file in names for file in files):
            found += [f for f in files if f in versions or (f not in names and f.stem.lower() not in labs)]
    return found if versions else []


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
    found = [sources for place in places if (sources := sources_in(place))]
    named = [[file] for sources in found for file in sources if file.stem.lower() == lab_id.lower()]
    labs = {name.lower() for name in known_labs}
    return named or [sources for sources in found if not any(file.stem.lower() in labs for file in sources)]


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
