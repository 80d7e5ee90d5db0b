"""The headers that device code may include: those that NVRTC carries, and ours that stand in for others."""

from __future__ import annotations

# The device headers that NVRTC carries, beside those of libcu++ and CUB (`cuda/…`, `cub/…`, `cooperative_groups/…`).
BUNDLED = frozenset(
    [
        "cooperative_groups.h",
        "cuComplex.h",
        "cuda_awbarrier.h",
        "cuda_awbarrier_primitives.h",
        "cuda_bf16.h",
        "cuda_fp16.h",
        "cuda_fp4.h",
        "cuda_fp6.h",
        "cuda_fp8.h",
        "cuda_pipeline.h",
        "cuda_pipeline_primitives.h",
        "cuda_tf32.h",
        "math_constants.h",
        "mma.h",
        "vector_types.h",
    ]
)
OURS = frozenset(["curand_kernel.h", "helper_math.h"])
"""Headers of device code that NVRTC does not carry and we bring a stand-in of."""
BUNDLED_FOLDERS = ("cooperative_groups/", "cub/", "cuda/", "nv/", "thrust/")


def is_bundled(name: str) -> bool:
    """Whether NVRTC carries the header `name`, as written in an include, or we bring it."""
    return name in BUNDLED or name in OURS or (name.startswith(BUNDLED_FOLDERS) and ".." not in name)
