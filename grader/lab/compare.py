"""Is an output right, and if not, how is it wrong: counts, and the first wrong element.

An output too large to be computed in full is checked by its projections on random vectors.  Where C = A·B is asked for,
C·x = A·(B·x) costs a square of what the product costs a cube of.  R. Freivalds, "Probabilistic machines can use less
running time", IFIP Congress 1977, 839-842.  Row by row the projections also tell which rows are wrong, and these alone
are then computed in full.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, prod, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from grader.devices import sentinel_byte
from grader.lab.records import Tolerance

Array = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]
Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How an output differs from what is expected.

    total, mismatches, unwritten: counts of elements (unwritten ones still hold the sentinel).
    max_abs_error: over elements that were written; None where that is no finite number.
    first: index of the first wrong element, slowest axis first; None when all are right.
    expected, got: its values.
    found_at: where the wrong value stands in an input, as (array, index); None when nowhere, or not uniquely.
    belongs_at: where the right value stands in an input, likewise.
    """

    total: int
    mismatches: int
    unwritten: int = 0
    max_abs_error: float | None = 0.0
    first: Index | None = None
    expected: float | int | None = None
    got: float | int | None = None
    found_at: tuple[str, Index] | None = None
    belongs_at: tuple[str, Index] | None = None
    name: str = ""
    """The output's name."""
    projections: int = 0
    """Random vectors by which rows were told right from wrong; 0: every element was compared."""

    @property
    def extent(self) -> Literal["", "untouched", "unwritten", "all", "scattered"]:
        """How far it goes, by the counts alone: nothing was written; what is wrong was not written; all; some.

        What rule the wrong elements follow is `grader.diagnosis`'s to tell.
        """
        if not self.mismatches:
            return ""
        if self.unwritten == self.total:
            return "untouched"
        if self.unwritten == self.mismatches:
            return "unwritten"
        return "all" if self.mismatches == self.total else "scattered"


def compare(
    name: str,
    got: Array,
    expected: Array,
    tolerance: Tolerance,
    inputs: Mapping[str, Array],
    is_marked: bool = True,
    at: Index | None = None,
) -> Difference:
    """Compare one output with the oracle's.

    got, expected: arrays of one shape and dtype.
    tolerance: |got − expected| ≤ absolute + relative·|expected|; both 0 compares bits.
    inputs: what the kernel was given, to tell where a wrong value comes from.
    is_marked: `got` held the sentinel before; else nothing in it means that nobody wrote it.
    at: a wrong element that is told of in place of the first.
    """
    expected = settled(got, expected, is_marked)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{name}: shape or type differ: {got.shape} {got.dtype}, {expected.shape} {expected.dtype}")
    if np.array_equal(_bits(got), _bits(expected)):
        return Difference(got.size, 0, name=name)
    wrong = wrong_elements(got, expected, tolerance, is_marked)
    mismatches = int(np.count_nonzero(wrong))
    if mismatches == 0:
        return Difference(got.size, 0, max_abs_error=_max_abs_error(got, expected), name=name)
    unwritten = wrong & is_sentinel(got) if is_marked else np.zeros(got.shape, bool)
    first = at or tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), got.shape))
    touched = ~unwritten
    return Difference(
        total=got.size,
        mismatches=mismatches,
        unwritten=int(np.count_nonzero(unwritten)),
        max_abs_error=_max_abs_error(got, expected, touched) if touched.any() else None,
        first=first,
        expected=expected[first].item(),
        got=got[first].item(),
        found_at=_located(got, first, wrong & ~unwritten, inputs, MOSTLY),
        belongs_at=_located(expected, first, wrong, inputs, 1.0),
        name=name,
    )


def settled(got: Array, expected: Array, is_marked: bool = True) -> Array:
    """What is expected, where a masked array leaves elements open: there any value that somebody wrote."""
    if not np.ma.isMaskedArray(expected) or got.shape != expected.shape or got.dtype != expected.dtype:
        return expected
    is_open = np.ma.getmaskarray(expected)
    if is_marked:
        is_open = is_open & ~is_sentinel(got)
    return np.where(is_open, got, np.ma.getdata(expected))


