"""What the table's program must give: mean and deviation of each column, and every number as a standard score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """`in`: (rows, columns) float32 multiples of 1/4, each column about a mean far from 0 beside its spread.

    So a variance that is a difference of two large numbers comes out wrong, and no column passes for another.
    """
    rows, columns = sizes["rows"], sizes["columns"]
    centres = 500 + 40 * rng.permutation(columns)
    spread = rng.integers(8, 40, columns)
    numbers = centres + np.round(4 * spread * rng.uniform(-1, 1, (rows, columns))) / 4
    # The first two rows differ in every column: no deviation is 0, but of a single row.
    numbers[:2] = [centres - spread, centres + spread / 2][:rows]
    return {"in": numbers.astype(np.float32)}


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`mean`, `deviation`: (columns,) float32; `scores`: (rows, columns) float32."""
    table = np.asarray(inputs["in"], np.float64)
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    scores = np.divide(table - mean, deviation, out=np.zeros_like(table), where=deviation > 0)
    arrays = {"mean": mean, "deviation": deviation, "scores": scores}
    return {name: array.astype(np.float32) for name, array in arrays.items()}
