"""Programs that use what only newer devices have: compiled for the oldest one on which they compile."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult

NEWER = {"compute_75": ("compute_80", "compute_90")}
"""Virtual architectures that are tried after one, in this order.  A device's own (sm_…) is what the program runs on."""
_LACKING = re.compile(
    r'identifier "__\w+" is undefined|no instance of overloaded function "atomic|is not supported for this GPU arch'
    r'|namespace "cooperative_groups(?:::\w+)*" has no member|no suitable user-defined conversion from "__(?:nv_b|h)'
    r'|incomplete type "nvcuda::wmma|name followed by "::" must be a class or namespace name'
)
"""What the compiler says of a function or type that headers declare for newer devices only; slips read so as well."""


def for_oldest(compile_for: Callable[[str], CompileResult], architecture: str) -> tuple[str, CompileResult]:
    """The architecture that a program was compiled for, by `compile_for`, and what came of it.

    Where it compiles for none, what is said is what was said of the first.
    """
    first = compile_for(architecture)
    if first.ok or not any(_lacks(d.message) for d in first.diagnostics if d.severity == "error"):
        return architecture, first
    for newer in NEWER.get(architecture, ()):
        result = compile_for(newer)
        if result.ok or result.reason == "missing_entry":
            return newer, result
    return architecture, first


def _lacks(said: object) -> bool:
    return isinstance(said, str) and bool(_LACKING.search(said))
