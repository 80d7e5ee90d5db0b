"""An output too large to be computed in full is checked by its projections on random vectors (Freivalds).

Where C = A·B is asked for, C·x = A·(B·x) costs a square of what the product costs a cube of.  R. Freivalds,
"Probabilistic machines can use less running time", IFIP Congress 1977, 839-842.  Row by row the projections also tell
which rows are wrong, and these alone are then computed in full.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log, prod, sqrt

import numpy as np
import numpy.typing as npt

from grader.lab.records import Tolerance
from grader.oracle.compare import Array, Difference, compare

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
        """As `compare.compare`; rows are the elements that differ in the last index alone.

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
    found = np.empty((matrix.shape[0], vectors.shape[1]))
    for begin in range(0, matrix.shape[0], CHUNK_ROWS):
        found[begin : begin + CHUNK_ROWS] = matrix[begin : begin + CHUNK_ROWS].astype(np.float64) @ vectors
    return found


def blank(shape: tuple[int, ...], dtype: str) -> Array:
    """An array that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def rows_of(shape: tuple[int, ...]) -> int:
    """How many rows an output of that shape has."""
    return prod(shape[:-1])
