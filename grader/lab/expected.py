"""A lab's oracle: the inputs of a case and what must come out, and which inputs that depends on; no student's code."""

from __future__ import annotations

import importlib.util
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from grader.errors import FileError
from grader.lab.checks import CaseSettings
from grader.lab.compare import Float64, Projected, blank, rows_of
from grader.lab.records import Lab, Parameter, Sizes
from grader.message import msg

Array = npt.NDArray[np.generic]
_T = TypeVar("_T")

MAX_DRAWS = 4
"""Sizes at which it is looked for what an array has to do with what is expected."""
PROJECTION = ("projected_tolerance", "projection", "rows")
"""What an oracle has all of, or none."""


class Oracle:
    """Inputs and expected outputs by size and element types, each computed once, whichever threads ask for them.

    Raises FileError: the oracle's file cannot be run, or what it gives does not fit the lab's parameters.
    """

    def __init__(self, lab: Lab, test: CaseSettings | None = None) -> None:
        """test: whose data it makes; None: those of the lab's own cases."""
        if test is not None and test.seed is not None:
            lab = replace(lab, seed=test.seed)
        self._lab = lab
        self._values = test.values if test is not None else {}
        self._inputs_by = test.inputs if test is not None else "inputs"
        self._module = _load(lab, self._inputs_by)
        self._cases: dict[tuple[object, ...], tuple[dict[str, Array], dict[str, Array]]] = {}
        self._inputs: dict[tuple[object, ...], dict[str, Array]] = {}
        self._tolerances: dict[tuple[object, ...], float | None] = {}
        # The lab's functions need not bear being called by two threads at once.
        self._turn = threading.RLock()

    def of_test(self, test: CaseSettings) -> Oracle:
        """An oracle that makes the data of one of the lab's tests."""
        return Oracle(self._lab, test)

    def case(
        self, sizes: Sizes, dtypes: Mapping[str, str], again: bool = False
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Inputs and expected outputs by parameter name; `dtypes` are the element types that the kernel takes.

        The inputs depend on the lab's seed and the sizes alone, so that every grading sees the same ones.  What is
        changed in place is among both; scalars, arrays without axes, are inputs.

        again: other values, for a second call at the same sizes.
        """
        key = (*_key(sizes, dtypes), again)
        if key not in self._cases:
            with self._turn:
                if key not in self._cases:
                    inputs = self._given(sizes, dtypes, again)
                    self._cases[key] = inputs, self._outputs(sizes, dtypes, inputs)
        return self._cases[key]

    def projected(self, sizes: Sizes, dtypes: Mapping[str, str]) -> Projected | None:
        """The case as one whose outputs are checked by projections; None where they are computed in full.

        So they are where the oracle says nothing else, and for kernels on other types than the lab's: these round
        otherwise than the oracle's word on it says.
        """
        outputs = [p for p in self._lab.parameters if p.is_output]
        if not hasattr(self._module, PROJECTION[0]) or any(
            dtypes.get(p.name, p.dtype) != p.dtype for p in self._lab.parameters
        ):
            return None
        # None of it waits for a projection that another thread is at.
        at = tuple(sorted(sizes.items()))
        if at not in self._tolerances:
            self._tolerances[at] = self._call(sizes, lambda: self._module.projected_tolerance(dict(sizes)))
        absolute = self._tolerances[at]
        if absolute is None:
            return None
        inputs = self._given(sizes, dtypes)

        def project(name: str, vectors: Float64) -> Float64:
            def compute() -> Float64:
                return np.asarray(self._module.projection(inputs, dict(sizes), name, vectors), np.float64)

            product = self._call(sizes, compute)
            self._shaped(name, product, (rows_of(shapes[name]), vectors.shape[1]))
            return product

        def rows(name: str, which: npt.NDArray[np.intp]) -> Array:
            values = self._call(sizes, lambda: np.asarray(self._module.rows(inputs, dict(sizes), name, which)))
            return self._shaped(name, values, (which.size, shapes[name][-1]))

        shapes = {p.name: p.extents_at(sizes) for p in outputs}
        return Projected(
            inputs, {p.name: blank(p.extents_at(sizes), p.dtype) for p in outputs}, absolute, project, rows
        )

    def of_equal_values(self) -> Oracle:
        """An oracle of the same lab whose inputs have one value in all their elements."""
        return _EqualValues(self._lab)

    def inputs(self, sizes: Sizes, dtypes: Mapping[str, str]) -> dict[str, Array]:
        """The inputs of a case alone."""
        return self._given(sizes, dtypes)

    def other_inputs(self, sizes: Sizes, dtypes: Mapping[str, str]) -> dict[str, Array]:
        """Inputs of the same sizes with other values, where the lab draws them by chance."""
        rng = np.random.default_rng([self._lab.seed, *(sizes[name] for name in self._lab.size_names), 1])
        raw = self._module.inputs(dict(sizes), rng)
        return {name: _of_type(_given_as(a, dtypes.get(name)), dtypes.get(name, a.dtype)) for name, a in raw.items()}

    def expected(self, inputs: Mapping[str, Array], sizes: Sizes, output: str) -> Array:
        """One output for any inputs, as the oracle computes it.  What the oracle raises comes through."""
        result: Array = self._module.expected(dict(inputs), dict(sizes))[output]
        return result

    def without_effect(self) -> FileError | None:
        """What to say of the first array that is handed over though nothing hangs on what is in it.

        `expected` gives the same with that array of another draw, at all sizes tried.  None where there is none.
        """
        dtypes = {p.name: p.dtype for p in self._lab.parameters if p.is_array}
        at_sizes = [s for cases in self._lab.cases.values() for s in (*cases.correct, cases.observe)]
        for parameter in (p for p in self._lab.parameters if p.is_input):
            if all(self._is_without_effect(parameter.name, sizes, dtypes) for sizes in at_sizes[:MAX_DRAWS]):
                line = _line_of(self._module.expected)
                message = msg("oracle.without_effect", name=parameter.name, kind=parameter.kind.name)
                return FileError(message, self._lab.oracle, line)
        return None

    def _is_without_effect(self, name: str, sizes: Sizes, dtypes: Mapping[str, str]) -> bool:
        """Whether another draw of one array is seen to change nothing; not where it is of the same values, or goes with
        the others only as they were drawn."""
        inputs, outputs = self.case(sizes, dtypes)
        other = self._given(sizes, dtypes, again=True)[name]
        if _are_same(other, inputs[name]):
            return False
        try:
            changed = self._outputs(sizes, dtypes, {**inputs, name: other})
        except FileError:
            return False
        return all(_are_same(changed[p.name], outputs[p.name]) for p in self._lab.parameters if p.is_output)

    def _given(self, sizes: Sizes, dtypes: Mapping[str, str], again: bool = False) -> dict[str, Array]:
        key = (*_key(sizes, dtypes), again)
        if key not in self._inputs:
            with self._turn:
                self._draw(key, sizes, dtypes, again)
        return self._inputs[key]

    def _draw(self, key: tuple[object, ...], sizes: Sizes, dtypes: Mapping[str, str], again: bool) -> None:
        if key not in self._inputs:
            seed = [self._lab.seed, *(sizes[name] for name in self._lab.size_names), *([1] if again else [])]
            rng = np.random.default_rng(seed)
            wanted = [p for p in self._lab.parameters if p.is_input]
            make = getattr(self._module, self._inputs_by)
            arrays = self._arrays(self._inputs_by, wanted, sizes, dtypes, lambda: make(dict(sizes), rng))
            scalars = {p.name: _scalar(p, rng, again) for p in self._lab.parameters if p.kind.is_number}
            fixed = {
                n: _of_type(np.asarray(v), self._lab.parameter(n).dtype).reshape(()) for n, v in self._values.items()
            }
            self._inputs[key] = arrays | scalars | fixed

    def _outputs(self, sizes: Sizes, dtypes: Mapping[str, str], inputs: dict[str, Array]) -> dict[str, Array]:
        wanted = [p for p in self._lab.parameters if p.is_output]
        arrays = self._arrays("expected", wanted, sizes, dtypes, lambda: self._module.expected(inputs, dict(sizes)))
        if self._lab.function is None and self._lab.program is None:
            # A kernel's wrong elements are explained, and a GPU's compared with those of the lab's own kernel.
            for name in (name for name, array in arrays.items() if np.ma.isMaskedArray(array)):
                raise FileError(msg("oracle.masked", name=name), self._lab.oracle)
        return arrays

    def _arrays(
        self,
        function: str,
        wanted: Sequence[Parameter],
        sizes: Sizes,
        dtypes: Mapping[str, str],
        compute: Callable[[], object],
    ) -> dict[str, Array]:
        """Arrays that a function of the oracle computes, of the wanted types and all of the lab's shapes.

        Inputs are raised above 0 where a kernel takes no negative numbers.
        """
        line = _line_of(getattr(self._module, function))
        raw = self._call(sizes, compute)
        if not isinstance(raw, Mapping):
            raise FileError(msg("oracle.no_arrays", function=function, got=type(raw).__name__), self._lab.oracle, line)

        def converted() -> dict[str, Array]:
            given = {n: _given_as(a, dtypes.get(n)) for n, a in raw.items()} if function != "expected" else raw
            return {name: _of_type(a, dtypes.get(name, a.dtype)) for name, a in given.items()}

        arrays = self._call(sizes, converted, line)
        for parameter in wanted:
            if parameter.name not in arrays:
                missing = msg("oracle.missing", function=function, name=parameter.name, got=", ".join(map(str, arrays)))
                raise FileError(missing, self._lab.oracle, line)
            self._shaped(parameter.name, arrays[parameter.name], parameter.extents_at(sizes), line)
        return arrays

    def _shaped(self, name: str, array: Array, shape: tuple[int, ...], line: int | None = None) -> Array:
        if array.shape != shape:
            wrong = msg("oracle.shape", name=name, got=str(array.shape), shape=str(shape))
            raise FileError(wrong, self._lab.oracle, line)
        return array

    def _call(self, sizes: Sizes, compute: Callable[[], _T], line: int | None = None) -> _T:
        """What the oracle's own code gives; whatever it raises is the lab's fault.

        line: of the function at fault where what is raised does not come from the oracle's lines.
        """
        try:
            with self._turn:
                return compute()
        except (Exception, SystemExit) as error:
            raise FileError(
                msg("oracle.failed", sizes=str(dict(sizes)), kind=type(error).__name__, error=str(error)),
                self._lab.oracle,
                _line_of_error(error, self._lab.oracle) or line,
            ) from error


class _EqualValues(Oracle):
    """The same with one value in all elements of an input: that of the first."""

    def _given(self, sizes: Sizes, dtypes: Mapping[str, str], again: bool = False) -> dict[str, Array]:
        given = super()._given(sizes, dtypes, again)
        return {name: np.broadcast_to(a.flat[0], a.shape).copy() if a.size else a for name, a in given.items()}


def _are_same(one: Array, other: Array) -> bool:
    """Whether two arrays have the same bits, and leave the same elements open."""
    are_open = np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
    return are_open and np.ma.filled(one, 0).tobytes() == np.ma.filled(other, 0).tobytes()


def _scalar(parameter: Parameter, rng: np.random.Generator, again: bool) -> Array:
    """Return one of its values; for a second call one between two of them, which no program can hold as a constant."""
    low, high = min(parameter.values), max(parameter.values)
    value = rng.uniform(low, high) if again else float(rng.choice(parameter.values))
    return _of_type(np.asarray(value), parameter.dtype).reshape(())


def _given_as(array: Array, dtype: str | None) -> Array:
    """An input raised above 0 where a kernel takes no negative numbers.

    Come round to 2³² - 1, a -1 would be a number whose products no oracle can compute in double precision.
    """
    is_unsigned = dtype is not None and np.dtype(dtype).kind == "u"
    if not is_unsigned or array.dtype.kind not in "fi" or not array.size or array.min() >= 0:
        return array
    raised: Array = array - np.floor(array.min()).astype(array.dtype)
    return raised


def _of_type(array: Array, dtype: npt.DTypeLike) -> Array:
    """The array as one of another type, contiguous.

    Fractions are dropped towards zero, and what an integer type does not hold comes round, as between C's integers: of
    a negative number as an unsigned one every machine makes something else.
    """
    wanted = np.dtype(dtype)
    if array.dtype.kind == "f" and wanted.kind in "iu":
        array = array.astype(np.int64)
    typed = np.ascontiguousarray(np.ma.getdata(array).astype(wanted))
    return np.ma.array(typed, mask=np.ma.getmaskarray(array)) if np.ma.isMaskedArray(array) else typed


def _key(sizes: Sizes, dtypes: Mapping[str, str]) -> tuple[object, ...]:
    return (*sorted(sizes.items()), *sorted(dtypes.items()))


def _line_of(function: object) -> int | None:
    code = getattr(function, "__code__", None)
    return code.co_firstlineno if code is not None else None


def _line_of_error(error: BaseException, oracle: Path) -> int | None:
    """The innermost line of the oracle on the way to what was raised; where it does not parse, the line of that."""
    file = str(oracle.absolute())
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


def _load(lab: Lab, inputs: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"oracle_of_{lab.id.replace('-', '_')}", lab.oracle)
    if spec is None or spec.loader is None:
        raise FileError(msg("oracle.no_python"), lab.oracle)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = _line_of_error(error, lab.oracle)
        raise FileError(f"{type(error).__name__}: {error}", lab.oracle, line) from error
    projects = any(hasattr(module, name) for name in PROJECTION)
    for name in ("inputs", inputs, "expected", *(PROJECTION if projects else ())):
        if not callable(getattr(module, name, None)):
            raise FileError(msg("oracle.no_function", name=name), lab.oracle)
    return module


Mask = npt.NDArray[np.bool_]

MAX_EVALUATIONS = 1500
MAX_ELEMENTS = 16_384
"""Larger inputs are not searched: this is for explaining small cases."""


def dependence(
    evaluate: Callable[[Mapping[str, Array]], np.generic], base: Mapping[str, Array], other: Mapping[str, Array]
) -> dict[str, Mask] | None:
    """For each input, a mask of the elements that matter; None when none does or that took too long to find out.

    Halves the inputs again and again: a part matters when `evaluate` gives another value once that part is taken
    from `other`.  Exact for values that depend on every needed element whatever the rest is, as sums and moves do;
    an element that did not get its way at this input (in a maximum) counts as not needed.

    evaluate: the value of the output element for some inputs.
    base, other: two sets of inputs of the same shapes and types, different wherever possible.
    """
    names = list(base)
    sizes = [base[name].size for name in names]
    if sum(sizes) > MAX_ELEMENTS:
        return None
    ends = np.cumsum(sizes)
    mixed = {name: base[name].copy() for name in names}
    value = evaluate(mixed).tobytes()

    def exchange(low: int, high: int, source: Mapping[str, Array]) -> None:
        for name, size, end in zip(names, sizes, ends.tolist(), strict=True):
            start = end - size
            part = slice(max(low - start, 0), max(min(high, end) - start, 0))
            mixed[name].reshape(-1)[part] = source[name].reshape(-1)[part]

    needed = np.zeros(int(ends[-1]), np.bool_)
    parts = [(end - size, end) for size, end in zip(sizes, ends.tolist(), strict=True) if size]
    evaluations = 0
    while parts:
        low, high = parts.pop()
        evaluations += 1
        if evaluations > MAX_EVALUATIONS:
            return None
        exchange(low, high, other)
        matters = evaluate(mixed).tobytes() != value
        exchange(low, high, base)
        if not matters:
            continue
        if high - low == 1:
            needed[low] = True
        else:
            middle = (low + high) // 2
            parts += [(low, middle), (middle, high)]
    if not needed.any():
        return None
    masks = np.split(needed, ends[:-1])
    return {name: mask.reshape(base[name].shape) for name, mask in zip(names, masks, strict=True)}


def boxes(mask: Mask) -> list[list[tuple[int, int]]]:
    """A mask as boxes, each a (first, last) index for every axis, in order of their first element.

    Runs along the last axis that repeat in consecutive rows are one box.
    """
    if mask.ndim == 0 or not mask.any():
        return []
    if mask.ndim == 1:
        edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
        return [[(int(a), int(b) - 1)] for a, b in edges.reshape(-1, 2)]
    covering: list[list[tuple[int, int]]] = []
    growing: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for row in range(mask.shape[0]):
        current = {}
        for inner in boxes(mask[row]):
            box = growing.get(tuple(inner))
            if box is None:
                box = [(row, row), *inner]
                covering.append(box)
            else:
                box[0] = (box[0][0], row)
            current[tuple(inner)] = box
        growing = current
    return covering
