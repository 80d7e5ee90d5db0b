"""The time of a submission's kernel on a device that is not there: compiled, followed, predicted."""

from __future__ import annotations

from math import prod

import numpy as np

from grader.backends.base import BufferArgument
from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore
from grader.message import Message, msg
from grader.prediction.device import Processor, resident_blocks
from grader.prediction.model import FITTED, Prediction, predict
from grader.prediction.profile import profile, sampled_blocks
from grader.prediction.trace import Argument, follow
from grader.ptx import parse
from grader.ptx.dataflow import data_decide
from grader.ptx.frontend.nodes import Module

MOST_STEPS = 40_000
"""PTX instructions of the block that is followed to its end."""
FEW_STEPS = 4_000
"""The same of the blocks beside it, which tell what is shared."""


def predict_kernel(
    kernel: BoundKernel, sizes: Sizes, processor: Processor, stores: tuple[ProgramStore, ProgramStore]
) -> Prediction | Message:
    """The time of one launch at some sizes, or why there is none.

    stores: compile to PTX, which is executed, and to the device's machine code, which says how many registers it takes.
    Arrays hold zeros, so there is none where values decide what is executed.
    """
    if not kernel.sizes.fits(sizes):
        return msg("predict.sizes")
    followed, machine = (kernel.load(store, sizes) for store in stores)
    for loaded in (followed, machine):
        if loaded.entry is None:
            return msg("predict.not_compiled", error=loaded.built.error)
    assert followed.entry is not None
    assert machine.entry is not None
    module = parse(followed.built.result.ptx)
    why_not = untold(module, followed.entry)
    if why_not is not None:
        return why_not
    request = kernel.launch_without_data(followed.built, followed.entry, sizes)
    takes = machine.built.result.resources[machine.entry]
    shared = request.shared_bytes + takes.shared_bytes
    resident = resident_blocks(processor, prod(request.block), takes.registers, shared)
    if not resident:
        return msg("predict.does_not_fit", device=processor.name)
    arguments = [
        Argument(size_bytes=(prod(a.shape) + a.start) * np.dtype(a.dtype).itemsize)
        if isinstance(a, BufferArgument)
        else Argument(number=np.dtype(a.dtype).type(a.value))
        for a in request.arguments
    ]
    together, neighbours = sampled_blocks(request.grid, resident, processor)
    numbers = [*together, *(number for number in neighbours if number >= 0)]
    traces = follow(
        module,
        request.entry,
        request.grid,
        request.block,
        request.shared_bytes,
        arguments,
        numbers,
        [MOST_STEPS] + [FEW_STEPS] * (len(numbers) - 1),
    )
    if len(traces) < len(numbers) or not traces[0].complete:
        return msg("predict.not_followed", most=MOST_STEPS)
    rest = traces[len(together) :]
    beside = [rest.pop(0) if number >= 0 else None for number in neighbours]
    cache = processor.cache_bytes(resident, shared)
    asked = profile(traces[: len(together)], beside, request.grid, resident, cache, processor)
    return predict(asked, processor, FITTED)


def untold(module: Module, entry: str) -> Message | None:
    """Why what the blocks do on arrays of zeros tells no time; None: it does."""
    functions = [f for name, f in module.functions.items() if name == entry or not f.is_entry]
    if any(data_decide(function) for function in functions):
        return msg("predict.data_decide")
    if any(variable.space == "local" for function in functions for variable in function.variables):
        return msg("predict.local_memory")
    return None
