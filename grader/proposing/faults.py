"""Wrong solutions made of a right one: a barrier, a padding or a guard taken away, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.repair.function import Change, Function, changed, condition_of, functions_of
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import declared_name
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import SourceText

MOST = 12
_PADDED = re.compile(r"(?P<extent>.*\S)\s*\+\s*1\s*")
_GUARD = re.compile(r"<|>|==")


@dataclass(frozen=True, slots=True)
class Fault:
    """A wrong solution.  name: of its file, without ending.  line: where something is missing."""

    name: str
    text: str
    line: int


def faults_of(source: SourceText) -> list[Fault]:
    """What can be made of a file's kernels, each once."""
    parsed = parse(source)
    found: dict[str, Fault] = {}
    for kernel in kernels_in(parsed):
        for function in functions_of(parsed, kernel.name)[:1]:
            for kind, change in _changes(function):
                text = changed(source.text, change)
                found.setdefault(text, Fault(f"{kernel.name}_no_{kind}_{change.line}".lower(), text, change.line))
    return list(found.values())[:MOST]


def _changes(function: Function) -> Iterator[tuple[str, Change]]:
    for barrier in function.barriers:
        yield "barrier", Change("barrier", function.line(barrier), (function.replaced(barrier, ";"),), 1, "barrier")
    for node in function.nodes:
        if node.type == "array_declarator" and "__shared__" in function.text(node.parent or node):
            size = node.child_by_field_name("size")
            match = _PADDED.fullmatch(function.text(size)) if size is not None else None
            if size is not None and match is not None:
                edit = function.replaced(size, match["extent"])
                yield "padding", Change("padding", function.line(node), (edit,), 1, "padding")
    indices = _indices(function)
    sizes = {v.name for v in function.variables if v.role == "size" and v.start == function.body.start_byte}
    for node in function.nodes:
        condition = condition_of(node) if node.type == "if_statement" else None
        if condition is None or node.child_by_field_name("alternative") is not None:
            continue
        words = function.parsed.words(condition)
        if not (words & indices and words & sizes and _GUARD.search(function.text(condition))):
            continue
        body = node.child_by_field_name("consequence")
        leaves = body is not None and function.text(body).strip("{}; \n\t").startswith("return")
        edit = function.replaced(condition, "false" if leaves else "true")
        yield "guard", Change("guard", function.line(node), (edit,), 1, "guard")


def _indices(function: Function) -> set[str]:
    """Names of what tells threads from each other."""
    found = {"threadIdx", "blockIdx"}
    for node in function.nodes:
        if node.type == "init_declarator":
            value, name = node.child_by_field_name("value"), declared_name(node)
            if value is not None and (function.parsed.words(value) & found):
                found.add(name)
    return found
