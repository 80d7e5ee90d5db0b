"""Results of an earlier run: found in its folder, single ones and groups."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from grader.errors import UsageError, describe_os_error
from grader.exports import tables
from grader.exports.entries import ROSTER_SUFFIX, CheckRule, Entry, Roster
from grader.files import KEPT_BYTES, NotPlain, TooLarge, read_kept
from grader.grading.output.paths import RESULT_NAME, Outputs
from grader.message import msg
from grader.report.rendering import HTML_NAME
from grader.result import Result, decode

NAMES_BELOW = (RESULT_NAME, f"*/{RESULT_NAME}", f"*/*/{RESULT_NAME}")
"""Where results lie below a folder: of one lab, of one student's labs, of many students."""


class StoredOutputs(Outputs):
    """The outputs of an earlier run, where they lie; folders: by student."""

    def __init__(self, out: Path, lab_id: str, folders: dict[str, Path]) -> None:
        super().__init__(out, lab_id, folders)
        self._folders = folders

    def folder(self, student: str) -> Path:
        return self._folders[student]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What an earlier run left for one lab.

    entries: in the order of its table.  is_group: whether it has a table, be it of one student.
    checks, rest: how the lab was marked (`grader.exports.entries`).
    """

    lab: str
    entries: tuple[Entry, ...]
    outputs: StoredOutputs
    is_group: bool
    checks: Mapping[str, CheckRule] = field(default_factory=dict)
    rest: str = ""


def find_stored(path: Path) -> list[StoredRun]:
    """What lies at `path`: a `result.json`, a student's folder, or the folder that a run wrote to.

    Raises
    ------
    UsageError : nothing of the kind is there, or it cannot be read.
    """
    try:
        runs = list(stored_groups(path)) if path.is_dir() else []
        known = {(run.lab, entry.student) for run in runs for entry in run.entries}
        files = sorted(file for name in NAMES_BELOW for file in path.glob(name)) if path.is_dir() else [path]
        alone: dict[str, list[tuple[Path, Entry]]] = {}
        for file in files:
            lab, entry = _entry(file, is_alone=len(files) == 1)
            if (lab, entry.student) not in known:
                alone.setdefault(lab, []).append((file.parent, entry))
        for lab, found in alone.items():
            # A group that was graded before groups were listed has its table of marks.
            if (path / f"{lab}{tables.TABLE.suffix}").exists():
                runs.append(_run(path, lab, found, is_group=True))
            else:
                runs += [_run(one[0], lab, [one], is_group=False) for one in found]
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    if not runs:
        raise UsageError(msg("session.no_results", path=path))
    return runs


def linked(entry: Entry, outputs: Outputs) -> Entry:
    """The entry with the address of its report, where one lies beside its result."""
    if entry.result is None or not (outputs.folder(entry.student) / HTML_NAME).exists():
        return entry
    return replace(entry, report=outputs.report_link(entry.student))


def _entry(file: Path, is_alone: bool) -> tuple[str, Entry]:
    """The lab and the entry of a result's file; one that cannot be read is told beside those that can.

    Raises
    ------
    UsageError : it cannot be read, and `is_alone`.
    """
    try:
        result = _read(file)
    except UsageError as error:
        if is_alone:
            raise
        return file.parent.name, Entry(file.parent.parent.name, reason=error.message)
    return result.lab, Entry(result.student.id, result)


def _run(out: Path, lab: str, found: list[tuple[Path, Entry]], is_group: bool) -> StoredRun:
    entries = tuple(entry for _folder, entry in found)
    outputs = StoredOutputs(out, lab, {entry.student: folder for folder, entry in found if entry.result is not None})
    return StoredRun(lab, entries, outputs, is_group)


def stored_groups(folder: Path, skipped: Collection[str] = ()) -> Iterator[StoredRun]:
    """The groups that are listed in a folder of outputs, but those of the labs in `skipped`.

    Raises
    ------
    UsageError : a list or a result cannot be understood.
    OSError : it cannot be read.
    """
    for file in group_lists(folder, skipped):
        yield stored_group(file)


def group_lists(folder: Path, skipped: Collection[str] = ()) -> list[Path]:
    """The lists of the groups in a folder of outputs, called as the labs, but those of the labs in `skipped`."""
    return [
        file
        for file in sorted(folder.glob(f"*{ROSTER_SUFFIX}"))
        if file.stem not in skipped
        and any(True for _result in folder.glob(f"*/{glob.escape(file.stem)}/{RESULT_NAME}"))
    ]


def stored_group(file: Path) -> StoredRun:
    """The group that is listed in `file`; raises as `stored_groups`."""
    try:
        group = msgspec.json.decode(read_kept(file), type=Roster)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(msg("session.no_roster", path=file, reason=str(error))) from error
    outputs = Outputs(file.parent, group.lab, (member.student for member in group.members))
    entries, folders = [], {}
    for member in group.members:
        place = outputs.folder(member.student)
        if member.reason:
            entries.append(Entry(member.student, reason=member.reason_said or member.reason, person=member.person))
        elif (place / RESULT_NAME).exists():
            try:
                result = _read(place / RESULT_NAME)
            except UsageError as error:
                # Nobody else's marks wait for it.
                entries.append(Entry(member.student, reason=error.message, person=member.person))
            else:
                entries.append(Entry(member.student, result, person=member.person))
                folders[member.student] = place
        else:
            gone = msg("session.result_gone", path=str(place / RESULT_NAME))
            entries.append(Entry(member.student, reason=gone, person=member.person))
    placed = StoredOutputs(file.parent, group.lab, folders)
    return StoredRun(group.lab, tuple(entries), placed, is_group=True, checks=group.checks, rest=group.rest)


def _read(file: Path) -> Result:
    """Raises UsageError: it is no result, or no plain file."""
    try:
        return decode(read_kept(file), file)
    except (NotPlain, TooLarge) as error:
        raise UsageError(msg("session.result_not_plain", path=str(file), limit=KEPT_BYTES >> 20)) from error
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
