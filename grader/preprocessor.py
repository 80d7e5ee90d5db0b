"""C++ before it is parsed: what comments and literals are, where directives may stand, how many tokens its macros stand
for, and how many steps of constant evaluation a program may take.

Directives are for those who must miss none: whatever looks like one counts, in a comment or in a raw string too, for a
lexer that is fooled by one would let a real directive pass.  Each text is gone through once, however it is made.

`#define A1 A0 A0`, `#define A2 A1 A1` and so on doubles at each level: forty lines stand for a million million tokens,
and a compiler writes them out one by one until its time or its memory is over.  Here each count is made of those of the
macros in a macro's body, so that counting takes no longer than reading the file.

A macro that is handed to another by its name, put together by `##`, or called only once others have been replaced
counts as one token: such files, as templates, are left to the compiler's bounds on time and memory.

Compilers bound the steps of one constant evaluation and not their number: three hundred `constexpr` loops that each
stay below that bound take a minute.  So the steps that a program may take are divided among the places that may ask for
one: calls of functions that are `constexpr`, assertions, what macros make of these, and templates, which evaluate anew.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType

# With `re.DOTALL`, in verbose expressions or others.  What is not closed is taken as well, and each character is looked
# at once: nothing is looked for again from every quotation mark in what does not end.
COMMENT = r"(?://(?:\\\n|[^\n])*+|/\*.*?(?:\*/|\Z))"
STRING = r'(?:"(?:\\.|[^"\\\n])*+"?)'
LITERAL = rf"(?:{STRING}|'(?:\\.|[^'\\\n])*+'?)"

_HASH = re.compile(r"#|%:|\?\?=")
_BLANKS = re.compile(r"(?:[ \t\v\f\r]|(?:\\|\?\?/)[ \t\v\f]*+\n)*+")
# The same with line ends, for texts whose joined lines were joined.
_BLANK_LINES = re.compile(r"\s*+")
_SPLICE = r"(?:(?:\\|\?\?/)[ \t\v\f]*+\n)*+"
_LINE = re.compile(rf"(?:{_SPLICE.join('line')}{_SPLICE}(?![\w$])|\d)(?:(?:\\|\?\?/)[ \t\v\f]*+\n|[^\n])*+")
_NOT_LINE_END = re.compile(r"[^\n]")


class Gaps:
    """Blanks and comments in a text, and where they end."""

    def __init__(self, text: str, with_line_ends: bool = False) -> None:
        """with_line_ends: a line's end is a blank like any other."""
        self._text = text
        self._blanks = _BLANK_LINES if with_line_ends else _BLANKS
        self._closing = [match.start() for match in re.finditer(r"\*/", text)]
        self._known: dict[int, int] = {}

    def end(self, place: int) -> int:
        """Where the blanks and closed comments end that begin at `place`."""
        passed = []
        while place not in self._known:
            passed.append(place)
            match = self._blanks.match(self._text, place)
            place = match.end() if match is not None else place
            closing = bisect_left(self._closing, place + 2)
            if not self._text.startswith("/*", place) or closing == len(self._closing):
                break
            place = self._closing[closing] + 2
        else:
            place = self._known[place]
        # Those that begin within each other end alike.
        self._known |= dict.fromkeys(passed, place)
        return place


def hashes(text: str, gaps: Gaps) -> Iterator[tuple[int, int]]:
    """Yield each "#" and where the directive's name would begin; digraphs and trigraphs too."""
    for match in _HASH.finditer(text):
        yield match.start(), gaps.end(match.end())


_NAMES = re.compile(rf"{COMMENT}|{LITERAL}|[\w$]+", re.DOTALL)


def without_dollars(text: str) -> str:
    """Return a text with "_" for each "$" of its names, which compilers of host code allow and NVRTC does not, as long.

    It stays as it is where that would make one name of two.
    """
    if "$" not in text:
        return text
    names = {name for name in _NAMES.findall(text) if name[:1] not in "/\"'"}
    meant = {name: name.replace("$", "_") for name in names if "$" in name}
    if len({*meant.values()} - names) < len(meant):
        return text
    return _NAMES.sub(lambda match: meant.get(match[0], match[0]), text)


def without_line_directives(text: str) -> str:
    """`text` with blanks in place of `#line 5 "a.cu"`, `# 5` and the like; every line keeps its number.

    Such a directive says that the next line is another one, of another file, and a compiler believes it: in errors, and
    in the line table that counters and hazards are placed by.
    """
    pieces: list[str] = []
    done = 0
    gaps = Gaps(text)
    for start, name in hashes(text, gaps):
        if start < done or not _begins_line(text, start):
            continue
        directive = _LINE.match(text, name)
        if directive is not None:
            pieces += [text[done:start], _NOT_LINE_END.sub(" ", text[start : directive.end()])]
            done = directive.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def _begins_line(text: str, place: int) -> bool:
    """Whether only blanks, comments and joined lines stand before `place` in its line."""
    while place > 0 and (text[place - 1] in " \t\v\f\r" or text.endswith("\\\n", 0, place)):
        place -= 2 if text[place - 1] == "\n" else 1
    return place <= 0 or text[place - 1] == "\n" or text.endswith("*/", 0, place)


