"""Archives that nobody vouches for, read into memory within limits: nothing is ever written where a name says.

A name may lead out of the folder, be in an old encoding, or be a link; an archive may hold another, say that it is
small and be huge, or be none.  All that becomes a `Problem` of its own place, and the rest is read all the same.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from grader.course.roster import composed
from grader.message import Message, msg
from grader.naming import in_old_encoding, printable

MAX_FILE_BYTES = 2 << 20
"""No source file is as large; what else students hand in (films, builds) is left out."""
MAX_BYTES = 1 << 30
MAX_ENTRIES = 50_000
MAX_NESTED_BYTES = 64 << 20
MAX_NESTED_ENTRIES = 5_000
MAX_DEPTH = 3
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
UNREAD = (".rar", ".7z")

_UNICODE_PATH = 0x7075
_UTF8_FLAG = 0x800
_DRIVE = re.compile(r"^[A-Za-z]:")
_ERRORS = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, NotImplementedError)
_ERRORS_OF_ZIP = (*_ERRORS, RuntimeError, struct.error, MemoryError)


@dataclass(frozen=True, slots=True)
class File:
    """A file of an archive: the parts of its name, none of which leads anywhere, and its content."""

    parts: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of an archive, which may hold nothing that is read; parts: of its name."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an archive that is not read; `parts` say where."""

    parts: tuple[str, ...]
    message: Message


def is_archive(name: str) -> bool:
    """Whether a file is an archive that can be read, by its name."""
    return name.lower().endswith(ARCHIVES)


Found = File | Folder | Problem


def read_archive(file: IO[bytes], name: str) -> Iterator[Found]:
    """The files and folders of an archive, archives in it as files; in the archive's order."""
    yield from _Reader(MAX_ENTRIES, MAX_BYTES).read(file, name, (), 0)


def read_nested(files: Iterable[File]) -> Iterator[File | Problem]:
    """What one student handed in, with the archives in it unpacked, within that student's limits."""
    reader = _Reader(MAX_NESTED_ENTRIES, MAX_NESTED_BYTES)
    for file in files:
        name = file.parts[-1]
        if is_archive(name):
            unpacked = reader.read(io.BytesIO(file.data), name, _folder_of(file.parts), 1)
            yield from (item for item in unpacked if not isinstance(item, Folder))
            continue
        if name.lower().endswith(UNREAD):
            yield Problem(file.parts, msg("intake.unread", name=name))
        yield file


