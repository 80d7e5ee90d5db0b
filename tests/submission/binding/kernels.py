"""Kernels to be bound, as text, and what came of binding them."""

from __future__ import annotations

from grader.submission.folder import LabSettings, VariantSettings
from grader.submission.records import Missing, Submission, VariantBinding

PLAIN = "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
NAIVE = "b[x * 64 + y] = a[y * 64 + x];"
STAGED = "t[threadIdx.y][threadIdx.x] = a[y * 64 + x]; __syncthreads(); b[x * 64 + y] = t[threadIdx.x][threadIdx.y];"


def kernel(name: str, kind: str, parameters: str = "const float *a, float *b") -> str:
    shared = {"naive": "", "shared": "__shared__ float t[32][32];", "padded": "__shared__ float t[32][33];"}[kind]
    return f"__global__ void {name}({parameters}) {{ {shared} {PLAIN} {NAIVE if kind == 'naive' else STAGED} }}\n"


def names(submission: Submission) -> dict[str, str]:
    return {v: b.reason if isinstance(b, Missing) else b.kernel.name for v, b in submission.bindings.items()}


def binding(submission: Submission, variant: str) -> VariantBinding:
    found = submission.bindings[variant]
    assert isinstance(found, VariantBinding), found
    return found


def settings(**variants: VariantSettings) -> LabSettings:
    return LabSettings(variants=variants)
