"""Which kernels can wait for their whole grid: these are launched cooperatively, on every backend."""

from __future__ import annotations

from functools import lru_cache

from grader.backends.base import Code
from grader.ptx import PtxError, parse
from grader.ptx.lowering.program import program_of


@lru_cache(maxsize=64)
def waits_for_grid(code: Code, entry: str) -> bool:
    """Whether a kernel asks for the group of its whole grid, in code of its own or of functions that it may call.

    Decided by what was compiled, however the source spells it.  What asks, and cannot be looked through, is taken to
    wait: a cooperative launch runs any other kernel as well.
    """
    # All that can ask reads one of these registers, and hardly a program does: the others need not be parsed.
    if "%envreg" not in code.ptx:
        return False
    try:
        return program_of(parse(code.ptx)).needs(entry).whole_grid
    except PtxError:
        return True
