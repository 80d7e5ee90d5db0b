"""`assignments/<lab>/lab.yaml` → `Lab`: every key typed, every name checked, every error with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.checks import CHECKS, IMPLIED
from grader.i18n import _
from grader.lab.records import (
    Cases,
    CheckSpec,
    Lab,
    LaunchRule,
    Parameter,
    ReferenceKernel,
    Sizes,
    TimingRule,
    Tolerance,
    Variant,
)
from grader.lab_files.parts import (
    LANGUAGES,
    TextPart,
    case_of,
    check_known,
    check_patterns,
    formula_text,
    plain_text,
    sibling,
)
from grader.lab_files.sweeps import sweeps_of
from grader.yaml_file import KeyPath, YamlFile, choose, read

FULL_MARKS = 100.0
DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
BACKENDS = ("emulator", "gpu")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the file's parts."""


class _Parameter(_Part, frozen=True):
    kind: Literal["input", "output", "size"]
    names: list[str] = []
    dtype: str = ""
    shape: list[str | int] = []
    from_grid: bool | None = None
    usual: int | None = None


class _Launch(_Part, frozen=True):
    block: list[int | str]
    covers: list[str]
    tile: list[int] = []
    shared_bytes: str | int = ""


class _Reference(_Part, frozen=True):
    file: str
    kernel: str
    arguments: list[str]
    block: list[int]
    tile: list[int]
    shared_bytes: str | int = ""
    template: list[str] = []
    multiples: dict[str, int] = {}
    covers: list[str] = []


class _Variant(_Part, frozen=True):
    title: TextPart
    names: list[str]
    reference: _Reference
    checks: dict[str, Any]
    shared_memory: bool | None = None
    padded: bool | None = None
    unrolled: bool | None = None
    launch: _Launch | None = None


class _Sizes(_Part, frozen=True):
    correct: list[dict[str, int]]
    observe: dict[str, int]
    probe: dict[str, int]
    ragged: list[dict[str, int]] = []
    large: list[dict[str, int]] = []


class _Tolerance(_Part, frozen=True):
    absolute: float | str = 0.0
    relative: float = 0.0


class _Timing(_Part, frozen=True):
    sizes: list[dict[str, int]]
    l2: Literal["cold", "warm"] = "cold"
    flops: str = ""
    traffic: str = ""
    host_memory: list[Literal["pageable", "pinned", "write_combined", "mapped"]] = []


class _Lab(_Part, frozen=True):
    title: TextPart
    aim: TextPart
    reference: str
    parameters: dict[str, Any]
    launch: _Launch
    sizes: dict[str, Any]
    variants: dict[str, Any]
    equal_sizes: list[str] = []
    tolerance: _Tolerance = _Tolerance()
    seed: int = 1
    best: list[Any] = []
    selftest: str = ""
    timing: _Timing | None = None
    sweeps: dict[str, Any] = {}


def load(folder: Path) -> Lab:
    """The lab in `folder` (its id is the folder's name).

    Raises
    ------
    LabError : anything wrong in lab.yaml or a file that it names; says file, line, key, what was got and allowed.
    """
    file = read(folder / "lab.yaml")
    top = file.decode(_Lab)
    parameters = tuple(_parameter(file, name, data) for name, data in top.parameters.items())
    sizes = [p.name for p in parameters if p.kind == "size"]
    for parameter in parameters:
        check_known(
            file, ("parameters", parameter.name, "shape"), (s for s in parameter.shape if isinstance(s, str)), sizes
        )
    for kind in ("input", "output"):
        if not any(p.kind == kind for p in parameters):
            raise file.error(_("no parameter of kind {kind}").format(kind=kind), ("parameters",))
    launch = _launch(file, ("launch",), top.launch, sizes)
    check_known(file, ("equal_sizes",), top.equal_sizes, sizes)
    references = (folder / top.reference).resolve()
    variants = tuple(_variant(file, name, data, parameters, references) for name, data in top.variants.items())
    _check_points(file, variants)
    check_known(file, ("sizes",), top.sizes, BACKENDS)
    for backend in BACKENDS:
        if backend not in top.sizes:
            raise file.error(_("missing key `{backend}`").format(backend=backend), ("sizes",))
    cases = {backend: _cases(file, backend, data, sizes) for backend, data in top.sizes.items()}
    return Lab(
        id=folder.name,
        path=file.path,
        title=plain_text(top.title),
        aim=plain_text(top.aim),
        task={language: sibling(file, folder / f"task.{language}.md").read_text("utf-8") for language in LANGUAGES},
        parameters=parameters,
        launch=launch,
        variants=variants,
        cases=cases,
        tolerance=_tolerance(file, top.tolerance, sizes),
        oracle=sibling(file, references / "oracle.py", ("reference",)),
        seed=top.seed,
        equal_sizes=tuple(top.equal_sizes),
        best=tuple(
            _reference(file, ("best", i), file.decode(_Reference, ("best", i), data), parameters, references)
            for i, data in enumerate(top.best)
        ),
        # Looked into by the self-test alone: a lab is whole without its kernels.
        selftest=(folder / top.selftest).resolve() if top.selftest else None,
        timing=_timing(file, top.timing, sizes) if top.timing else None,
        sweeps=sweeps_of(file, top.sweeps, [v.name for v in variants], sizes, cases, bool(top.timing)),
    )


