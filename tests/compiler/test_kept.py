"""The grader's own programs are compiled once: the same text gives the same machine code, another text its own."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.compiler.several import Compilers, KeptCompiler
from grader.errors import InternalError

pytestmark = pytest.mark.started

TEXT = 'extern "C" __global__ void k(float *a) { a[threadIdx.x] = %s; }'


@pytest.fixture
def compiler(tmp_path: Path) -> Iterator[KeptCompiler]:
    made = KeptCompiler(tmp_path / "kept")
    yield made
    made.close()


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that NVRTC is given from now on."""
    texts: list[str] = []
    real = CompilerProcess.compile

    def counted(
        self: CompilerProcess,
        sources: dict[str, str],
        names: Sequence[str],
        architecture: str,
        *,
        options: Sequence[str] = (),
    ) -> CompileResult:
        texts.extend(sources.values())
        return real(self, sources, names, architecture, options=options)

    monkeypatch.setattr(CompilerProcess, "compile", counted)
    return texts


def test_what_was_compiled_before_is_taken_over(
    compiler: KeptCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = compiled(monkeypatch)
    first = compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90")
    assert first.ok and first.cubin and first.resources["k"].registers
    other = KeptCompiler(tmp_path / "kept")
    assert other.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90") == first
    other.close()
    assert len(texts) == 1


def test_another_text_name_or_device_is_another_program(
    compiler: KeptCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = compiled(monkeypatch)
    made = [
        compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90"),
        compiler.compile({"k.cu": TEXT % "2"}, ["k"], "sm_90"),
        compiler.compile({"other.cu": TEXT % "1"}, ["k"], "sm_90"),
        compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_80"),
    ]
    assert len(texts) == 4 and len({result.cubin for result in made}) == 4


def test_what_does_not_compile_is_compiled_again(compiler: KeptCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    for _again in range(2):
        result = compiler.compile({"k.cu": TEXT % "b"}, ["k"], "sm_90")
        assert not result.ok and result.diagnostics
    assert len(texts) == 2


@pytest.mark.parametrize("content", [b"", b"\x80", b"no program"])
def test_what_is_no_program_any_more_is_made_anew(compiler: KeptCompiler, tmp_path: Path, content: bytes) -> None:
    first = compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90")
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(content)
    assert compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90") == first
    assert compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90") == first


def test_where_nothing_can_be_kept_all_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    compiler = KeptCompiler(tmp_path / "kept")
    assert compiler.compile({"k.cu": TEXT % "1"}, ["k"], "sm_90").ok
    compiler.close()


def test_several_compile_at_once_and_what_two_ask_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    real, both = CompilerProcess.compile, threading.Barrier(2, timeout=60)

    def awaited(self: CompilerProcess, *arguments: Any, **options: Any) -> CompileResult:
        both.wait()
        return real(self, *arguments, **options)

    monkeypatch.setattr(CompilerProcess, "compile", awaited)
    with CompilerProcess() as first, Compilers(first, 2) as compilers, ThreadPoolExecutor(3) as threads:
        asked = [TEXT % "1", TEXT % "1", TEXT % "2"]
        one, same, other = threads.map(lambda text: compilers.compile({"a.cu": text}, ["k"], "compute_75"), asked)
    assert one is same and one.ok and other.ok and one.ptx != other.ptx
    assert sorted(texts) == sorted({*asked})


def test_ptx_is_what_machine_code_of_the_same_device_was_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    with CompilerProcess() as first, Compilers(first, 1) as compilers:
        alone = first.compile({"a.cu": TEXT % "1"}, ["k"], "compute_75")
        code = compilers.compile({"a.cu": TEXT % "1"}, ["k"], "sm_75")
        assert compilers.compile({"a.cu": TEXT % "1"}, ["k"], "compute_75").ptx == code.ptx == alone.ptx
        assert len(texts) == 2
        # Another device's is other code, and what failed tells what is wrong for itself.
        assert compilers.compile({"a.cu": TEXT % "1"}, ["k"], "compute_80").ptx != code.ptx
        assert not compilers.compile({"a.cu": TEXT % "b"}, ["k"], "sm_75").ok
        assert compilers.compile({"a.cu": TEXT % "b"}, ["k"], "compute_75").diagnostics
    assert len(texts) == 5


def test_who_is_told_the_version_starts_no_process_for_what_is_kept(
    compiler: KeptCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, version = compiler.compile({"k.cu": TEXT % "1"}, ["k"], "compute_75"), compiler.nvrtc_version()
    started: list[CompilerProcess] = []
    real = CompilerProcess.__init__

    def noted(self: CompilerProcess, *arguments: Any) -> None:
        started.append(self)
        real(self, *arguments)

    monkeypatch.setattr(CompilerProcess, "__init__", noted)
    other = KeptCompiler(tmp_path / "kept", lambda: version)
    assert other.compile({"k.cu": TEXT % "1"}, ["k"], "compute_75") == first and not started
    assert other.compile({"k.cu": TEXT % "2"}, ["k"], "compute_75").ok and len(started) == 1
    other.close()


def test_the_lab_s_own_kernels_are_compiled_by_who_sees_no_student_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    by: dict[str, CompilerProcess] = {}
    real = CompilerProcess.compile

    def noted(self: CompilerProcess, sources: dict[str, str], *arguments: Any, **options: Any) -> CompileResult:
        by[next(iter(sources))] = self
        return real(self, sources, *arguments, **options)

    monkeypatch.setattr(CompilerProcess, "compile", noted)
    with CompilerProcess() as first, Compilers(first, 1) as compilers:
        assert compilers.compile({"student.cu": TEXT % "1"}, ["k"], "compute_75").ok
        assert compilers.of_lab.compile({"lab.cu": TEXT % "1"}, ["k"], "compute_75").ok
        assert compilers.of_lab is compilers.of_lab
    assert by["student.cu"] is first and by["lab.cu"] is not first
    assert list(tmp_path.rglob("*.msgpack"))


SEVERAL = """
__global__ void first(float *a) { a[threadIdx.x] = 1; }
__global__ void second(float *a) { a[threadIdx.x] = 2; }
template <int N> __global__ void third(float *a) { a[threadIdx.x] = N; }
"""


def test_what_was_compiled_for_more_kernels_serves_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    with CompilerProcess() as first, Compilers(first, 1) as compilers:

        def compile_for(*names: str) -> CompileResult:
            return compilers.compile({"a.cu": SEVERAL}, names, "compute_75")

        both = compile_for("first", "second")
        assert compile_for("second", "first").entries == both.entries
        alone = compile_for("second")
        assert len(texts) == 1 and alone.ok and alone.entries == {"second": both.entries["second"]}
        assert alone.ptx == both.ptx == first.compile({"a.cu": SEVERAL}, ["second"], "compute_75").ptx
        # A template is compiled for those alone that it is asked for by.
        assert compile_for("first", "third<1>").ok and compile_for("third<2>").ok and compile_for("third<1>").ok
        assert len(texts) == 5
        # What is missing among more tells nothing of what is there.
        assert compile_for("first", "second", "other").missing == ("other",)
        assert compile_for("first").ok and not compile_for("other").ok


def test_machine_code_that_is_expected_is_made_with_the_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    with CompilerProcess() as first, Compilers(first, 1) as compilers:
        compilers.predicted_for = "sm_75"
        for text in (TEXT % "1", TEXT % "b"):
            compilers.expect({"a.cu": text}, ["k"])
        ptx = compilers.compile({"a.cu": TEXT % "1"}, ["k"], "compute_75")
        assert ptx.ok and compilers.compile({"a.cu": TEXT % "1"}, ["k"], "sm_75") == ptx
        assert len(texts) == 1
        assert compilers.compile({"a.cu": TEXT % "b"}, ["k"], "compute_75").diagnostics
        # Nobody said so of another, and another device's is other code.
        assert not compilers.compile({"a.cu": TEXT % "2"}, ["k"], "compute_75").cubin
        assert not compilers.compile({"a.cu": TEXT % "1"}, ["k"], "compute_80").cubin


@pytest.mark.parametrize("in_bulk", [False, True])
def test_who_waits_goes_before_what_is_compiled_in_bulk(monkeypatch: pytest.MonkeyPatch, in_bulk: bool) -> None:
    """Three threads have a row to be compiled, one after the other of each; behind them one asks for a program."""
    begun, may_go = threading.Semaphore(0), threading.Semaphore(0)
    order: list[str] = []
    real = CompilerProcess.compile

    def slow(self: CompilerProcess, sources: dict[str, str], *arguments: Any, **options: Any) -> CompileResult:
        order.append(next(iter(sources.values())))
        begun.release()
        may_go.acquire(timeout=60)
        return real(self, sources, *arguments, **options)

    monkeypatch.setattr(CompilerProcess, "compile", slow)
    rows = [[TEXT % (10 * row + number) for number in range(2)] for row in range(3)]
    with CompilerProcess() as first, Compilers(first, 1) as compilers, ThreadPoolExecutor(4) as threads:
        one_by_one = compilers.bulk if in_bulk else compilers

        def compile_all(row: Sequence[str]) -> None:
            for text in row:
                one_by_one.compile({"a.cu": text}, ["k"], "compute_75")

        def waiting(number: int) -> None:
            while len(compilers.waiting) + len(compilers.waiting_behind) < number:
                time.sleep(0.001)

        asked = [threads.submit(compile_all, rows[0])]
        begun.acquire(timeout=60)
        for number, row in enumerate(rows[1:], start=1):
            asked.append(threads.submit(compile_all, row))
            waiting(number)
        asked.append(threads.submit(compilers.compile, {"a.cu": TEXT % "99"}, ["k"], "compute_75"))  # type: ignore[arg-type]
        waiting(3)
        for _text in range(7):
            may_go.release()
        for future in asked:
            future.result()
    # Each in its turn; who waits for a program does so for the one that is being compiled at most.
    assert order.index(TEXT % "99") == (1 if in_bulk else 3)
    assert sorted(order) == sorted([*itertools.chain(*rows), TEXT % "99"])


def test_what_failed_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = compiled(monkeypatch)
    with CompilerProcess() as first, Compilers(first, 1) as compilers:
        for _time in range(2):
            with pytest.raises(InternalError):
                compilers.compile({"a.cu": TEXT % "1"}, ["k"], "compute_1")
    assert len(texts) == 2
