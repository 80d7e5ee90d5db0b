"""A student's file as text: any of the encodings that real files come in, with true line numbers."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError, system_reason
from grader.files import NotPlain, TooLarge, read_plain
from grader.message import Message, msg
from grader.submission.effort import refuse_long_runs

MAX_BYTES = 1 << 20

_BOMS_OF_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
# Characters that reorder what a reader sees: a listing would show other code than is compiled (CVE-2021-42574).
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Of what a run of UTF-8 beside CP1251 must consist: "Её" in CP1251 is valid UTF-8 too, but not of these.
_LIKELY_IN_UTF8 = re.compile("[\u00a0-\u00bf\u00d7\u00f7\u0400-\u04ff\u2000-\u23ff\u2500-\u27bf]+")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A student's file as text: decoded, without BOM, line ends as `\\n`, line numbers as in the file.

    encoding: "utf-8", "utf-8-sig", "cp1251" or "mixed".
    remarks: message ids with data, e.g. ("bidi_control", 12).
    sha256: of the bytes that the text was decoded from, as hexadecimal digits; "" for a text that was never a file.
    notebook, cells: the name of the notebook that the text is taken from, "" for none; the first line of each of its
      cells in the text, and the cell's number.
    written: the text as the file has it, where `text` was made of that; None where they are the same.
    name: the path within the submission, where that is more than the file's own name.
    """

    path: Path
    text: str
    encoding: str
    remarks: tuple[tuple[str, int], ...] = ()
    sha256: str = ""
    notebook: str = ""
    cells: tuple[tuple[int, int], ...] = ()
    written: str | None = None
    name: str = ""

    @property
    def file(self) -> str:
        """What tells it from the submission's other files: its path within the submission, with `/` between folders."""
        return self.name or self.path.name

    @property
    def root(self) -> Path:
        """The folder that `file` is relative to."""
        return self.path.parents[self.file.count("/")]


def named_within(source: SourceText, root: Path) -> SourceText:
    """`source` by its path relative to `root`."""
    name = Path(os.path.relpath(source.path, root)).as_posix()
    return replace(source, name="" if name == source.path.name else name)


def decode(path: Path) -> SourceText:
    """The file at `path` as text.

    Raises
    ------
    UsageError : not a plain file, unreadable, empty, larger than `MAX_BYTES`, UTF-16 or UTF-32, holds NUL, or a
      word or blanks that go on for thousands of characters.
    """
    try:
        data = read_plain(path, MAX_BYTES)
    except NotPlain as error:
        raise UsageError(msg("submission.not_plain", path=path)) from error
    except TooLarge as error:
        raise UsageError(_too_large(path, error.size)) from error
    except OSError as error:
        raise UsageError(msg("submission.unreadable", path=path, reason=system_reason(error))) from error
    return decode_bytes(path, data)


def decode_bytes(path: Path, data: bytes) -> SourceText:
    """The text that `data`, the content of `path`, stands for.

    UTF-8 where the bytes are UTF-8, else CP1251; a file that mixes both (two editors, one paste) is decoded run by
    run of non-ASCII bytes.  The result holds no byte order mark, no NUL and only `\\n` as line end, and is encoded
    as UTF-8 from here on: NVRTC takes the byte 0xFF, the letter «я» in CP1251, for the end of the file.

    Raises
    ------
    UsageError : see `decode`.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(_too_large(path, len(data)))
    digest = hashlib.sha256(data).hexdigest()
    if b"\x00" in data:
        # Without a NUL the mark is CP1251 text that begins with «юя», as any program in UTF-16 holds NULs.
        if data.startswith(_BOMS_OF_OTHER_ENCODINGS):
            raise UsageError(msg("submission.utf16", path=path))
        line = data[: data.index(b"\x00")].count(b"\n") + 1
        raise UsageError(msg("submission.nul", path=path, line=line))
    text, encoding = text_of_bytes(data)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise UsageError(msg("submission.empty", path=path))
    refuse_long_runs(path, text)
    remarks = tuple(
        ("bidi_control", number)
        for number, line in enumerate(text.split("\n"), start=1)
        if not line.isascii() and _BIDI_CONTROLS.search(line)
    )
    return SourceText(path=path, text=text, encoding=encoding, remarks=remarks, sha256=digest)


def _too_large(path: Path, size: int) -> Message:
    return msg("submission.bytes", path=path, size=size, limit=MAX_BYTES)


def text_of_bytes(data: bytes) -> tuple[str, str]:
    """The text of `data` without its byte order mark, and its encoding (see `SourceText`); line ends as they are."""
    encoding = "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        data, encoding = data[3:], "utf-8-sig"
    try:
        return data.decode("utf-8"), encoding
    except UnicodeDecodeError:
        return _decode_runs(data)


def _decode_runs(data: bytes) -> tuple[str, str]:
    """Text and encoding ("cp1251" or "mixed") of bytes that are not UTF-8 as a whole."""
    seen_utf8 = False

    def text_of(match: re.Match[bytes]) -> bytes:
        nonlocal seen_utf8
        run = match.group()
        try:
            text = run.decode("utf-8")
        except UnicodeDecodeError:
            text = ""
        if text and _LIKELY_IN_UTF8.fullmatch(text):
            seen_utf8 = True
            return run
        # 0x98 alone has no meaning in CP1251.
        return run.decode("cp1251", errors="replace").encode("utf-8")

    decoded = _NOT_ASCII.sub(text_of, data).decode("utf-8")
    return decoded, "mixed" if seen_utf8 else "cp1251"
