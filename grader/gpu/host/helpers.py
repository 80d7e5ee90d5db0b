"""The grader's own kernels, compiled for a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import InternalError
from grader.gpu.messages import HELPERS

if TYPE_CHECKING:
    from grader.launching.programs import Compiler

FILE = Path(__file__).parent.parent / "device" / "helpers.cu"


def compile_helpers(compiler: Compiler, architecture: str) -> bytes:
    """Their machine code.

    Raises
    ------
    InternalError : they do not compile for this device.
    """
    result = compiler.compile({FILE.name: FILE.read_text("utf-8")}, list(HELPERS), architecture)
    if not result.ok:
        raise InternalError(f"{FILE.name}: {result.reason} {result.log}")
    return result.cubin
