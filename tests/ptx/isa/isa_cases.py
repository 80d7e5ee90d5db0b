"""Every arithmetic instruction with an independent computation of its result, on bit patterns.

Used twice: the emulator is compared with the oracles, and (marked gpu) with the device itself.
"""

from __future__ import annotations

import isa_convert_cases
import isa_float_cases
import isa_integer_cases
from isa_case import CASES

isa_integer_cases.build()
isa_float_cases.build()
isa_convert_cases.build()

__all__ = ["CASES"]
