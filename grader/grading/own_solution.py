"""What checks count of the labs' own solutions, beside what is over their limits: no mark depends on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.checks import checks_with
from grader.errors import InternalError, UsageError
from grader.grading.options import GradeOptions
from grader.lab.records import Drawn, Lab, Variant
from grader.result import Check, Result
from grader.running.evidence import Evidence

Grade = Callable[[Path, Lab, GradeOptions], Result]
Figures = Mapping[str, Mapping[str, object]]
"""The data of checks, by check."""

OF_LIMITS = frozenset(checks_with("limit"))
RESTED_ON = frozenset({"present", "compiles", "launch", "correct"})
"""Checks that those with limits rest on."""

_counted: dict[tuple[object, ...], Figures] = {}
"""By what it follows from."""


def beside_own(
    lab: Lab, by_variant: Mapping[str, Evidence], checks: Sequence[Check], grade: Grade
) -> dict[str, Evidence] | None:
    """The evidence with what those checks of `OF_LIMITS` that failed count of the lab's own solutions; None: none did.

    grade: the pipeline's.  Nothing stands beside a number where the lab's own solution does not pass the check itself.
    """
    found = dict(by_variant)
    is_beside = False
    for variant in lab.variants:
        failed = [c.check for c in checks if c.variant == variant.name and c.status == "fail" and c.check in OF_LIMITS]
        if failed:
            is_beside, own = True, _figures(lab, variant, grade)
            found[variant.name] = replace(
                found[variant.name], right={name: own[name] for name in failed if name in own}
            )
    return found if is_beside else None


def _figures(lab: Lab, variant: Variant, grade: Grade) -> Figures:
    """What is counted of a variant's reference, by the checks that it passes."""
    own = variant.reference.file
    key = (variant.name, repr(lab), *(file.read_bytes() for file in (own, lab.oracle, *lab.files.values())))
    if key not in _counted:
        kept = tuple(spec for spec in variant.checks if spec.check in OF_LIMITS | RESTED_ON)
        cases = {**lab.cases, "emulator": replace(lab.cases["emulator"], ragged=())}
        alone = replace(lab, variants=(replace(variant, checks=kept),), cases=cases, drawn=Drawn(), sweeps=())
        try:
            checks = grade(own, alone, GradeOptions(backend="emulator", repairs=False)).checks
        except (UsageError, InternalError):
            # What is wrong with the lab's own file is told where a lab is tried out.
            checks = []
        _counted[key] = {check.check: check.data for check in checks if check.status == "pass"}
    return _counted[key]
