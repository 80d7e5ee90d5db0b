"""The compiler's messages about the student's own file, out of its log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MAX_LOG_CHARACTERS = 32 * 1024
MAX_MESSAGE_CHARACTERS = 500
MAX_DIAGNOSTICS = 100

_HEAD = re.compile(
    r"^(?P<file>[^\n]*?)\((?P<line>\d{1,9})\): (?P<severity>catastrophic error|error|warning|remark)"
    r"(?: #[\w-]+)?: (?P<message>.*)$"
)
# Whether a file is forbidden, no plain file or not there must not be told apart.
_NOT_OPENED = re.compile(r"(cannot open source file \"[^\"\n]*\"): [^\n]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: `line` is 1-based in `file`, `severity` "error", "warning" or "remark"."""

    file: str
    line: int
    severity: str
    message: str


def diagnostics_of(log: str, sources: Mapping[str, str]) -> tuple[tuple[Diagnostic, ...], str]:
    """The messages in `log` about `sources` (text by file name) at lines they have, and their part of the log.

    A message about any other file is dropped with its excerpt: it may quote that file.
    """
    log = _NOT_OPENED.sub(r"\1", log)
    lines_of = {name: text.split("\n") for name, text in sources.items()}
    found: list[Diagnostic] = []
    shown: list[str] = []
    rows = log.split("\n")
    index = 0
    while index < len(rows):
        head = _HEAD.match(rows[index])
        index += 1
        if head is None:
            continue
        body: list[str] = []
        while index < len(rows) and rows[index].strip() and not _HEAD.match(rows[index]):
            body.append(rows[index])
            index += 1
        name, line = head["file"].rpartition("/")[2], int(head["line"])
        file = head["file"] if head["file"] in lines_of else name
        if file not in lines_of or not 1 <= line <= len(lines_of[file]):
            continue
        excerpt = lines_of[file][line - 1].strip()
        message = [head["message"].strip()]
        for row in body:
            if row.strip() == excerpt or row.strip() == "^":
                break
            message.append(row.strip())
        text = " ".join(message)[:MAX_MESSAGE_CHARACTERS]
        severity = "error" if head["severity"].endswith("error") else head["severity"]
        shown += [rows[index - len(body) - 1], *body, ""]
        diagnostic = Diagnostic(file, line, severity, text)
        if diagnostic not in found and len(found) < MAX_DIAGNOSTICS:
            found.append(diagnostic)
    return tuple(found), "\n".join(shown)[:MAX_LOG_CHARACTERS]
