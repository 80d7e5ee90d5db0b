"""A student's file as text: any of the encodings that real files come in, and programs in the cells of a notebook.

`%%cu` and `%%cuda` cells are joined in order, each program ending with the cell that has its `main`.  The magics
`%%writefile x.cu`, `%%file`, `%%cuda_group_save --name x.cu` and `%%cuda --name x.cu` make files, which an
`#include "x.cuh"` of another cell takes in.  A line of a program stands for one line of one cell, the magic's own among
them, so that places can be told as cell and line.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath

import msgspec

from grader.errors import UsageError, system_reason
from grader.files import NotPlain, TooLarge, read_plain
from grader.message import Message, msg
from grader.submission.lexical import line_of_main, refuse_long_runs

MAX_BYTES = 1 << 20

_BOMS_OF_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
# Characters that reorder what a reader sees: a listing would show other code than is compiled (CVE-2021-42574).
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
# What a run of UTF-8 beside CP1251 must consist of: "Её" in CP1251 is valid UTF-8 too, but not of these.
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

    Raises UsageError: not a plain file, unreadable, empty, larger than `MAX_BYTES`, UTF-16 or UTF-32, holds NUL, or a
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
    Raises UsageError: see `decode`.
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
    written, remarks = None, _cell_remarks(text)
    if remarks:
        written, text = text, _CELL_MAGIC.sub(r"\1// \2", text, count=1)
    remarks += tuple(
        ("bidi_control", number)
        for number, line in enumerate(text.split("\n"), start=1)
        if not line.isascii() and _BIDI_CONTROLS.search(line)
    )
    return SourceText(path=path, text=text, encoding=encoding, remarks=remarks, sha256=digest, written=written)


# What a file that was copied out of a notebook's cell begins with; no line of C++ begins so.
_CELL_MAGIC = re.compile(r"\A((?:[ \t]*(?://[^\n]*)?\n)*[ \t]*)(%%[A-Za-z])")


def _cell_remarks(text: str) -> tuple[tuple[str, int], ...]:
    magic = _CELL_MAGIC.match(text)
    return (("cell_magic", magic[1].count("\n") + 1),) if magic is not None else ()


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


MAX_NOTEBOOK_BYTES = 32 << 20
"""Outputs of cells, pictures among them, are in the same file."""

_COMPILING = ("cu", "cuda", "nvcc", "jupyda", "cuda_group_save", "grade")
_WRITING = ("writefile", "file")
_SUFFIXES = (".cu", ".cuh", ".h", ".hpp")
_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*(.*)")
_INCLUDE = re.compile(r'(\s*)#\s*include\s*"([^"\n]+)"(.*)')

# Before these and after them what is included is the same.
_PREAMBLE = re.compile(r"\s*(?://.*|/\*.*\*/|#\s*include.*|#\s*pragma\s+once.*|using\b[^;]*;)?\s*")


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""

    @property
    def text(self) -> str:
        lines = self.source or self.input
        return lines if isinstance(lines, str) else "".join(lines)


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    """worksheets: before version 4 of the format."""

    cells: list[_Cell] = []
    worksheets: list[_Sheet] = []


@dataclass(slots=True)
class _Program:
    """Cells that make one text; cells: the number of each, from 1, with its lines."""

    name: str
    cells: list[tuple[int, list[str]]] = field(default_factory=list)

    @property
    def lines(self) -> Iterator[str]:
        return (line for _number, lines in self.cells for line in lines)


def read_notebook(path: Path, lab_id: str) -> tuple[SourceText, ...]:
    """The programs of the notebook at `path`; where one is a file named after the lab, that one alone.

    Raises UsageError: it cannot be read, is no notebook, or has no cell with CUDA code.
    """
    try:
        data = read_plain(path, MAX_NOTEBOOK_BYTES)
    except NotPlain as error:
        raise UsageError(msg("submission.not_plain", path=path)) from error
    except TooLarge as error:
        raise UsageError(msg("submission.bytes", path=path, size=error.size, limit=MAX_NOTEBOOK_BYTES)) from error
    except OSError as error:
        raise UsageError(msg("submission.unreadable", path=path, reason=system_reason(error))) from error
    return notebook_sources(path, data, lab_id)


def notebook_sources(path: Path, data: bytes, lab_id: str) -> tuple[SourceText, ...]:
    """The same of the notebook's bytes."""
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(msg("submission.no_notebook", path=path)) from error
    cells = [*notebook.cells, *(cell for sheet in notebook.worksheets for cell in sheet.cells)]
    files, programs = _sorted(cells, lab_id)
    own = [program for name, program in files.items() if PurePosixPath(name).stem.lower() == lab_id.lower()]
    own = [program for program in own if program.name.endswith(".cu")]
    included = {name for program in (*files.values(), *programs) for name in _included(program, files)}
    mains = own or [*(p for name, p in files.items() if name.endswith(".cu") and name not in included), *programs]
    if not mains:
        raise UsageError(msg("submission.no_cells", path=path))
    digest = hashlib.sha256(data).hexdigest()
    return tuple(_source(path, program, files, digest, len(mains) == 1) for program in mains)


