"""Text on its way to who reads it: a student's text must not steer a terminal, and a reader may go away.

Control characters (escape sequences begin with one) become their pictures ("␛"), bidirectional controls, which can
make code read otherwise than it compiles, become their numbers ("⟨U+202E⟩"), and so do what is no character.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from pathlib import Path
from typing import IO, Any

from grader.errors import system_reason

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


# A stream whose reader may go away: what is done besides printing goes on.

READER_GONE = (errno.EPIPE, errno.EIO, errno.ECONNRESET)


def prepare_standard_streams() -> None:
    """Have both take whatever is written to them: a closed one takes it to nowhere, an old encoding shows `?`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Open until the process ends, as the one that it stands for would be.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if name == "stdout" else "backslashreplace")


def speak_utf8() -> None:
    """Have standard output be UTF-8 whatever the locale: what reads JSON or a service's format expects no other."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


class LastingStream:
    """A text stream that is silent once it cannot be written to: the rest of the work does not depend on it.

    A reader that has seen enough (`| head`) or a terminal that was closed is nothing to tell; a disk that is full is,
    on standard error.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.is_gone = False

    def write(self, text: str) -> int:
        """Write `text`, unless an earlier write failed."""
        if not self.is_gone:
            try:
                return self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Have what was written go out."""
        if not self.is_gone:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        self.is_gone = True
        # What the stream still holds would fail again when the interpreter closes it, with a message of Python's.
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return
        if error.errno not in READER_GONE:
            print(f"grade: {system_reason(error)}", file=sys.stderr)
