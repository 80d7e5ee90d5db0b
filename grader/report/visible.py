"""Characters that act on what shows them, made visible: a student's text must not steer a terminal or turn lines round.

Control characters (escape sequences begin with one) become their pictures ("␛"), bidirectional controls, which can
make code read otherwise than it compiles, become their numbers ("⟨U+202E⟩").
"""

from __future__ import annotations

from typing import Any

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PICTURES: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **{code: f"⟨U+{code:04X}⟩" for code in _BIDI},
}


def visible(text: str) -> str:
    """`text` with nothing in it that acts; tabs and line ends stay."""
    return text.translate(_PICTURES)


def visible_all(view: Any) -> Any:
    """A view (strings in lists and dicts) with every string made visible."""
    if isinstance(view, str):
        return visible(view)
    if isinstance(view, dict):
        return {key: visible_all(value) for key, value in view.items()}
    if isinstance(view, list | tuple):
        return [visible_all(value) for value in view]
    return view
