"""A harness for a function: a `main` of the grader's own that calls it, in a file beside the student's."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.programs.sources import Program, read_program

NAME = "grader_harness.cu"

# It includes nothing: a header of that name may have been handed in.
_TEXT = """#define GRADER_CALL(name) extern "C" __attribute__((import_module("grader"), import_name(#name))) long long
GRADER_CALL(call_begins) grader_call_begins(void);
GRADER_CALL(call_argument) grader_call_argument(long long);
GRADER_CALL(call_ends) grader_call_ends(void);

template <class T>
static T grader_argument(int index) {{
    long long raw = grader_call_argument(index);
    T value;
    __builtin_memcpy(&value, &raw, sizeof value);
    return value;
}}

{linkage}{declaration};

int main() {{
    while (grader_call_begins()) {{
        {name}({arguments});
        grader_call_ends();
    }}
    return 0;
}}
"""


def with_harness(
    paths: Sequence[Path],
    root: Path,
    replaced: Mapping[str, str],
    name: str,
    types: Sequence[str],
    is_of_c: bool,
) -> Program:
    """The program that `paths` are, the one with the function first, with a `main` that calls it.

    root, replaced: as for `read_program`; their own `main` is not among them.
    types: of the function's parameters, as C++ spells them.  is_of_c: it is declared `extern "C"`.

    Raises
    ------
    UsageError : a file cannot be read, or takes too much work to read.
    """
    program = read_program(paths, (), replaced, root)
    text = _TEXT.format(
        linkage='extern "C" ' if is_of_c else "",
        declaration=f"void {name}({', '.join(types)})",
        name=name,
        arguments=", ".join(f"grader_argument<{kind}>({i})" for i, kind in enumerate(types)),
    )
    return dataclasses.replace(
        program,
        # A file of that name that was handed in gives way.
        units=(*(unit for unit in program.units if unit != NAME), NAME),
        host={**program.host, NAME: text},
        whole={**program.whole, NAME: text},
        device={**program.device, NAME: {NAME: ""}},
    )
