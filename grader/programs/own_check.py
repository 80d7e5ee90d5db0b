"""What a program says of its own results: the lines of its output that call them right or wrong, and of which kernel;
and the host code that computes what it compares them with, or compares at all.

Only words that leave no doubt count, and errors as numbers ("max error: 1e-06") that are very small, or large, beside
the results.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.programs.records import Observation
from grader.programs.runtime.devices import NAMES
from grader.submission.cpp.tree import LOOPS, ParsedFile, descendants, node_text, qualifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_LINES = 400
MAX_LINE = 200
_WRONG = re.compile(
    r"\bfail(?:ed|ure|s)?\b|\bmis-?match(?:es|ed)?\b|\bincorrect\b|\bwrong\b|\berrors?\b|\bbad\b|\bdiffers?\b|\binvalid\b"
    r"|\b(?:not|un)[ -]?(?:equal|ok|correct|match(?:ing)?|identical|the same)\b|\bdo(?:es)?(?: not|n't) match\b"
    r"|\bневерн|\bне верн|\bошиб|\bнеправильн|\bне совпа|\bрасхожд|\bне равн"
    r"|\bniezgodn|\bnie zgadza|\bniepoprawn|\bnieprawid[łl]ow|\bb[łl][ęe]d(?:n|y\b)|\bb[łl][ąa]d\b|\b[źz]le\b",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\bpass(?:ed|es)?\b|\bok\b|\bcorrect(?:ly)?\b|\bsuccess(?:ful(?:ly)?)?\b|\bmatch(?:es)?\b|\bidentical\b|\bequal\b"
    r"|\bверно\b|\bправильн|\bсовпа|\bуспешн|\bуспех"
    r"|\bzgodn|\bzgadza|\bpoprawn|\bprawid[łl]ow|\bdobrze\b",
    re.IGNORECASE,
)
_FAULTY = (
    r"(?:errors?|mis-?match(?:es|ed)?|wrong|incorrect|(?:not|un)[ -]?(?:equal|ok|correct|match\w*|identical)|differ\w*"
    r"|failures?|failed|bad|ошиб\w*|расхожд\w*|несовп\w*|не (?:совп|верн|равн)\w*|неверн\w*|неправильн\w*"
    r"|błęd\w*|bled\w*|niezgodn\w*|różn\w*|rozn\w*)"
)
# What is counted: "wrong elements 0", "ошибок найдено 0".
_COUNTED = (
    r"(?:elements|values|entries|items|results|cells|points|pixels|matrices|numbers|count|total|found|in all"
    r"|элементов|значений|ячеек|точек|чисел|матриц|результатов|всего|найдено|обнаружено|итого"
    r"|elementów|elementow|wartości|wartosci|razem)"
)
# What tells a place: "error at i = 0", "row 0 is wrong".
_PLACE = (
    r"(?:at|in|on|for|with|index|idx|id|[ijkxy]|row|col|column|element|elem|value|position|pos|matrix|block|thread|test|line"
    r"|variant|version|kernel|step|case|size|n|в|во|на|при|для|индекс\w*|номер\w*|позици\w*|строк\w*|столб\w*"
    r"|элемент[а-х]?|матриц[а-е]|блок\w?|нит\w|тест\w?|вариант\w?|ядр\w|размер\w*|шаг\w?)"
)
# A count of wrong elements, behind the word or before it: "errors: 0", "12 mismatches", "0 of 4096 differ".
_COUNT_BEHIND = re.compile(
    rf"{_FAULTY}(?:(?:\s+(?!{_PLACE}\b)\w+){{0,2}}?\s*[:=]|(?:\s+{_COUNTED}){{0,2}}\s*(?:\bis\b|-)?)\s*"
    r"(?P<count>\d+)(?![\d.,]*[.eE%]|\d|\s*(?:[mun]?s|sec|мс|мкс|с)\b)\b",
    re.IGNORECASE,
)
_COUNT_BEFORE = re.compile(
    rf"(?<![\w.,])(?P<count>\d+)(?:\s+(?:of|out of|из|/)\s+\d+)?\s+(?:\w+\s+){{0,2}}?{_FAULTY}", re.IGNORECASE
)
_PLACE_BEFORE = re.compile(rf"\b{_PLACE}\s*[=:#№]?\s*$", re.IGNORECASE)
# "block: 0 wrong" names a kernel, and no block.
_LABEL_BEFORE = re.compile(r"\w+\s*:\s*")
# An error as a number is small or large for a reason: "max error 1e-06", "error = 0.000003".
_MEASURED = re.compile(
    r"(?:error|err|difference|diff|deviation|differs|discrepancy|residual|ошибк\w*|погрешн\w*|отклон\w*|расхожд\w*"
    r"|разниц\w*|разност\w*|отлич\w*|невязк\w*|błąd|bład|blad|różnic\w*|roznic\w*)\b(?P<between>[^\d]{0,30}?)"
    r"-?(?P<number>\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+))"
    r"(?P<unit>\s*(?:%|percent|процент|[mun]?s\b|[mu]?sec|(?:milli|micro|nano)s|мс|мкс\b|с\b|м?сек|(?:милли|микро)с"
    r"|[kMGT]i?B\b|[MGT]?FLOP|[КМГ]б\b|x\b|times\b|раз))?",
    re.IGNORECASE,
)
# What is measured, and calls nothing wrong: "max error: naive 0 shared 0".
_MEASURE = re.compile(
    r"\b(?:max(?:imum|imal|\.)?|largest|макс\w*\.?|наибольш\w*)[ _-]?(?:abs(?:olute|\.)?|абс\w*\.?)?[ _-]?"
    r"(?:err(?:or)?|ошибк\w*|b[łl][ąa]d)\b",
    re.IGNORECASE,
)
# What else such a word and a number may be about: "error check passed. Bandwidth = 45.6", "diff(12.5, 12.5) = 0.0".
_ANOTHER_NUMBER = re.compile(
    r"[.;!,]\s|[|]$|[({\[]\s*$|\b(?:from|limit|tolerance|threshold|bound|allow\w*|max\w*\s+allow\w*|checksum|band\w*|perf\w*"
    r"|throughput|\w*flops?|\w+/s|от|порог\w*|допус\w*|производит\w*|пропускн\w*)\b",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\([^()]*\)")
# Lines about what is no difference between results and what they should be: of data, of steps, of what physics keeps.
_NOT_OF_RESULTS = re.compile(
    r"\b(?:std|standard|residual|percent|pct|L[12]\b|squared|iter|step|energy|momentum|input|original|tolerance|threshold"
    r"|allowed|стандарт|невязк|процент|квадрат|итерац|шаг|энерг|импульс|исходн|допуст|порог)|%",
    re.IGNORECASE,
)
# Sums and means grow, or shrink, with the number of elements; of times and speeds the difference says nothing.
_NOT_LARGEST = re.compile(
    r"\b(?:sum|total|mean|avg|average|rms|norm|time|speed|rel)|сумм|средн|норм|врем|скорост|ускор|относит|średni|suma|czas",
    re.IGNORECASE,
)
WRONG_SHARE, RIGHT_SHARE = 0.05, 1e-4
"""Of the largest result: an error beyond the one comes of no rounding, sums of single precision are off by far less;
one below the other may."""
# "no mismatches", "ошибок нет", "brak błędów".
_NONE_WRONG = re.compile(
    rf"\b(?:no|without|zero|нет|без|brak|bez)\s+(?:\w+\s+)?{_FAULTY}|{_FAULTY}\s+(?:\w+\s+)?(?:нет|не найдено|none)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[:=]\s*$")
# Lines about calls of the API, not about results.
_OF_CALLS = re.compile(r"\bcuda[A-Z]\w+|CUDA error|no error|\blaunch|\balloc|\bзапуск", re.IGNORECASE)
# "correct: 0": a number that may be a truth value, or a count of either.
_COUNTED_RIGHT = re.compile(r"(?<!not )(?<!не )\b(?:correct|match\w*|equal|ok|верн\w*)\s*[:=]\s*\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """A line that says whether results are right.

    kernel: the one that it is of, "" where that is unclear.  launched: those of which lines printed at once may be.
    """

    text: str
    is_right: bool
    kernel: str = ""
    launched: frozenset[str] = frozenset()

    @property
    def kernels(self) -> frozenset[str]:
        """Those that a line is of."""
        return frozenset((self.kernel,)) if self.kernel else self.launched


def said(observation: Observation) -> tuple[Said, ...]:
    """Return what a program says of its own results, in its order."""
    rows: list[tuple[int, str, bool]] = []
    for descriptor, content in ((1, observation.stdout), (2, observation.stderr)):
        marks = [mark for mark in observation.printed_after if mark[0] == descriptor]
        starts = [mark[1] for mark in marks]
        for offset, line in _lines(content):
            verdict = verdict_of(line, observation.largest)
            if verdict is not None:
                # A line is there as soon as its end is.
                at = bisect_right(starts, offset + len(line.encode()) - 1) - 1
                rows.append((marks[at][2] if at >= 0 else 0, line, verdict))
    rows.sort(key=lambda row: row[0])
    before = 0
    lines: list[Said] = []
    for launches, line, verdict in rows[:MAX_LINES]:
        launched = frozenset(launch.display for launch in observation.launches[before:launches])
        kernel = _named_in(line, observation) or (next(iter(launched)) if len(launched) == 1 else "")
        kernel = kernel or _meant_in(line, observation)
        if not launched and lines and not kernel:
            kernel = lines[-1].kernel
        lines.append(Said(line, verdict, kernel, launched or (lines[-1].launched if lines else launched)))
        before = max(before, launches)
    return tuple(lines)


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    offset = 0
    for raw in content.split(b"\n"):
        line = raw.decode("utf-8", errors="replace").strip()
        if line and len(line) <= MAX_LINE:
            yield offset, line
        offset += len(raw) + 1


def says_of_calls(line: str) -> bool:
    """Whether a line has the runtime's words for an error: it is no word on results."""
    return any(words in line for code, (_name, words) in NAMES.items() if code)


