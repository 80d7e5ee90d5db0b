"""`assignments/<lab>/lab.yaml` → `Lab`: every key typed, every name and setting checked, every error with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.devices import WARP_LANES, gpus
from grader.lab import checks, formula, interfaces, parts, records
from grader.lab.formula import FormulaError
from grader.lab.parameters import KINDS
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose, read

_OF_WORK = ("max_per_element", "growth")
_OF_CALLS = ("max_launches", "max_allocated", "max_copied", "max_waits")
_FORMULAS = (*_OF_WORK, "unless_below", "max_global", "max_shared", *_OF_CALLS)
"""Settings that are numbers or formulas of the sizes."""
_SHARES = ("max_idle", "min_share")


def check_settings(
    file: YamlFile, keys: KeyPath, specs: Sequence[records.CheckSpec], cases: records.Cases, *, is_kernel: bool
) -> None:
    """Refuse settings that mean nothing, or that nothing could fail by.

    keys: where the variant's checks stand.  cases: the sizes at which they are looked at.

    Raises FileError: with the line of what is wrong, what was got and what is allowed.
    """
    for spec in specs:
        at = (*keys, spec.check)
        _check_numbers(file, at, spec.settings, cases)
        match spec.settings:
            case checks.UsesSettings() as uses:
                asked = (*uses.must, *uses.must_not)
                _check_asks(file, at, any(asked), ("must", "must_not"))
                for name in asked:
                    if name in uses.must and name in uses.must_not:
                        raise file.error(msg("labs.must_and_must_not", name=name), at)
                    if is_kernel and name in checks.OF_RUNTIME:
                        raise file.error(msg("labs.of_runtime", name=name), at)
            case checks.AtomicsSettings() | checks.LaunchesSettings():
                values = msgspec.structs.asdict(spec.settings)
                _check_asks(file, at, any(value is not None for value in values.values()), tuple(values))
                lanes = values.get("max_lanes")
                if lanes is not None and not 1 <= lanes < WARP_LANES:
                    raise file.error(msg("labs.lanes", got=lanes, most=WARP_LANES - 1), (*at, "max_lanes"))
            case checks.OverlapSettings(min_share=0) | checks.OccupancySettings(min_share=0):
                raise file.error(msg("labs.asks_nothing", names="min_share > 0"), (*at, "min_share"))
            case checks.WorkSettings() as work:
                _check_asks(file, at, work.max_per_element is not None or bool(work.growth), _OF_WORK)
                if not work.slack >= 1:
                    raise file.error(msg("labs.slack", got=work.slack), (*at, "slack"))
                exact = (*cases.correct, cases.observe)
                if work.growth and len({formula.evaluate(work.growth, sizes) for sizes in exact}) < 2:
                    raise file.error(msg("labs.grows_nowhere", text=work.growth), (*at, "growth"))


def _check_numbers(file: YamlFile, at: KeyPath, settings: checks.Settings, cases: records.Cases) -> None:
    values = msgspec.structs.asdict(settings)
    for name in _FORMULAS:
        value = values.get(name)
        if value is None or value == "":
            continue
        text = parts.formula_text(file, (*at, name), value, list(cases.observe))
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


class _TestPart(parts.Part, frozen=True):
    points: float
    sizes: dict[str, int]
    shown: str = "open"
    values: dict[str, float] = {}
    seed: int | None = None
    inputs: str = "inputs"
    about: parts.TextOrTexts | None = None


SHOWN = ("open", "name", "after 2026-12-01", "after 2026-12-01 18:00 Europe/Moscow")


def _with_tests(
    file: YamlFile, variant: records.Variant, data: Any, parameters: tuple[records.Parameter, ...]
) -> records.Variant:
    keys: KeyPath = ("variants", variant.name, "tests")
    tests = (_test_of(file, (*keys, n), n, row, parameters) for n, row in data.get("tests", {}).items())
    return replace(variant, checks=(*variant.checks, *tests))


def _test_of(
    file: YamlFile, keys: KeyPath, name: str, data: object, parameters: tuple[records.Parameter, ...]
) -> records.CheckSpec:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise file.error(msg("labs.variant_name"), keys)
    part = file.decode(_TestPart, keys, data)
    if not 0 <= part.points <= parts.FULL_MARKS:
        raise file.error(msg("labs.points", total_points=parts.FULL_MARKS, points=repr(part.points)), (*keys, "points"))
    parts.check_known(file, (*keys, "values"), part.values, [p.name for p in parameters if p.kind.is_number])
    if not part.inputs.isidentifier():
        raise file.error(msg("labs.no_function_name", got=part.inputs), (*keys, "inputs"))
    until = None
    if part.shown not in SHOWN[:2]:
        until = checks.shown_from(part.shown)
        if until is None:
            raise file.error(msg("labs.shown", got=part.shown, allowed=", ".join(SHOWN)), (*keys, "shown"))
    settings = checks.CaseSettings(
        sizes=parts.case_of(file, (*keys, "sizes"), part.sizes, [p.name for p in parameters if p.is_size]),
        values=part.values,
        seed=part.seed,
        inputs=part.inputs,
        shown="name" if part.shown == "name" else "later" if until is not None else "open",
        until=until,
        about=parts.plain_text(part.about) if part.about is not None else {},
    )
    return records.CheckSpec(f"{checks.TESTS}.{name}", part.points, settings)


DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


class _Parameter(interfaces.FilePart, frozen=True, kw_only=True):
    kind: Literal["input", "output", "size", "in_out", "scalar", "scratch"]
    names: list[str] = []
    dtype: str = ""
    shape: list[str | int] = []
    from_grid: bool | None = None
    usual: int | None = None
    twice: bool | None = None
    values: list[float] = []
    initial: float | None = None


class _Sizes(parts.Part, frozen=True):
    correct: list[dict[str, int]]
    observe: dict[str, int]
    probe: dict[str, int] | None = None
    ragged: list[dict[str, int]] = []
    large: list[dict[str, int]] = []


class _Drawn(parts.Part, frozen=True):
    shapes: list[dict[str, int | list[int]]] = []
    equal_values: bool = False


class _Tolerance(parts.Part, frozen=True):
    absolute: float | str = 0.0
    relative: float = 0.0


class _Timing(parts.Part, frozen=True):
    sizes: list[dict[str, int]]
    l2: Literal["cold", "warm"] = "cold"
    flops: str = ""
    traffic: str = ""
    host_memory: list[Literal["pageable", "pinned", "write_combined", "mapped"]] = []
    predict: str = ""


_TitleText = str | int | parts.TextPart


class _TitlePage(parts.Part, frozen=True):
    university: _TitleText = ""
    department: _TitleText = ""
    course: _TitleText = ""
    teacher: _TitleText = ""
    city: _TitleText = ""
    year: _TitleText = ""


class _Lab(parts.Part, frozen=True):
    title: parts.TextOrTexts
    aim: parts.TextOrTexts
    reference: str
    parameters: dict[str, Any]
    sizes: dict[str, Any]
    variants: dict[str, Any]
    interface: Literal["kernel", "function", "program"] = "kernel"
    signature: str | list[str] = ""
    memory: Literal["host", "device", ""] = ""
    harness: str = ""
    arguments: list[str] = []
    stdin: str = ""
    files: list[str] = []
    launch: parts.LaunchPart | None = None
    equal_sizes: list[str] = []
    tolerance: _Tolerance = _Tolerance()
    seed: int = 1
    best: list[Any] = []
    selftest: str = ""
    timing: _Timing | None = None
    sweeps: dict[str, Any] = {}
    repairs: Literal["student", "teacher", "off"] = "teacher"
    position: int | None = None
    drawn: _Drawn = _Drawn()
    title_page: _TitlePage = _TitlePage()


def load(folder: Path) -> records.Lab:
    """The lab in `folder` (its id is the folder's name).

    Raises FileError: anything wrong in lab.yaml or a file that it names; says file, line, key, what was got and
    allowed.
    """
    file = read(folder / "lab.yaml")
    top = file.decode(_Lab)
    interface, is_kernel = top.interface, top.interface == "kernel"
    interfaces.check_keys(file, interface)
    # A function's signature says the types where its lab does not; a harness calls it as it likes.
    is_typed = interface == "function" and not top.harness
    parameters = tuple(_parameter(file, name, data, interface, is_typed) for name, data in top.parameters.items())
    sizes = [p.name for p in parameters if p.is_size]
    for parameter in parameters:
        at: KeyPath = ("parameters", parameter.name, "shape")
        if is_kernel:
            parts.check_known(file, at, (s for s in parameter.shape if isinstance(s, str)), sizes)
        else:
            for i, extent in enumerate(parameter.shape):
                parts.formula_text(file, (*at, i), extent, sizes)
        interfaces.check_file(file, parameter, sizes)
    for kind, is_there in (
        # What a function or a program computes may follow from numbers alone.
        ("input", not is_kernel or any(p.is_input for p in parameters)),
        ("output", any(p.is_output for p in parameters)),
    ):
        if not is_there:
            raise file.error(msg("labs.no_parameter", kind=kind), ("parameters",))
    function, program = None, None
    signatures = [top.signature] if isinstance(top.signature, str) else top.signature
    if interface == "function":
        function, parameters = interfaces.function_of(file, signatures, top.memory, top.harness, parameters)
    elif interface == "program":
        program = interfaces.program_of(file, top.arguments, top.stdin, signatures, parameters)
    launch = _launch(file, top.launch, sizes, is_kernel)
    parts.check_known(file, ("equal_sizes",), top.equal_sizes, sizes)
    references = (folder / top.reference).resolve()
    variants = tuple(
        _with_tests(
            file, parts.variant_of(file, name, data, parameters, references, function, program), data, parameters
        )
        for name, data in top.variants.items()
    )
    parts.check_points(file, variants)
    files = interfaces.lab_files(file, references, [*top.files, *([top.harness] if top.harness else [])])
    if top.harness:
        interfaces.check_harness(files[top.harness], parameters)
    parts.check_known(file, ("sizes",), top.sizes, parts.BACKENDS)
    # What makes its own launches need not be run at other sizes on a GPU.
    for backend in parts.BACKENDS if is_kernel else parts.BACKENDS[:1]:
        if backend not in top.sizes:
            raise file.error(msg("labs.missing_key", backend=backend), ("sizes",))
    cases = {backend: _cases(file, backend, data, sizes, is_kernel) for backend, data in top.sizes.items()}
    for parameter in parameters:
        _check_extents(file, parameter, cases)
    for variant in variants:
        keys: KeyPath = ("variants", variant.name, "checks")
        check_settings(file, keys, variant.checks, cases["emulator"], is_kernel=is_kernel)
    lab = records.Lab(
        id=folder.name,
        path=file.path,
        title=parts.plain_text(top.title),
        aim=parts.plain_text(top.aim),
        task=parts.task_text(file, folder),
        parameters=parameters,
        launch=launch,
        variants=variants,
        cases=cases,
        tolerance=_tolerance(file, top.tolerance, sizes),
        oracle=parts.sibling(file, references / "oracle.py", ("reference",)),
        seed=top.seed,
        equal_sizes=tuple(top.equal_sizes),
        best=tuple(
            parts.reference_of(
                file, ("best", i), file.decode(parts.ReferencePart, ("best", i), data), parameters, references
            )
            for i, data in enumerate(top.best)
        ),
        # Looked into by the self-test alone: a lab is whole without its kernels.
        selftest=(folder / top.selftest).resolve() if top.selftest else None,
        timing=_timing(file, top.timing, sizes) if top.timing else None,
        sweeps=parts.sweeps_of(file, top.sweeps, [v.name for v in variants], sizes, cases, bool(top.timing), interface),
        repairs=top.repairs,
        drawn=_drawn(file, top.drawn, sizes),
        title_page=_title_page(top.title_page),
        position=top.position,
        function=function,
        program=program,
        files=files,
    )
    interfaces.check_thresholds(file, lab)
    return lab


def _launch(file: YamlFile, part: parts.LaunchPart | None, sizes: list[str], is_kernel: bool) -> records.LaunchRule:
    """How kernels are launched where nothing else says it; functions and programs launch them themselves."""
    if not is_kernel:
        return records.LaunchRule((1, 1, 1), tuple(sizes[:1]))
    if part is None:
        allowed = msg("yaml.allowed", names=", ".join(sorted(_Lab.__struct_fields__)))
        raise file.error(msg("yaml.missing_key", name="launch", allowed=allowed), ())
    return parts.launch_of(file, ("launch",), part, sizes)


def _drawn(file: YamlFile, part: _Drawn, sizes: list[str]) -> records.Drawn:
    """Each size as a range; a number is a range of one value."""
    shapes = []
    for i, row in enumerate(part.shapes):
        at: KeyPath = ("drawn", "shapes", i)
        ranges = {name: value if isinstance(value, list) else [value, value] for name, value in row.items()}
        for name, bounds in ranges.items():
            if len(bounds) != 2 or bounds[0] > bounds[1]:
                raise file.error(msg("labs.range", got=str(bounds)), (*at, name))
        low = parts.case_of(file, at, {name: bounds[0] for name, bounds in ranges.items()}, sizes)
        shapes.append({name: (low[name], ranges[name][1]) for name in sizes})
    return records.Drawn(tuple(shapes), part.equal_values)


def _title_page(part: _TitlePage) -> dict[str, records.Text]:
    given = {name: getattr(part, name) for name in part.__struct_fields__}
    return {name: parts.plain_text(text) for name, text in given.items() if text != ""}


def _parameter(file: YamlFile, name: str, data: object, interface: str, is_typed: bool) -> records.Parameter:
    keys: KeyPath = ("parameters", name)
    part = file.decode(_Parameter, keys, data)
    kind = KINDS[part.kind]
    interfaces.check_values(file, keys, kind, part.values, part.initial, interface)
    dtype = part.dtype or ("int32" if kind.is_size else "float32")
    if dtype not in DTYPES:
        raise file.error(msg("labs.unknown_type", dtype=dtype, allowed=choose(dtype, DTYPES)), (*keys, "dtype"))
    if not kind.is_array and part.shape:
        raise file.error(msg("labs.size_shape"), (*keys, "shape"))
    if kind.is_array and not part.shape:
        raise file.error(msg("labs.missing_shape"), keys)
    for i, extent in enumerate(part.shape):
        if isinstance(extent, int) and extent < 1:
            raise file.error(msg("labs.extent", got=extent), (*keys, "shape", i))
    if not kind.is_size:
        for key in ("from_grid", "usual"):
            if getattr(part, key) is not None:
                raise file.error(msg("labs.only_size"), (*keys, key))
    if part.twice is not None and (kind.is_written or not kind.is_array):
        raise file.error(msg("labs.only_input"), (*keys, "twice"))
    parts.check_patterns(file, (*keys, "names"), part.names)
    from_grid = True if part.from_grid is None else part.from_grid
    shape, names = tuple(part.shape), tuple(part.names)
    dtype = "" if is_typed and not part.dtype else dtype
    numbers = tuple(part.values)
    where = interfaces.file_rule(file, keys, part, kind.is_written, kind.is_array)
    if where is not None and interface != "program":
        raise file.error(msg("labs.only_interface", interface="program"), (*keys, "file"))
    return records.Parameter(
        name, kind, dtype, shape, names, from_grid, part.usual, bool(part.twice), numbers, part.initial, where
    )


def _cases(file: YamlFile, backend: str, data: object, sizes: list[str], is_kernel: bool) -> records.Cases:
    keys: KeyPath = ("sizes", backend)
    part = file.decode(_Sizes, keys, data)

    def cases(key: str, rows: list[dict[str, int]]) -> tuple[records.Sizes, ...]:
        return tuple(parts.case_of(file, (*keys, key, i), row, sizes) for i, row in enumerate(rows))

    if part.large and backend == "emulator":
        raise file.error(msg("labs.only_gpu"), (*keys, "large"))
    # Only of kernels anything is in doubt that has to be tried out.
    probe = part.observe if not is_kernel and part.probe is None else part.probe
    if probe is None:
        raise file.error(msg("labs.missing_key", backend="probe"), keys)
    return records.Cases(
        correct=cases("correct", part.correct),
        ragged=cases("ragged", part.ragged),
        observe=parts.case_of(file, (*keys, "observe"), part.observe, sizes),
        probe=parts.case_of(file, (*keys, "probe"), probe, sizes),
        large=cases("large", part.large),
    )


def _check_extents(file: YamlFile, parameter: records.Parameter, cases: Mapping[str, records.Cases]) -> None:
    """Refuse a shape that has no element at one of the lab's sizes."""
    keys: KeyPath = ("parameters", parameter.name, "shape")
    for rows in cases.values():
        for sizes in (*rows.correct, *rows.ragged, rows.observe, rows.probe, *rows.large):
            try:
                extents = parameter.extents_at(sizes)
            except FormulaError as error:
                raise file.error(str(error), keys) from error
            for i, extent in enumerate(extents):
                if extent < 1:
                    raise file.error(msg("labs.extent", got=extent), (*keys, i))


def _timing(file: YamlFile, part: _Timing, sizes: list[str]) -> records.TimingRule:
    if not part.sizes:
        raise file.error(msg("labs.no_timed_size"), ("timing", "sizes"))
    if part.predict not in ("", "off", *gpus()):
        raise file.error(
            msg("predict.unknown_device", name=part.predict, allowed=", ".join(["off", *gpus()])), ("timing", "predict")
        )
    return records.TimingRule(
        sizes=tuple(parts.case_of(file, ("timing", "sizes", i), row, sizes) for i, row in enumerate(part.sizes)),
        l2=part.l2,
        flops=parts.formula_text(file, ("timing", "flops"), part.flops, sizes),
        traffic=parts.formula_text(file, ("timing", "traffic"), part.traffic, sizes),
        host_memory=tuple(part.host_memory),
        predict=part.predict,
    )


def _tolerance(file: YamlFile, part: _Tolerance, sizes: list[str]) -> records.Tolerance:
    growth = ""
    if isinstance(part.absolute, str):
        growth = parts.formula_text(file, ("tolerance", "absolute"), part.absolute, [*sizes, "u"])
    absolute = part.absolute if isinstance(part.absolute, float | int) else 0.0
    for name, value in (("absolute", absolute), ("relative", part.relative)):
        if not 0 <= value < 1e6:
            raise file.error(msg("labs.tolerance", got=value), ("tolerance", name))
    return records.Tolerance(absolute, part.relative, growth)
