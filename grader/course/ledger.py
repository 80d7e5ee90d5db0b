"""What lies in a folder of outputs of the decisions that were applied there: by which files, and what they replaced."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from grader.course.overrides import Overrides
from grader.course.rules import Rules
from grader.files import read_kept, write_atomically

LEDGER_NAME = ".decisions.json"


class Decided(msgspec.Struct, frozen=True):
    """By which files a lab was marked, "" for none; as seen from the folder of outputs, too: both may be moved."""

    rules: str = ""
    overrides: str = ""
    rules_beside: str = ""
    overrides_beside: str = ""


class Ledger(msgspec.Struct, frozen=True):
    """What was applied.

    labs: by which files, by lab; rules, overrides: those of labs that are not in it, as earlier versions wrote them.
    seen: what each decision replaced when it was first seen, as hashes by "lab/student" and by check ("" the total).
    weights: of labs in the course.
    """

    rules: str = ""
    overrides: str = ""
    labs: dict[str, Decided] = {}
    seen: dict[str, dict[str, str]] = {}
    weights: dict[str, float] = {}

    def of(self, lab: str) -> Decided:
        """By which files `lab` was marked."""
        return self.labs.get(lab, Decided(self.rules, self.overrides))


def read_ledger(out: Path) -> Ledger:
    """What earlier runs into `out` kept; an empty one where there is none."""
    try:
        return msgspec.json.decode(read_kept(out / LEDGER_NAME), type=Ledger)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Ledger()


def write_ledger(rules: Rules, overrides: Overrides, out: Path, lab: str) -> None:
    """Keep in `out` what was applied to `lab` there; what holds for other labs, perhaps by other files, stays.

    Raises
    ------
    OSError : it cannot be written.
    """
    # Read only now: another lab may have been graded meanwhile.
    old = read_ledger(out)
    decided = Decided(
        rules=str(rules.path or ""),
        overrides=str(overrides.path or ""),
        rules_beside=_beside(rules.path, out),
        overrides_beside=_beside(overrides.path, out),
    )
    others = {name for name, files in old.labs.items() if name != lab and files.rules not in ("", decided.rules)}
    labs = old.labs if decided == old.of(lab) else {**old.labs, lab: decided}
    ledger = Ledger(
        rules=old.rules,
        overrides=old.overrides,
        labs=labs,
        seen={
            **{key: value for key, value in old.seen.items() if not key.startswith(f"{lab}/")},
            **{key: value for key, value in overrides.seen.items() if key.startswith(f"{lab}/")},
        },
        weights={
            **{name: weight for name, weight in old.weights.items() if name in others},
            **{name: weight for name, weight in rules.weights.items() if name not in others},
        },
    )
    if ledger != old:
        write_atomically(out / LEDGER_NAME, msgspec.json.encode(ledger, order="sorted"))


def _beside(file: Path | None, out: Path) -> str:
    """A file's path as seen from `out`, "" for none and where there is no such way."""
    if file is None:
        return ""
    try:
        return os.path.relpath(file.resolve(), out.resolve())
    except ValueError:
        # Another drive.
        return ""
