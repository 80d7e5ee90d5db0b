"""Characters that act on what shows them, made visible: a student's text must not steer a terminal or turn lines round.

Control characters (escape sequences begin with one) become their pictures ("␛"), bidirectional controls, which can
make code read otherwise than it compiles, become their numbers ("⟨U+202E⟩"), and so do what is no character.
"""

from __future__ import annotations

import re
from typing import Any

MOST_BYTES = 4000
"""Of one text in what services are sent, which have limits of their own: a name of a student's may be of any length."""
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SEPARATORS = (0x2028, 0x2029)
_PICTURES: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    **{code: f"⟨U+{code:04X}⟩" for code in (*_BIDI, *_SEPARATORS)},
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
    # Bytes of a name that are no text, as Python keeps them.
    **{0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)},
}
_ACTING = re.compile("[" + "".join(re.escape(chr(code)) for code in _PICTURES) + "]")


def visible(text: str) -> str:
    """`text` with nothing in it that acts; tabs and line ends stay."""
    return text.translate(_PICTURES) if _ACTING.search(text) else text


def visible_line(text: str) -> str:
    """`text` as one line with nothing in it that acts: a name must not begin a line of its own."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def clipped(text: str, limit_bytes: int = MOST_BYTES) -> str:
    """`text`, or its beginning with an ellipsis where it takes more than `limit_bytes` in UTF-8."""
    data = text.encode("utf-8", errors="replace")
    return text if len(data) <= limit_bytes else f"{data[:limit_bytes].decode('utf-8', errors='ignore')} …"


def visible_all(view: Any) -> Any:
    """A view (strings in lists and dicts) with every string made visible."""
    if isinstance(view, str):
        return visible(view)
    if isinstance(view, dict):
        return {key: visible_all(value) for key, value in view.items()}
    if isinstance(view, list | tuple):
        return [visible_all(value) for value in view]
    return view
