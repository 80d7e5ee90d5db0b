"""What a program itself calls its kernels: the text that it prints beside a launch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from grader.lab.records import Variant
from grader.submission.binding.assign import strong_rank
from grader.submission.kernels.records import LaunchSite

MAX_LINES = 16
# What is said of a launch, of sizes and of errors names no variant: "Block: 16x16", "3 rows", "error in line 7".
_NUMBER = r"\s*[:=(,#]?\s*(?:\d|%\d*l*z?[dux])"
_NO_CLAIM = re.compile(
    r"(?i)(?:number of|num|threads?|grids?|per|max\w*|/)[\W_]*blocks?\b|\bblocks\b"
    rf"|\bblock[\W_]*(?:size|dim\w*|count|shape|per)\b|\b(?:blocks?|lines?|rows?|cols?|columns?){_NUMBER}"
    # What a comparison says of a result: "the answer is wrong".
    r"|\b(?:(?:is|are|was|were|results?|answer|ans)\W+)+(?:not\W+)?wrong\b|\bwrong\W*(?:results?\b|answer|!|\\n|$)"
    r"|(?:\d|%\d*l*z?[dux])\s*(?:rows?|cols?|columns?|lines?)\b|\bshared mem\w*[\W_]*(?:per|size)\b"
)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)"?')


def claimed(
    sites: Sequence[LaunchSite],
    all_sites: Iterable[LaunchSite],
    lines: Mapping[str, Sequence[str]],
    variants: Sequence[Variant],
) -> frozenset[str]:
    """The variants that are named in what is printed between a kernel's launch and the next kernel's.

    lines: of each file's text.
    """
    found: set[str] = set()
    others = sorted({(site.file, site.line) for site in all_sites})
    for site in sites:
        after = next((line for file, line in others if file == site.file and line > site.line), site.line + MAX_LINES)
        text = "\n".join(lines.get(site.file, ())[site.line - 1 : min(after - 1, site.line + MAX_LINES)])
        for string in _STRING.findall(text):
            said = _NO_CLAIM.sub(" ", string)
            named = [(rank, v.name) for v in variants if (rank := strong_rank(v, said)) is not None]
            if named:
                found.add(min(named)[1])
    return frozenset(found)