def verdict_of(line: str, largest: float = 0.0) -> bool | None:
    """Whether a line calls results right; None for one that says nothing of that, or both.

    largest: absolute value of all results; 0: unknown.
    """
    by_words, by_number = _verdict_by_words(line), _verdict_by_number(line, largest)
    if by_number is False:
        # "error 0.6: PASSED" says both.
        return None if by_words else False
    return by_words if by_number is None else by_words is not False


def _verdict_by_number(line: str, largest: float) -> bool | None:
    """Whether a line tells an error of single elements that is small beside the `largest` of all results; None where it
    tells none, or one that may be either."""
    if not largest or _OF_CALLS.search(line) or _NOT_LARGEST.search(line) or says_of_calls(line):
        return None
    errors = [match for match in _MEASURED.finditer(line) if not match["unit"]]
    shares = [float(match["number"]) / largest for match in errors]
    if any(share > WRONG_SHARE for share in shares):
        is_sure = not any(_ANOTHER_NUMBER.search(_IN_BRACKETS.sub("", match["between"])) for match in errors)
        return False if is_sure and not _NOT_OF_RESULTS.search(line) else None
    return True if shares and max(shares) < RIGHT_SHARE else None


def _verdict_by_words(line: str) -> bool | None:
    if _OF_CALLS.search(line) or _HEADING.search(line) or _COUNTED_RIGHT.search(line) or says_of_calls(line):
        return None
    line = _MEASURED.sub(" ", line)
    if _NONE_WRONG.search(line):
        return None if _WRONG.search(_NONE_WRONG.sub(" ", line)) else True
    # Each of several kernels may have a count of its own.
    counts = [*_COUNT_BEHIND.finditer(line)] or [*_counts_before(line)]
    if counts:
        return not any(int(count["count"]) for count in counts)
    line = _MEASURE.sub(" ", line)
    wrong, right = _WRONG.search(line), _RIGHT.search(_WRONG.sub(" ", line))
    if wrong is not None and right is not None:
        return None
    return right is not None if wrong is not None or right is not None else None


