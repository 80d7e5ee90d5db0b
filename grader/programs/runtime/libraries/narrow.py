"""Numbers that NumPy has no type for, bfloat16 and those of 8 bits: stored as they are, computed with as float32."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
STORED = {"bf16": "u2", "e4m3": "u1", "e5m2": "u1"}
"""What lies in memory, by the name of what it stands for."""
_FRACTION_BITS = {"e4m3": 3, "e5m2": 2}
_MAGNITUDES = {"e4m3": 0x7F, "e5m2": 0x7C}
"""Numbers of 8 bits, without their sign, that are no NaN and not infinite."""
_NAN_OF_8_BITS, _SIGN = 0x7F, 0x80
_NAN_OF_BF16 = 0x7FFF


@cache
def _magnitudes(name: str) -> Array:
    """Values of all codes of a format of 8 bits without a sign, in order."""
    fraction_bits = _FRACTION_BITS[name]
    exponents, fractions = np.divmod(np.arange(_MAGNITUDES[name]), 1 << fraction_bits)
    bias = (1 << (6 - fraction_bits)) - 1
    whole = np.where(exponents == 0, fractions, fractions + (1 << fraction_bits))
    values: Array = np.ldexp(whole.astype("f4"), np.maximum(exponents, 1) - bias - fraction_bits)
    return values


def decoded(stored: Array, name: str) -> Array:
    """Return stored numbers as float32."""
    if name == "bf16":
        return (stored.astype("u4") << 16).view("f4")
    magnitudes = np.full(_SIGN, np.nan, "f4")
    magnitudes[: _MAGNITUDES[name]] = _magnitudes(name)
    if name == "e5m2":
        magnitudes[_MAGNITUDES[name]] = np.inf
    return np.concatenate([magnitudes, -magnitudes])[stored]


def encoded(values: Array, name: str) -> Array:
    """Return numbers as they are stored: the nearest, of two the even one; of 8 bits none beyond the largest."""
    numbers = values.astype("f4")
    if name == "bf16":
        bits = numbers.view("u4")
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(numbers), _NAN_OF_BF16, rounded).astype("u2")
    magnitudes, sizes = _magnitudes(name), np.abs(numbers)
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2
    below = np.searchsorted(middles, sizes)
    is_between = np.append(middles, np.inf)[below] == sizes
    codes = np.minimum(below + (is_between & (below & 1).astype(bool)), len(magnitudes) - 1)
    codes = np.where(np.isnan(numbers), _NAN_OF_8_BITS, codes)
    return (codes | np.where(np.signbit(numbers), _SIGN, 0)).astype("u1")


class Narrow(np.ndarray[Any, Any]):
    """A view of stored numbers that is read, and written, as the numbers that they stand for."""

    name: str = ""

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "")

    def astype(self, dtype: Any, *_order: Any, **_options: Any) -> Any:
        """Return the numbers in another type."""
        return decoded(self.view(np.ndarray), self.name).astype(dtype, copy=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, encoded(np.asarray(_plain(value)), self.name))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(_plain, inputs), **options)


def _plain(value: Any) -> Any:
    return value.astype("f4") if isinstance(value, Narrow) else value


def narrow(stored: Array, name: str) -> Narrow:
    """Return stored numbers as what they stand for."""
    view = stored.view(Narrow)
    view.name = name
    return view
