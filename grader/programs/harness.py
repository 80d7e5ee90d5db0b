"""A harness for a function: a `main` that calls it, in a file beside the student's, made here or of a lab's own."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.programs.sources import Program, read_program

NAME = "grader_harness.cu"
HEADER = Path(__file__).parent / "toolchain" / "include" / "grader_harness.h"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]grader_harness\.h[>"][^\n]*', re.M)
_TEXT = """
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
    # It includes nothing: a header of that name may have been handed in.
    header = HEADER.read_text("utf-8").replace("#pragma once\n", "")
    if any(re.search(r"\bhalf\b", kind) for kind in types):
        header = f"#include <cuda_fp16.h>\n{header}"
    text = header + _TEXT.format(
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


def with_own_harness(paths: Sequence[Path], root: Path, replaced: Mapping[str, str], harness: str) -> Program:
    """The program that `paths` are, one of them a harness of the lab's own, by the name `harness` below `root`.

    root, replaced: as for `read_program`.  Raises what `with_harness` raises.
    """
    program = read_program(paths, (), replaced, root)
    header = HEADER.read_text("utf-8").replace("#pragma once\n", "")
    text = _INCLUDE.sub(lambda _match: header, program.host[harness], count=1)
    return dataclasses.replace(program, host={**program.host, harness: text}, whole={**program.whole, harness: text})
