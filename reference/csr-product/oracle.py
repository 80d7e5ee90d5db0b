"""What a sparse matrix times a vector must give, in double precision, rounded once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def inputs(sizes: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    """A matrix of rows of different lengths, some empty and one much longer than the others, and a vector.

    `row_start`: (rows + 1,) int32; `columns`: (nonzeros,) int32, ascending within a row, different ones where the row
    is not longer than the matrix is wide; `values`: (nonzeros,), `x`: (cols,) float32, multiples of 1/16 of both signs
    up to 4, none of them 0, so that float32 holds every partial sum of up to 4096 products exactly.
    """
    rows, cols, nonzeros = sizes["rows"], sizes["cols"], sizes["nonzeros"]
    weights = rng.gamma(2, size=rows)
    weights[rng.random(rows) < 0.1] = 0
    weights[rng.integers(rows)] += 16
    lengths = rng.multinomial(nonzeros, weights / weights.sum())
    columns = [np.sort(rng.choice(cols, length, replace=bool(length > cols))) for length in lengths]
    return {
        "row_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "columns": np.concatenate(columns).astype(np.int32),
        "values": _numbers(nonzeros, rng),
        "x": _numbers(cols, rng),
    }


def expected(inputs: Mapping[str, npt.NDArray[np.generic]], sizes: Mapping[str, int]) -> Arrays:
    """`y`: (rows,) float32."""
    starts = np.asarray(inputs["row_start"], np.int64)
    products = np.asarray(inputs["values"], np.float64) * np.asarray(inputs["x"], np.float64)[inputs["columns"]]
    sums = np.concatenate([[0.0], np.cumsum(products)])
    return {"y": (sums[starts[1:]] - sums[starts[:-1]]).astype(np.float32)}


def _numbers(count: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    return (rng.integers(1, 65, count) * rng.choice([-1, 1], count) / 16).astype(np.float32)
