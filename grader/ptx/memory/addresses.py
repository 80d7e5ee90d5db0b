"""Where the arrays of the emulated device lie.

Addresses are made so that an index slip hardly ever lands in another array by accident: device buffers
lie 2^28 bytes apart, shared arrays as far as a block's 227 KiB allow, local ones 2^20 bytes.  Storage is
compact all the same.  Generic 64-bit pointers carry shared and local memory in windows of their own.

They look like a device's, for a kernel that asks where its arrays lie must not learn from it what runs it:

    global, constant   0x7Fxx xxxx xxxx, other ones for every `seed` of a device
    shared (32 bits)   within 227 KiB                  generic: SHARED_WINDOW + that
    local              slot << 20 | 1 << 19            generic: LOCAL_WINDOW + that
"""

from __future__ import annotations

GLOBAL_SPACING = 28
GLOBAL_BASE = 0x7F00_0000_0000
WINDOW_SPACING = 20
WINDOW_BITS = 32
WINDOW_BYTES = 1 << WINDOW_BITS
FUNCTION_WINDOW = 0x7FFC_0000_0000
SHARED_WINDOW = 0x7FFD_0000_0000
LOCAL_WINDOW = SHARED_WINDOW + WINDOW_BYTES
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": LOCAL_WINDOW, "global": 0, "const": 0}
"""By state space, what a generic address has more than one of the space itself."""
MAX_SLOTS = 2000
"""Arrays (and pieces of 256 MiB of them) of one device."""
FAR = 32
"""Slots: 8 GiB, as far as an int can be wrong as the index of a float."""
ORIGINS = ((FUNCTION_WINDOW - GLOBAL_BASE) >> GLOBAL_SPACING) - MAX_SLOTS

SHARED_BYTES = 227 * 1024
"""What a block can have on any device so far (compute capability 9.0)."""

POISON = 0xFF
"""Every byte of memory that nothing has written: NaN in every floating-point format."""
