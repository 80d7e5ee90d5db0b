"""What lies outside ends in an error that names the instruction and the student's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.memory import Device
from tests.ptx.nvrtc import compile_ptx, header_options
from tests.ptx.running import run

KERNEL = 'extern "C" __global__ void k(float* out, int n) {\n'
OUTSIDE = {
    "four_neighbours": (
        'extern "C" __global__ void k(float* out, cudaTextureObject_t texture) {\n'
        "    out[threadIdx.x] = tex2Dgather<float4>(texture, 0.5f, 0.5f, 0).x;\n}",
        "tld4.r.2d",
        2,
    ),
    "mipmap": (
        'extern "C" __global__ void k(float* out, cudaTextureObject_t texture) {\n'
        "    out[threadIdx.x] = tex2DGrad<float4>(texture, 0.5f, 0.5f, make_float2(1, 0), make_float2(0, 1)).x;\n}",
        "tex.grad.2d",
        2,
    ),
    "gather": (
        'extern "C" __global__ void k(float* out, cudaTextureObject_t texture) {\n'
        "    out[threadIdx.x] = tex2Dgather<float4>(texture, 1.0f, 0.0f, 0).x;\n}",
        "tld4.r.2d",
        2,
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_instruction_and_the_line_are_named(name: str) -> None:
    source, instruction, line = OUTSIDE[name]
    with pytest.raises(UnsupportedInstruction) as caught:
        arguments: list[Any] = [np.zeros(512, np.float16) if "half" in source else np.zeros(64, np.float32)]
        arguments.append(np.zeros(256, np.float32) if "half" in source else np.int64(0))
        run(source, 1, 32, *arguments, options=header_options() if "#include" in source else ())
    assert instruction in caught.value.text
    assert caught.value.line == line
    assert f"line {line}" in str(caught.value)


NEWER = [
    ("compute_90", "", "barrier.cluster.arrive;", "", "barrier.cluster"),
    ("compute_90", "unsigned x;", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%0};", "out[0] = x;", "stmatrix"),
    ("compute_75", "int x;", "vadd.s32.s32.s32 %0, %1.b0, %1.h1;", "out[0] = x;", "vadd"),
    (
        "compute_90",
        "unsigned x;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%1], 16, [%1];",
        "",
        "cp.async.bulk",
    ),
    ("compute_90", "", "wgmma.fence.sync.aligned;", "", "wgmma"),
    ("compute_90", "unsigned x;", "mbarrier.arrive.expect_tx.shared.b64 _, [%1], 64;", "", "expect_tx"),
    ("compute_90", "unsigned x;", "mapa.u32 %0, %1, 0;", "out[0] = x;", "mapa"),
    ("compute_75", "unsigned x;", "add.u32 %0, %1, %%envreg3;", "out[0] = x;", "envreg3"),
]


@pytest.mark.parametrize(("arch", "before", "code", "after", "instruction"), NEWER)
def test_newer_and_rarer_instructions(arch: str, before: str, code: str, after: str, instruction: str) -> None:
    operands = ' : "=r"(x) : "r"(n)' if before else ""
    module = parse(compile_ptx(f'{KERNEL}    {before}\n    asm volatile("{code}"{operands});\n    {after}\n}}', arch))
    device = Device()
    with pytest.raises(UnsupportedInstruction) as caught:
        launch(module, Launch("k", (1,), (32,), [device.buffer("out", np.zeros(8, np.float32)), np.int32(1)]))
    assert instruction in str(caught.value)
    assert caught.value.line == 3


def test_what_is_never_reached_does_no_harm() -> None:
    source = (
        KERNEL + '    unsigned x = 0;\n    if (n > 5) asm volatile("add.u32 %0, 1, %%envreg3;" : "=r"(x));\n'
        "    out[threadIdx.x] = 2.0f + x;\n}"
    )
    assert run(source, 1, 8, np.zeros(8, np.float32), 1)[0].tolist() == [2.0] * 8
    with pytest.raises(UnsupportedInstruction, match="envreg3"):
        run(source, 1, 8, np.zeros(8, np.float32), 9)
