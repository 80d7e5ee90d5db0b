"""Findings: one thing to be mended, at its place, as a compiler would print a line about it.

A result has the names of files, an editor wants their paths: `Whereabouts` finds them.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from grader.i18n import _
from grader.message import Message
from grader.report import summary
from grader.report.job import in_cell
from grader.report.summary import FAULT_STATUSES, blocked_points, lost_points, unjudged
from grader.report.text import Numbers, clipped, result_status, visible_line
from grader.result import Check, Result, Variant
from grader.words import NoWordsError, speaking_of, speaking_of_file, text

MOST_FOLDERS = 1000
"""Folders that are searched for a file, at most."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Finds a submission's files.

    source: what was graded, as the user typed it: a student's folder, the lab's folder in it, or one file.
    root: the folder that paths are told relative to (of a repository), None for paths as the user typed them.
    digests: SHA-256 of each file by its name, which tell it from others that are called alike.
    """

    source: Path
    lab: str
    root: Path | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """The path of the file that a result calls `name`, with `/` between folders; "" for no name.

        Relative to `root` where it lies below that.
        """
        if not name:
            return ""
        there = list(filter(_exists, self._places(name)))
        file = there[0] if there else next(self._places(name))
        if len(there) > 1 and self.digests.get(name):
            file = next((place for place in there if _digest(place) == self.digests[name]), file)
        if self.root is None:
            return file.as_posix()
        try:
            relative = os.path.relpath(file.resolve(), self.root.resolve())
        except (OSError, ValueError):
            # On Windows: another drive.
            return file.as_posix()
        return file.as_posix() if relative.startswith("..") else Path(relative).as_posix()

    def _places(self, name: str) -> Iterator[Path]:
        folder = self.source if self.source.is_dir() else self.source.parent
        if not self.source.is_dir() and self.source.name == name:
            yield self.source
        yield folder / name
        yield folder / self.lab / name
        # In a folder of its own below, however that is called.
        for above in (folder / self.lab, folder):
            yield from (place / name for place in _folders(above))
        yield folder.parent / name


def repository_of(path: Path) -> Path:
    """The root of the repository that `path` lies in, as services tell it or as its `.git` shows; else its folder."""
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        root = os.environ.get(variable)
        if root and path.resolve().is_relative_to(Path(root).resolve()):
            return Path(root)
    here = path.resolve()
    folder = here if here.is_dir() else here.parent
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def _folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in inside[:MOST_FOLDERS] if not path.name.startswith((".", "__"))]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


Level = Literal["error", "warning", "note"]

REMARK = "remark"
"""Stands in place of a check's name: worth knowing, costs no points."""
LEAST_POINTS = 0.005
"""Fewer are what is left of rounding."""
_ORDER: dict[Level, int] = {"error": 0, "warning": 0, "note": 1}
_LEVELS: dict[str, Level] = {"fail": "error", "borderline": "warning", "error": "warning"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, or a remark that costs nothing.

    check: the check's name, "remark" for a remark.  title: what is wrong, in a few words; "" for a remark.
    variants: the lab's variants that have it.
    file: its path as the user would type it, "" where none is known.  line, column, end_column: from 1, the first and
    the one behind the last character of the line's text; null where it concerns no line.
    message, hint: one line each, in the language of the result.  lost: points that it costs.  held: points of checks
    that wait until it is mended.  unjudged: whether it says why there is no verdict (the result is `not_judged`).
    """

    check: str
    level: Level
    message: str
    hint: str = ""
    variants: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    lost: float = 0.0
    title: str = ""
    held: float = 0.0
    unjudged: bool = False


def findings(result: Result, whereabouts: Whereabouts) -> list[Finding]:
    """Why there is no verdict, all faults, then remarks, by file and line; the same at the same place is one."""
    by_key: dict[tuple[object, ...], Finding] = {}
    for finding in [*_unjudged(result), *_faults(result), *_remarks(result)]:
        key = (finding.check, finding.level, finding.message, finding.file, finding.line)
        earlier = by_key.get(key)
        if earlier is None:
            by_key[key] = finding
        else:
            variants = tuple(dict.fromkeys((*earlier.variants, *finding.variants)))
            hint = min(earlier.hint, finding.hint, key=len)
            lost, held = earlier.lost + finding.lost, earlier.held + finding.held
            by_key[key] = replace(earlier, variants=variants, lost=lost, held=held, hint=hint)
    placed = [_placed(finding, result, whereabouts) for finding in by_key.values()]
    return sorted(placed, key=lambda f: (not f.unjudged, _ORDER[f.level], f.file, f.line or 0))


def costliest_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings in the report's order, by the points that hang on each: some readers are shown the first few only.

    What leaves a result without a verdict comes first; what the grader itself could not judge of one that has a verdict
    stands behind the faults, remarks behind both.
    """
    return sorted(findings, key=lambda f: (not f.unjudged, _ORDER[f.level], -f.lost - f.held))


def title_of(finding: Finding) -> str:
    """What is wrong in words, with the variants that have it."""
    title = finding.title or _("worth knowing")
    return f"{title} · {', '.join(finding.variants)}" if finding.variants else title


def cost_of(finding: Finding, numbers: Numbers) -> str:
    """The points that hang on a finding, to stand behind its title; "" where none do."""
    parts = [f"−{numbers.points(finding.lost)}"] if finding.lost > LEAST_POINTS else []
    if finding.held > LEAST_POINTS:
        parts.append(_("{points} more points depend on it").format(points=numbers.points(finding.held)))
    return f" ({', '.join(parts)})" if parts else ""


def identities(findings: Sequence[Finding]) -> list[str]:
    """What each is known by in a later grading: the same fault of the same variants, whatever line it stands in then.

    Several that have all of this in common are told apart by their order.
    """
    counts: Counter[str] = Counter()
    digests = []
    for finding in findings:
        key = "\0".join((finding.check, finding.level, finding.file, *finding.variants))
        digest = hashlib.sha256(f"{key}\0{counts[key] or ''}".encode("utf-8", errors="surrogatepass"))
        counts[key] += 1
        digests.append(digest.hexdigest()[:32])
    return digests


def _unjudged(result: Result) -> Iterator[Finding]:
    """Return why there is no verdict, at the kernel that could not be judged."""
    for reason in unjudged(result):
        root = reason.root
        kernel = result.variants.get(root.variant, Variant())
        yield Finding(
            root.check,
            "warning",
            _one_line(root.message),
            _one_line(root.hint),
            reason.variants,
            result.file_of(root) or _only_file(result),
            root.line or kernel.line,
            title=result_status(result.status).word,
            held=reason.points,
            unjudged=True,
        )


def _faults(result: Result) -> Iterator[Finding]:
    for check in result.checks:
        if check.status not in FAULT_STATUSES:
            continue
        file = result.file_of(check) or _only_file(result)
        line = check.line
        others = _compiler_errors(check)
        if line is None and others:
            # The first error is one of another file than the kernel's.
            file, line, _message = others[0]
        # Each error of the compiler has a line of its own; what else this kernel has stands there.
        said = others[0][2] if others and check.message.startswith(others[0][2]) else check.message
        yield Finding(
            check.check,
            _LEVELS[check.status],
            _one_line(said),
            _one_line(check.hint),
            (check.variant,),
            file,
            line,
            lost=lost_points(check),
            title=summary.title_of(check),
            held=blocked_points(result.checks, check),
        )
        for other_file, other_line, message in others:
            if (other_file, other_line) != (file, line):
                title = summary.title_of(check)
                place = other_file, other_line
                yield Finding(check.check, "error", _one_line(message), "", (check.variant,), *place, title=title)


def _compiler_errors(check: Check) -> list[tuple[str, int, str]]:
    """Return (file, line, words) of the errors that `compiles` holds, without those of unknown ids."""
    errors = check.data.get("errors")
    located = []
    for error in errors if isinstance(errors, list) else ():
        message = str(error.get("message", ""))
        try:
            message = text(Message(message))
        except NoWordsError:
            if message.startswith("compiler.") and " " not in message:
                continue
        located.append((str(error.get("file", "")), int(error.get("line", 1)), message))
    return located


def _remarks(result: Result) -> Iterator[Finding]:
    only = _only_file(result)
    for words, message in zip_longest(result.remarks, result.remarks_said):
        with speaking_of(result.sources):
            file, words = _of_host_code(message, words) or (only, words)
        yield Finding(REMARK, "note", _one_line(words), file=file, line=_line_of(message))
    for name, variant in result.variants.items():
        for words, message in zip_longest(variant.remarks, variant.remarks_said):
            line = _line_of(message)
            yield Finding(REMARK, "note", _one_line(words), "", (name,), variant.file or only, line or variant.line)


def _of_host_code(message: Message | None, words: str | None) -> tuple[str, str] | None:
    """Return (file, words) of a remark on host code, whose sentence names the place of a finding."""
    if message is None or message.id != "remarks.host_code":
        return None
    file, fault = message.data.get("file"), message.data.get("fault")
    if not isinstance(file, str) or not isinstance(fault, Message):
        return None
    try:
        with speaking_of_file(file):
            return file, text(fault)
    except NoWordsError:
        return file, words or ""


def _line_of(message: Message | None) -> int | None:
    line = message.data.get("line") if message else None
    return line if isinstance(line, int) and line > 0 else None


def _only_file(result: Result) -> str:
    return result.sources[0].file if result.sources else ""


def _one_line(words: str | None) -> str:
    return clipped(visible_line(" ".join((words or "").split())))


def _placed(finding: Finding, result: Result, whereabouts: Whereabouts) -> Finding:
    """With the path of its file, and the columns of its line's text; of a notebook with the cell before the message,
    as its file has no lines that anybody sees."""
    source = next((s for s in result.sources if s.file == finding.file), None)
    cell = source.cell_at(finding.line) if source and finding.line else None
    if source and source.notebook:
        path = whereabouts.path(source.notebook)
        message = f"{in_cell(cell)}: {finding.message}" if cell else finding.message
        return replace(finding, file=path, line=None, message=message)
    rows = source.text.split("\n") if source else []
    if finding.line is None or not 1 <= finding.line <= len(rows):
        return replace(finding, file=whereabouts.path(finding.file), line=finding.line)
    row = rows[finding.line - 1].rstrip()
    column = len(row) - len(row.lstrip()) + 1
    return replace(finding, file=whereabouts.path(finding.file), column=column, end_column=max(len(row), column) + 1)
