"""The formats by name: each a function of what was found, for one submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from grader.findings.finding import Finding, findings
from grader.findings.whereabouts import Whereabouts, repository_of
from grader.result import Result


@dataclass(frozen=True, slots=True)
class Told:
    """What a format is made from.

    findings: with paths as the format wants them.  seconds: what the grading took, None where nobody measured it.
    language: of the texts.  out_of: what full marks are where the service has a scale of its own, None for points.
    """

    result: Result
    findings: list[Finding]
    language: str
    seconds: float | None = None
    out_of: float | None = None


Writer = Callable[[Told], str]

FORMATS = {
    "gcc": "gcc",
    "json": "records",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "markdown": "markdown",
    "classroom": "classroom",
    "vpl": "vpl",
    "gradescope": "gradescope",
}
"""The file here whose function `write` makes each."""
_IN_REPOSITORY = {"sarif", "github", "gitlab", "markdown"}
"""Their paths are told relative to the repository's root."""


def write(
    name: str,
    result: Result,
    source: Path,
    language: str,
    seconds: float | None = None,
    out_of: float | None = None,
) -> str:
    """The findings of a result in the format `name`, ready to be printed; `source` is what was graded (see `Told`)."""
    root = repository_of(source) if name in _IN_REPOSITORY else None
    digests = {one.notebook or one.file: one.sha256 for one in result.sources}
    found = findings(result, Whereabouts(source, result.lab, root, digests))
    writer: Writer = import_module(f"grader.findings.{FORMATS[name]}").write
    return writer(Told(result, found, language, seconds, out_of))
