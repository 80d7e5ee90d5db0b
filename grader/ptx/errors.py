"""What the emulator refuses, and why."""

from __future__ import annotations


class PtxError(Exception):
    """Base of every error of the emulator."""


class PtxSyntaxError(PtxError):
    """The text is not PTX this parser knows; the message shows the line with a caret.

    Parameters
    ----------
    message : what was expected or is wrong.
    ptx_line : 1-based line in the PTX text.
    column : 1-based column of the offending token.
    source : that line of the PTX text.
    """

    def __init__(self, message: str, ptx_line: int, column: int, source: str) -> None:
        self.ptx_line = ptx_line
        self.column = column
        super().__init__(f"PTX line {ptx_line}: {message}\n  {source.rstrip()}\n  {' ' * (column - 1)}^")


class UnsupportedInstruction(PtxError):
    """An instruction the emulator has no semantics for: named, never guessed.

    Parameters
    ----------
    text : the instruction as written in the PTX.
    line : 1-based line of the CUDA source, 0 when unknown.
    reason : what about it is not supported.
    """

    def __init__(self, text: str, line: int = 0, reason: str = "") -> None:
        self.text = text
        self.line = line
        self.reason = reason
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}the emulator does not implement `{text}`" + (f" ({reason})" if reason else ""))


class InvalidInstruction(PtxError):
    """An instruction that is no PTX: the assembler would refuse it (inline assembly; NVRTC does not look at it).

    Parameters
    ----------
    text : the instruction as written in the PTX.
    line : 1-based line of the CUDA source, 0 when unknown.
    reason : what about it cannot be.
    """

    def __init__(self, text: str, line: int, reason: str) -> None:
        self.text = text
        self.line = line
        self.reason = reason
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}`{text}` is no valid instruction ({reason})")


class LaunchError(PtxError):
    """The launch itself is impossible (block too large, wrong argument count, unknown kernel).

    `kind` is "threads" or "shared_memory" for more of these a block, `got`, than `limit`, "cooperative" for more blocks
    than can be resident; else "other".
    """

    def __init__(self, message: str, kind: str = "other", got: int = 0, limit: int = 0) -> None:
        self.kind = kind
        self.got = got
        self.limit = limit
        super().__init__(message)


class LimitExceeded(PtxError):
    """The kernel used up its instruction budget or its time; says the line it was at.

    `kind` is "instructions", "time", "deadlock" (threads wait for others that never come), "endless" (a loop that
    nothing can end any more) or "memory" (more than the emulator has for it).  `issued`: instructions until then, each
    counted once for all threads that executed it together, where these were the limit.
    """

    def __init__(self, kind: str, line: int, message: str, issued: int | None = None) -> None:
        self.kind = kind
        self.line = line
        self.issued = issued
        super().__init__(message)


class DeviceTrap(PtxError):
    """The kernel executed `trap` or a failed assertion, at `line`.

    `kind` is "grid_sync" where it would have waited for its whole grid and the launch is not cooperative, else "trap".
    """

    def __init__(self, line: int, message: str, kind: str = "trap") -> None:
        self.line = line
        self.kind = kind
        super().__init__(message)
