"""A module without the library functions that programs hardly ever call: the same run, or one that is begun anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.execution import run_each
from grader.programs.records import RunLimits, Start
from grader.programs.sandbox.module import Layout, Lean, called, has_other_names, lean
from grader.programs.sources import Sources, read_program
from grader.programs.toolchain.compile import compile_program
from grader.programs.toolchain.zig import build

TRACED = RunLimits(executes=False)
BOUNDED = RunLimits(kernel_instructions=10_000)
USUAL = """#include <cstdio>
#include <iostream>
#include <vector>
__global__ void k(float *a) { a[threadIdx.x] = 1; }
int main() {
    std::vector<float> h(32);
    float *d; cudaMalloc(&d, 128);
    std::cout << "sum " << 1.5 << std::endl;
    %s
    k<<<1, 32>>>(d);
    cudaMemcpy(h.data(), d, 128, cudaMemcpyDeviceToHost);
    printf("%%g\\n", h[0]);
}
"""
RARE = """std::wcout.imbue(std::locale::classic()); std::wcout << std::hex << 255 << L" wide" << std::endl;"""


def module(tmp_path: Path, text: str) -> bytes:
    path = tmp_path / "a.cu"
    path.write_text(text)
    program = read_program([path])
    return compile_program(program.units, program.host, build()).module


def test_most_of_the_library_is_left_out_and_the_program_is_not(tmp_path: Path) -> None:
    whole = module(tmp_path, USUAL % "")
    layout = Layout.of(whole)
    assert layout.with_bodies({}) == whole or Layout.of(layout.with_bodies({})) == layout
    part = lean(whole, called())
    library = set(layout.library())
    assert part.left_out <= library
    assert "printf_core" in {layout.names[index] for index in library - part.left_out}
    assert "__cxa_demangle" in {layout.names[index] for index in part.left_out}
    own = [name for index, name in layout.names.items() if index not in library]
    assert "main" in own or "__original_main" in own
    assert not any("cuda" in layout.names[index] for index in part.left_out)
    size = sum(len(body) for body in layout.bodies.values())
    assert sum(len(body) for body in Layout.of(part.module).bodies.values()) < size / 2


def test_what_reads_names_is_there_for_those_that_nothing_else_reads(tmp_path: Path) -> None:
    text = """template <typename F> __global__ void map(F f) { f(); }
extern "C" __global__ void f() {}
int main() { map<<<1, 1>>>([] __device__ {}); f<<<1, 1>>>(); }"""
    assert not has_other_names(module(tmp_path, USUAL % ""))
    assert has_other_names(module(tmp_path, text))
    (run,) = run_each(Sources([tmp_path / "a.cu"]), [Start()], BOUNDED)
    assert (run.exit, [launch.display for launch in run.launches]) == (0, ["map<main::'lambda'()>", "f"])


def test_what_is_no_module_of_our_linker_s_stays_as_it_is() -> None:
    for data in (b"\0asm\1\0\0\0", b"\0asm\1\0\0\0\x0a\xff", b"\0asm\1\0\0\0\x02\x80"):
        assert lean(data, frozenset()) == Lean(data, frozenset())


@pytest.mark.parametrize(("rare", "printed"), [("", b"sum 1.5\n%s\n"), (RARE, b"sum 1.5\nff wide\n%s\n")])
def test_a_run_that_comes_to_a_function_left_out_is_begun_anew(tmp_path: Path, rare: str, printed: bytes) -> None:
    text = USUAL % rare
    whole = module(tmp_path, text)
    names, left_out = (Layout.of(whole).names, lean(whole, called()).left_out)
    assert not rare or any("basic_ostreamIw" in names[index] for index in left_out)
    for limits, left in ((TRACED, b"0"), (BOUNDED, b"1")):
        for got in run_each(Sources([tmp_path / "a.cu"]), [Start(), Start()], limits):
            assert (got.exit, got.stdout, [a.kernel for a in got.launches]) == (0, printed % left, ["k"])
