"""What a program imports: values of every kind there and back, exceptions, instructions counted, nested launches."""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime

from grader.programs.execution import Setting, run_program
from grader.programs.records import RunLimits
from grader.programs.sandbox.module import Fuel, bound
from grader.programs.sandbox.run import engine
from grader.programs.sources import Sources

MODULE = """(module
  (import "m" "f" (func $f (param i32 i64 f64 f32) (result i32)))
  (import "m" "wide" (func $wide (result i64)))
  (import "m" "none" (func $none (param i32)))
  (func (export "go") (result i32)
    i32.const 7 call $none
    i32.const -1 i64.const 0x100000000 f64.const 1.5 f32.const -0.25 call $f)
  (func (export "wide") (result i64) call $wide))"""


def started(**functions: object) -> tuple[wasmtime.Store, wasmtime.Instance, list[object]]:
    store = wasmtime.Store(engine(1 << 24))
    module = wasmtime.Module(engine(1 << 24), bytes(wasmtime.wat2wasm(MODULE)))
    made = [bound(store, item.type, functions[item.name]) for item in module.imports]  # type: ignore[arg-type, index]
    Fuel(store, 10_000)
    return store, wasmtime.Instance(store, module, [function for function, _kept in made]), [kept for _f, kept in made]


def test_values_arrive_as_they_are_and_results_are_cut_to_their_width() -> None:
    seen: list[tuple[object, ...]] = []

    def f(*values: object) -> int:
        seen.append(values)
        return (1 << 32) + 5

    store, instance, _kept = started(f=f, wide=lambda: (1 << 64) - 2, none=lambda *values: seen.append(values))
    exports = instance.exports(store)
    assert exports["go"](store) == 5  # type: ignore[operator]
    assert exports["wide"](store) == -2  # type: ignore[operator]
    assert seen == [(7,), (-1, 1 << 32, 1.5, -0.25)]


def test_an_exception_comes_out_where_the_program_was_called() -> None:
    class Ended(Exception):
        pass

    def f(*_values: object) -> int:
        raise Ended

    store, instance, _kept = started(f=f, wide=int, none=lambda _value: None)
    with pytest.raises(Ended):
        instance.exports(store)["go"](store)  # type: ignore[operator]


def test_what_is_taken_while_the_program_stands_still_is_missing_when_it_goes_on() -> None:
    store = wasmtime.Store(engine(1 << 24))
    fuel = Fuel(store, 1000)
    fuel.take()
    fuel.left -= 300
    assert (fuel.left, store.get_fuel()) == (700, 1000)
    fuel.give()
    assert (fuel.left, store.get_fuel()) == (700, 700)
    fuel.left -= 100
    assert store.get_fuel() == 600


NESTED = r"""
#include <cstdio>
__global__ void put(int *a, char c, double x, short s) { a[0] = 10 * a[0] + (int)(c + x + s); }
int inner(int *a) { put<<<1, 1>>>(a, 1, 0.5, 0); return 2; }
int main() {
    int *a, h;
    cudaMalloc(&a, 4);
    cudaMemset(a, 0, 4);
    put<<<1, inner(a)>>>(a, inner(a), 1.25, 1);
    cudaMemcpy(&h, a, 4, cudaMemcpyDeviceToHost);
    printf("%d\n", h);
    return 0;
}
"""


def test_a_launch_whose_arguments_launch(tmp_path: Path, host_cache: Path) -> None:
    file = tmp_path / "main.cu"
    file.write_text(NESTED)
    got = run_program(Sources([file]), setting=Setting(host_cache=host_cache), limits=RunLimits(wall_seconds=60))
    assert [(launch.block, [a.value for a in launch.arguments[1:]]) for launch in got.launches] == [
        ((1, 1, 1), [1, 0.5, 0]),
        ((1, 1, 1), [1, 0.5, 0]),
        ((2, 1, 1), [2, 1.25, 1]),
    ]
