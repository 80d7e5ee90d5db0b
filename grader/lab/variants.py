"""The `variants` of a lab file, and what its other parts share with them: launches and reference kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from grader.device_limits import MAX_THREADS_PER_BLOCK
from grader.lab.checks import CHECKS
from grader.lab.parts import (
    TextPart,
    case_of,
    check_known,
    check_patterns,
    formula_text,
    plain_text,
    sibling,
)
from grader.lab.records import CheckSpec, LaunchRule, Parameter, ReferenceKernel, SmallerBlock, Variant
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

FULL_MARKS = 100.0


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the file's parts."""


class LaunchPart(_Part, frozen=True):
    """`launch` of the lab or of a variant."""

    block: list[int | str]
    covers: list[str]
    tile: list[int] = []
    shared_bytes: str | int = ""


class ReferencePart(_Part, frozen=True):
    """A kernel of the lab's own: `reference` of a variant, or one of `best`."""

    file: str
    kernel: str
    arguments: list[str]
    block: list[int]
    tile: list[int]
    shared_bytes: str | int = ""
    template: list[str] = []
    multiples: dict[str, int] = {}
    at_most: dict[str, int] = {}
    covers: list[str] = []


class _SmallerBlockPart(_Part, frozen=True):
    sizes: dict[str, int]
    threads: int


class _VariantPart(_Part, frozen=True):
    title: TextPart
    names: list[str]
    reference: ReferencePart
    checks: dict[str, Any]
    shared_memory: bool | None = None
    padded: bool | None = None
    unrolled: bool | None = None
    launch: LaunchPart | None = None
    smaller_block: _SmallerBlockPart | None = None
    more_sizes: list[dict[str, int]] = []


def launch_of(file: YamlFile, keys: KeyPath, part: LaunchPart, sizes: list[str]) -> LaunchRule:
    """The rule that stands at `keys`.  FileError, with its line, where it makes no launch."""
    check_known(file, (*keys, "covers"), part.covers, sizes)
    at = (*keys, "block")
    numbers = [n for n in part.block if isinstance(n, int)]
    x, y, z = [*part.block, 1, 1][:3]
    if len(numbers) == len(part.block):
        x, y, z = _block(file, at, numbers)
    elif not 1 <= len(part.block) <= 3:
        raise file.error(msg("labs.block", got=part.block), at)
    for index, text in enumerate(part.block):
        if isinstance(text, str):
            formula_text(file, (*at, index), text, sizes)
    if part.tile and len(part.tile) != len(part.covers):
        raise file.error(msg("labs.tile", got=part.tile), (*keys, "tile"))
    shared = formula_text(file, (*keys, "shared_bytes"), part.shared_bytes, [*sizes, "threads"])
    return LaunchRule((x, y, z), tuple(part.covers), tuple(part.tile), shared)


def variant_of(file: YamlFile, name: str, data: object, parameters: tuple[Parameter, ...], references: Path) -> Variant:
    """The variant of that name.  FileError, with its line, where anything in it is wrong."""
    keys: KeyPath = ("variants", name)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise file.error(msg("labs.variant_name"), keys)
    part = file.decode(_VariantPart, keys, data)
    sizes = [p.name for p in parameters if p.kind == "size"]
    check_patterns(file, (*keys, "names"), part.names)
    return Variant(
        name=name,
        title=plain_text(part.title),
        names=tuple(part.names),
        shared_memory=part.shared_memory,
        reference=reference_of(file, (*keys, "reference"), part.reference, parameters, references),
        checks=_checks(file, (*keys, "checks"), part.checks),
        padded=part.padded,
        launch=launch_of(file, (*keys, "launch"), part.launch, sizes) if part.launch is not None else None,
        unrolled=part.unrolled,
        smaller_block=_smaller_block(file, (*keys, "smaller_block"), part.smaller_block, sizes),
        more_sizes=tuple(case_of(file, (*keys, "more_sizes", i), row, sizes) for i, row in enumerate(part.more_sizes)),
    )


