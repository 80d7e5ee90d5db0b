"""What memory holds that nobody has written, so that it shows: outputs before a launch, guards around arrays."""

from __future__ import annotations

FLOAT_SENTINEL_BYTE = 0xFF
"""Every byte of an output of floating-point numbers before the launch: NaN in every format, so that what is added to it
shows whatever the tolerance.  Arithmetic makes another NaN (0x7FFFFFFF on a GPU), never this one."""

INTEGER_SENTINEL_BYTE = 0xA5
"""The same for integers: no value that a kernel comes by without meaning to, as 0 and -1 are."""

GUARD_BYTE = 0x5C
"""What lies on either side of an array on a GPU, where no fault tells of an access out of bounds."""


def sentinel_byte(dtype: str) -> int:
    """What every byte of unset elements of a NumPy type holds, by the type's name."""
    return FLOAT_SENTINEL_BYTE if dtype.startswith(("float", "complex")) else INTEGER_SENTINEL_BYTE
