"""Numbers that a program prints: each with the place in the text that prints it, and the words around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from grader.submission.lexical import without_comments

MOST_LINES, MOST_CHARACTERS, MOST_FORMATS, MOST_CALLS = 150, 200, 80, 300
"""Of an output, of a line of it, of a program's text twice: what is beyond is not looked at."""
MOST_TEXT = 2000
"""Characters of one call that prints."""
FEWEST_DIGITS = 3
"""Of a number that is told from others by its value."""

_CALLS = re.compile(r"\b(?P<call>f?printf)\s*\(|\bcout\s*(?=<<)")
_LITERAL = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"', re.S)
_CONVERSION = re.compile(
    r"%[-+ #0]*(?P<width>\*|\d+)?(?:\.(?P<digits>\*|\d*))?(?:hh|h|ll|l|z|j|t|L)?(?P<kind>[diuoxXfFeEgGaAcsp%])"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "r": "\r"}
_MANIPULATORS = re.compile(
    r"(?:std\s*::\s*)?(?:fixed|left|right|scientific|flush|boolalpha|setw\s*\(.*|setprecision\s*\(.*|setfill\s*\(.*)",
    re.S,
)
_ENDS_LINE = re.compile(r"(?:std\s*::\s*)?endl|'\\n'")
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)"
_VALUE = re.compile(_NUMBER)
_APART = re.compile(rf"(?<![\w.]){_NUMBER}(?!\w)")
MOST_TRIES, MOST_ENDS, MOST_PARTS = 150, 3, 60
"""Steps in which a format is looked for in a line, places at which a text of it may end, parts of a format."""
_COLUMNS = ("\t", r"\|", ";", ",", " {2,}")
"""What parts the columns of a table."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a call prints: its text, in which line, the how manieth of the call."""

    file: str
    line: int
    code: str
    place: int


Part = str | tuple[str, Argument]
"""Of a line that is printed: words that are always the same, or an argument and how it is printed: "number", "text",
"either"."""


