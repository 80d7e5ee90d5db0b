"""The settings of checks that count: their formulas, shares and names, refused with their place in the lab file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grader.devices import WARP_LANES
from grader.lab import formula
from grader.lab.checks import (
    OF_RUNTIME,
    AtomicsSettings,
    LaunchesSettings,
    OccupancySettings,
    OverlapSettings,
    Settings,
    UsesSettings,
    WorkSettings,
)
from grader.lab.parts import formula_text
from grader.lab.records import Cases, CheckSpec
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile

_OF_WORK = ("max_per_element", "growth")
_OF_CALLS = ("max_launches", "max_allocated", "max_copied", "max_waits")
_FORMULAS = (*_OF_WORK, "max_global", "max_shared", *_OF_CALLS)
"""Settings that are numbers or formulas of the sizes."""
_SHARES = ("max_idle", "min_share")


def check_settings(file: YamlFile, keys: KeyPath, specs: Sequence[CheckSpec], cases: Cases, *, is_kernel: bool) -> None:
    """Refuse settings that mean nothing, or that nothing could fail by.

    keys: where the variant's checks stand.  cases: the sizes at which they are looked at.

    Raises
    ------
    FileError : with the line of what is wrong, what was got and what is allowed.
    """
    for spec in specs:
        at = (*keys, spec.check)
        _check_numbers(file, at, spec.settings, cases)
        match spec.settings:
            case UsesSettings() as uses:
                asked = (*uses.must, *uses.must_not)
                _check_asks(file, at, any(asked), ("must", "must_not"))
                for name in asked:
                    if name in uses.must and name in uses.must_not:
                        raise file.error(msg("labs.must_and_must_not", name=name), at)
                    if is_kernel and name in OF_RUNTIME:
                        raise file.error(msg("labs.of_runtime", name=name), at)
            case AtomicsSettings() | LaunchesSettings():
                values = msgspec.structs.asdict(spec.settings)
                _check_asks(file, at, any(value is not None for value in values.values()), tuple(values))
                lanes = values.get("max_lanes")
                if lanes is not None and not 1 <= lanes < WARP_LANES:
                    raise file.error(msg("labs.lanes", got=lanes, most=WARP_LANES - 1), (*at, "max_lanes"))
            case OverlapSettings(min_share=0) | OccupancySettings(min_share=0):
                raise file.error(msg("labs.asks_nothing", names="min_share > 0"), (*at, "min_share"))
            case WorkSettings() as work:
                _check_asks(file, at, work.max_per_element is not None or bool(work.growth), _OF_WORK)
                if not work.slack >= 1:
                    raise file.error(msg("labs.slack", got=work.slack), (*at, "slack"))
                exact = (*cases.correct, cases.observe)
                if work.growth and len({formula.evaluate(work.growth, sizes) for sizes in exact}) < 2:
                    raise file.error(msg("labs.grows_nowhere", text=work.growth), (*at, "growth"))


def _check_numbers(file: YamlFile, at: KeyPath, settings: Settings, cases: Cases) -> None:
    values = msgspec.structs.asdict(settings)
    for name in _FORMULAS:
        value = values.get(name)
        if value is None or value == "":
            continue
        text = formula_text(file, (*at, name), value, list(cases.observe))
        for sizes in (*cases.correct, cases.observe):
            try:
                got = formula.evaluate(text, sizes)
            except formula.FormulaError as error:
                raise file.error(msg("labs.no_value", text=text), (*at, name)) from error
            if got < 0 or (name == "growth" and not got):
                raise file.error(msg("labs.negative", got=got), (*at, name))
    for name in _SHARES:
        value = values.get(name)
        if value is not None and not 0 <= value <= 1:
            raise file.error(msg("labs.share", got=value), (*at, name))


def _check_asks(file: YamlFile, at: KeyPath, is_asked: bool, names: Sequence[str]) -> None:
    if not is_asked:
        raise file.error(msg("labs.asks_nothing", names=", ".join(names)), at)