def _smaller_block(
    file: YamlFile, keys: KeyPath, part: _SmallerBlockPart | None, sizes: list[str]
) -> SmallerBlock | None:
    if part is None:
        return None
    x, _y, _z = _block(file, (*keys, "threads"), [part.threads])
    return SmallerBlock(case_of(file, (*keys, "sizes"), part.sizes, sizes), x)


def reference_of(
    file: YamlFile, keys: KeyPath, part: ReferencePart, parameters: tuple[Parameter, ...], references: Path
) -> ReferenceKernel:
    """The kernel that stands at `keys`.  FileError where its file has it not or its launch is none."""
    sizes = [p.name for p in parameters if p.kind == "size"]
    check_known(file, (*keys, "arguments"), part.arguments, [p.name for p in parameters])
    check_known(file, (*keys, "template"), part.template, sizes)
    check_known(file, (*keys, "multiples"), part.multiples, sizes)
    check_known(file, (*keys, "at_most"), part.at_most, sizes)
    path = sibling(file, references / part.file, (*keys, "file"))
    if not re.search(rf"\b{re.escape(part.kernel)}\s*\(", path.read_text("utf-8")):
        raise file.error(msg("labs.no_kernel", file=part.file, kernel=part.kernel), (*keys, "kernel"))
    if not 1 <= len(part.tile) <= 3 or min(part.tile) < 1:
        raise file.error(msg("labs.tile_numbers"), (*keys, "tile"))
    for name, step in part.multiples.items():
        if step < 1:
            raise file.error(msg("labs.multiple", got=step), (*keys, "multiples", name))
    return ReferenceKernel(
        file=path,
        kernel=part.kernel,
        arguments=tuple(part.arguments),
        block=_block(file, (*keys, "block"), part.block),
        tile=tuple(part.tile),
        shared_bytes=formula_text(file, (*keys, "shared_bytes"), part.shared_bytes, [*sizes, "threads"]),
        template=tuple(part.template),
        multiples=dict(part.multiples),
        at_most=dict(part.at_most),
        covers=tuple(part.covers),
    )


def _checks(file: YamlFile, keys: KeyPath, data: Mapping[str, object]) -> tuple[CheckSpec, ...]:
    """Checks as `name: points` or `name: {points: …, setting: …}`, in the order in which the grader runs them."""
    specs: dict[str, CheckSpec] = {
        name: CheckSpec(name, 0.0, kind.settings()) for name, kind in CHECKS.items() if kind.implied
    }
    for name, value in data.items():
        at = (*keys, name)
        if name not in CHECKS:
            raise file.error(msg("labs.unknown_check", allowed=choose(name, CHECKS)), at)
        settings = dict(value) if isinstance(value, dict) else {"points": value}
        points = settings.pop("points", None)
        if isinstance(points, bool) or not isinstance(points, (int, float)) or not 0 <= points <= FULL_MARKS:
            raise file.error(
                msg("labs.points", total_points=FULL_MARKS, points=repr(points)),
                at,
            )
        specs[name] = CheckSpec(name, float(points), file.decode(CHECKS[name].settings, at, settings))
    return tuple(specs[name] for name in CHECKS if name in specs)


def check_points(file: YamlFile, variants: tuple[Variant, ...]) -> None:
    """Refuse a lab without variants, and one whose points do not add up to full marks."""
    if not variants:
        raise file.error(msg("labs.no_variant"), ("variants",))
    total = sum(spec.points for variant in variants for spec in variant.checks)
    if abs(total - FULL_MARKS) > 1e-6:
        by_variant = ", ".join(f"{v.name} {sum(s.points for s in v.checks):g}" for v in variants)
        raise file.error(
            msg("labs.points_total", total=total, total_points=FULL_MARKS, by_variant=by_variant),
            ("variants",),
        )


def _block(file: YamlFile, keys: KeyPath, values: list[int]) -> tuple[int, int, int]:
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise file.error(msg("labs.block_numbers", got=values), keys)
    x, y, z = [*values, 1, 1][:3]
    if x * y * z > MAX_THREADS_PER_BLOCK:
        raise file.error(msg("labs.block_threads", got=x * y * z), keys)
    return x, y, z
