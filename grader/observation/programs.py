"""Which whole programs a submission's files are, and with what each may be started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.programs.observe import Run
from grader.submission.files.source import SourceText

MAX_PROGRAMS = 6
USUAL_SIZE = "256"
USUAL_BLOCK = "16"

_MAIN = re.compile(r"\bmain\s*\([^;{}]{0,200}\)\s*(?:try\s*)?\{")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/", re.DOTALL)
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+\.(?:cu|cpp|cc|c))\"", re.M)
_ARGUMENT = re.compile(r"\bargv\s*\[\s*(\d+)\s*\]")
_READS_INPUT = re.compile(r"\bcin\b|\bscanf\s*\(|\bstdin\b|\bgetchar\s*\(")
_LAUNCHED = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,200}>)?\s*<<[ \t]*<")


def programs_of(sources: Sequence[SourceText]) -> list[tuple[SourceText, ...]]:
    """The files of each program, the one with `main` first: files without one belong to every program."""
    texts = {source.path: _COMMENT.sub(" ", source.text) for source in sources}
    included = {Path(name).name for text in texts.values() for name in _INCLUDED.findall(text)}
    own = [source for source in sources if source.path.name not in included]
    mains = [source for source in own if _MAIN.search(texts[source.path])]
    others = tuple(source for source in own if source not in mains)
    return [(main, *others) for main in mains][:MAX_PROGRAMS]


def launched_in(sources: Sequence[SourceText]) -> set[str]:
    """Names that stand before a `<<<`: mostly kernels."""
    return {name for source in sources for name in _LAUNCHED.findall(_COMMENT.sub(" ", source.text))}


def ways_to_start(sources: Sequence[SourceText], sizes: Sequence[int] = ()) -> list[Run]:
    """What the program is started with: nothing; then, where it takes arguments, sizes of the lab in either order.

    sizes: those that kernels are profiled at.  What the program would read from a keyboard is the same, line by line;
    one that asks for several numbers may want a size in each.
    """
    usual = tuple(str(size) for size in sizes) or (USUAL_SIZE,)
    text = "\n".join(_COMMENT.sub(" ", source.text) for source in sources)
    reads = _READS_INPUT.search(text) is not None
    stdin = "\n".join([*usual, *[USUAL_BLOCK] * 16, ""]).encode() if reads else b""
    count = max((int(number) for number in _ARGUMENT.findall(text) if int(number) < 10), default=0)
    ways = [Run((), stdin)]
    if count:
        for order in dict.fromkeys((usual, usual[::-1])):
            ways.append(Run((*order, *[USUAL_BLOCK] * count)[:count], stdin))
        ways.append(Run((max(usual, key=int),) * count, stdin))
    if reads:
        ways.append(Run((), "\n".join([*[max(usual, key=int)] * 16, ""]).encode()))
    return list({(way.arguments, way.stdin): way for way in ways}.values())
