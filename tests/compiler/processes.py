"""What tests of compiler processes share: sources, and who runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.processes.limits import landlock_version

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
needs_landlock = pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")


def compiled(compiler: CompilerProcess, source: str, *names: str, file: str = "main.cu") -> CompileResult:
    return compiler.compile({file: source}, names, "compute_75")


def macro_bomb(levels: int) -> str:
    """Names put together by ##, so that nobody can count beforehand what they stand for."""
    lines = ["#define A0 x=x+1;"]
    lines += [f"#define P{i}(a) A##a\n#define A{i} P{i}({i - 1}) P{i}({i - 1})" for i in range(1, levels)]
    return "\n".join(lines) + f"\n__global__ void k(int x) {{ A{levels - 1} }}\n"


def children() -> set[int]:
    """This process's own child processes."""
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in text.split()}
