"""A lab with every check that applies to it: what the others say of a solution, and which of them would catch a wrong
one that the lab lets pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from grader.errors import FileError
from grader.grading.options import GradeOptions
from grader.grading.workers import GradeTask, grade_here
from grader.lab.checks import (
    CHECKS,
    OF_FUNCTIONS,
    OF_KERNELS,
    OF_PROGRAMS,
    AtomicsSettings,
    CoalescingSettings,
    DivergenceSettings,
    HostCodeSettings,
    LaunchesSettings,
    Settings,
    WorkSettings,
    kind_of,
)
from grader.lab.records import CheckSpec, Lab, Sizes
from grader.result import Check

ROOM = 1.25
"""How many times more than a right solution another one may do."""
_PLAIN = ("ragged_sizes", "memory_safety", "races", "bank_conflicts", "deterministic", "host_code")
_MORE_SIZES = (1, 2, 31, 33, 63, 65, 100, 127, 129)
"""Values of sizes at which a kernel is wrong that is right at its block's multiples."""
MORE_WORK = 1 << 16
"""Elements of the largest array, at most, of such a case."""

Measured = Mapping[str, Mapping[str, Any]]
"""By a check's id: its data, and its "status"."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What would catch a wrong solution: a check as the lab file has it, "races: 10", of a variant.

    sizes: it is a check that the lab has, at sizes that it has not.
    """

    check: str
    text: str
    sizes: Sizes | None = None


def measured(lab: Lab, file: Path) -> Measured:
    """What every check says of a solution, with thresholds that no solution exceeds.

    Raises UsageError: the lab is wrong, or nothing can be read of the file.
    """
    permissive: dict[str, Settings] = {
        "coalescing": CoalescingSettings(max_ratio=1e9),
        "divergence": DivergenceSettings(max_idle=1.0),
        "work": WorkSettings(),
        "atomics": AtomicsSettings(),
        "launches": LaunchesSettings(max_launches=1 << 30),
    }
    return _said(_graded(_with(lab, {v.name: permissive for v in lab.variants}), file))


def would_catch(lab: Lab, good: Sequence[Path], bad: Path) -> list[Setting]:
    """Settings by which a wrong solution fails and the right ones do not: at the lab's own sizes, else at others."""
    of_good = [measured(lab, file) for file in good]
    limits = {v.name: _limits([m for m in of_good if f"{v.name}.present" in m], v.name) for v in lab.variants}
    strict = _with(lab, limits)
    checks = _caught(strict, good, bad)
    if checks:
        return [Setting(check.id, _text(check, limits)) for check in checks]
    rows = _more_sizes(lab)
    if not rows:
        return []
    cases = {name: replace(c, ragged=(*c.ragged, *rows)) for name, c in lab.cases.items()}
    try:
        checks = _caught(replace(strict, cases=cases), good, bad)
    except FileError:
        # These sizes are not the lab's: its oracle need not know them.
        return []
    return [Setting(check.id, _text(check, limits), next(iter(_failing(check, rows)), rows[-1])) for check in checks]


def _failing(check: Check, rows: Sequence[Sizes]) -> list[Sizes]:
    said = check.message
    return [row for row in rows if all(str(value) in said for value in row.values())]


def _caught(strict: Lab, good: Sequence[Path], bad: Path) -> list[Check]:
    checks = _graded(strict, bad)
    bound = {c.variant for c in checks if c.check == "present" and c.status == "pass"}
    failed = [c for c in checks if c.status == "fail" and c.variant in bound]
    if not failed:
        return []
    too_strict = {c.id for file in good for c in _graded(strict, file) if c.status == "fail"}
    return [check for check in failed if check.id not in too_strict]


def _with(lab: Lab, settings: Mapping[str, Mapping[str, Settings]]) -> Lab:
    allowed = OF_FUNCTIONS if lab.function is not None else OF_PROGRAMS if lab.program is not None else OF_KERNELS
    variants = []
    for variant in lab.variants:
        own = {spec.check for spec in variant.checks}
        specs = [CheckSpec(name, 0.0, HostCodeSettings(of="data") if name == "host_code" else CHECKS[name].settings())
                 for name in _PLAIN if name in allowed and name not in own]  # fmt: skip
        specs += [
            CheckSpec(n, 0.0, s) for n, s in settings.get(variant.name, {}).items() if n in allowed and n not in own
        ]
        order = list(CHECKS)
        checks = sorted((*variant.checks, *specs), key=lambda spec: order.index(kind_of(spec.check).name))
        variants.append(replace(variant, checks=tuple(checks)))
    return replace(lab, variants=tuple(variants), repairs="off", timing=None, sweeps=())


def _limits(of_good: Sequence[Measured], variant: str) -> dict[str, Settings]:
    """Return thresholds that right solutions keep with room to spare."""

    def most(check: str, key: str) -> float | None:
        values = [m[f"{variant}.{check}"].get(key) for m in of_good if f"{variant}.{check}" in m]
        numbers = [value for value in values if isinstance(value, int | float)]
        return max(numbers) if numbers else None

    limits: dict[str, Settings] = {}
    if (loads := most("coalescing", "load_ratio")) is not None:
        limits["coalescing"] = CoalescingSettings(
            max_ratio=round(max(1.0, loads, most("coalescing", "store_ratio") or 1.0), 3)
        )
    if (idle := most("divergence", "idle")) is not None:
        limits["divergence"] = DivergenceSettings(max_idle=round(min(1.0, idle * ROOM + 0.01), 3))
    if (work := most("work", "per_element")) is not None:
        limits["work"] = WorkSettings(max_per_element=round(work * ROOM, 3))
    if (atomics := most("atomics", "global_per_element")) is not None:
        limits["atomics"] = AtomicsSettings(max_global=round(atomics * ROOM, 4))
    return limits


def _text(check: Check, limits: Mapping[str, Mapping[str, Settings]]) -> str:
    settings = limits.get(check.variant, {}).get(check.check)
    shown = {
        key: value
        for key, value in (
            ("max_ratio", getattr(settings, "max_ratio", None)),
            ("max_idle", getattr(settings, "max_idle", None)),
            ("max_per_element", getattr(settings, "max_per_element", None)),
            ("max_global", getattr(settings, "max_global", None)),
        )
        if value is not None
    }
    if not shown:
        return f"{check.check}: 5"
    return f"{check.check}: {{points: 5, {', '.join(f'{key}: {value:g}' for key, value in shown.items())}}}"


def _more_sizes(lab: Lab) -> list[Sizes]:
    names = lab.size_names
    rows = [{n: _MORE_SIZES[(i + k) % len(_MORE_SIZES)] for k, n in enumerate(names)} for i in range(len(_MORE_SIZES))]
    own_rows = [*lab.cases["emulator"].ragged, *lab.cases["emulator"].correct]
    arrays = [p for p in lab.parameters if p.is_array]

    def elements(row: Sizes) -> int:
        return max((prod(p.extents_at(row)) for p in arrays), default=0)

    return [row for row in rows if names and row not in own_rows and elements(row) <= MORE_WORK]


def _graded(lab: Lab, file: Path) -> Sequence[Check]:
    options = GradeOptions(lab=lab.id, backend="emulator", sweeps=False, times=False, repairs=False, view="teacher")
    return grade_here(GradeTask(path=bytes(file), options=options), lab).checks


def _said(checks: Sequence[Check]) -> Measured:
    return {check.id: {**check.data, "status": check.status} for check in checks if check.variant}