def _counts_before(line: str) -> Iterator[re.Match[str]]:
    """Yield counts of wrong elements that stand before the word, no positions."""
    return (
        match
        for match in _COUNT_BEFORE.finditer(line)
        if _LABEL_BEFORE.fullmatch(line, 0, match.start()) or not _PLACE_BEFORE.search(line, 0, match.start())
    )


def _named_in(line: str, observation: Observation) -> str:
    """Return the kernel whose name stands in a line; "" for none or several."""
    names = {launch.kernel: launch.display for launch in observation.launches}
    kernels = [kernel for name, kernel in names.items() if re.search(rf"\b{re.escape(name)}\b", line)]
    return kernels[0] if len(kernels) == 1 else ""


def _meant_in(line: str, observation: Observation) -> str:
    """Return the one kernel whose name has a word of the line in it, as "shared: errors: 0" means sharedKernel."""
    names = {launch.kernel: launch.display for launch in observation.launches}
    words = {word.casefold() for word in re.findall(r"[^\W\d_]{4,}", line)}
    kernels = {word: [display for name, display in names.items() if word in name.casefold()] for word in words}
    meant = {found[0] for found in kernels.values() if len(found) == 1}
    return next(iter(meant)) if len(meant) == 1 else ""


_OF_DEVICE = re.compile(r"\bcuda[A-Z]\w*|<<<")
_NO_REFERENCE = re.compile(rf"{_OF_DEVICE.pattern}|\bs?rand\w*\s*\(|\bprintf\s*\(|\bcout\b")


