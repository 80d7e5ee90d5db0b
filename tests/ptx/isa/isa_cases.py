"""Every arithmetic instruction with an independent computation of its result, on bit patterns.

Used twice: the emulator is compared with the oracles, and (marked gpu) with the device itself.
"""

from __future__ import annotations

from tests.ptx.isa import isa_convert_cases, isa_float_cases, isa_integer_cases
from tests.ptx.isa.isa_case import CASES

isa_integer_cases.build()
isa_float_cases.build()
isa_convert_cases.build()

__all__ = ["CASES"]