# -- tokens of macros, steps of constant evaluation ---------------------------------------------------------

MAX_TOKENS = 4_000_000
"""In one program.  NVRTC takes a few seconds for so many; a program of a course has some ten thousand."""
_MAX_NESTING = 150
_MAX_COUNT = 10**15
_PIECE = re.compile(
    rf"""(?P<skip>{COMMENT} | \\\n | \s++)
    | (?P<name>[^\W\d]\w*+) | {LITERAL} | \.?\d[\w'.]*+ | .""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_OR_DIRECTIVE = re.compile(
    rf"""{COMMENT} | {LITERAL}
    | (?P<directive>^[ \t]*+\#(?:\\\n|/\*.*?\*/|[^\n])*+)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"\s*#\s*define\s+([^\W\d]\w*)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_EXPANDED = re.compile(r"\s*#\s*(?:if|elif|line|pragma)\b(.*)", re.DOTALL)

Size = dict[str, int]
"""A number of tokens: so many of its own (""), and so many times those that each parameter stands for."""


@dataclass(frozen=True, slots=True)
class TooMany:
    """Where files go beyond `MAX_TOKENS`: the file, the line, counted from 1, and the macro that stands there."""

    file: str
    line: int
    macro: str


@dataclass(slots=True)
class _Macro:
    """All definitions of a name: its parameters, None without parentheses, and its body's tokens."""

    definitions: list[tuple[tuple[str, ...] | None, list[str]]] = field(default_factory=list)
    size: Size | None = None
    is_open: bool = False

    @property
    def parameters(self) -> tuple[str, ...] | None:
        return next((parameters for parameters, _body in self.definitions if parameters is not None), None)


def too_many_tokens(files: Mapping[str, str]) -> TooMany | None:
    """Where files that include each other go beyond what macros may stand for; None where they do not."""
    directives = {name: _directives(text) for name, text in files.items()}
    counter = _Counter()
    for file_directives in directives.values():
        for _start, directive in file_directives:
            counter.learn(directive)
    if not counter.macros:
        return None
    total = 0
    for name, text in files.items():
        for offset, macro, size in _pieces(counter, text, directives[name]):
            total += size
            if total > MAX_TOKENS:
                return TooMany(name, text.count("\n", 0, offset) + 1, macro)
    return None


def token_sizes(files: Mapping[str, str], weights: Mapping[str, int]) -> Iterator[tuple[str, int, str, int]]:
    """The tokens of files that include each other, directives left out: file, offset, token, size.

    size: the tokens that a macro stands for with the arguments in its parentheses, which come with it; of another token
    1.  weights: of tokens that count as more than one.
    """
    directives = {name: _directives(text) for name, text in files.items()}
    counter = _Counter(weights)
    for file_directives in directives.values():
        for _start, directive in file_directives:
            counter.learn(directive)
    for name, text in files.items():
        for offset, token, size in _pieces(counter, text, directives[name]):
            yield name, offset, token, size


def _pieces(counter: _Counter, text: str, directives: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, int]]:
    for begin, stretch in _expanded(text, directives):
        for offset, token, size in counter.pieces(stretch):
            yield begin + offset, token, size


def _expanded(text: str, directives: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """What of a text macros are replaced in: all but most of its directives; and where each stretch begins."""
    done = 0
    for start, directive in directives:
        yield done, text[done:start]
        expanded = _EXPANDED.match(directive)
        if expanded is not None:
            yield start + expanded.start(1), expanded.group(1)
        done = start + len(directive)
    yield done, text[done:]


def _directives(text: str) -> list[tuple[int, str]]:
    if "#" not in text:
        return []
    matches = _COMMENT_OR_DIRECTIVE.finditer(text)
    return [(match.start(), match.group()) for match in matches if match.lastgroup == "directive"]


class _Counter:
    def __init__(self, weights: Mapping[str, int] = MappingProxyType({})) -> None:
        self.macros: dict[str, _Macro] = {}
        self._weights = weights

    def learn(self, directive: str) -> None:
        """Record a `#define`; if a name has several, in branches of an `#if`, the longest counts."""
        defined = _DEFINE.match(directive)
        if defined is None:
            return
        name, listed, body = defined.groups()
        parameters = None
        if listed is not None:
            parameters = tuple(p.strip().removesuffix("...").strip() or "__VA_ARGS__" for p in listed.split(","))
        tokens = [match.group() for match in _PIECE.finditer(body) if match.lastgroup != "skip"]
        self.macros.setdefault(name, _Macro()).definitions.append((parameters, tokens))

    def pieces(self, text: str) -> Iterator[tuple[int, str, int]]:
        """The tokens of a text: offset, token, size; one that is a macro comes with its arguments."""
        matches = [match for match in _PIECE.finditer(text) if match.lastgroup != "skip"]
        tokens = [match.group() for match in matches]
        index = 0
        while index < len(tokens):
            start = index
            size, index = self._piece(tokens, index, frozenset(), 0)
            yield matches[start].start(), tokens[start], size.get("", 0)

    def _piece(self, tokens: Sequence[str], index: int, parameters: frozenset[str], depth: int) -> tuple[Size, int]:
        """The size of the token at `index`, with the arguments of a macro that takes some; and what is next."""
        token = tokens[index]
        if token in parameters:
            return {token: 1}, index + 1
        macro = self.macros.get(token)
        if macro is None:
            return {"": self._weights.get(token, 1)}, index + 1
        size = self._size(macro, depth)
        names = macro.parameters
        if names is None:
            return size, index + 1
        if tokens[index + 1 : index + 2] != ["("] or depth > _MAX_NESTING:
            return {"": 1}, index + 1
        arguments, after = self._arguments(tokens, index + 2, parameters, depth + 1)
        if tokens[after - 1] != ")":
            # An argument list without its end: an error for the compiler to tell, not a replacement.
            return reduce(_sum, arguments), after
        # What is left over belongs to the last one: `...`.
        given: dict[str, Size] = {name: {} for name in names}
        for number, argument in enumerate(arguments):
            name = names[min(number, len(names) - 1)]
            given[name] = _sum(given[name], argument)
        result: Size = {"": size.get("", 0)}
        for name, times in size.items():
            if name:
                result = _sum(result, given.get(name, {}), times)
        return result, after

    def _arguments(
        self, tokens: Sequence[str], index: int, parameters: frozenset[str], depth: int
    ) -> tuple[list[Size], int]:
        """The sizes of a macro's arguments, the first of which begins at `index`; and what comes after its ")"."""
        arguments: list[Size] = [{}]
        nested = 0
        while index < len(tokens):
            token = tokens[index]
            if token == ")" and not nested:
                return arguments, index + 1
            nested += (token == "(") - (token == ")")
            if token == "," and not nested:
                arguments.append({})
                index += 1
                continue
            size, index = self._piece(tokens, index, parameters, depth)
            arguments[-1] = _sum(arguments[-1], size)
        return arguments, index

    def _size(self, macro: _Macro, depth: int) -> Size:
        """What a macro stands for; within itself it is not replaced."""
        if macro.size is not None:
            return macro.size
        if macro.is_open or depth > _MAX_NESTING:
            return {"": 1}
        macro.is_open = True
        largest: Size = {}
        for names, body in macro.definitions:
            size: Size = {}
            index = 0
            while index < len(body):
                piece, index = self._piece(body, index, frozenset(names or ()), depth + 1)
                size = _sum(size, piece)
            largest = {name: max(size.get(name, 0), largest.get(name, 0)) for name in size | largest}
        macro.is_open = False
        macro.size = largest
        return largest


def _sum(first: Mapping[str, int], second: Mapping[str, int], times: int = 1) -> Size:
    names = {*first, *second}
    return {name: min(first.get(name, 0) + times * second.get(name, 0), _MAX_COUNT) for name in names}


NVRTC_STEPS = 20_000_000
"""The most steps of a whole program, as NVRTC's front end counts: about three seconds."""
CLANG_STEPS = 2_000_000
"""The same as clang counts."""
MOST_OF_ONE = 1_000_000
"""What clang allows by itself, and less than NVRTC does; a loop of 300,000 turns."""
LEAST_OF_ONE = 200
OF_TEMPLATE = 20
"""Instances of a template, each of which may evaluate what stands in it."""
UNCOUNTED = 5_000
"""Places, where nobody can tell how many there are."""
_WEIGHT = 1_000_000
_CONSTANT = re.compile(r"\bconst(?:expr|eval)\b([^;{}]{0,400})")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*+[({]")
_LAMBDA = re.compile(r"\b([A-Za-z_]\w*)\s*+=\s*+\[")
_HIDDEN = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*\bconst(?:expr|eval)\b", re.MULTILINE)
_FUNCTION_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+\(([^()\n]*)\)((?:\\\n|[^\n])*)", re.MULTILINE)
_ASKING = ("constexpr", "consteval", "static_assert")


def steps_of_one(files: Mapping[str, str], steps: int) -> int:
    """How many of a program's `steps` each constant evaluation may take in files that include each other."""
    return max(LEAST_OF_ONE, min(MOST_OF_ONE, steps // max(1, _places(files))))


def _places(files: Mapping[str, str]) -> int:
    text = "\n".join(files.values())
    if not any(word in text for word in _ASKING):
        return 1
    names = {name for match in _CONSTANT.finditer(text) for name in _CALLED.findall(match[1])}
    names |= set(_LAMBDA.findall(text))
    if _HIDDEN.search(text):
        names |= set(_CALLED.findall(text))
    sizes = token_sizes(files, dict.fromkeys((*names, *_ASKING), _WEIGHT))
    if any(_calls_parameter(*match.groups()) for match in _FUNCTION_MACRO.finditer(text)):
        # What a macro stands for that is handed to another by its name is not counted.
        return UNCOUNTED
    count = sum(size // _WEIGHT for _file, _offset, _token, size in sizes)
    return count * OF_TEMPLATE if "template" in text else count


def _calls_parameter(parameters: str, body: str) -> bool:
    return any(name.strip() in set(_CALLED.findall(body)) for name in parameters.split(","))