@dataclass(frozen=True, slots=True)
class Format:
    """A line that a call prints, or a part of one; letters: of it that are fixed.  begins: with a new line."""

    parts: tuple[Part, ...]
    letters: int
    begins: bool


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was printed.

    tolerance: it may be off by that, for its digits.  digits: those that count.
    before, after: of its line, from the number before it and to the next.  head: what heads its column, "" for none.
    row: which line of the output it is in.  start: where in the line it begins.
    """

    argument: Argument
    value: float
    tolerance: float
    digits: int
    before: str
    after: str
    line: str
    row: int
    start: int
    head: str = ""


def numbers_in(output: bytes, texts: Mapping[str, str]) -> list[Number]:
    """Return the numbers of an output whose place in the program is known, in their order.

    texts: of the program's files, by name.
    """
    formats = formats_of(tuple(sorted(texts.items())))
    found: list[Number] = []
    heads: dict[str, list[str]] = {}
    for row, raw in enumerate(output.split(b"\n")[:MOST_LINES] if formats else ()):
        line = raw.decode("utf-8", "replace")
        if len(line) > MOST_CHARACTERS:
            continue
        mark = next((mark for mark in _COLUMNS if len(re.findall(mark, line.strip(" "))) > 1), "")
        columns = re.split(mark, line.strip(" ")) if mark else []
        if not line.strip():
            heads.clear()
        elif mark and _APART.search(line) is None:
            # Digits within words, "H2D", are none of a table's; a rule under a head is no other head.
            if any(c.isalpha() for c in line):
                heads[mark] = columns
        elif any(c.isdigit() for c in line):
            head = heads.get(mark, [])
            # A verdict behind all columns has no head.
            is_one_more = len(columns) == len(head) + 1 and not any(c.isdigit() for c in columns[-1])
            fits = len(head) == len(columns) or is_one_more
            found += _numbers_of(line, row, formats, mark, head if fits else [])
    return found


def _numbers_of(line: str, row: int, formats: Sequence[Format], mark: str, heads: Sequence[str]) -> list[Number]:
    """Return the numbers of a line whose columns a `mark` parts, with what heads them."""
    # Several calls may print parts of one line.
    taken: list[tuple[int, int]] = []
    spans: list[tuple[int, int, Argument]] = []
    for form in formats:
        for start, end, groups in _Matching(line, form).all():
            if all(end <= a or b <= start for a, b in taken):
                taken.append((start, end))
                spans += groups
    spans.sort(key=lambda span: span[:2])
    numeric = [(start, end, argument) for start, end, argument in spans if _VALUE.fullmatch(line[start:end].strip())]
    found = []
    for index, (start, end, argument) in enumerate(numeric):
        text = line[start:end].strip()
        if "." not in text and "e" not in text and "E" not in text and not text.lstrip("-+").isdigit():
            continue
        earlier = numeric[index - 1][1] if index else 0
        later = numeric[index + 1][0] if index + 1 < len(numeric) else len(line)
        mantissa, _e, exponent = text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
        digits = len(mantissa.replace(".", "").lstrip("-+0"))
        if digits:
            column = len(re.findall(mark, line[:start].lstrip(" "))) if heads else 0
            head = heads[column] if column < len(heads) else ""
            around = line[earlier:start], line[end:later], line
            found.append(Number(argument, float(text), 0.5 * 10.0**-decimals, digits, *around, row, start, head))
    return found


class _Matching:
    """Where in a line something was printed by a format: by trying what comes first, in counted steps."""

    def __init__(self, line: str, form: Format) -> None:
        self._line = line
        self._parts = form.parts
        self._begins = form.begins
        self._left = MOST_TRIES

    def all(self) -> Iterator[tuple[int, int, list[tuple[int, int, Argument]]]]:
        """Yield begin, end and arguments of each place."""
        first, past = self._parts[0], -1
        for start in self._starts(first):
            groups = self._from(start, 0) if start >= past else None
            if groups is not None:
                past = self._end
                yield start, past, groups
            if self._begins:
                return

    def _starts(self, first: Part) -> Iterator[int]:
        line = self._line
        if self._begins or (not isinstance(first, str) and first[0] != "number"):
            yield len(line) - len(line.lstrip())
        elif isinstance(first, str):
            at = line.find(first)
            while at >= 0 and self._left > 0:
                yield at
                at = line.find(first, at + 1)
        else:
            yield from (match.start() for match in _APART.finditer(line))

    def _from(self, at: int, part: int) -> list[tuple[int, int, Argument]] | None:
        """Return the arguments of what was printed from a place on, by the parts from one on; None where it was not."""
        self._left -= 1
        if self._left < 0:
            return None
        line = self._line
        if part == len(self._parts):
            self._end = at
            return []
        at += len(line[at:]) - len(line[at:].lstrip())
        one = self._parts[part]
        if isinstance(one, str):
            return self._from(at + len(one), part + 1) if line.startswith(one, at) else None
        kind, argument = one
        match = _VALUE.match(line, at) if kind != "text" else None
        if match is not None and (kind == "number" or not line[match.end() : match.end() + 1].isalnum()):
            rest = self._from(match.end(), part + 1)
            if rest is not None or kind == "number":
                return [(match.start(), match.end(), argument), *rest] if rest is not None else None
        if kind == "number":
            return None
        for end in self._ends(at, part + 1):
            rest = self._from(end, part + 1)
            if rest is not None:
                return [(at, at + len(line[at:end].rstrip()), argument), *rest]
        return None

    def _ends(self, at: int, part: int) -> Iterator[int]:
        """Yield where a text may end that begins at a place: before what comes next, three times at most."""
        line = self._line
        following = self._parts[part] if part < len(self._parts) else None
        if following is None:
            yield len(line)
        elif isinstance(following, str):
            for _try in range(MOST_ENDS):
                found = line.find(following, at)
                if found < 0:
                    return
                yield found
                at = found + 1
        elif following[0] == "text":
            yield at + len(line[at:].split(None, 1)[0]) if line[at:].strip() else at
        else:
            yield from (match.start() for match in islice(_APART.finditer(line, at), MOST_ENDS))


@lru_cache(maxsize=20)
def formats_of(texts: tuple[tuple[str, str], ...]) -> tuple[Format, ...]:
    """Return what a program's text prints, line by line."""
    found: list[Format] = []
    for file, text in texts:
        plain = without_comments(text)
        for match in islice(_CALLS.finditer(plain), MOST_CALLS):
            if len(found) >= MOST_FORMATS:
                break
            if match["call"]:
                given = list(_split(plain, match.end(), ","))
                if match["call"] == "fprintf":
                    if not given or given[0][1].strip() != "stdout":
                        continue
                    given = given[1:]
                pieces = _of_printf(file, plain, given)
            else:
                pieces = _of_stream(file, plain, _split(plain, match.end() + 2, "<<"))
            found += _formats(pieces)
    return tuple(sorted(found, key=lambda form: -form.letters))


