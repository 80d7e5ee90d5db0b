"""Changes of what a program compares its results with, tried many at once.

Where kernels and calls are right and the program calls its results wrong, the code may be wrong that computes what it
compares them with.  The program's own check is the proof: a change of a reference counts with which it calls all
results right.  Only code that makes elements of an array of another's, or adds such elements up, is changed, never a
comparison, and never what fills the inputs.

The changed loops stand side by side in one program, which is compiled once: a file tells it which of them to take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from grader.errors import InternalError, UsageError
from grader.programs.execution import CompiledProgram
from grader.programs.observation import sources_of
from grader.programs.own_check import Reference, holds_comparison, references_in, said
from grader.programs.records import Observation, Start, is_limit
from grader.programs.runs_with_kernels import WITH_RESULTS
from grader.programs.starts import applied, changes
from grader.repair.clues import clues_of
from grader.repair.function import Change, Function, changed, host_functions
from grader.repair.nodes import is_statement
from grader.repair.ranking import changes_of, in_order
from grader.submission.changes import Original
from grader.submission.cpp.tree import LOOPS, ParsedFile, descendants
from grader.submission.kernels.records import SeenRun
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TRIED = 48
"""Changes of a program that are run at most."""
MAX_AT_ONCE = 24
"""Changes that one program holds at most."""
OF_CUT = 8
"""What part of the work of a run that was cut short one with a change may take."""
MAX_COMPILED = 3
"""Programs that are compiled for these: the second without the changes that do not compile."""
SOONER = {"exchange": 0.8, "size": 0.8, "index": 0.4, "divisor": 0.4}
"""What changes of a group cost less: who writes loops for a CPU exchanges names sooner than they miss an end."""
FOREIGN = 0.8
"""What a name costs more that the loop does not have already."""
ALIKE = 3.0
"""What a change costs less that makes a statement like the one beside it, another name throughout."""
_OF_KERNELS = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim|__\w+|atomic\w+)\b")
_WORDS = re.compile(r"[A-Za-z_]\w*")
_TOKENS = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")
# `got[i] != want[i + 1]`, `fabs(got[i] - want[j])`.
_COMPARED = re.compile(r"\w\[([^\[\]]+)\]\s*(?:[!=]=|-)\s*\w+\[([^\[\]]+)\]")
# What stores an element, or adds elements up; a subtraction beside indices.
_STORES = re.compile(r"\w[\w.>-]*(?:\s*\[[^\]]*\])+(?:\s*\.\s*\w+)?\s*[-+*/]?=(?!=)|\w+\s*[-+*/]=[^;]*\[")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_SUBTRACTS = re.compile(r"[\w)]\s*-\s*[\w(]")
CHOICE = "grader_choice"
_READS = (
    "#include <cstdio>\n"
    'static int grader_choice_() { int n = -1; std::FILE *f = std::fopen("grader_choice", "r");'
    ' if (f) { if (std::fscanf(f, "%d", &n) != 1) n = -1; std::fclose(f); } return n; }\n'
    "static const int grader_choice = grader_choice_();\n#line 1\n"
)
"""What begins a program that holds several changes."""


def reference_changes(original: Original, run: SeenRun) -> Iterator[tuple[ParsedFile, Change]]:
    """Yield the first change of references with which a program calls right what it calls wrong in `run`."""
    sources = [source for source in original.submission.sources if source.file in run.files]
    if not run.said or any(source.notebook for source in sources):
        return
    sources.sort(key=lambda source: run.files.index(source.file))
    for parsed, rows in _by_file(in_likely_order(original, run)[:MAX_TRIED]):
        for at in range(0, len(rows), MAX_AT_ONCE):
            found = _tried(sources, run, parsed, rows[at : at + MAX_AT_ONCE])
            if found is not None:
                yield parsed, found
                return


Row = tuple[Reference, Change]


def _by_file(rows: Sequence[tuple[ParsedFile, Row]]) -> Iterator[tuple[ParsedFile, list[Row]]]:
    """Yield the changes of each file; of several files that of the likeliest change comes first."""
    files = {parsed.file: parsed for parsed, _row in rows}
    for file, parsed in files.items():
        yield parsed, [row for other, row in rows if other.file == file]


def in_likely_order(original: Original, run: SeenRun) -> list[tuple[ParsedFile, Row]]:
    """Return the changes of all references of a run's program, likeliest first."""
    ranked: list[tuple[float, ParsedFile, Row]] = []
    for parsed in original.files():
        references = references_in(parsed) if parsed.file in run.files else []
        # What is compared at other places may be wrong itself, and a change of the reference would go along with that.
        is_shifted = any(_compares_shifted(function, references) for function in host_functions(parsed))
        for function in host_functions(parsed) if references and not is_shifted else ():
            body = function.body
            own = [r for r in references if body.start_byte <= r.node.start_byte < body.end_byte]
            rows = changes_of([function], {}, ()) if own else ()
            free = {id(r): _apart_from_comparison(function, r.node) for r in own}
            within = [(r, c) for _function, c in rows for r in own if _is_within(function, r.node, c, free[id(r)])]
            costs = {c.key: _cost(function, r.node, c) for r, c in within}
            at = {c.key: r for r, c in within}
            shifted = [(function, replace(c, cost=costs[c.key])) for _reference, c in within]
            clues = clues_of([function], "correct", (), None, (), {})
            ordered = in_order(clues, shifted)
            ranked += [(clues.cost(change), parsed, (at[change.key], change)) for _function, change in ordered]
    ranked.sort(key=lambda row: row[0])
    return [(parsed, row) for _cost_of, parsed, row in ranked]