@dataclass(frozen=True, slots=True)
class Reference:
    """Host code that makes an array's elements of another's: what kernels do, or are compared with.

    function: it stands in.  node: the outermost loop.  line: of the function; of the loop where that is not all of it.
    """

    function: str
    node: Node
    line: int


def references_in(parsed: ParsedFile) -> list[Reference]:
    """Return the references of a file, in order; where nothing is stored, sums that are compared at once."""
    references = []
    for item in parsed.items:
        if item.kind != "function" or not item.active or item.is_device:
            continue
        body = item.node.child_by_field_name("body")
        loops = _outermost_loops(body) if body is not None else []
        is_whole = body is not None and _OF_DEVICE.search(node_text(body)) is None
        for loop in loops:
            if _NO_REFERENCE.search(node_text(loop)) is None and _makes_of_others(loop):
                line = (item.node if is_whole else loop).start_point.row + 1
                references.append(Reference(item.name.rpartition("::")[2], loop, line))
    return references or list(_sums_in(parsed))


def _sums_in(parsed: ParsedFile) -> Iterator[Reference]:
    """Yield the innermost loops that add up elements of arrays, in functions that hold the sum against an element."""
    for item in parsed.items:
        body = item.node.child_by_field_name("body")
        if item.kind != "function" or not item.active or item.is_device or body is None:
            continue
        for loop in (node for node in descendants(body) if node.type in LOOPS):
            inside = list(descendants(loop))
            is_innermost = sum(node.type in LOOPS for node in inside) == 1
            operators = ((n, n.child_by_field_name("operator")) for n in inside if n.type == "assignment_expression")
            sums = [n.child_by_field_name("left") for n, sign in operators if sign is not None and sign.type == "+="]
            names = {node_text(left) for left in sums if left is not None and left.type == "identifier"}
            elements = [node for node in inside if node.type == "subscript_expression"]
            text = node_text(body)
            held = any(re.search(rf"\b{re.escape(name)}\s*-|-\s*{re.escape(name)}\b", text) for name in names)
            if is_innermost and len(elements) > 1 and held and _NO_REFERENCE.search(node_text(loop)) is None:
                yield Reference(item.name.rpartition("::")[2], loop, loop.start_point.row + 1)


