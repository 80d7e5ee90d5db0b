"""The process of a program from outside: what comes back when it dies, breaks, or is given names that are no text."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import wasmtime

from grader.errors import InternalError
from grader.programs.execution import Setting, run_each, run_program
from grader.programs.records import Observation, RunLimits, Start
from grader.programs.sandbox.process import Code, Order, ProgramProcess
from grader.programs.sandbox.run import engine
from grader.programs.sandbox.wasi import PseudoRandom
from grader.programs.sources import Sources

pytestmark = pytest.mark.started


@pytest.fixture
def process() -> Iterator[ProgramProcess]:
    process = ProgramProcess()
    yield process
    process.close()


def run(process: ProgramProcess, model: str = "t4") -> Observation:
    order = Order(
        module=b"\0asm\1\0\0\0",
        stdin=b"",
        files={},
        arguments=[b"./a"],
        model=model,
        units=["a.cu"],
        sources={"a.cu": ""},
        unused=[],
        parameters={},
        limits=RunLimits(),
    )
    return process.run(order, code=lambda _wanted: Code("", "none"), emit=lambda _descriptor, _data: None)


def test_a_process_that_is_killed_says_what_killed_it(process: ProgramProcess) -> None:
    os.kill(process.pid, signal.SIGKILL)
    cause = run(process).cause
    assert cause is not None and cause.id == "programs.process_died"
    assert cause.data["reason"] == "signal SIGKILL"


def test_a_fault_of_ours_comes_back_with_its_traceback(process: ProgramProcess) -> None:
    with pytest.raises(InternalError, match=r"FileNotFoundError: .*abacus") as caught:
        run(process, model="abacus")
    assert "Traceback (most recent call last)" in caught.value.__notes__[0]


def test_names_and_arguments_need_not_be_utf_8(tmp_path: Path, host_cache: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.cu"))
    file.write_text(
        "#include <cstdio>\n__global__ void k(int *first, int n) {}\n"
        'int main(int, char **v) { int *p; cudaMalloc(&p, 64); k<<<1, 1>>>(p, 3); printf("%s\\n", v[1]); }\n'
    )
    observation = run_program(Sources([file]), Start([os.fsdecode(b"caf\xe9")]), setting=Setting(host_cache=host_cache))
    (launch,) = observation.launches
    assert (launch.file, launch.line) == ("caf\N{REPLACEMENT CHARACTER}.cu", 3)
    assert [argument.name for argument in launch.arguments] == ["first", "n"]
    assert observation.stdout == b"caf\xe9\n"


AGAIN = r"""
#include <cstdio>
#include <cstdlib>
__global__ void k(int *p, int n) {}
__managed__ int shared = 1;
int count = 0;
int main(int argc, char **argv) {
    int *p;
    cudaMalloc(&p, 64 << argc);
    char *large = (char *)malloc(300 << 20);
    for (size_t i = 0; i < (300 << 20); i += 4096) large[i] = 1;
    cudaMemcpy(p, large, 64, cudaMemcpyHostToDevice);
    k<<<argc, 32>>>(p, ++count);
    FILE *f = fopen("kept", "r+");
    printf("%d %d %d %p %p %d\n", count, shared++, rand(), (void *)p, (void *)large, f != nullptr);
    fopen("kept", "w");
    if (argc > 1) abort();
    return cudaMemcpy(p, large, 1 << 20, cudaMemcpyHostToDevice);
}
"""


def test_a_run_knows_nothing_of_those_before_it_in_its_process(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(AGAIN)
    limits = RunLimits(executes=False, host_bytes=1 << 30)
    paths = [tmp_path / "a.cu"]
    first, other, again, more = run_each(Sources(paths), [Start(), Start(["x"]), Start(), Start(["x"])], limits)
    assert first.exit == 1 and other.cause is not None and other.cause.id == "programs.aborted"
    assert [launch.grid for launch in (*first.launches, *other.launches)] == [(1, 1, 1), (2, 1, 1)]
    assert (again, more) == (first, other)
    assert run_each(Sources(paths), [Start(["x"])], limits) == [other]


def test_the_memory_of_a_program_stays_in_its_place_as_it_grows() -> None:
    store = wasmtime.Store(engine(6 << 30))
    module = wasmtime.Module(store.engine, '(module (memory (export "memory") i64 1))')
    memory = wasmtime.Instance(store, module, []).exports(store)["memory"]
    assert isinstance(memory, wasmtime.Memory)
    place = ctypes.addressof(memory.data_ptr(store).contents)
    memory.grow(store, (5 << 30) >> 16)
    assert ctypes.addressof(memory.data_ptr(store).contents) == place


def test_the_numbers_are_the_same_at_every_run_and_with_every_version() -> None:
    # What programs seed their inputs with: results that are kept rest on it.
    assert PseudoRandom().take(20).hex() == "ad4df30bae771bdc76606e02b9eef064366190e5"


def test_pieces_of_whole_numbers_go_on_where_the_last_ended() -> None:
    stream = PseudoRandom()
    assert stream.take(8) + stream.take(0) + stream.take(16) == PseudoRandom().take(24)


def test_a_number_of_which_a_part_was_taken_is_used_up() -> None:
    stream = PseudoRandom()
    stream.take(3)
    assert stream.take(8) == PseudoRandom().take(16)[8:]


def test_all_values_of_a_byte_come() -> None:
    assert set(PseudoRandom().take(1 << 14)) == set(range(256))
