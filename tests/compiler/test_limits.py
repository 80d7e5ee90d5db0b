"""What a source may take: memory, time, output; and what the shell leaves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader.compiler.diagnostics import MAX_STATIC_BYTES
from grader.compiler.process import CompilerProcess
from grader.message import as_message
from grader.processes import limits
from grader.ptx.limits import Limits
from grader.words import text
from tests.compiler.processes import KERNEL, children, compiled, macro_bomb

pytestmark = pytest.mark.started


def test_a_macro_bomb_is_killed_and_the_next_source_compiles(headers: Path) -> None:
    with CompilerProcess(wall_limit_s=0.7, headers=headers) as compiler:
        compiler.nvrtc_version()
        started = time.monotonic()
        result = compiled(compiler, macro_bomb(60), "k")
        elapsed = time.monotonic() - started
        assert (result.ok, result.reason, result.ptx) == (False, "timeout", "")
        assert elapsed > 0.6
        assert compiler.compile({"main.cu": KERNEL}, ["k"], "compute_75", wall_limit_s=300).ok


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("-v 150000", "within the limits of this shell .ulimit -v 150000"),
        ("-n 8", "within the limits of this shell .ulimit -n 8"),
        ("-d 20000", "within the limits of this shell .ulimit -d 20000"),
        # More than enough.
        ("-v 8000000", "ok"),
        ("-n 200", "ok"),
        ("-t 60", "ok"),
        ("-f 1000", "ok"),
        ("-t 1", "ok|ulimit -t 1"),
    ],
)
def test_the_shells_own_limits(headers: Path, limit: str, said: str) -> None:
    program = (
        "from grader.compiler.process import CompilerProcess\n"
        "from grader.errors import InternalError\n"
        "from pathlib import Path\n"
        "import resource\n"
        f"option, value = {limit.split()!r}\n"
        "kind, unit = {'-v': (resource.RLIMIT_AS, 1024), '-n': (resource.RLIMIT_NOFILE, 1),"
        " '-t': (resource.RLIMIT_CPU, 1), '-d': (resource.RLIMIT_DATA, 1024),"
        " '-f': (resource.RLIMIT_FSIZE, 1024)}[option]\n"
        "resource.setrlimit(kind, (int(value) * unit, int(value) * unit))\n"
        "try:\n"
        f"    with CompilerProcess(headers=Path({str(headers)!r})) as compiler:\n"
        f"        result = compiler.compile({{'main.cu': {KERNEL!r}}}, ['k'], 'compute_75')\n"
        "        print('ok' if result.ok else result.reason)\n"
        "except InternalError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert re.search(said, done.stdout), (done.stdout, done.stderr)
    assert "pip install" not in done.stdout


@pytest.mark.parametrize(
    "declared",
    [
        "__device__ char x[1 << 29];",
        "__device__ float x[1 << 10][1 << 17];",
        "__device__ double y[1000];\n__device__ int4 x[1ull << 40];",
        "__device__ int y[1 << 25], x[1 << 26];",
    ],
)
def test_global_arrays_beyond_memory_are_refused_at_their_line(compiler: CompilerProcess, declared: str) -> None:
    source = f"// one\n{declared}\n{KERNEL}"
    result = compiled(compiler, source, "k")
    assert (result.ok, result.reason) == (False, "errors")
    (error,) = (d for d in result.diagnostics if d.severity == "error")
    assert error.line == 2 + declared.count("\n") and text(as_message(error.message)).startswith("the array x takes ")
    assert compiled(compiler, f"__device__ float x[1 << 24];\n{KERNEL}", "k").ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "__device__ char x[1 << 26] = {1};",
        "template <int N> struct A { A<N - 1> a; A<N - 2> b; char c[N]; }; __device__ A<1 << 20> big;",
    ],
)
def test_memory_is_bounded(headers: Path, source: str) -> None:
    with CompilerProcess(headers=headers) as compiler:
        result = compiled(compiler, f"{source}\n{KERNEL}", "k")
        assert not result.ok and result.reason in {"crashed", "timeout", "errors"}
        assert compiled(compiler, KERNEL, "k").ok


def test_processor_time_is_a_limit_too(headers: Path) -> None:
    before = children()
    with CompilerProcess(headers=headers) as compiler:
        compiler.nvrtc_version()
        (own,) = children() - before
        threading.Timer(0.2, os.kill, (own, signal.SIGXCPU)).start()
        assert compiled(compiler, macro_bomb(60), "k").reason == "timeout"


def test_a_flood_of_messages_is_capped(compiler: CompilerProcess) -> None:
    source = "\n".join(f"__device__ int f{i}() {{ return missing_{i} + another_{i}; }}" for i in range(3000))
    result = compiled(compiler, source, "k")
    assert result.reason == "errors"
    assert len(result.diagnostics) <= 100
    assert len(result.log) <= 32 * 1024


def test_the_arrays_of_a_program_may_take_as_much_as_the_emulator_has() -> None:
    assert Limits().variable_bytes == MAX_STATIC_BYTES


def test_a_bound_of_our_own_is_not_the_shells() -> None:
    before = limits.shortage()
    assert f"ulimit -d {4 << 20}" not in before
    with limits.bounded_memory(4 << 30):
        assert limits.shortage() == before
    # What the shell allows is told, however small a bound of our own would be.
    program = "from grader.processes import limits; limits.bound_memory(4 << 30); print(limits.shortage())"
    done = subprocess.run(
        ["sh", "-c", f"ulimit -d 2000000; exec {sys.executable} -c '{program}'"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "ulimit -d 2000000" in done.stdout


def test_what_a_process_holds_already_does_not_count_as_a_submissions() -> None:
    """A thread that has no memory to begin with keeps the one that starts it waiting for ever."""
    text = """
import threading
from grader.processes import limits
held = [bytearray(64 << 20) for _ in range(8)]
with limits.bounded_memory(256 << 20):
    thread = threading.Thread(target=print, args=("begun",))
    thread.start()
    thread.join()
    try:
        bytearray(512 << 20)
    except MemoryError:
        print("bounded")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.split() == ["begun", "bounded"]
