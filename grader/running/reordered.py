"""Runs the same data with blocks, and the warps of a block, in other orders: whether the same bits come out.

CUDA promises no order, and a device's changes from launch to launch.  Sums of integers come to the same in any; those
of floating-point numbers round otherwise.  A lab's data may be such that no sum rounds, so the numbers are made ones
that do: each nearer to zero by at most a sixteenth, so that whatever holds of their range still does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.oracle.expected import Array
from grader.programs.records import Observation
from grader.running.evidence import Evidence
from grader.running.work import Reordered

ORDERS = (0, 1, 2)
"""As blocks are counted, the last first, shuffled: see `grader.ptx.geometry.Order`."""
LEAST = 15 / 16


def is_asked(evidence: Evidence) -> bool:
    """Whether the variant's orders are looked at: its check asks for it, and it is right in the usual one."""
    asks = any(spec.check == "deterministic" for spec in evidence.variant.checks)
    return asks and bool(evidence.runs) and all(run.is_right for run in evidence.runs)


def rounding(inputs: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """The same inputs with floating-point numbers whose sums round."""
    rng = np.random.default_rng(seed)
    nearer = {
        name: np.multiply(array, rng.uniform(LEAST, 1, array.shape), dtype=np.float64).astype(array.dtype)
        for name, array in inputs.items()
        if array.dtype.kind == "f"
    }
    return {**inputs, **nearer}


def with_reordered(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what a right kernel does at the observed size in other orders, where a check asks for it.

    A launch that is stopped in another order tells nothing: devices run far more blocks at a time than most grids have.
    """
    observed = next((run for run in evidence.runs if run.kind == "observe"), None)
    if observed is None or evidence.interpretation is None or not is_asked(evidence):
        return evidence
    sizes = observed.sizes
    loaded = kernel.load(trials.programs, sizes)
    if loaded.entry is None:
        return evidence
    inputs, expected = trials.oracle.case(sizes, kernel.dtypes)
    request = kernel.launch(loaded.built, loaded.entry, sizes, rounding(inputs, trials.lab.seed), expected)
    outputs: list[Mapping[str, Array]] = []
    for order in ORDERS:
        outcome = trials.backend.run(loaded.built.code, replace(request, order=order))
        if outcome.status != "ok":
            return evidence
        outputs.append(outcome.outputs)
    return replace(evidence, reordered=compared(sizes, outputs))


def of_calls(sizes: Sizes, observations: Sequence[Observation], expected: Mapping[str, Array]) -> Reordered | None:
    """The same of a function's calls, an observation for each order; None where one did not return.

    expected: of what type and shape outputs are.
    """
    if len(observations) < len(ORDERS):
        return None
    outputs: list[Mapping[str, Array]] = []
    for observation in observations:
        call = observation.calls[0] if observation.calls else None
        if call is None or not call.has_returned:
            return None
        found = {
            name: np.frombuffer(data, expected[name].dtype).reshape(expected[name].shape)
            for name, data in call.outputs.items()
        }
        outputs.append(found)
    return compared(sizes, outputs)


def compared(sizes: Sizes, outputs: Sequence[Mapping[str, Array]]) -> Reordered:
    """Where the outputs in other orders have other bits than the first."""
    usual = outputs[0]
    for other in outputs[1:]:
        for name, array in usual.items():
            differ = _bits(array) != _bits(other[name]) if name in other else np.ones(array.size, np.bool_)
            if differ.any():
                place = int(np.flatnonzero(differ)[0])
                index = tuple(int(n) for n in np.unravel_index(place, array.shape))
                values = (float(array.reshape(-1)[place]), float(other[name].reshape(-1)[place]))
                return Reordered(sizes, len(outputs), (name, index, *values), int(np.count_nonzero(differ)))
    return Reordered(sizes, len(outputs))


def _bits(array: Array) -> Array:
    """(elements,) bytes of each element as one number."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"u{flat.dtype.itemsize}")
