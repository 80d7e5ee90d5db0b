"""The order of copies and launches: what comes too early, too late or from another array is told at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running.test_host_code import judged, program

LAUNCH = "mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);"
BACK = "cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);"
TO_A = "cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);"
TO_B = "cudaMemcpy(b, e, bytes, cudaMemcpyHostToDevice);"
ROOM = "cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); cudaMalloc(&c, bytes);"
CHECKED = "if (cudaGetLastError()) return 1;"
SQUARED, OF_TWO = "h[i * n + k] * h[k * n + j]", "h[i * n + k] * r[k * n + j]"
# ruff: noqa: E501 - programs as students write them
WRONG = {
    "results copied back before the launch": (
        f"{ROOM} {TO_A} {TO_B} {BACK} {LAUNCH} {CHECKED} return r[0] != e[0];",
        [("copied_early", BACK)],
    ),
    "another array copied back": (
        f"float *d; cudaMalloc(&d, bytes); {ROOM} {TO_A} {TO_B} {LAUNCH} {CHECKED} cudaMemcpy(r, d, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0];",
        [("copied_other", "cudaMemcpy(r, d, ")],
    ),
    "an input filled after the launch": (
        f"{ROOM} {TO_A} {LAUNCH} {CHECKED} {TO_B} {BACK} return r[0] != e[0];",
        [("filled_late", TO_B)],
    ),
    "one input filled twice, the other never": (
        f"{ROOM} {TO_A} cudaMemcpy(a, e, bytes, cudaMemcpyHostToDevice); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
        [("filled_twice", "cudaMemcpy(a, e, ")],
    ),
    "an input's data copied into the output": (
        f"{ROOM} {TO_A} cudaMemcpy(c, e, bytes, cudaMemcpyHostToDevice); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
        [("filled_output", "cudaMemcpy(c, e, ")],
    ),
    "results cleared before they are read": (
        f"{ROOM} {TO_A} {TO_B} {LAUNCH} {CHECKED} cudaMemset(c, 0, bytes); {BACK} return r[0] != e[0];",
        [("overwritten", "cudaMemset(c, 0")],
    ),
}
SOUND = {
    "an output copied back before and after": f"{ROOM} {TO_A} {TO_B} {BACK} {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
    "an input looked at after the launch": f"{ROOM} {TO_A} {TO_B} {LAUNCH} {CHECKED} cudaMemcpy(r, a, bytes, cudaMemcpyDeviceToHost); {BACK} return r[0] != e[0];",
    "filled anew for each of two launches": f"{ROOM} {TO_A} {TO_B} {LAUNCH} {BACK} {TO_A} {TO_B} {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
    "more copies than are kept": f"{ROOM} {TO_A} {TO_B} {BACK} {LAUNCH} {CHECKED} for (int i = 0; i < 2100; i++) cudaMemcpy(b, e, 4, cudaMemcpyHostToDevice); {BACK} return r[0] != e[0];",
    "one array that is both inputs": f"{ROOM} {TO_A} mul<<<dim3(2, 2), dim3(16, 16)>>>(a, a, c, n); {CHECKED} {BACK} return r[0] != e[0];",
    "an input written twice, the last time rightly": f"{ROOM} {TO_A} cudaMemcpy(a, e, bytes, cudaMemcpyHostToDevice); {TO_A} {TO_B} {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
    "the output set before the launch": f"{ROOM} {TO_A} {TO_B} cudaMemcpy(c, h, bytes, cudaMemcpyHostToDevice); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
    "one result the next launch's input": f"float *d; cudaMalloc(&d, bytes); {ROOM} {TO_A} {TO_B} mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, d, n); mul<<<dim3(2, 2), dim3(16, 16)>>>(d, b, c, n); {CHECKED} {BACK} return r[0] != e[0];",
    "a launch to warm up, whose result nobody reads": f"float *d; cudaMalloc(&d, bytes); {ROOM} {TO_A} {TO_B} mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, d, n); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];",
}


@pytest.mark.slow
@pytest.mark.parametrize(("main", "wanted"), WRONG.values(), ids=WRONG)
def test_what_the_order_shows_is_told_at_its_line(main: str, wanted: list[tuple[str, str]], tmp_path: Path) -> None:
    text = program(f"\nint main() {{ {main} }}")
    lines = text.split("\n")
    start = next(number for number, line in enumerate(lines) if "int main()" in line)
    found = judged(tmp_path, text)
    assert [(fault.message.id.rpartition(".")[2], fault.line) for fault in found.faults] == [
        (name, next(number for number, line in enumerate(lines, 1) if number > start and part in line))
        for name, part in wanted
    ]


OF_VARIABLES = """
__device__ float da[n * n], db[n * n], dc[n * n];
__global__ void mulGlobal() {{ int i = threadIdx.y, j = threadIdx.x; float s = 0; for (int k = 0; k < n; k++) s += da[i * n + k] * db[k * n + j]; dc[i * n + j] = s; }}
int main() {{ cpu(); cudaMemcpyToSymbol(dc, r, bytes); cudaMemcpyToSymbol(da, h, bytes); cudaMemcpyToSymbol({target}, e, bytes); mulGlobal<<<1, dim3(n, n)>>>(); if (cudaGetLastError()) return 1; cudaMemcpyFromSymbol(r, dc, bytes); cudaMemcpyToSymbol(dc, e, bytes); return r[0] != e[0]; }}"""


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wanted"), [("da", ["filled_twice"]), ("db", [])])
def test_variables_of_the_device_are_followed_those_that_a_kernel_writes_are_no_inputs(
    target: str, wanted: list[str], tmp_path: Path
) -> None:
    text = program(OF_VARIABLES.format(target=target))
    found = judged(tmp_path, text, kernel="mulGlobal")
    at = next(number for number, line in enumerate(text.split("\n"), 1) if f"ToSymbol({target}, e" in line)
    told = [(fault.message.id.rpartition(".")[2], fault.line) for fault in found.faults]
    assert told == [(name, at) for name in wanted]


@pytest.mark.slow
def test_two_inputs_of_one_array_of_the_host_are_suspected_only(tmp_path: Path) -> None:
    main = (
        f"{ROOM} {TO_A} cudaMemcpy(b, h, bytes, cudaMemcpyHostToDevice); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0];"
    )
    text = program(f"\nint main() {{ {main} }}").replace(SQUARED, OF_TWO)
    found = judged(tmp_path, text)
    last = len(text.split("\n")) - next(
        n for n, line in enumerate(reversed(text.split("\n"))) if "cudaMemcpy(b, h" in line
    )
    assert found.faults == ()
    assert [(fault.message.id, fault.line) for fault in found.suspected] == [("checks.host_code.filled_alike", last)]


@pytest.mark.slow
@pytest.mark.parametrize("main", SOUND.values(), ids=SOUND)
def test_another_order_that_is_right_is_not_told(main: str, tmp_path: Path) -> None:
    assert judged(tmp_path, program(f"\nint main() {{ {main} }}")).faults == ()


@pytest.mark.slow
def test_two_inputs_that_a_function_fills_from_one_array_are_named_as_the_kernel_has_them(tmp_path: Path) -> None:
    helper = "void up(float *to, float *from) { cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice); }"
    text = program(
        f"\n{helper}\nint main() {{ {ROOM} up(a, h); up(b, h); {LAUNCH} {CHECKED} {BACK} return r[0] != e[0]; }}"
    ).replace(SQUARED, OF_TWO)
    (fault,) = judged(tmp_path, text).suspected
    at = next(number for number, line in enumerate(text.split("\n"), 1) if "cudaMemcpy(to, from" in line)
    assert (fault.message.id, fault.line) == ("checks.host_code.filled_alike_by", at)
    assert {fault.message.data["array"], fault.message.data["other"]} == {"a", "b"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("product", "is_suspected"),
    [
        (SQUARED, False),
        (OF_TWO + "; cpu_product(h, h, e, n)", False),
        (OF_TWO, True),
        (OF_TWO + "; cpu_product(n, n, h, r, e)", True),
    ],
    ids=["a square", "a square by a function", "a product", "a product by a function"],
)
def test_one_array_of_the_host_for_both_inputs_is_meant_where_the_host_joins_it_with_itself(
    product: str, is_suspected: bool, tmp_path: Path
) -> None:
    main = f"{ROOM} {TO_A} cudaMemcpy(b, h, bytes, cudaMemcpyHostToDevice); {LAUNCH} {CHECKED} {BACK}"
    text = program(f"\nint main() {{ {main} return r[0] != e[0]; }}").replace(SQUARED, f"0; REFERENCE({product})")
    text = "#define REFERENCE(...)\n" + text
    assert bool(judged(tmp_path, text).suspected) is is_suspected
