"""How many steps a constant evaluation may take, so that all of a program together take no more than a few seconds.

Compilers bound the steps of one evaluation and not their number: three hundred `constexpr` loops that each stay below
that bound take a minute.  So the steps that a program may take are divided among the places that may ask for one:
calls of functions that are `constexpr`, assertions, what macros make of these, and templates, which evaluate anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.compiler.expansion import token_sizes

NVRTC_STEPS = 20_000_000
"""Of a whole program, as NVRTC's front end counts: about three seconds."""
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
    """Of `steps` for a whole program, those that each constant evaluation in files that include each other may take."""
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