def wrong_elements(got: Array, expected: Array, tolerance: Tolerance, is_marked: bool = True) -> Mask:
    """Mask of elements that are not as expected; a NaN that is not expected is wrong.

    One value everywhere where different ones are expected is wrong whatever the tolerance, and so is what nobody wrote,
    also where NaN is expected.
    """
    if tolerance.absolute == 0 and tolerance.relative == 0:
        different: Mask = _bits(got) != _bits(expected)
        return different
    wrong = np.empty(got.shape, bool)
    for part in _parts(got.size):
        wrong.reshape(-1)[part] = _wrong(got.reshape(-1)[part], expected.reshape(-1)[part], tolerance, is_marked)
    if not wrong.any() and _says_nothing(got, expected):
        wrong = got != expected
    return wrong


def _wrong(got: Array, expected: Array, tolerance: Tolerance, is_marked: bool) -> Mask:
    exact = expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got.astype(np.float64) - exact)
        allowed = tolerance.absolute + tolerance.relative * np.abs(exact)
        same = (got == expected) | (np.isnan(exact) & np.isnan(got.astype(np.float64)))
        wrong: Mask = ~(same | (error <= allowed))
        if is_marked:
            wrong |= is_sentinel(got) & (_bits(got) != _bits(expected))
    return wrong


NOTEWORTHY = 1e-3
"""Values that differ by less than this share of the largest count as one and the same."""


def _says_nothing(got: Array, expected: Array) -> bool:
    """Whether one and the same value stands everywhere where different ones are expected.

    A tolerance that is wide for the values of a case would let zeros through.
    """
    if got.size < 2 or not (got == got.flat[0]).all():
        return False
    exact = expected.astype(np.float64)
    finite = exact[np.isfinite(exact)]
    return bool(finite.size and np.ptp(finite) > NOTEWORTHY * np.max(np.abs(finite)))


