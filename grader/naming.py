"""Names that students chose, made fit for use: as text, as names of folders, in a command line.

A folder's name is any bytes without a slash; it may be no text, steer a terminal, or be another output's name.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from grader.result import Result

ENCODINGS = ("cp866", "cp1251")
"""What names from old archives are in: DOS for zip files made on Windows, else Windows itself."""
RESERVED_SUFFIXES = (".csv", ".html", ".json", ".log", ".md", ".pdf", ".xlsx", ".xml")
"""Outputs lie beside the students' folders under names that end so."""
LONGEST_BYTES = 200
_LARGEST = 2**63 - 1

_RAW = re.compile("[\udc80-\udcff]")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_APART = re.compile(r"([\s/:;,'\"«»()]+)")
_RUSSIAN = frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяё")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f/\\<>:"|?*]|^\.+|[. ]+$')
_DEVICES = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


def printable(text: str) -> str:
    """`text` with what is no Unicode in it made so: read in an old Russian encoding, else as numbers of bytes."""
    if not _SURROGATE.search(text):
        return text
    return "".join(_read(word) if _RAW.search(word) else _SURROGATE.sub("\ufffd", word) for word in _APART.split(text))


def _read(word: str) -> str:
    """Return a word with bytes in it that are no UTF-8; those that happen to be are read with them."""
    data = _NO_BYTE.sub("\ufffd", word).encode("utf-8", errors="surrogateescape")
    return in_old_encoding(data) or data.decode("utf-8", errors="backslashreplace")


def in_old_encoding(data: bytes) -> str:
    """`data` in the first encoding in which all its letters are Russian; "" where there is none."""
    for encoding in ENCODINGS:
        decoded = data.decode(encoding, errors="replace")
        if all(letter.lower() in _RUSSIAN for letter in decoded if not letter.isascii()):
            return decoded
    return ""


def printable_result(result: Result) -> Result:
    """`result` as it is, or made fit to be kept: names of files stand in many places of it, and numbers that a program
    asks for (the threads of a block of 10^12 by 10^12) may be larger than any that a file or a device knows."""
    try:
        msgspec.msgpack.encode(result)
    except (UnicodeEncodeError, OverflowError):
        data = msgspec.to_builtins(result)
        try:
            return msgspec.convert(printable_all(data), Result)
        except msgspec.ValidationError:
            # A whole number is due where one too large stands: the largest there is.
            return msgspec.convert(printable_all(data, _largest), Result)
    return result


def printable_all(data: Any, too_large: Callable[[int], float] = float) -> Any:
    """Plain data with every text `printable`, and integers of more than 64 bits as `too_large` makes them."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, Mapping):
        return {printable(key): printable_all(value, too_large) for key, value in data.items()}
    if isinstance(data, list):
        return [printable_all(value, too_large) for value in data]
    if isinstance(data, int) and not -_LARGEST <= data <= _LARGEST:
        # Beyond what a float holds, too.
        return too_large(data) if data.bit_length() < 1000 else _largest(data)
    return data


def _largest(value: int) -> int:
    return _LARGEST if value > 0 else -_LARGEST


def quoted(path: Path) -> str:
    """A path as a shell takes it, in characters that can be shown and copied."""
    name = str(path)
    if not _SURROGATE.search(name) and all(c.isprintable() for c in name):
        return shlex.quote(name)
    data = os.fsencode(path)
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in data) + "'"


def folder_name(student: str) -> str:
    """The name of a student's folder among the outputs: the id itself, unless that is unfit for a name or taken."""
    name = printable(student)
    fit = _UNSAFE.sub("_", name)
    is_taken = fit.lower().endswith(RESERVED_SUFFIXES) or _DEVICES.fullmatch(fit)
    if fit == name and fit and not is_taken and len(fit.encode()) <= LONGEST_BYTES:
        return fit
    mark = _mark(student)
    short = fit.encode()[: LONGEST_BYTES - len(mark) - 1].decode(errors="ignore")
    return f"{short.replace('.', '_')}-{mark}"


def folder_names(students: Iterable[str], capitals_differ: bool = True) -> dict[str, str]:
    """A folder name for each student, all different; nobody loses theirs to another student of the same name.

    capitals_differ: whether the file system keeps "ivanov" and "Ivanov" apart; where it does not, the first keeps its
      name.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for student in students:
        if student in names:
            continue
        name = folder_name(student)
        if not capitals_differ:
            if _folded(name) in taken:
                name = f"{name}-{_mark(student)}"
            taken.add(_folded(name))
        names[student] = name
    return names


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _mark(student: str) -> str:
    return hashlib.sha256(student.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]