def _compares_shifted(function: Function, references: Sequence[Reference]) -> bool:
    """Whether elements of two arrays are compared at different indices, outside of what computes a reference."""
    text, begin = function.text(function.body), function.at(function.body.start_byte)
    for reference in references:
        low, high = (max(function.at(b) - begin, 0) for b in (reference.node.start_byte, reference.node.end_byte))
        text = text[:low] + " " * (high - low) + text[high:]
    return any("".join(a.split()) != "".join(b.split()) for a, b in _COMPARED.findall(text))


def _apart_from_comparison(function: Function, loop: Node) -> list[tuple[int, int]]:
    """Return the parts of a loop that may be changed without a comparison in it: all of it where nothing is compared,
    else inner loops without comparisons and statements that store, or add up, elements."""
    spans: list[tuple[int, int]] = []

    def collect(node: Node) -> None:
        text = function.text(node)
        is_store = node.type == "expression_statement" and _STORES.match(text)
        if (is_store or node.type in LOOPS) and not holds_comparison(text):
            if not is_store or not _SUBTRACTS.search(_IN_BRACKETS.sub("", text)):
                spans.append((function.at(node.start_byte), function.at(node.end_byte)))
            return
        condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
        if condition is not None and holds_comparison(function.text(condition)):
            return
        for child in node.named_children:
            collect(child)

    if not holds_comparison(function.text(loop)):
        return [(function.at(loop.start_byte), function.at(loop.end_byte))]
    collect(loop)
    return spans


def _is_within(function: Function, loop: Node, change: Change, free: Sequence[tuple[int, int]]) -> bool:
    low, high = function.at(loop.start_byte), function.at(loop.end_byte)
    return (
        all(any(a <= edit.start and edit.end <= b for a, b in free) for edit in change.edits)
        and change.kind not in ("barrier", "guard")
        and not any(_OF_KERNELS.search(edit.text) for edit in change.edits)
        and all(low <= edit.start and edit.end <= high for edit in change.edits)
    )


def _cost(function: Function, loop: Node, change: Change) -> float:
    names = function.names_in(loop)
    cost = change.cost - SOONER.get(change.group, 0.0)
    if any(set(_WORDS.findall(edit.text)) - set(names) for edit in change.edits):
        cost += FOREIGN
    return cost - ALIKE * _makes_alike(function, loop, change)


def _makes_alike(function: Function, loop: Node, change: Change) -> bool:
    """Whether a statement is its neighbour with other names throughout by the change, and was not before."""
    if len(change.edits) != 1:
        return False
    (edit,) = change.edits
    statement = next(
        (
            node
            for node in descendants(loop)
            if is_statement(node)
            and node.type == "expression_statement"
            and function.at(node.start_byte) <= edit.start
            and edit.end <= function.at(node.end_byte)
        ),
        None,
    )
    if statement is None:
        return False
    text, start = function.text(statement), function.at(statement.start_byte)
    after = text[: edit.start - start] + edit.text + text[edit.end - start :]
    beside = [n for n in (statement.prev_named_sibling, statement.next_named_sibling) if n is not None]
    others = [function.text(n) for n in beside if n.type == statement.type]
    return sum(_is_renamed(other, after) for other in others) > sum(_is_renamed(other, text) for other in others)


def _is_renamed(one: str, other: str) -> bool:
    """Whether two statements differ, and only in names, each of which always stands for the same one."""
    first, second = _TOKENS.findall(one), _TOKENS.findall(other)
    if len(first) != len(second) or first == second:
        return False
    pairs = {(a, b) for a, b in zip(first, second, strict=True)}
    names = all(a == b or (_WORDS.fullmatch(a) and _WORDS.fullmatch(b)) for a, b in pairs)
    return names and len({a for a, _b in pairs}) == len(pairs) == len({b for _a, b in pairs})


