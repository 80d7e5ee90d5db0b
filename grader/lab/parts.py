"""The parts of a lab file: texts, formulas, names, cases, variants, sweeps; each refused with its place."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.lab import formula, records
from grader.lab.checks import CHECKS, OF_FUNCTIONS, OF_INTERFACES, OF_KERNELS, OF_PROGRAMS
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

LANGUAGES = ("en", "ru")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the file's parts."""


class TextPart(Part, frozen=True):
    """A text in one language or several; those that read another one are shown it in one of these."""

    en: str = ""
    ru: str = ""

    def __post_init__(self) -> None:
        if not (self.en or self.ru):
            raise ValueError(f"{{{', '.join(f'{language}: …' for language in LANGUAGES)}}}")


TextOrTexts = str | TextPart
"""A text that is the same in all languages, or several."""


def plain_text(part: str | int | TextPart) -> dict[str, str]:
    if not isinstance(part, TextPart):
        return dict.fromkeys(LANGUAGES, str(part))
    return {language: text for language in LANGUAGES if (text := getattr(part, language))}


def sibling(file: YamlFile, path: Path, keys: KeyPath = ()) -> Path:
    """`path`, if it is a file."""
    if not path.is_file():
        raise file.error(msg("labs.no_file", path=str(path)), keys)
    return path


def task_text(file: YamlFile, folder: Path) -> records.Text:
    """The task's text, in the languages in which expected_paths is one."""
    expected_paths = {language: folder / f"task.{language}.md" for language in LANGUAGES}
    paths = {language: path for language, path in expected_paths.items() if path.is_file()}
    return {language: path.read_text("utf-8") for language, path in paths.items()} or {
        LANGUAGES[0]: sibling(file, expected_paths[LANGUAGES[0]]).read_text("utf-8")
    }


BACKENDS = ("emulator", "gpu")


def formula_text(file: YamlFile, keys: KeyPath, text: str | int, names: list[str]) -> str:
    """`text`, if it is a formula of these names; a number is one too."""
    if text == "":
        return ""
    try:
        used = formula.names_of(str(text))
    except formula.FormulaError as error:
        allowed = ", ".join([*sorted(names), "+ - * / // %", *formula.FUNCTIONS])
        fault = msg("labs.formula", text=text, names=allowed)
        raise file.error(fault, keys) from error
    for name in sorted(used - set(names)):
        raise file.error(msg("labs.unknown_name", name=name, allowed=choose(name, names)), keys)
    return str(text)


def case_of(file: YamlFile, at: KeyPath, values: Mapping[str, int], sizes: list[str]) -> records.Sizes:
    """One value for each of the lab's sizes."""
    check_known(file, at, values, sizes)
    for name in sizes:
        if name not in values:
            raise file.error(msg("labs.missing_size", name=name), at)
        if values[name] < 1:
            raise file.error(msg("labs.size", got=values[name]), (*at, name))
    return dict(values)