def _outermost_loops(node: Node) -> list[Node]:
    loops: list[Node] = []
    for child in node.named_children:
        if child.type in LOOPS or child.type == "for_range_loop":
            # A loop over cases, with launches in it, holds what is computed for each.
            inner = _outermost_loops(child) if _OF_DEVICE.search(node_text(child)) else []
            loops += inner or [child]
        elif not qualifiers_of(child) & {"__device__", "__global__"}:
            loops += _outermost_loops(child)
    return loops


def _makes_of_others(loop: Node) -> bool:
    """Whether a loop stores elements of one array, and reads those of another."""
    stored: set[str] = set()
    arrays: set[str] = set()
    for node in descendants(loop):
        if node.type == "subscript_expression":
            arrays.add(_array(node))
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            while left is not None and left.type == "field_expression":
                left = left.child_by_field_name("argument")
            if left is not None and left.type == "subscript_expression":
                stored.add(_array(left))
    return bool(stored) and bool(arrays - stored)


def _array(access: Node) -> str:
    base: Node | None = access
    while base is not None and base.type == "subscript_expression":
        base = base.child_by_field_name("argument")
    return node_text(base) if base is not None else ""


# Elements of results held against others: by an operator, by a function of a library, by one of the program's own.
_OPERATOR = r"(?<![<>=!-])(?:==|!=|<=?|>=?)(?![<>=])"
_COMPARES = re.compile(
    r"\bmemcmp\s*\(|\b(?:equal|mismatch|is_permutation|allclose|max_element)\s*\("
    rf"|\]\s*{_OPERATOR}|{_OPERATOR}\s*&?\*?\w+\s*(?:(?:\.|->)\w+\s*)?\["
)
# `d = c[i] - want[i]`, however d is looked at then; one array's own elements may be those of a sum that moves along.
_DIFFERENCE = re.compile(r"\b(\w+)\s*\[[^\][;]{0,80}\]\s*(?:(?:\.|->)\s*\w+\s*)?-(?!>)\s*(?!\1\b)\w+\s*\[")
# `fabs(want - got)`, `fabs(d) > limit`; of a name alone where that is a difference: inputs may be made by one as well.
_MAGNITUDE = re.compile(r"\b(?:f?abs[fl]?|fmax[fl]?)\s*\(")
_IS_DIFFERENCE = re.compile(r"\b(\w+)\s*=(?!=)[^;{}=]{0,200}[\w\])]\s*-\s*[\w(*&]")
# What is asked of the command line is no result.
_ARGUMENTS = re.compile(r"\bargv\s*(?:\[[^\]\n]{0,40}\]\s*){1,2}")
_OWN = re.compile(
    r"\b(?P<name>wb_?solution|\w*(?:check|verif|compar|valid|correct|equal|same|match|diff|error|test|sprawd|porown|prover|srav|провер"
    r"|сравн)\w*)\s*\(\s*[^)\s]",
    re.IGNORECASE,
)
# `expected != got.at(i, j)`, `results.front() == expected`; what is asked for its length or its end is no result.
_ANSWER = (
    r"(?:\.|->)(?!(?:size|c?r?end|c?r?begin|length|count|empty|rows|cols|find\w*|capacity|good|fail|get|what)\b)\w+"
    r"\s*\("
)
_ASKED = re.compile(rf"[=!]=\s*\w+{_ANSWER}|{_ANSWER}[^();]{{0,40}}\)\s*[=!]=\s*(?!nullptr\b|NULL\b|cuda)[A-Za-z_]")
_VECTORS = re.compile(r"\bvector\s*<[^;{}()]{0,60}>\s*([^;{}]{1,300});")
_SAME = re.compile(r"\b(\w+)\s*[=!]=\s*(?!nullptr\b|NULL\b)[\w:]")
_EACH = re.compile(r"\bfor\s*\([^;:()]{1,80}?[\s&*](\w+)\s*:(?!:)")
_OF_CUDA = re.compile(
    r"cuda|cu(?:blas|fft|rand|sparse|solver|dnn|tensor)|nvrtc|gpuassert|gpuerr|getlasterror", re.IGNORECASE
)
# Words with "test" in them that are about none, and functions of the libraries that compare nothing.
_OTHER_WORDS = re.compile(r"(?:con|la|fas|pro|at|grea|shor|ligh|brigh|ho|whi)test", re.IGNORECASE)
_OF_LIBRARY = re.compile(
    r"(?:runtime|logic|domain|length|range|overflow|underflow|system)_error|invalid_argument|error_(?:code|condition)"
    r"|f?p?error|strerror\w*|difftime|equal_(?:range|to)|\w+_difference|is_same\w*"
)
_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)\((?:[^\n\\]|\\.|\\\n)*", re.DOTALL)
_TAKES_ERROR = re.compile(r"\b(\w+)\s*\(\s*(?:const\s+)?(?:cudaError(?:_t)?|CUresult)\b")
_NAMES_ERROR = re.compile(r"\bcudaSuccess\b|\bcudaError|\bCUresult\b|\bCUDA_SUCCESS\b")


def compares(whole: str) -> bool:
    """Whether anything in a program's host code compares results; checks of errors are no such thing."""
    of_errors = [match for match in _MACRO.finditer(whole) if _NAMES_ERROR.search(match[0])]
    about_errors = {match[1] for match in of_errors} | set(_TAKES_ERROR.findall(whole))
    text = _ARGUMENTS.sub("argument ", _MACRO.sub(lambda m: " " if m[1] in about_errors else m[0], whole))
    if _COMPARES.search(text) or _ASKED.search(text) or _DIFFERENCE.search(text) or _measures(text):
        return True
    vectors = {word for match in _VECTORS.finditer(text) for word in re.findall(r"\w+", match[1])}
    if any(match[1] in vectors for match in _SAME.finditer(text)):
        return True
    each = "|".join(set(_EACH.findall(text)))
    if each and re.search(rf"\b(?:{each})\s*{_OPERATOR}|{_OPERATOR}\s*(?:{each})\b", text):
        return True
    names = {match["name"] for match in _OWN.finditer(text)} - about_errors
    own = (name for name in names if not _OF_CUDA.search(name) and not _OF_LIBRARY.fullmatch(name))
    return any(_OWN.search(_OTHER_WORDS.sub("", name) + "(x") for name in own)


_WHOLE = re.compile(r"\bmemcmp\s*\(|\b(?:equal|mismatch|is_permutation|allclose)\s*\(")
# What stands before the name of a function that is defined or declared.
_DEFINES = re.compile(
    r"^\s*(?:(?:static|inline|constexpr|const|std::|bool|int|void|auto|float|double|size_t|long)\s*)+$"
)
# What begins a function, or a lambda that has a name.
_BEGINS = re.compile(
    r"\s*(?:const\s+)?auto\s+(?P<lambda>\w+)\s*=\s*\[|(?!\s)[\w:<>,*& ]{2,80}?[\s*&](?P<function>\w+)\s*\([^;]{0,200}$"
)
MOST_CHECKS, MOST_BODY, MOST_ROWS = 20, 1500, 60
"""Functions of a program that are looked into, characters and lines of each."""


def comparisons_in(texts: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return file and line of what compares whole arrays in host code: operators, functions; of a function of the
    program's own where it is called, and of single elements where that is all there is.

    texts: of files, by name.
    """
    rows = [(file, number, row) for file, text in texts.items() for number, row in enumerate(text.split("\n"), 1)]
    vectors = {w for text in texts.values() for m in _VECTORS.finditer(text) for w in re.findall(r"\w+", m[1])}
    calls = [[m["name"] for m in _OWN.finditer(row) if not _DEFINES.match(row[: m.start()])] for *_at, row in rows]
    names = list(dict.fromkeys(name for row in calls for name in row if not _OF_CUDA.search(name)))[:MOST_CHECKS]
    checks = {name for name in names if _compares_inside(name, texts)}
    whole: list[tuple[str, int]] = []
    elements: list[tuple[str, int]] = []
    inside: dict[str, None] = {}
    for at, ((file, number, row), called) in enumerate(zip(rows, calls, strict=True)):
        is_held = _WHOLE.search(row) or _ASKED.search(row) or any(m[1] in vectors for m in _SAME.finditer(row))
        if is_held or checks & set(called):
            whole.append((file, number))
        elif _ELEMENTS.search(row):
            function = _around([one for *_at, one in rows[max(0, at - MOST_ROWS) : at]])
            inside |= {function: None} if function else {}
            elements += [(file, number)] if function is None else []
    if whole or elements or not inside:
        return whole or elements
    called_in = re.compile(rf"(?<![=!<>.\w])(?:{'|'.join(map(re.escape, inside))})\s*\(")
    return [(file, number) for file, number, row in rows if called_in.search(row) and not _BEGINS.match(row)]


def _around(rows: Sequence[str]) -> str | None:
    """Return which function or lambda has begun in the rows before one: None for one that has to do with the device as
    well, "" for none that is known."""
    for row in reversed(rows):
        if _OF_DEVICE.search(row):
            return None
        if row.startswith("}") or "operator" in row:
            break
        if (match := _BEGINS.match(row)) is not None:
            return match["lambda"] or match["function"]
    return ""


def _compares_inside(name: str, texts: Mapping[str, str]) -> bool:
    """Whether a function of the program's own, or a lambda, compares anything: one that checks a call does not."""
    start = rf"\b{re.escape(name)}\s*(?:=\s*\[[^\]\n]{{0,80}}\]\s*)?\([^;{{}}]{{0,300}}\)[^;{{}}()]{{0,40}}\{{"
    bodies = (text[m.end() : m.end() + MOST_BODY] for text in texts.values() for m in re.finditer(start, text))
    return any(compares(body.partition("\n}")[0]) for body in bodies)


def holds_comparison(text: str) -> bool:
    """Whether elements, or magnitudes of differences, are compared in a piece of host code."""
    return any(pattern.search(text) for pattern in (_COMPARES, _DIFFERENCE)) or _measures(text)


# `got[i] != want[j]`, `fabs(got[i] - want[i])`, elements of two arrays.
_ELEMENTS = re.compile(r"\b(\w+)\s*\[[^;\n]{1,80}\]\s*(?:[!=]=|-)\s*(?!\1\b)(?:\w+(?:\.|->))?\w+\s*\[")


def lines_compared(text: str) -> list[int]:
    """Return the lines of a file's text in which elements of two arrays are held against each other."""
    return [number for number, row in enumerate(text.split("\n"), 1) if _ELEMENTS.search(row)]


def _measures(text: str) -> bool:
    """Whether the magnitude of a difference is taken, or one is held against a limit."""
    differences = {match[1] for match in _IS_DIFFERENCE.finditer(text)}
    for match in _MAGNITUDE.finditer(text):
        depth, end = 1, match.end()
        while depth and end < min(len(text), match.end() + 400):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        argument = text[match.end() : end - 1]
        is_held = re.match(r"\s*(?:[<>]=?|[=!]=)(?![<>])", text[end:])
        before = re.search(r"(?<![<>-])[<>]=?\s*$", text[: match.start()][-8:])
        if re.search(r"[\w\])]\s*-\s*[\w(*&]", argument) or is_held or before:
            return True
        if differences & set(re.findall(r"\w+", argument)):
            return True
    return False


_BEYOND = re.compile(r"\bf?abs[fl]?\s*\([^;{}]*\)\s*>=?|\b(?P<max>f?max[fl]?)\s*\([^;{}]*\bf?abs[fl]?\s*\(")


def differences_looked_at(texts: Mapping[str, str]) -> list[tuple[str, int, bool]]:
    """Return file and line where a difference is looked at for being too large, or for being the largest; which: by a
    function for the larger of two numbers, or not.

    texts: of files, by name.
    """
    return [
        (file, text.count("\n", 0, match.start()) + 1, match["max"] is not None)
        for file, text in texts.items()
        for match in _BEYOND.finditer(text)
    ]
