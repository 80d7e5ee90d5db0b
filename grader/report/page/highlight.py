"""Lines of CUDA source as tokens with classes, in a time that does not depend on who wrote them.

A lexer's regular expressions can be driven to take for ever.  So lines without text and what is beyond the end of a
long line are kept from it, it sees no more than is shown, and where it takes too long all the same, lines are plain.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from grader.report.page.views import Token
from grader.report.visible import visible

MAX_LINE_CHARACTERS = 400
TIME_LIMIT_S = 15.0
"""Of processor time; far beyond what the lines of any program take that was not written for this."""
_COMMENT_OR_TEXT = re.compile(r"""/\*|\*/|//|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""")


class _TooLong(Exception):
    """The lexer takes too long."""


def lines_of(text: str) -> list[str]:
    """The lines of a source, without their ends."""
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    return lines


def highlight(text: str) -> list[list[Token]]:
    """Lines of tokens whose texts joined are `text` without its line ends; very long lines are cut.

    Characters that act on the page or on the reader (`visible`) are replaced.
    """
    lines = lines_of(text)
    tokens = highlight_lines(lines, range(1, len(lines) + 1))
    return [tokens[number] for number in range(1, len(lines) + 1)]


def highlight_lines(lines: Sequence[str], wanted: Sequence[int]) -> dict[int, list[Token]]:
    """Tokens of the lines whose numbers, from 1, are `wanted`, in order."""
    texts = {number: _cut(visible(lines[number - 1])) for number in wanted}
    found: dict[int, list[Token]] = {number: [("", text)] if text else [] for number, text in texts.items()}
    inside = _begins_in_comment(lines, wanted)
    try:
        with _limited(TIME_LIMIT_S):
            for run in _runs(wanted):
                written = [number for number in run if texts[number].strip()]
                if written:
                    tokens = _lexed([texts[number] for number in written], run[0] in inside)
                    found.update(zip(written, tokens, strict=True))
    except _TooLong:
        pass
    return found


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Numbers that follow one another, together."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _begins_in_comment(lines: Sequence[str], wanted: Sequence[int]) -> set[int]:
    """The wanted lines that begin within a comment."""
    starts = {run[0] for run in _runs(wanted)}
    last = max(starts, default=0)
    found = set()
    inside = False
    for number, line in enumerate(lines[:last], start=1):
        if number in starts and inside:
            found.add(number)
        if "/*" not in line and "*/" not in line:
            continue
        for match in _COMMENT_OR_TEXT.finditer(line):
            sign = match[0]
            if sign == "//" and not inside:
                break
            inside = sign == "/*" or (inside and sign != "*/")
    return found


def _lexed(lines: Sequence[str], in_comment: bool) -> list[list[Token]]:
    """Tokens of lines that follow one another."""
    from pygments import lex
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, Keyword, Name, Number, String, is_token_subtype

    classes = (
        (Comment.Preproc, "p"),
        (Comment.PreprocFile, "p"),
        (Comment, "c"),
        (Keyword, "k"),
        (Name.Builtin, "b"),
        (String, "s"),
        (Number, "n"),
    )
    text = "\n".join(["/*", *lines, ""] if in_comment else [*lines, ""])
    found: list[list[Token]] = [[]]
    for kind, value in lex(text, get_lexer_by_name("cuda", stripnl=False, ensurenl=False)):
        css = next((name for token, name in classes if is_token_subtype(kind, token)), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                found.append([])
            if part:
                _append(found[-1], css, part)
    return found[1:-1] if in_comment else found[:-1]


def _append(line: list[Token], css: str, text: str) -> None:
    """Add to the last token where the class is the same: fewer elements, smaller pages."""
    if line and line[-1][0] == css:
        line[-1] = (css, line[-1][1] + text)
    elif css and len(line) > 1 and line[-2][0] == css and not line[-1][1].strip():
        # The class of what is between two words cannot be seen.
        (_css, before), (_none, between) = line[-2:]
        line[-2:] = [(css, before + between + text)]
    else:
        line.append((css, text))


def _cut(line: str) -> str:
    """A line of bounded length.  A comment that ends in what is cut off ends before it."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    kept, rest = line[:MAX_LINE_CHARACTERS], line[MAX_LINE_CHARACTERS:]
    is_open = kept.rfind("/*") > kept.rfind("*/")
    return kept + (" …*/" if is_open and "*/" in rest else " …")


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `_TooLong` when the block has used the processor for that long; no limit outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