def _split(text: str, at: int, mark: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a call's arguments or of what a stream is given, with where they begin."""
    depth, start, end = 0, at, min(len(text), at + MOST_TEXT)
    while at < end:
        c = text[at]
        if c in "\"'" and not (c == "'" and text[at - 1].isalnum()):
            at += 1
            while at < end and text[at] != c:
                at += 1 + (text[at] == "\\")
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c in ")]};":
            break
        elif not depth and text.startswith(mark, at):
            yield start, text[start:at]
            at += len(mark)
            start = at
            continue
        at += 1
    yield start, text[start:at]


def _literal(part: str) -> str | None:
    """Return the text of string literals that stand side by side; None for anything else."""
    if _LITERAL.sub("", part).replace("\\\n", "").strip():
        return None
    whole = "".join(match["text"] for match in _LITERAL.finditer(part))
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], " "), whole, flags=re.S) if '"' in part else None


def _argument(file: str, text: str, start: int, code: str, place: int) -> Argument:
    lead = len(code) - len(code.replace("\\\n", "  ").lstrip())
    line = text.count("\n", 0, start + lead) + 1
    return Argument(file, line, " ".join(code.replace("\\\n", " ").split()), place)


Piece = tuple[str, Argument | None, str]
"""Text that is always the same, or an argument and how it is printed: "number", "text", "either"."""


def _of_printf(file: str, text: str, given: Sequence[tuple[int, str]]) -> list[Piece]:
    form = _literal(given[0][1]) if given else None
    if form is None:
        return []
    pieces: list[Piece] = []
    at, place = 0, 1
    for match in _CONVERSION.finditer(form):
        pieces.append((form[at : match.start()], None, ""))
        at = match.end()
        if match["kind"] == "%":
            pieces.append(("%", None, ""))
            continue
        place += (match["width"] == "*") + (match["digits"] == "*")
        if place >= len(given):
            return []
        kind = "text" if match["kind"] in "scp" else "number"
        pieces.append(("", _argument(file, text, *given[place], place), kind))
        place += 1
    return [*pieces, (form[at:], None, "")]


def _of_stream(file: str, text: str, given: Iterator[tuple[int, str]]) -> list[Piece]:
    pieces: list[Piece] = []
    for place, (start, code) in enumerate(given):
        form = _literal(code)
        if form is not None:
            pieces.append((form, None, ""))
        elif _ENDS_LINE.fullmatch(code.strip()):
            pieces.append(("\n", None, ""))
        elif code.strip() and not _MANIPULATORS.fullmatch(code.strip()):
            pieces.append(("", _argument(file, text, start, code, place), "either"))
    return pieces


def _formats(pieces: Sequence[Piece]) -> Iterator[Format]:
    """Yield the lines that pieces make; a line may have begun before, and may go on."""
    parts: list[Part] = []
    begins = False

    def made() -> Iterator[Format]:
        count = sum(not isinstance(part, str) for part in parts)
        letters = count + sum(len(part) for part in parts if isinstance(part, str))
        if count and letters > 1 and len(parts) <= MOST_PARTS:
            yield Format(tuple(parts), letters, begins)

    for fixed, argument, kind in pieces:
        if argument is not None:
            parts.append((kind, argument))
            continue
        for index, words in enumerate(fixed.split("\n")):
            if index:
                yield from made()
                parts, begins = [], True
            parts += words.split()
    yield from made()
