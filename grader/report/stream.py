"""A stream whose reader may go away: what is done besides printing goes on."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import IO, Any

from grader.errors import system_reason

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
