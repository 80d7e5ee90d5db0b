"""Functions of the host that device code calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.compiler.process import CompilerProcess
from grader.message import as_message
from grader.programs.kernels import as_nvcc
from grader.words import text

KERNEL = "__global__ void k(int *a) { int mine = 1; a[0] = %s; }\n"


@pytest.fixture(scope="module")
def compiler() -> Iterator[CompilerProcess]:
    with CompilerProcess() as process:
        yield process


@pytest.mark.parametrize(
    ("before", "value", "line"),
    [
        ("\nint plain(int x) { return x; }\n", "plain(2)", 2),
        ("int plain(int x);\ninline int plain(int x)\n{ return x; }\n", "plain(2)", 2),
        ("template <class T>\nT plain(T x) { return x; }\n", "plain(2)", 2),
        # A name of the same spelling; of the device, or of both; whatever a macro makes of it.
        ("int mine(int x) { return x; }\n", "mine + 1", 0),
        ("__device__ int plain(int x) { return x; }\n", "plain(2)", 0),
        ("constexpr int plain(int x) { return x; }\n", "plain(2)", 0),
        ("#define BOTH __host__ __device__\nBOTH int plain(int x) { return x; }\n", "plain(2)", 0),
    ],
)
def test_what_nvcc_refuses_is_refused(before: str, value: str, line: int, compiler: CompilerProcess) -> None:
    sources = {"k.cu": before + KERNEL % value}
    built = compiler.compile(sources, ["k"], "compute_75")
    assert built.ok
    result = as_nvcc(built, sources, lambda texts: compiler.compile(texts, ["k"], "compute_75"))
    if not line:
        assert result is built
        return
    assert (result.ok, result.reason, dict(result.entries)) == (False, "errors", {})
    (error,) = result.diagnostics
    assert (error.line, error.cause) == (before.count("\n") + 1, line)
    assert text(as_message(error.message)) == (
        f"plain is called in device code, but line {line} defines it for the host alone: nvcc refuses this."
    )
