"""The regular kernels of emulator_kernels.cu for numba-cuda's simulator, which must be asked for before the import."""

from __future__ import annotations

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from numba import cuda, float32

T = 16


@cuda.jit
def naive_transpose(source, target, n):  # type: ignore[no-untyped-def]
    x, y = cuda.grid(2)
    if x < n and y < n:
        target[x * n + y] = source[y * n + x]


@cuda.jit
def tiled_transpose(source, target, n):  # type: ignore[no-untyped-def]
    tile = cuda.shared.array((T, T + 1), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = source[(cuda.blockIdx.y * T + ty) * n + cuda.blockIdx.x * T + tx]
    cuda.syncthreads()
    target[(cuda.blockIdx.x * T + ty) * n + cuda.blockIdx.y * T + tx] = tile[tx, ty]


@cuda.jit
def naive_matmul(a, b, c, n):  # type: ignore[no-untyped-def]
    x, y = cuda.grid(2)
    total = float32(0)
    for k in range(n):
        total += a[y * n + k] * b[k * n + x]
    c[y * n + x] = total


@cuda.jit
def in_memory_matmul(a, b, c, n):  # type: ignore[no-untyped-def]
    x, y = cuda.grid(2)
    c[y * n + x] = float32(0)
    for k in range(n):
        c[y * n + x] += a[y * n + k] * b[k * n + x]


@cuda.jit
def tiled_matmul(a, b, c, n):  # type: ignore[no-untyped-def]
    # The simulator tells shared arrays apart by their line.
    left = cuda.shared.array((T, T), float32)
    right = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    total = float32(0)
    for m in range(0, n, T):
        left[ty, tx] = a[y * n + m + tx]
        right[ty, tx] = b[(m + ty) * n + x]
        cuda.syncthreads()
        for k in range(T):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[y * n + x] = total