def check_known(file: YamlFile, keys: KeyPath, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse the first of `names` that is not `allowed`."""
    allowed = list(allowed)
    for i, name in enumerate(names):
        if name not in allowed:
            inner = (*keys, name) if (*keys, name) in file.lines else (*keys, i)
            raise file.error(msg("labs.unknown_name_here", name=name, allowed=choose(name, allowed)), inner)


def check_patterns(file: YamlFile, keys: KeyPath, patterns: list[str]) -> None:
    """Refuse what is no regular expression."""
    for i, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            raise file.error(msg("labs.pattern", error=str(error), pattern=pattern), (*keys, i)) from error


# The `variants` of a lab file, and what its other parts share with them: launches and reference kernels.

FULL_MARKS = 100.0


class LaunchPart(Part, frozen=True):
    """`launch` of the lab or of a variant."""

    block: list[int | str]
    covers: list[str]
    tile: list[int] = []
    shared_bytes: str | int = ""


class ReferencePart(Part, frozen=True):
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


class _SmallerBlockPart(Part, frozen=True):
    sizes: dict[str, int]
    threads: int


class _VariantPart(Part, frozen=True):
    title: TextOrTexts
    checks: dict[str, Any]
    reference: ReferencePart | str
    tests: dict[str, Any] = {}
    names: list[str] = []
    shared_memory: bool | None = None
    padded: bool | None = None
    unrolled: bool | None = None
    launch: LaunchPart | None = None
    smaller_block: _SmallerBlockPart | None = None
    more_sizes: list[dict[str, int]] = []


def launch_of(file: YamlFile, keys: KeyPath, part: LaunchPart, sizes: list[str]) -> records.LaunchRule:
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
    return records.LaunchRule((x, y, z), tuple(part.covers), tuple(part.tile), shared)


def variant_of(
    file: YamlFile,
    name: str,
    data: object,
    parameters: tuple[records.Parameter, ...],
    references: Path,
    function: records.FunctionRule | None = None,
    program: records.ProgramRule | None = None,
) -> records.Variant:
    """The variant of that name.  FileError, with its line, where anything in it is wrong.

    function, program: what the lab asks for in place of kernels; a variant's reference is a file with that, then.
    """
    keys: KeyPath = ("variants", name)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise file.error(msg("labs.variant_name"), keys)
    part = file.decode(_VariantPart, keys, data)
    sizes = [p.name for p in parameters if p.is_size]
    check_patterns(file, (*keys, "names"), part.names)
    entry, checks_of = "", OF_KERNELS
    if function is not None:
        entry, checks_of = function.signature.name, OF_FUNCTIONS
    elif program is not None:
        entry, checks_of = program.signature.name if program.signature is not None else "main", OF_PROGRAMS
    reference = _reference(part.reference, entry)
    if reference is None:
        allowed = "file.cu" if entry else "{file: …, kernel: …, arguments: […], block: […], tile: […]}"
        raise file.error(msg("labs.reference", got=str(part.reference), allowed=allowed), (*keys, "reference"))
    if not entry and "names" not in (data if isinstance(data, dict) else {}):
        raise file.error(msg("labs.missing_key", backend="names"), keys)
    return records.Variant(
        name=name,
        title=plain_text(part.title),
        names=tuple(part.names),
        shared_memory=part.shared_memory,
        reference=reference_of(file, (*keys, "reference"), reference, parameters, references),
        checks=_checks(file, (*keys, "checks"), part.checks, checks_of),
        padded=part.padded,
        launch=launch_of(file, (*keys, "launch"), part.launch, sizes) if part.launch is not None else None,
        unrolled=part.unrolled,
        smaller_block=_smaller_block(file, (*keys, "smaller_block"), part.smaller_block, sizes),
        more_sizes=tuple(case_of(file, (*keys, "more_sizes", i), row, sizes) for i, row in enumerate(part.more_sizes)),
    )


def _reference(part: ReferencePart | str, entry: str) -> ReferencePart | None:
    """What stands there for a kernel, or made of a file that has the function `entry`; None where it is of the other
    kind."""
    if isinstance(part, str):
        return ReferencePart(part, entry, [], [1], [1]) if entry else None
    return None if entry else part


def _smaller_block(
    file: YamlFile, keys: KeyPath, part: _SmallerBlockPart | None, sizes: list[str]
) -> records.SmallerBlock | None:
    if part is None:
        return None
    x, _y, _z = _block(file, (*keys, "threads"), [part.threads])
    return records.SmallerBlock(case_of(file, (*keys, "sizes"), part.sizes, sizes), x)


def reference_of(
    file: YamlFile, keys: KeyPath, part: ReferencePart, parameters: tuple[records.Parameter, ...], references: Path
) -> records.ReferenceKernel:
    """The kernel that stands at `keys`.  FileError where its file has it not or its launch is none."""
    sizes = [p.name for p in parameters if p.is_size]
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
    return records.ReferenceKernel(
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


def _checks(
    file: YamlFile, keys: KeyPath, data: Mapping[str, object], allowed_checks: Sequence[str]
) -> tuple[records.CheckSpec, ...]:
    """Checks as `name: points` or `name: {points: …, setting: …}`, in the order in which the grader runs them.

    allowed_checks: those that there are for what the lab asks for.
    """
    specs: dict[str, records.CheckSpec] = {
        name: records.CheckSpec(name, 0.0, kind.settings()) for name, kind in CHECKS.items() if kind.implied
    }
    for name, value in data.items():
        at = (*keys, name)
        if name not in allowed_checks:
            others = ", ".join(interface for interface, names in OF_INTERFACES.items() if name in names)
            allowed = choose(name, allowed_checks)
            fault = msg("labs.check_of_others", interfaces=others, allowed=allowed) if others else None
            raise file.error(fault or msg("labs.unknown_check", allowed=allowed), at)
        settings = dict(value) if isinstance(value, dict) else {"points": value}
        keys_of = ("points", *CHECKS[name].settings.__struct_fields__)
        for key in settings:
            if key not in keys_of:
                raise file.error(msg("yaml.unknown_key", allowed=choose(str(key), keys_of)), (*at, str(key)))
        points = settings.pop("points", None)
        if points is None:
            raise file.error(msg("yaml.missing_key", name="points", allowed=choose("points", keys_of)), at)
        if isinstance(points, bool) or not isinstance(points, (int, float)) or not 0 <= points <= FULL_MARKS:
            raise file.error(msg("labs.points", total_points=FULL_MARKS, points=repr(points)), at)
        specs[name] = records.CheckSpec(name, float(points), file.decode(CHECKS[name].settings, at, settings))
    return tuple(specs[name] for name in CHECKS if name in specs)


def check_points(file: YamlFile, variants: tuple[records.Variant, ...]) -> None:
    """Refuse a lab without variants, and one whose points do not add up to full marks."""
    if not variants:
        raise file.error(msg("labs.no_variant"), ("variants",))
    total = sum(spec.points for variant in variants for spec in variant.checks)
    if abs(total - FULL_MARKS) > 1e-6:
        by_variant = ", ".join(f"{v.name} {sum(s.points for s in v.checks):g}" for v in variants)
        raise file.error(
            msg("labs.points_total", total=total, total_points=FULL_MARKS, by_variant=by_variant), ("variants",)
        )


def _block(file: YamlFile, keys: KeyPath, values: list[int]) -> tuple[int, int, int]:
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise file.error(msg("labs.block_numbers", got=values), keys)
    x, y, z = [*values, 1, 1][:3]
    if x * y * z > MAX_THREADS_PER_BLOCK:
        raise file.error(msg("labs.block_threads", got=x * y * z), keys)
    return x, y, z


# `sweeps:` → `Sweep` records.

METRICS: Mapping[str, tuple[str, ...]] = {
    "emulator": ("sectors", "wavefronts", "instructions", "bus_bytes"),
    "gpu": ("time", "gflop_per_s", "gb_per_s", "total_time"),
}
"""What can be shown of a point, by backend; counted work is for each element of the output."""

RATES = ("gflop_per_s", "gb_per_s")
OF_KERNELS_ALONE = ("block", "constants", "unroll", "host_memory")
"""Keys of a sweep that change a kernel or its launch."""
MOST_VALUES = 16
LARGEST_VALUE = 1 << 24


class _SweepParameter(Part, frozen=True):
    name: str
    label: TextOrTexts
    values: list[int] | dict[str, list[int]]
    sizes: dict[str, str | int] = {}
    block: list[str | int] = []
    constants: list[str] = []
    unroll: bool = False


class _Sweep(Part, frozen=True):
    title: TextOrTexts
    x: _SweepParameter
    variants: list[str] = []
    lines: _SweepParameter | None = None
    sizes: dict[str, dict[str, int]] = {}
    metrics: dict[str, list[str]] = {}
    host_memory: list[Literal["pageable", "pinned", "write_combined", "mapped"]] = []


def sweeps_of(
    file: YamlFile,
    parts: Mapping[str, object],
    variants: list[str],
    sizes: list[str],
    cases: Mapping[str, records.Cases],
    is_timed: bool,
    interface: str,
) -> tuple[records.Sweep, ...]:
    """The sweeps in `parts`, which stand under the file's key `sweeps`.

    variants, sizes, cases, interface: the lab's; a sweep that names no sizes has those that are observed, and of what
      makes its launches itself only sizes can be swept.
    is_timed: whether the lab says what is timed, which rates follow from.
    Raises FileError: a key, a name, a formula or a value is wrong; says where.
    """
    return tuple(
        _Reader(file, name, variants, sizes, cases, is_timed, interface).read(part) for name, part in parts.items()
    )


@dataclass(frozen=True)
class _Reader:
    _file: YamlFile
    _name: str
    _variants: list[str]
    _sizes: list[str]
    _cases: Mapping[str, records.Cases]
    _is_timed: bool
    _interface: str

    @property
    def _at(self) -> KeyPath:
        return ("sweeps", self._name)

    def read(self, data: object) -> records.Sweep:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self._name):
            raise self._file.error(msg("labs.sweep_name"), self._at)
        part = self._file.decode(_Sweep, self._at, data)
        check_known(self._file, (*self._at, "variants"), part.variants, self._variants)
        self._check_interface(data)
        if part.lines is not None and part.host_memory:
            raise self._file.error(msg("labs.lines_and_memory"), (*self._at, "host_memory"))
        names = [part.x.name, *([part.lines.name] if part.lines else [])]
        if len(set(names)) < len(names):
            raise self._file.error(msg("labs.x_twice", name=part.x.name), (*self._at, "lines", "name"))
        return records.Sweep(
            id=self._name,
            title=plain_text(part.title),
            variants=tuple(v for v in self._variants if v in part.variants or not part.variants),
            x=self._parameter("x", part.x, names),
            lines=self._parameter("lines", part.lines, names) if part.lines else None,
            base={backend: self._base(backend, part) for backend in METRICS},
            metrics={backend: self._metrics(backend, part) for backend in METRICS},
            host_memory=tuple(dict.fromkeys(part.host_memory)),
        )

    def _check_interface(self, data: object) -> None:
        """Refuse what changes a kernel or its launch, where the lab does not know these."""
        if self._interface == "kernel" or not isinstance(data, dict):
            return
        keys: list[KeyPath] = [(key,) for key in OF_KERNELS_ALONE if key in data]
        for part in ("x", "lines"):
            keys += [(part, key) for key in OF_KERNELS_ALONE if key in (data.get(part) or {})]
        if keys:
            raise self._file.error(msg("labs.only_interface", interface="kernel"), (*self._at, *keys[0]))

    def _parameter(self, key: str, part: _SweepParameter, names: list[str]) -> records.SweepParameter:
        at = (*self._at, key)
        if not part.name.isidentifier() or (part.name in self._sizes and part.name not in part.sizes):
            raise self._file.error(msg("labs.swept_name", got=part.name), (*at, "name"))
        if not (part.sizes or part.block or part.constants or part.unroll):
            raise self._file.error(msg("labs.changes_nothing"), at)
        check_known(self._file, (*at, "sizes"), part.sizes, self._sizes)
        check_patterns(self._file, (*at, "constants"), part.constants)
        if len(part.block) > 3:
            raise self._file.error(msg("labs.block_formulas", got=part.block), (*at, "block"))
        return records.SweepParameter(
            name=part.name,
            label=plain_text(part.label),
            values={backend: self._values(at, backend, part.values) for backend in METRICS},
            sizes={
                name: formula_text(self._file, (*at, "sizes", name), text, names) for name, text in part.sizes.items()
            },
            block=tuple(
                formula_text(self._file, (*at, "block", i), text, [*names, *self._sizes])
                for i, text in enumerate(part.block)
            ),
            constants=tuple(part.constants),
            unroll=part.unroll,
        )

    def _values(self, at: KeyPath, backend: str, given: list[int] | dict[str, list[int]]) -> tuple[int, ...]:
        place: KeyPath = (*at, "values")
        if isinstance(given, dict):
            check_known(self._file, place, given, METRICS)
            if backend not in given:
                raise self._file.error(msg("labs.missing_key", backend=backend), place)
            place, values = (*place, backend), given[backend]
        else:
            values = given
        if not 1 <= len(values) <= MOST_VALUES:
            raise self._file.error(msg("labs.values", most=MOST_VALUES, got=len(values)), place)
        if any(b <= a for a, b in itertools.pairwise(values)):
            raise self._file.error(msg("labs.ascending"), place)
        if values[0] < 1 or values[-1] > LARGEST_VALUE:
            raise self._file.error(msg("labs.values_range", most=LARGEST_VALUE), place)
        return tuple(values)

    def _base(self, backend: str, part: _Sweep) -> records.Sizes:
        at = (*self._at, "sizes")
        check_known(self._file, at, part.sizes, METRICS)
        given = part.sizes.get(backend, {})
        check_known(self._file, (*at, backend), given, self._sizes)
        for name, value in given.items():
            if value < 1:
                raise self._file.error(msg("labs.size", got=value), (*at, backend, name))
        # A lab of functions need not say what a GPU is asked for.
        return {**self._cases.get(backend, self._cases["emulator"]).observe, **given}

    def _metrics(self, backend: str, part: _Sweep) -> tuple[str, ...]:
        at = (*self._at, "metrics")
        check_known(self._file, at, part.metrics, METRICS)
        given = part.metrics.get(backend)
        if given is None:
            if part.host_memory:
                return ("bus_bytes",) if backend == "emulator" else ("total_time",)
            return ("sectors", "instructions") if backend == "emulator" else ("time",)
        if not given:
            raise self._file.error(msg("labs.no_metric"), (*at, backend))
        for index, name in enumerate(given):
            place = (*at, backend, index)
            if name not in METRICS[backend]:
                raise self._file.error(
                    msg("labs.unknown_metric", name=name, allowed=choose(name, METRICS[backend])), place
                )
            if name in RATES and not self._is_timed:
                raise self._file.error(msg("labs.needs_timing", name=name), place)
            if (name in {"bus_bytes", "total_time"}) != bool(part.host_memory):
                if part.host_memory:
                    raise self._file.error(msg("labs.not_for_memory", name=name), place)
                raise self._file.error(msg("labs.only_for_memory", name=name), place)
        return tuple(dict.fromkeys(given))
