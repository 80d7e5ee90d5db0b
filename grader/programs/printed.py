"""Numbers that a program prints: each with the place in the text that prints it, and the words around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.submission.lexical import without_comments

MOST_LINES, MOST_CHARACTERS, MOST_FORMATS = 150, 200, 80
"""Of an output, of a line of it, of a program's text: what is beyond is not looked at."""
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
_COLUMNS = "\t|;,"
"""What parts the columns of a table."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a call prints: its text, in which line, the how manieth of the call."""

    file: str
    line: int
    code: str
    place: int


@dataclass(frozen=True, slots=True)
class Format:
    """A line that a call prints; letters: of it that are always the same."""

    pattern: re.Pattern[str]
    arguments: tuple[Argument, ...]
    letters: int


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was printed.

    tolerance: it may be off by that, for its digits.  digits: those that count.
    before, after: of its line, from the number before it and to the next.  head: what heads its column, "" for none.
    row: which line of the output it is in.
    """

    argument: Argument
    value: float
    tolerance: float
    digits: int
    before: str
    after: str
    line: str
    row: int
    head: str = ""


def numbers_in(output: bytes, texts: Mapping[str, str]) -> list[Number]:
    """Return the numbers of an output whose place in the program is known, in their order.

    texts: of the program's files, by name.
    """
    formats = formats_of(tuple(sorted(texts.items())))
    found: list[Number] = []
    heads: dict[tuple[str, int], list[str]] = {}
    for row, raw in enumerate(output.split(b"\n")[:MOST_LINES] if formats else ()):
        line = raw.decode("utf-8", "replace")
        if len(line) > MOST_CHARACTERS:
            continue
        mark = next((mark for mark in _COLUMNS if line.count(mark) > 1), "")
        cells = line.split(mark) if mark else []
        if mark and not any(c.isdigit() for c in line):
            heads[mark, len(cells)] = cells
        elif any(c.isdigit() for c in line):
            found += _numbers_of(line, row, formats, mark, heads.get((mark, len(cells)), []))
    return found


def _numbers_of(line: str, row: int, formats: Sequence[Format], mark: str, heads: Sequence[str]) -> list[Number]:
    """Return the numbers of a line whose columns a `mark` parts, with what heads them."""
    # Several calls may print parts of one line.
    taken: list[tuple[int, int]] = []
    spans: list[tuple[int, int, Argument]] = []
    for form in formats:
        for match in form.pattern.finditer(line):
            start, end = match.end() - len(match[0].lstrip()), match.start() + len(match[0].rstrip())
            if all(end <= a or b <= start for a, b in taken):
                taken.append((start, end))
                spans += [(*match.span(at), argument) for at, argument in enumerate(form.arguments, 1)]
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
            head = heads[line.count(mark, 0, start)] if heads else ""
            around = line[earlier:start], line[end:later], line
            found.append(Number(argument, float(text), 0.5 * 10.0**-decimals, digits, *around, row, head))
    return found


@lru_cache(maxsize=20)
def formats_of(texts: tuple[tuple[str, str], ...]) -> tuple[Format, ...]:
    """Return what a program's text prints, line by line."""
    found: list[Format] = []
    for file, text in texts:
        plain = without_comments(text)
        for match in _CALLS.finditer(plain):
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


_GROUPS = {
    "number": rf"[ ]*({_NUMBER})",
    "text": r"[ ]*(.{0,60}?)[ ]*",
    "either": rf"[ ]*({_NUMBER}(?![\w.])|\S.{{0,40}}?)[ ]*",
}
MOST_TEXTS = 4
"""Of a format: parts of it that may be any text."""


def _formats(pieces: Sequence[Piece]) -> Iterator[Format]:
    """Yield the lines that pieces make."""
    pattern, arguments, letters, texts = "", list[Argument](), 0, 0

    def made() -> Iterator[Format]:
        if arguments and letters + len(arguments) > 1 and texts <= MOST_TEXTS:
            # A line may have begun before, and may go on.
            yield Format(re.compile(pattern), tuple(arguments), letters + len(arguments))

    for fixed, argument, kind in pieces:
        if argument is not None:
            pattern += _GROUPS[kind]
            arguments.append(argument)
            texts += kind != "number"
            continue
        for index, part in enumerate(fixed.split("\n")):
            if index:
                if texts and pattern.endswith("?)[ ]*"):
                    pattern += "$"
                yield from made()
                pattern, arguments, letters, texts = "^", [], 0, 0
            words = part.split()
            if part:
                before, after = (r"\s+" if part[at].isspace() else r"\s*" for at in (0, -1))
                pattern += before + r"\s+".join(map(re.escape, words)) + (after if words else "")
            letters += sum(map(len, words))
    yield from made()
