"""What an export is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.lab.records import Lab
from grader.message import Message
from grader.result import Result


@dataclass(frozen=True, slots=True)
class Entry:
    """One student of a group: their result, or why there is none.

    report: address of the report for a page in the folder of outputs, "" where there is no report.
    """

    student: str
    result: Result | None = None
    reason: Message | str = ""
    report: str = ""


def brief(result: Result) -> Result:
    """The result without what no export shows and what takes most of the memory of a group."""
    variants = {
        name: msgspec.structs.replace(variant, cases=[], hazards=[], witnesses=[], host_memory=[])
        for name, variant in result.variants.items()
    }
    checks = [msgspec.structs.replace(check, diagnosis=None) for check in result.checks]
    return msgspec.structs.replace(result, sources=[], sweeps=[], variants=variants, checks=checks)


@dataclass(frozen=True, slots=True)
class Export:
    """A kind of file: `<lab><suffix>` in the folder of outputs.

    write: the file's bytes, from a group's entries in order, the lab, and the language of its words.
    announce: the line that names the file, "" for one that nobody needs to look at.
    """

    suffix: str
    write: Callable[[Sequence[Entry], Lab, str], bytes]
    announce: Callable[[Path], str]
