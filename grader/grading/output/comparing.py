"""Looks for similar submissions of a group, in what is stored of it, and in what other years left."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from grader.errors import UsageError, describe_os_error
from grader.exports.entries import Entry, Table, source_of
from grader.exports.pages import SIMILAR
from grader.files import read_kept, write_atomically
from grader.grading.output.identity import code_hash
from grader.grading.output.stored import stored_groups
from grader.grading.output.tables import Tables
from grader.grading.students import find_works
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import msg
from grader.report.visible import visible_line
from grader.similarity.pairs import Similar, similar
from grader.submission.files.folder import find_sources, read_sources
from grader.words import text

STARTER_NAMES = ("*.cu", "*.cuh", "*.h")


class _Known(msgspec.Struct, frozen=True):
    """What was found; key: of everything that it follows from."""

    key: str
    found: Similar


def compare_once(lab: Lab, entries: Sequence[Entry], out: Path) -> Similar:
    """The same as `compare`, kept in `out` until a source changes: comparing hundreds takes seconds."""
    file = out / f".{lab.id}.similar.json"
    digest = hashlib.sha256(code_hash())
    works = _works(entries)
    for part in (*_starters(lab), *(part for name, source in works.items() for part in (name, source))):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    key = digest.hexdigest()
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        known = msgspec.json.decode(read_kept(file), type=_Known)
        if known.key == key:
            return known.found
    found = compare(lab, entries)
    with contextlib.suppress(OSError):
        write_atomically(file, msgspec.json.encode(_Known(key, found)))
    return found


def compare(lab: Lab, entries: Sequence[Entry], archive: dict[str, str] | None = None) -> Similar:
    """What the entries' sources have in common beyond the lab's starter."""
    return similar(_works(entries), _starters(lab), archive)


def _works(entries: Sequence[Entry]) -> dict[str, str]:
    """The sources by student; what a team handed in together is one work, the first of them stands for it."""
    found, teams = {}, set()
    for entry in entries:
        team = entry.person.team if entry.person is not None else ""
        if entry.source and (not team or team not in teams):
            found[entry.student] = entry.source
            teams.add(team)
    return found


def _starters(lab: Lab) -> list[str]:
    return [
        file.read_text("utf-8", errors="replace")
        for pattern in STARTER_NAMES
        for file in sorted(lab.path.parent.glob(pattern))
    ]


def compare_stored(folder: Path, language: str, archives: Sequence[Path], labs_folders: Sequence[Path]) -> int:
    """Write the pages of similar submissions for the groups in `folder`; returns the exit code.

    archives: folders of other years: of outputs, or of submissions.

    Raises
    ------
    UsageError : no group was graded there, or a folder cannot be read.
    """
    known_labs = list(labs.folders(labs_folders))
    for place in archives:
        if not place.is_dir():
            raise UsageError(msg("session.no_such_path", path=str(place)))
        if place.resolve() == folder.resolve():
            raise UsageError(msg("session.own_archive", path=str(place)))
    try:
        runs = list(stored_groups(folder))
        if not runs:
            raise UsageError(msg("session.no_group", path=str(folder)))
        writer, lines = Tables(language), []
        for run in runs:
            lab = labs.find(run.lab, labs_folders)
            entries = [replace(e, source=source_of(e.result)) if e.result is not None else e for e in run.entries]
            older: dict[str, str] = {}
            for place in archives:
                works = _archive(place, lab, known_labs)
                if not works:
                    lines.append(text(msg("session.empty_archive", path=str(place), lab=run.lab)))
                older |= works
            table = Table(lab, entries, similar=compare(lab, entries, older))
            lines += writer.of_lab([SIMILAR], table, run.outputs)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    for line in (*lines, *writer.problems):
        print(visible_line(line))
    return 2 if writer.problems else 0


def _archive(folder: Path, lab: Lab, known_labs: Collection[str]) -> dict[str, str]:
    """The works for a lab in a folder of outputs or of submissions, by the path that each is found at."""
    with contextlib.suppress(UsageError):
        for run in stored_groups(folder):
            if run.lab == lab.id:
                return {str(folder / e.student): source_of(e.result) for e in run.entries if e.result is not None}
    found = {}
    for work in find_works([folder], lab.id, known_labs, folder / "reports", lab.variants).works:
        # What could not be graded then is nothing to compare with now.
        with contextlib.suppress(UsageError):
            sources = read_sources(find_sources(work.path, lab.id, known_labs, lab.variants))
            found[str(folder / work.student)] = "\n".join(source.text for source in sources)
    return found
