"""For which newer devices a program is compiled a second time."""

from __future__ import annotations

import pytest

from grader.compiler.result import other_targets

pytestmark = pytest.mark.started

ALWAYS = ("compute_80", "compute_90", "compute_120")
TEXTS = {
    "nothing of the kind": ("__global__ void k(float *a) { a[860] = 1; }", ()),
    "copies": ("__pipeline_memcpy_async(&s[i], &a[i], 4);", ("compute_80",)),
    "copies in assembly": ('asm("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(a));', ("compute_80",)),
    "copies by a group": ("cg::memcpy_async(block, s, a, 64);", ("compute_80",)),
    "asks": ("#if __CUDA_ARCH__ < 800", ALWAYS),
    "asks by a pasted name": ("#define CAT(a, b) a##b", ALWAYS),
    "asks the compiler": ('__nvvm_reflect("__CUDA_ARCH")', ALWAYS),
    "asks by a macro of the library": ("NV_IF_TARGET(NV_IS_EXACTLY_SM_75, (a), (b))", ALWAYS),
    "names a device": (
        "#if __CUDA_ARCH__ == 890",
        ("compute_80", "compute_87", "compute_89", "compute_90", "compute_120"),
    ),
    "names devices in tens": (
        "#if __CUDA_ARCH__ / 10 < 86",
        ("compute_80", "compute_86", "compute_87", "compute_90", "compute_120"),
    ),
    "names one between": (
        "#if __CUDA_ARCH__ >= 880",
        ("compute_80", "compute_87", "compute_89", "compute_90", "compute_120"),
    ),
    "names one before all": ("#if __CUDA_ARCH__ >= 600", ALWAYS),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_targets(name: str) -> None:
    text, targets = TEXTS[name]
    assert other_targets(["__global__ void other() {}", text]) == targets
