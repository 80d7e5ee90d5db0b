"""Host code judged for arrays of the device: what nothing fills, and copies into it of another size."""

# ruff: noqa: E501 - programs as students write them
from __future__ import annotations

from pathlib import Path

import pytest

from tests.running.test_host_code import HEAD, judged


@pytest.mark.parametrize(("fill", "wanted"), [("", ["unfilled"]), ("cudaMemcpyToSymbol(w, h, 4); ", [])])
def test_constant_memory_that_nothing_fills_is_told(fill: str, wanted: list[str], tmp_path: Path) -> None:
    head = HEAD.replace("__global__", "__constant__ float w[4];\n__global__", 1).replace(
        "float s = 0;", "float s = w[0];", 1
    )
    main = f"""
int main() {{ give(); {fill}mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }}"""
    found = judged(tmp_path, head + main, runs=False)
    assert [fault.kind for fault in found.faults] == wanted
    assert all(fault.line == head[: head.index("float w")].count("\n") + 1 for fault in found.faults)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "wanted"),
    [("4", ["copy_of_count_into"]), ("sizeof w", []), ("4 * sizeof(float)", []), ("2", ["symbol_too_short"])],
)
def test_a_copy_into_constant_memory_of_as_many_bytes_as_it_has_elements(
    size: str, wanted: list[str], tmp_path: Path
) -> None:
    head = HEAD.replace("__global__", "__constant__ float w[4];\n__global__", 1).replace(
        "float s = 0;", "float s = 0 * w[n & 3];", 1
    )
    main = f"""
int main() {{ give(); float g[4] = {{1, 2, 3, 4}}; cudaMemcpyToSymbol(w, g, {size});
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }}"""
    found = judged(tmp_path, head + main)
    assert [fault.message.id.rpartition(".")[2] for fault in found.faults] == wanted


OF_DEVICE = """
__device__ float u[n * n], v[n * n], w[n * n];
__global__ void mulOf() {{ int i = threadIdx.y, j = threadIdx.x; float s = 0; for (int k = 0; k < n; k++) s += u[i * n + k] * v[k * n + j]; w[i * n + j] = s; }}
{more}
int main() {{ cpu(); {fill} cudaMemcpyToSymbol(u, h, bytes); mulOf<<<1, dim3(n, n)>>>(); if (cudaGetLastError()) return 1; cudaMemcpyFromSymbol(r, w, bytes); return r[0] != e[0]; }}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "fill", "wanted"),
    [
        ("", "", ["v"]),
        ("", "cudaMemcpyToSymbol(v, h, bytes);", []),
        ("", "void *p; cudaGetSymbolAddress(&p, v); cudaMemset(p, 1, bytes);", []),
        ("__global__ void start() { v[threadIdx.x] = threadIdx.x; }", "start<<<1, n * n>>>();", []),
    ],
)
def test_an_array_on_the_device_that_nothing_fills_is_told(
    more: str, fill: str, wanted: list[str], tmp_path: Path
) -> None:
    found = judged(tmp_path, HEAD + OF_DEVICE.format(more=more, fill=fill), kernel="mulOf")
    assert [fault.message.data["array"] for fault in found.faults if fault.kind == "unfilled"] == wanted