def _sorted(cells: Sequence[_Cell], lab_id: str) -> tuple[dict[str, _Program], list[_Program]]:
    """The files that cells write, by name, and the programs of the cells without one."""
    files: dict[str, _Program] = {}
    programs: list[_Program] = []
    is_open = False
    for number, cell in enumerate(cells, start=1):
        lines = cell.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        first = next((index for index, line in enumerate(lines) if line.strip()), 0)
        magic = _MAGIC.match(lines[first])
        if cell.cell_type != "code" or magic is None:
            continue
        words = _words(magic[2])
        name, appends = _written(magic[1], words)
        if name is None or (magic[1] == "grade" and words and not words[0].startswith("-") and words[0] != lab_id):
            continue
        lines[first] = f"// {lines[first].strip()}"
        if name:
            if not appends or name not in files:
                files.pop(name, None)
                files[name] = _Program(name)
            files[name].cells.append((number, lines))
        else:
            if not is_open:
                programs.append(_Program(""))
            programs[-1].cells.append((number, lines))
            is_open = not line_of_main("\n".join(lines))
    if is_open and len(programs) > 1:
        # What follows the last program belongs to it.
        rest = programs.pop()
        programs[-1].cells += rest.cells
    return files, programs


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=False)
    except ValueError:
        return line.split()


def _written(magic: str, words: list[str]) -> tuple[str | None, bool]:
    """The file that a magic writes, "" where it compiles the cell itself, None where it is no CUDA code.

    The second: whether it appends.
    """
    if magic in _WRITING:
        names = [word for word in words if not word.startswith("-")]
        name = PurePosixPath(names[0]).name if names else ""
        return (name if name.endswith(_SUFFIXES) else None), any(word in ("-a", "--append") for word in words)
    if magic not in _COMPILING:
        return None, False
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word in ("-n", "--name"):
            return PurePosixPath(following).name, False
        if word.startswith("--name="):
            return PurePosixPath(word.removeprefix("--name=")).name, False
    return "", False


def _included(program: _Program, files: dict[str, _Program]) -> Iterator[str]:
    for line in program.lines:
        include = _INCLUDE.match(line)
        name = PurePosixPath(include[2]).name if include else ""
        if name in files and name != program.name:
            yield name


@dataclass(slots=True)
class _Joined:
    """Cells put one after another; cells: the first line of each, and its number, as `SourceText` has them.

    A cell in whose middle a file is included is there twice, the second time with empty lines for those above.
    """

    files: dict[str, _Program]
    lines: list[str] = field(default_factory=list)
    cells: list[tuple[int, int]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def put(self, program: _Program) -> None:
        """A program's cells, and where it includes another of the notebook's files, that one's, once."""
        self.taken.add(program.name)
        for number, rows in program.cells:
            above: list[str] = []
            begun = 0
            for index, line in enumerate(rows):
                include = _INCLUDE.match(line)
                name = PurePosixPath(include[2]).name if include else ""
                if name in self.files and name not in self.taken:
                    if not all(_PREAMBLE.fullmatch(one) for one in above):
                        self._put_lines(number, begun, above)
                        above, begun = [], index
                    self.put(self.files[name])
                above.append(f"// {line.strip()}" if name in self.files else line)
            self._put_lines(number, begun, above)

    def _put_lines(self, number: int, begun: int, rows: list[str]) -> None:
        self.cells.append((len(self.lines) + 1, number))
        self.lines += [""] * begun + rows


def _source(path: Path, program: _Program, files: dict[str, _Program], digest: str, is_only: bool) -> SourceText:
    joined = _Joined(files)
    joined.put(program)
    lines, cells = joined.lines, joined.cells
    text = "\n".join(lines) + "\n"
    if len(text.encode("utf-8", errors="replace")) > MAX_BYTES:
        raise UsageError(msg("submission.bytes", path=path, size=len(text), limit=MAX_BYTES))
    if "\x00" in text:
        raise UsageError(msg("submission.nul", path=path, line=text[: text.index("\x00")].count("\n") + 1))
    name = program.name or (f"{path.stem}.cu" if is_only else f"{path.stem}.cell{program.cells[0][0]}.cu")
    return SourceText(path.with_name(name), text, "utf-8", sha256=digest, notebook=path.name, cells=tuple(cells))
