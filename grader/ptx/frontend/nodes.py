"""What PTX is made of: a module as plain records, which `parse` in `grader.ptx.frontend.parser` builds and everything
else reads; and its text: comments, tokens, positions, and the lines of the CUDA source that instructions come from.

Statements are read with one regular expression each (`STATEMENT`); declarations, which are few, token by token through
`Cursor`.  Positions are offsets into the text, so every error can show its line with a caret.  Grammar: PTX ISA,
chapter "Syntax".

`.file` directives stand at the end of NVRTC's output, so they are collected before anything else is read.
A `.loc … inlined_at f l c` names the call site by the coordinates of an earlier `.loc` of the same function,
which may have been inlined itself: the chain is walked by looking those coordinates up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from grader.ptx.limits import PtxSyntaxError


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where an instruction comes from in the CUDA source.

    `line` is 1-based, 0 when the module was built without line information.  Inlined code is attributed to the
    innermost location that lies in the student's file.
    """

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` is dense and unique within its function, `type` without dot (b32, f32, pred)."""

    index: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `value` is a Python int; for floats it holds the IEEE bits and `float_type` is "f32" or "f64"."""

    value: int
    float_type: str | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable (or a function), plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register without its percent sign: "tid.x", "laneid", "clock64"."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, offset in bytes. `base` is None for an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`, and the two destinations of `p|q`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """The target of a branch."""

    name: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p` as a source operand."""

    register: Register


@dataclass(frozen=True, slots=True)
class Selected:
    """`%r.h1`, `%r.b0`, `%v.x`: a part of a register."""

    register: Register
    part: str


Operand = Register | Immediate | Symbol | Special | Address | Vector | Label | Sink | Negated | Selected


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One PTX instruction; compared by identity.

    `opcode` is the part before the first dot, `modifiers` the rest ("ld", ("global", "v4", "f32")).
    `call` instructions have operands (return params Vector, Symbol target or Register, argument Vector
    of Symbols naming `.param` variables).
    `ptx_line` is 1-based in the PTX text, `text` the statement as written, for messages.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: SourceLocation
    ptx_line: int
    text: str


@dataclass(frozen=True, slots=True)
class LabelMark:
    """A label's position in a function body."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable: a kernel parameter, a `.param` of a call, shared, local, global or constant memory.

    `size_bytes` is 0 for an unsized `extern .shared` array.  `initial` holds the initialiser's bytes
    (None: none given).  `relocations` lists (byte offset, symbol) pairs of an initialiser that holds addresses.
    """

    name: str
    space: str
    align: int
    size_bytes: int
    initial: bytes | None = None
    is_extern: bool = False
    relocations: tuple[tuple[int, Symbol], ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`is_entry`) or a device function."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: tuple[Register, ...]
    variables: tuple[Variable, ...]
    """Shared, local and call-`.param` variables declared in the body (names made unique)."""
    body: tuple[Instruction | LabelMark, ...]
    location: SourceLocation
    launch_bounds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Performance directives such as ("maxntid", (256, 1, 1))."""
    text: str = field(default="", repr=False)
    """The whole of it as written, comments left out."""

    def parameter_offsets(self) -> list[int]:
        """Where each parameter begins where all lie in memory one after the other."""
        offsets, end = [], 0
        for parameter in self.parameters:
            end += -end % parameter.align
            offsets.append(end)
            end += parameter.size_bytes
        return offsets

    @property
    def parameter_bytes(self) -> int:
        """What all parameters take then."""
        return self.parameter_offsets()[-1] + self.parameters[-1].size_bytes if self.parameters else 0


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed PTX module."""

    version: str
    target: str
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    """Module-scope global, constant and shared variables."""
    files: dict[int, str] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What others have made out of the module and keep with it."""

    def entries(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the text."""
        return tuple(name for name, function in self.functions.items() if function.is_entry)


IDENTIFIER = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
STRING = r'"(?:[^"\\\n]|\\[^\n])*"'
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(.))")

_COMMENT = re.compile(rf"{STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_BLANK = re.compile(r"\s*")
_TOKEN = re.compile(
    rf"\.[A-Za-z_]\w*|{IDENTIFIER}|_|0[fF][0-9A-Fa-f]{{8}}\b|0[dD][0-9A-Fa-f]{{16}}\b"
    r"|\d+\.\d*(?:[eE][+-]?\d+)?|\d\w*"
    rf"|{STRING}"
    r"|<<|>>|<=|>=|==|!=|&&|\|\||[{}()\[\]<>,;:=+\-*/%!~&^|?@]",
    re.ASCII,
)

STATEMENT = re.compile(
    rf"""\s*(?:
      (?P<label>{IDENTIFIER})\s*:(?!:)
    | (?:@\s*(?P<negated>!?)\s*(?P<guard>{IDENTIFIER})\s+)?
      (?P<opcode>[a-z]\w*(?:(?:\.|::)\w+)*)
      (?P<operands>[^;"]*);
    )""",
    re.VERBOSE | re.ASCII,
)
"""A label or an instruction; everything else in a body starts with a dot or is a brace."""


def strip_comments(text: str) -> str:
    """The text with each comment blanked out and the trailing NULs cut off; offsets and lines stay the same."""
    text = text.rstrip("\0")

    def blank(match: re.Match[str]) -> str:
        text = match.group()
        return text if text[0] == '"' else _NOT_NEWLINE.sub(" ", text)

    return _COMMENT.sub(blank, text)


def unquote(string: str) -> str:
    """The text of a string literal.  NVRTC writes what is not ASCII as octal escapes of its UTF-8 bytes."""

    def plain(match: re.Match[bytes]) -> bytes:
        octal, character = match.groups()
        return bytes([int(octal, 8) & 0xFF]) if octal is not None else character

    return _ESCAPE.sub(plain, string[1:-1].encode()).decode(errors="replace")


class Cursor:
    """A position in a PTX text without comments, with the token reading that declarations need."""

    __slots__ = ("_line", "_line_at", "pos", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self._line = 1
        self._line_at = 0

    def line(self, pos: int) -> int:
        """1-based line of an offset; cheap when asked in ascending order."""
        if pos < self._line_at:
            return self.text.count("\n", 0, pos) + 1
        self._line += self.text.count("\n", self._line_at, pos)
        self._line_at = pos
        return self._line

    def error(self, message: str, pos: int | None = None) -> PtxSyntaxError:
        """The error to raise for a fault at `pos` (default: the next token), with its line and a caret."""
        at = self.skip_blank() if pos is None else pos
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        source = self.text[start : end if end >= 0 else len(self.text)].replace("\t", " ")
        return PtxSyntaxError(message, self.text.count("\n", 0, at) + 1, at - start + 1, source)

    def skip_blank(self) -> int:
        """Move to the next token and return its offset."""
        match = _BLANK.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()
        return self.pos

    def at_end(self) -> bool:
        return self.skip_blank() == len(self.text)

    def peek(self) -> str:
        """The next token, "" at the end of the text.  Raises PtxSyntaxError for a character no token starts with."""
        at = self.skip_blank()
        if at == len(self.text):
            return ""
        match = _TOKEN.match(self.text, at)
        if match is None:
            raise self.error(f"unexpected character {self.text[at]!r}")
        return match.group()

    def take(self) -> str:
        """The next token, and move past it."""
        token = self.peek()
        if not token:
            raise self.error("the text ends in the middle of a statement")
        self.pos += len(token)
        return token

    def accept(self, token: str) -> bool:
        """Move past `token` if it comes next."""
        if self.peek() != token:
            return False
        self.pos += len(token)
        return True

    def expect(self, token: str) -> None:
        """Move past `token`, which must come next."""
        if not self.accept(token):
            raise self.error(f"expected `{token}`, got `{self.peek() or 'end of text'}`")

    def identifier(self, expected: str) -> str:
        """Move past an identifier; `expected` names it in the error."""
        token = self.peek()
        if not token or not (token[0].isalpha() or (token[0] in "_$%" and len(token) > 1)):
            raise self.error(f"expected {expected}, got `{token or 'end of text'}`")
        self.pos += len(token)
        return token

    def integer(self, expected: str) -> int:
        """Move past an unsigned integer literal; `expected` names it in the error."""
        token = self.peek()
        try:
            value = int(token[:80].rstrip("U"), 0) if len(token) <= 80 else -1
            if not 0 <= value < 1 << 63:
                raise ValueError
        except ValueError:
            raise self.error(f"expected {expected}, got `{token or 'end of text'}`") from None
        self.pos += len(token)
        return value


FILE = re.compile(rf"\.file\s+(\d{{1,9}})\s+({STRING})(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?", re.ASCII)
LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?",
    re.ASCII,
)

_HEADER_SUFFIXES = frozenset({".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".def", ""})

_Point = tuple[int, int, int]


def find_files(text: str) -> dict[int, str]:
    """The `.file` table: path by number."""
    return {int(number): unquote(path) for number, path in FILE.findall(text)}


def student_file(files: dict[int, str]) -> int:
    """Number of the student's file: the lowest one that is no header, or the lowest of all; 0 for an empty table."""
    numbers = sorted(files)
    for number in numbers:
        if PurePosixPath(files[number].replace("\\", "/")).suffix.lower() not in _HEADER_SUFFIXES:
            return number
    return numbers[0] if numbers else 0


class LocationTracker:
    """Follows the `.loc` directives of one function at a time."""

    def __init__(self, files: dict[int, str]) -> None:
        self._files = files
        self._student = student_file(files)
        self._nowhere = SourceLocation(files.get(self._student, ""), 0)
        self.begin_function()

    def begin_function(self) -> None:
        """Forget the lines and call sites of the previous function."""
        self.current = self._nowhere
        self.first: SourceLocation | None = None
        self._latest: SourceLocation | None = None
        self._own = 0
        self._call_sites: dict[_Point, _Point | None] = {}

    def advance(self, loc: re.Match[str]) -> None:
        """Take a `.loc` directive (a match of `LOC`); `current` is then the location of what follows."""
        file, line, column, *site = loc.groups()
        point = (int(file), int(line), int(column))
        call_site = (int(site[0]), int(site[1]), int(site[2])) if site[0] is not None else None
        self._call_sites[point] = call_site
        if call_site is None and not self._own:
            # A kernel may stand in a header: its own lines are those of that file.
            self._own = point[0]
        self.current = self._resolve(point, call_site)
        if self.first is None:
            self.first = self.current

    def _resolve(self, point: _Point, call_site: _Point | None) -> SourceLocation:
        innermost: SourceLocation | None = None
        visited = {point}
        step: _Point | None = point
        while step is not None:
            file, line, _ = step
            # Line 0: the compiler merged or hoisted the instruction, and what encloses it is the best there is.
            if line and file == (self._own or self._student):
                self._latest = SourceLocation(self._files.get(file, ""), line)
                return self._latest
            if line and innermost is None:
                innermost = SourceLocation(self._files.get(file, ""), line)
            step = call_site if step is point else self._call_sites.get(step)
            if step in visited:
                break
            if step is not None:
                visited.add(step)
        if innermost is not None:
            self._latest = innermost
        return self._latest or self._nowhere