def _parameter(file: YamlFile, name: str, data: object) -> Parameter:
    keys: KeyPath = ("parameters", name)
    part = file.decode(_Parameter, keys, data)
    is_size = part.kind == "size"
    dtype = part.dtype or ("int32" if is_size else "float32")
    if dtype not in DTYPES:
        raise file.error(
            _("unknown type {dtype!r}; {allowed}").format(dtype=dtype, allowed=choose(dtype, DTYPES)), (*keys, "dtype")
        )
    if is_size and part.shape:
        raise file.error(_("a size has no shape"), (*keys, "shape"))
    if not is_size and not part.shape:
        raise file.error(_("missing key `shape`: an array needs the sizes of its axes, slowest first"), keys)
    for i, extent in enumerate(part.shape):
        if isinstance(extent, int) and extent < 1:
            raise file.error(_("an extent must be at least 1 (got {got})").format(got=extent), (*keys, "shape", i))
    if not is_size:
        for key in ("from_grid", "usual"):
            if getattr(part, key) is not None:
                raise file.error(_("only a size has this key"), (*keys, key))
    check_patterns(file, (*keys, "names"), part.names)
    from_grid = True if part.from_grid is None else part.from_grid
    return Parameter(name, part.kind, dtype, tuple(part.shape), tuple(part.names), from_grid, part.usual)


def _launch(file: YamlFile, keys: KeyPath, part: _Launch, sizes: list[str]) -> LaunchRule:
    check_known(file, (*keys, "covers"), part.covers, sizes)
    at = (*keys, "block")
    numbers = [n for n in part.block if isinstance(n, int)]
    x, y, z = [*part.block, 1, 1][:3]
    if len(numbers) == len(part.block):
        x, y, z = _block(file, at, numbers)
    elif not 1 <= len(part.block) <= 3:
        raise file.error(
            _("a block is one to three numbers or formulas, x first (got {got})").format(got=part.block), at
        )
    for index, text in enumerate(part.block):
        if isinstance(text, str):
            formula_text(file, (*at, index), text, sizes)
    if part.tile and len(part.tile) != len(part.covers):
        raise file.error(
            _("a tile has a number for each of `covers` (got {got})").format(got=part.tile), (*keys, "tile")
        )
    shared = formula_text(file, (*keys, "shared_bytes"), part.shared_bytes, [*sizes, "threads"])
    return LaunchRule((x, y, z), tuple(part.covers), tuple(part.tile), shared)


def _variant(file: YamlFile, name: str, data: object, parameters: tuple[Parameter, ...], references: Path) -> Variant:
    keys: KeyPath = ("variants", name)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise file.error(_("a variant's name is lower-case letters, digits and _"), keys)
    part = file.decode(_Variant, keys, data)
    sizes = [p.name for p in parameters if p.kind == "size"]
    check_patterns(file, (*keys, "names"), part.names)
    return Variant(
        name=name,
        title=plain_text(part.title),
        names=tuple(part.names),
        shared_memory=part.shared_memory,
        reference=_reference(file, (*keys, "reference"), part.reference, parameters, references),
        checks=_checks(file, (*keys, "checks"), part.checks),
        padded=part.padded,
        launch=_launch(file, (*keys, "launch"), part.launch, sizes) if part.launch is not None else None,
        unrolled=part.unrolled,
    )


def _reference(
    file: YamlFile, keys: KeyPath, part: _Reference, parameters: tuple[Parameter, ...], references: Path
) -> ReferenceKernel:
    sizes = [p.name for p in parameters if p.kind == "size"]
    check_known(file, (*keys, "arguments"), part.arguments, [p.name for p in parameters])
    check_known(file, (*keys, "template"), part.template, sizes)
    check_known(file, (*keys, "multiples"), part.multiples, sizes)
    path = sibling(file, references / part.file, (*keys, "file"))
    if not re.search(rf"\b{re.escape(part.kernel)}\s*\(", path.read_text("utf-8")):
        raise file.error(
            _("{file} has no kernel {kernel!r}").format(file=part.file, kernel=part.kernel), (*keys, "kernel")
        )
    if not 1 <= len(part.tile) <= 3 or min(part.tile) < 1:
        raise file.error(_("a tile is one to three positive numbers, x first"), (*keys, "tile"))
    for name, step in part.multiples.items():
        if step < 1:
            raise file.error(_("a multiple is at least 1 (got {got})").format(got=step), (*keys, "multiples", name))
    return ReferenceKernel(
        file=path,
        kernel=part.kernel,
        arguments=tuple(part.arguments),
        block=_block(file, (*keys, "block"), part.block),
        tile=tuple(part.tile),
        shared_bytes=formula_text(file, (*keys, "shared_bytes"), part.shared_bytes, [*sizes, "threads"]),
        template=tuple(part.template),
        multiples=dict(part.multiples),
        covers=tuple(part.covers),
    )