def sentinel(shape: tuple[int, ...], dtype: str) -> Array:
    """An array with the sentinel in every byte."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.full(count, sentinel_byte(dtype), np.uint8).view(dtype).reshape(shape)


def _bits(array: Array) -> npt.NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def is_sentinel(array: Array) -> Mask:
    """Mask of elements that still hold the sentinel."""
    size = array.dtype.itemsize
    mask: Mask = _bits(array) == int.from_bytes(bytes([sentinel_byte(str(array.dtype))]) * size, "little")
    return mask


def _max_abs_error(got: Array, expected: Array, where: Mask | None = None) -> float | None:
    """Over all elements, or those that `where` marks (at least one); None where that is no finite number."""
    worst = 0.0
    for part in _parts(got.size):
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got.reshape(-1)[part].astype(np.float64) - expected.reshape(-1)[part].astype(np.float64))
        if where is not None:
            error = error[where.reshape(-1)[part]]
        # Not a number stays one.
        worst = float(np.maximum(worst, np.max(error, initial=0.0)))
    return worst if np.isfinite(worst) else None


PART = 1 << 18
"""Elements compared at a time: what is computed of them stays in the caches."""


def _parts(size: int) -> Iterator[slice]:
    return (slice(start, start + PART) for start in range(0, size, PART))


LOOKED_FOR = 64
"""Wrong elements whose values are looked for in an input: of one alone a value may stand there by chance."""
MOSTLY = 0.5


def _located(
    values: Array, first: Index, wrong: Mask, inputs: Mapping[str, Array], share: float
) -> tuple[str, Index] | None:
    """Where in an input a wrong element's value stands, if such a share of the others' stand there as well."""
    place = _locate(values[first], inputs)
    if place is None:
        return None
    others = values[wrong]
    others = others[:: max(1, others.size // LOOKED_FOR)]
    return place if _stand_in(_bits(others), _bits(inputs[place[0]])).mean() >= share else None


def _stand_in(values: npt.NDArray[np.unsignedinteger], array: npt.NDArray[np.unsignedinteger]) -> Mask:
    """Mask of the few `values` that stand in an array, however large.  `np.isin` would sort the array or hash it."""
    wanted = np.unique(values)
    is_found = np.zeros(wanted.size, bool)
    for part in _parts(array.size):
        elements = array.reshape(-1)[part]
        places = np.minimum(np.searchsorted(wanted, elements), wanted.size - 1)
        is_found[places[wanted[places] == elements]] = True
        if is_found.all():
            break
    stands: Mask = is_found[np.searchsorted(wanted, values)]
    return stands


def _locate(value: np.generic, inputs: Mapping[str, Array]) -> tuple[str, Index] | None:
    place: tuple[str, Index] | None = None
    for name, array in inputs.items():
        if array.dtype != value.dtype:
            continue
        places = np.flatnonzero(_bits(array) == _bits(np.asarray(value)))
        if places.size > 1 or (places.size and place):
            return None
        if places.size:
            place = name, tuple(int(i) for i in np.unravel_index(int(places[0]), array.shape))
    return place


Float64 = npt.NDArray[np.float64]

VECTORS = 32
"""A wrong row passes each of them with a probability of at most a half."""

FALSE_ALARM = 1e-9
"""Bound on the probability that a right output is looked at twice."""

LOOKED_AT = 8
"""Rows that are compared element by element where none stands out: those that deviate most."""

CHUNK_ROWS = 256


@dataclass(frozen=True, slots=True)
class Projected:
    """A case whose outputs are not computed in full.

    inputs: by name.  blanks: arrays of the outputs' shapes and types that take no memory.
    absolute: how far an element of a right output may be off; 0 where every right output is exact.
    project: what an output times some vectors must be: (columns, k) to (rows, k), all float64.
    rows: what some of an output's rows must be: their indices to (count, columns).
    """

    inputs: Mapping[str, Array]
    blanks: Mapping[str, Array]
    absolute: float
    project: Callable[[str, Float64], Float64]
    rows: Callable[[str, npt.NDArray[np.intp]], Array]

    def compare(self, name: str, got: Array) -> Difference:
        """See `compare.compare`; rows are the elements that differ in the last index alone.

        A row in which some element is off by more than `slack` is missed with a probability of at most 2^-VECTORS: the
        vectors are drawn after the output came, and of two that differ in the sign of that element alone, one shows it.
        Elements that are looked at may be off by `absolute`.
        """
        flat = got.reshape(-1, got.shape[-1])
        # Fresh ones every time: no kernel can be made to pass these.
        signs = np.random.default_rng(secrets.randbits(128)).choice(np.array([-1.0, 1.0]), (flat.shape[1], VECTORS))
        wanted = self.project(name, signs)
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(_times(flat, signs) - wanted).max(axis=1)
            # What is no number is not within the slack either.
            suspect = np.flatnonzero(~(off <= slack(self.absolute, *flat.shape)))
        if not suspect.size:
            if self.absolute == 0:
                # What deviates by nothing deviates nowhere most.
                return Difference(got.size, 0, name=name, projections=VECTORS)
            suspect = np.sort(np.argsort(off)[-LOOKED_AT:])
        right = self.rows(name, suspect).astype(got.dtype)
        # Zeros of another sign are as good.
        right = np.where(flat[suspect] == right, flat[suspect], right)
        expected = flat.copy()
        expected[suspect] = right
        difference = compare(name, got, expected.reshape(got.shape), Tolerance(self.absolute), self.inputs)
        return replace(difference, projections=VECTORS)


def slack(absolute: float, rows: int, columns: int) -> float:
    """How far a projection of a row may be off whose elements are each off by at most `absolute`.

    Signs are drawn without regard to the errors, so that Hoeffding's inequality (1963, theorem 2) holds for their sum:
    it exceeds t·sqrt(columns)·absolute with a probability of at most 2·exp(-t²/2), here FALSE_ALARM for all together.
    """
    return sqrt(2 * log(2 * rows * VECTORS / FALSE_ALARM)) * sqrt(columns) * absolute


def _times(matrix: Array, vectors: Float64) -> Float64:
    """The product in float64, of a matrix that is not converted at one go."""
    product = np.empty((matrix.shape[0], vectors.shape[1]))
    for begin in range(0, matrix.shape[0], CHUNK_ROWS):
        product[begin : begin + CHUNK_ROWS] = matrix[begin : begin + CHUNK_ROWS].astype(np.float64) @ vectors
    return product


def blank(shape: tuple[int, ...], dtype: str) -> Array:
    """An array that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def rows_of(shape: tuple[int, ...]) -> int:
    """How many rows an output of that shape has."""
    return prod(shape[:-1])


def first_wrong(differences: Sequence[Difference]) -> Difference:
    """The first of them that is no match, else the first."""
    return next((d for d in differences if d.mismatches), differences[0])
