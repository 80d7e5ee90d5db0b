"""The sweeps of a lab file: `sweeps:` → `Sweep` records, every name checked, every error with its line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grader.lab.parts import Part, TextOrTexts, check_known, check_patterns, formula_text, plain_text
from grader.lab.records import Cases, Sizes, Sweep, SweepParameter
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

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

Mode = Literal["pageable", "pinned", "write_combined", "mapped"]


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
    host_memory: list[Mode] = []


def sweeps_of(
    file: YamlFile,
    parts: Mapping[str, object],
    variants: list[str],
    sizes: list[str],
    cases: Mapping[str, Cases],
    is_timed: bool,
    interface: str,
) -> tuple[Sweep, ...]:
    """The sweeps in `parts`, which stand under the file's key `sweeps`.

    variants, sizes: the lab's names of them.
    cases: the lab's, whose observed sizes hold where a sweep names none.
    is_timed: whether the lab says what is timed, which rates follow from.
    interface: the lab's; of what makes its launches itself only sizes can be swept.
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
    _cases: Mapping[str, Cases]
    _is_timed: bool
    _interface: str

    @property
    def _at(self) -> KeyPath:
        return ("sweeps", self._name)

    def read(self, data: object) -> Sweep:
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
        return Sweep(
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

    def _parameter(self, key: str, part: _SweepParameter, names: list[str]) -> SweepParameter:
        at = (*self._at, key)
        if not part.name.isidentifier() or (part.name in self._sizes and part.name not in part.sizes):
            raise self._file.error(msg("labs.swept_name", got=part.name), (*at, "name"))
        if not (part.sizes or part.block or part.constants or part.unroll):
            raise self._file.error(msg("labs.changes_nothing"), at)
        check_known(self._file, (*at, "sizes"), part.sizes, self._sizes)
        check_patterns(self._file, (*at, "constants"), part.constants)
        if len(part.block) > 3:
            raise self._file.error(msg("labs.block_formulas", got=part.block), (*at, "block"))
        return SweepParameter(
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

    def _base(self, backend: str, part: _Sweep) -> Sizes:
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
