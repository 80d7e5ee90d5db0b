"""The meaning of an arithmetic instruction, as data: operand types in, function, result types out.

Semantics see NumPy arrays only (one element a thread, or length 1 when every thread has the same
value) and know nothing of registers, memory, masks or observers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Lanes = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Semantics:
    """How to compute one instruction.

    inputs: dtype in which each source operand is handed over (bool for predicates).
    outputs: dtype of each result.
    compute: takes the inputs as arrays of equal length or length 1 (broadcasting), returns one array,
      or a tuple when there are several outputs.  Must not write into its inputs.
    reads_carry / writes_carry: the condition-code register is an extra last input / last output (uint8 0 or 1).
    """

    inputs: tuple[np.dtype[np.generic], ...]
    outputs: tuple[np.dtype[np.generic], ...]
    compute: Callable[..., Lanes | tuple[Lanes, ...]]
    reads_carry: bool = False
    writes_carry: bool = False