def _checks(file: YamlFile, keys: KeyPath, data: Mapping[str, object]) -> tuple[CheckSpec, ...]:
    """Checks as `name: points` or `name: {points: …, setting: …}`, in the order in which the grader runs them."""
    specs: dict[str, CheckSpec] = {name: CheckSpec(name, 0.0, {}) for name in IMPLIED}
    for name, value in data.items():
        at = (*keys, name)
        if name not in CHECKS:
            raise file.error(_("unknown check; {allowed}").format(allowed=choose(name, CHECKS)), at)
        settings = dict(value) if isinstance(value, dict) else {"points": value}
        points = settings.pop("points", None)
        if isinstance(points, bool) or not isinstance(points, (int, float)) or not 0 <= points <= FULL_MARKS:
            raise file.error(
                _("points must be a number from 0 to {total_points:g} (got {points!r})").format(
                    total_points=FULL_MARKS, points=points
                ),
                at,
            )
        # Kept as plain data: the check makes its own settings of them when it runs.
        file.decode(CHECKS[name].settings, at, settings)
        specs[name] = CheckSpec(name, float(points), settings)
    return tuple(specs[name] for name in CHECKS if name in specs)


def _check_points(file: YamlFile, variants: tuple[Variant, ...]) -> None:
    if not variants:
        raise file.error(_("a lab needs at least one variant"), ("variants",))
    total = sum(spec.points for variant in variants for spec in variant.checks)
    if abs(total - FULL_MARKS) > 1e-6:
        by_variant = ", ".join(f"{v.name} {sum(s.points for s in v.checks):g}" for v in variants)
        raise file.error(
            _("the points of all checks add up to {total:g}, not {total_points:g} ({by_variant})").format(
                total=total, total_points=FULL_MARKS, by_variant=by_variant
            ),
            ("variants",),
        )


def _cases(file: YamlFile, backend: str, data: object, sizes: list[str]) -> Cases:
    keys: KeyPath = ("sizes", backend)
    part = file.decode(_Sizes, keys, data)

    def cases(key: str, rows: list[dict[str, int]]) -> tuple[Sizes, ...]:
        return tuple(case_of(file, (*keys, key, i), row, sizes) for i, row in enumerate(rows))

    if part.large and backend == "emulator":
        raise file.error(_("only a GPU runs large sizes"), (*keys, "large"))
    return Cases(
        correct=cases("correct", part.correct),
        ragged=cases("ragged", part.ragged),
        observe=case_of(file, (*keys, "observe"), part.observe, sizes),
        probe=case_of(file, (*keys, "probe"), part.probe, sizes),
        large=cases("large", part.large),
    )


def _timing(file: YamlFile, part: _Timing, sizes: list[str]) -> TimingRule:
    if not part.sizes:
        raise file.error(_("at least one size must be timed"), ("timing", "sizes"))
    return TimingRule(
        sizes=tuple(case_of(file, ("timing", "sizes", i), row, sizes) for i, row in enumerate(part.sizes)),
        l2=part.l2,
        flops=formula_text(file, ("timing", "flops"), part.flops, sizes),
        traffic=formula_text(file, ("timing", "traffic"), part.traffic, sizes),
        host_memory=tuple(part.host_memory),
    )


def _tolerance(file: YamlFile, part: _Tolerance, sizes: list[str]) -> Tolerance:
    growth = ""
    if isinstance(part.absolute, str):
        growth = formula_text(file, ("tolerance", "absolute"), part.absolute, [*sizes, "u"])
    absolute = part.absolute if isinstance(part.absolute, float | int) else 0.0
    for name, value in (("absolute", absolute), ("relative", part.relative)):
        if not 0 <= value < 1e6:
            raise file.error(_("a tolerance must not be negative (got {got!r})").format(got=value), ("tolerance", name))
    return Tolerance(absolute, part.relative, growth)


def _block(file: YamlFile, keys: KeyPath, values: list[int]) -> tuple[int, int, int]:
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise file.error(_("a block is one to three positive numbers, x first (got {got})").format(got=values), keys)
    x, y, z = [*values, 1, 1][:3]
    if x * y * z > 1024:
        raise file.error(_("a block has at most 1024 threads (got {got})").format(got=x * y * z), keys)
    return x, y, z
