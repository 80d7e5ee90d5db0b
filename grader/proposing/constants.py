"""Sizes that a solution writes into its file, `#define N 1024`, made parameters of the kernels that use them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

from grader.proposing.solution import Candidate, Solution
from grader.repair.function import host_functions
from grader.submission.cpp.tree import ParsedFile, function_declarator
from grader.submission.lexical import Edit, apply
from grader.submission.source import SourceText

_SHARED = re.compile(r"\b__shared__\b[^;]*;")


def with_parameters(solution: Solution, candidates: Sequence[Candidate]) -> tuple[SourceText, list[str]] | None:
    """The file with its sizes as parameters of the kernels that use them, handed over at every launch, and as constants
    of the host's functions; and their names.  None where there are none, or where device functions use them too.

    A size is a constant that a launched kernel names, of which or of two of which its arrays have their numbers of
    elements.  No line moves.
    """
    parsed, text = solution.parsed, solution.source.text
    sizes = _sizes_in(parsed, candidates)
    # In the file's order, rows before columns as a rule.
    sizes = {name: sizes[name] for name in re.findall(r"\w+", text) if name in sizes}
    using = {name for name, item in parsed.functions.items() if not parsed.words(item.node).isdisjoint(sizes)}
    kernels = {kernel.name for kernel in solution.kernels} & using
    hosts = list(host_functions(parsed))
    definitions = [_definition(text, name) for name in sizes]
    if not kernels or using - kernels - {f.item.name for f in hosts} or None in definitions:
        return None

    def place(byte: int) -> int:
        return len(parsed.data[:byte].decode("utf-8"))

    edits = [Edit(*span, "") for span in definitions if span is not None]
    for name in kernels:
        declarator = function_declarator(parsed.functions[name].node.child_by_field_name("declarator"))
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        ends = [place(listed.end_byte) - 1] if listed is not None else []
        edits += [Edit(end, end, "".join(f", int {size}" for size in sizes)) for end in ends]
        ends = [_end_of_call(text, launch.end()) for launch in re.finditer(rf"\b{name}\s*<<<", text)]
        edits += [Edit(end, end, "".join(f", {size}" for size in sizes)) for end in ends]
    for function in hosts:
        begin = place(function.body.start_byte) + 1
        used = [size for size in sizes if function.item.name in {"main", *using}]
        edits.append(Edit(begin, begin, "".join(f" const int {size} = {sizes[size]};" for size in used)))
    return replace(solution.source, text=apply(text, edits, {}), written=text), list(sizes)


def _sizes_in(parsed: ParsedFile, candidates: Sequence[Candidate]) -> dict[str, int]:
    words: set[str] = set()
    for one in candidates:
        if one.launched is not None:
            kernel = parsed.text(parsed.functions[one.launched.kernel.name].node)
            # What shared arrays are declared by has to stay a constant.
            words |= set(re.findall(r"\w+", kernel)) - set(re.findall(r"\w+", " ".join(_SHARED.findall(kernel))))
    counts = {count for one in candidates for count in one.counts.values()}
    constants = parsed.constants
    values = {name: constants.integer(name) for name in (*constants.macros, *constants.values) if name in words}
    known = {name: value for name, value in values.items() if value is not None and value > 1}
    pairs = [pair for pair in combinations_with_replacement(known, 2) if known[pair[0]] * known[pair[1]] in counts]
    return {name: v for name, v in known.items() if v in counts or any(name in pair for pair in pairs)}


def _definition(text: str, name: str) -> tuple[int, int] | None:
    """Where the only definition of a constant stands; None where it is another one than of a number for the file."""
    macro = rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+[^\n]*"
    constant = rf"^(?:(?:static|const|constexpr)[ \t]+)+(?:unsigned[ \t]+)?\w+[ \t]+{name}[ \t]*=[^;,\n]*;"
    found = [match.span() for pattern in (macro, constant) for match in re.finditer(pattern, text, re.MULTILINE)]
    return found[0] if len(found) == 1 else None


def _end_of_call(text: str, at: int) -> int:
    """Where the arguments end of a launch whose `<<<` ends at `at`."""
    at = text.index("(", text.index(">>>", at))
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)