def _tried(sources: Sequence[SourceText], run: SeenRun, parsed: ParsedFile, rows: Sequence[Row]) -> Change | None:
    """Return the first of a file's changes with which the program calls all results right; None: it is none of them."""
    left = list(rows)
    for _time in range(MAX_COMPILED):
        text, spans = _with_choices(parsed, left)
        texts = [replace(s, text=text) if s.path == parsed.source.path else s for s in sources]
        number, refused = _run(texts, run, len(left), parsed.file)
        if number is not None:
            return left[number][1]
        kept = [row for row, (low, high) in zip(left, spans, strict=True) if not any(low <= n < high for n in refused)]
        if not kept or len(kept) == len(left):
            return None
        left = kept
    return None


def _with_choices(parsed: ParsedFile, rows: Sequence[Row]) -> tuple[str, list[tuple[int, int]]]:
    """Return a file's text with each changed loop beside the loop itself, by the number of the change in `rows`.

    Also returns the lines of each changed loop, from the first to the one behind the last.
    """
    text, data = parsed.source.text, parsed.data

    def at(byte: int) -> int:
        return len(data[:byte].decode("utf-8", errors="replace"))

    loops: dict[int, tuple[int, list[tuple[int, str]]]] = {}
    for number, (reference, change) in enumerate(rows):
        low, high = at(reference.node.start_byte), at(reference.node.end_byte)
        moved = tuple(replace(edit, start=edit.start - low, end=edit.end - low) for edit in change.edits)
        loop = changed(text[low:high], replace(change, edits=moved))
        loops.setdefault(low, (high, []))[1].append((number, loop))
    parts, end, line = [], 0, 1
    spans = [(0, 0)] * len(rows)

    def put(part: str) -> None:
        nonlocal line
        parts.append(part)
        line += part.count("\n")

    for low, (high, choices) in sorted(loops.items()):
        put(text[end:low] + "{ ")
        for number, loop in choices:
            put(f"if ({CHOICE} == {number}) {{\n")
            first = line
            put(f"{loop}\n")
            spans[number] = first, line
            put("} else ")
        put(f"{{\n{text[low:high]}\n}} }}")
        end = high
    put(text[end:])
    return _READS + "".join(parts), spans


def _run(sources: Sequence[SourceText], run: SeenRun, choices: int, file: str) -> tuple[int | None, set[int]]:
    """Return the first of a program's choices with which it calls all results right, None where it is none of them; and
    the lines of a file that do not compile."""
    texts, arguments = {source.file: source.text for source in sources}, run.arguments
    if run.change is not None:
        own = run.change
        numbers = [
            c for c in changes(texts, arguments, "programs.too_long") if (c.file, c.name) == (own.file, own.name)
        ]
        change = next((c for c in numbers if c.numbers == (own.before, own.after)), None)
        if change is None:
            return None, set()
        smaller, more = applied(change, texts, arguments)
        texts, arguments = texts | smaller, tuple(more)
    try:
        program = sources_of(sources, texts).read(arguments)
        with closing(CompiledProgram(program)) as compiled:
            limits, words = WITH_RESULTS, len(run.said)
            if not run.ended and is_limit(run.cause):
                # It was cut short: what it says within a part of that is enough to tell the right change.
                limits = structs.replace(limits, kernel_instructions=limits.kernel_instructions // OF_CUT)
                before = compiled.run(Start(arguments, run.stdin), limits)
                words = len(said(before)) if before is not None else 0
            for number in range(choices if words else 0):
                start = Start(arguments, run.stdin, files={CHOICE: str(number).encode()})
                observation = compiled.run(start, limits)
                if observation is None:
                    diagnostics = compiled.host.diagnostics if compiled.host is not None else ()
                    return None, {d.line for d in diagnostics if d.file == file}
                if _is_right(observation, words):
                    return number, set()
    except (InternalError, UsageError):
        return None, set()
    return None, set()


def _is_right(observation: Observation, least: int) -> bool:
    """Whether a changed program calls all results right, in as many lines as before it was changed at least, and keeps
    to its own memory: what lies beyond an array is not compared."""
    if any(finding.message.id.startswith("programs.host_") for finding in observation.findings):
        return False
    words = said(observation)
    is_whole = observation.exit is not None or is_limit(observation.cause)
    return is_whole and len(words) >= least and all(word.is_right for word in words)