@dataclass(slots=True)
class _Reader:
    """Reads until its limits are used up: entries, and the sum of their bytes."""

    left_entries: int
    left_bytes: int

    def read(self, file: IO[bytes], name: str, where: tuple[str, ...], depth: int) -> Iterator[Found]:
        try:
            if name.lower().endswith(".zip"):
                yield from self._zip(file, where, depth)
            else:
                yield from self._tar(file, where, depth)
        except _Spent:
            yield Problem(where, msg("intake.too_much", name=name))
        except _ERRORS_OF_ZIP as error:
            yield Problem(where, msg("intake.broken", name=name, reason=_reason(error)))

    def _zip(self, file: IO[bytes], where: tuple[str, ...], depth: int) -> Iterator[Found]:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = zip_name(info)
                # Some write names as Windows does, with backslashes.
                if name.endswith(("/", "\\")):
                    yield from self._folder(name, where)
                    continue
                kind = stat.S_IFMT(info.external_attr >> 16)
                if kind not in (0, stat.S_IFREG):
                    yield Problem((*where, *_place(name)), msg("intake.link", name=name))
                    continue
                if info.flag_bits & 1:
                    yield Problem((*where, *_place(name)), msg("intake.encrypted", name=name))
                    continue
                try:
                    with archive.open(info) as entry:
                        data = self._content(entry, name, info.file_size)
                except _ERRORS_OF_ZIP as error:
                    if isinstance(error, _Spent):
                        raise
                    yield Problem((*where, *_place(name)), msg("intake.broken", name=name, reason=_reason(error)))
                    continue
                yield from self._entry(name, data, where, depth)

    def _tar(self, file: IO[bytes], where: tuple[str, ...], depth: int) -> Iterator[Found]:
        with tarfile.open(fileobj=file, mode="r:*", errors="surrogateescape") as archive:
            for info in archive:
                name = printable(info.name)
                if info.isdir():
                    yield from self._folder(name, where)
                    continue
                if not info.isreg():
                    yield Problem((*where, *_place(name)), msg("intake.link", name=name))
                    continue
                entry = archive.extractfile(info)
                assert entry is not None
                yield from self._entry(name, self._content(entry, name, info.size), where, depth)

    def _content(self, entry: IO[bytes], name: str, declared: int) -> bytes | None:
        """Return an entry's content, None for one that is too large; its declared size is not believed."""
        self.left_entries -= 1
        if self.left_entries < 0:
            raise _Spent
        limit = MAX_NESTED_BYTES if is_archive(name) else MAX_FILE_BYTES
        if declared > limit:
            return None
        data = entry.read(limit + 1)
        self.left_bytes -= len(data)
        if self.left_bytes < 0:
            raise _Spent
        return data if len(data) <= limit else None

    def _folder(self, name: str, where: tuple[str, ...]) -> Iterator[Folder]:
        self.left_entries -= 1
        if self.left_entries < 0:
            raise _Spent
        parts = safe_parts(name)
        if parts is not None and not is_litter(parts):
            yield Folder((*where, *parts))

    def _entry(self, name: str, data: bytes | None, where: tuple[str, ...], depth: int) -> Iterator[Found]:
        parts = safe_parts(name)
        if parts is None:
            yield Problem((*where, *_place(name)), msg("intake.outside", name=name))
        elif data is None:
            yield Problem((*where, *parts), msg("intake.large", name=name, limit=MAX_FILE_BYTES >> 20))
        elif is_litter(parts):
            # Whose folder holds nothing else has handed in nothing, which is a row, too.
            if len(parts) > 1 and "__MACOSX" not in parts:
                yield Folder((*where, *parts[:-1]))
        elif depth and depth < MAX_DEPTH and is_archive(name):
            yield from self.read(io.BytesIO(data), parts[-1], (*where, *_folder_of(parts)), depth + 1)
        else:
            yield File((*where, *parts), data)


class _Spent(ValueError):
    """An archive holds more than is read of one."""


def zip_name(info: zipfile.ZipInfo) -> str:
    """The name of an entry: UTF-8 where it says so or is, else an old Russian encoding where it reads as one."""
    if info.flag_bits & _UTF8_FLAG:
        return info.filename
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == _UNICODE_PATH and size > 5:
            return extra[9 : 4 + size].decode("utf-8", errors="replace")
        extra = extra[4 + size :]
    # `zipfile` has read the bytes as code page 437, which has a character for each.
    try:
        raw = info.orig_filename.encode("cp437")
    except UnicodeEncodeError:
        return info.filename
    raw = raw.split(b"\0")[0]
    with contextlib.suppress(UnicodeDecodeError):
        return raw.decode("utf-8")
    # All of a name is in one encoding.
    return in_old_encoding(raw) or printable(os.fsdecode(raw))


def safe_parts(name: str) -> tuple[str, ...] | None:
    """The parts of a name that stays where it is unpacked, None for one that does not."""
    name = composed(name).replace("\\", "/")
    if name.startswith("/") or _DRIVE.match(name) or "\0" in name:
        return None
    parts = tuple(part for part in PurePosixPath(name).parts if part != ".")
    if not parts or any(
        part == ".." or not part.strip(" .") or len(part.encode(errors="replace")) > 250 for part in parts
    ):
        return None
    return parts


def _place(name: str) -> tuple[str, ...]:
    """Return the folder that a name is reported in; nothing is ever written there."""
    return tuple(part for part in composed(name).replace("\\", "/").split("/") if part.strip(" .")) or (name,)


def is_litter(parts: tuple[str, ...]) -> bool:
    """What systems leave in archives and nobody has written."""
    return (
        "__MACOSX" in parts[:-1]
        or parts[0] == "__MACOSX"
        or ".git" in parts[:-1]
        or parts[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")
        # What macOS knows of a file beside it, where the file system knows nothing of it (AppleDouble).
        or parts[-1].startswith("._")
    )


def stem_of(name: str) -> str:
    """The name of an archive without what says of which kind it is."""
    for suffix in sorted(ARCHIVES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
            break
    return name.strip(" .") or "archive"


def _folder_of(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folder that a nested archive is unpacked to, named after it."""
    return (*parts[:-1], stem_of(parts[-1]))


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
