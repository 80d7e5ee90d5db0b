"""What holds of every device of the supported compute capabilities (7.5 and later).

What it allows a launch, how it reaches memory (CUDA C++ Programming Guide, table "Technical Specifications per Compute
Capability", and "Shared Memory" there), which headers its code may include, and what we have its memory hold that
nobody has written.
"""

from __future__ import annotations

from pathlib import Path

MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
"""Threads of a block along x, y, z."""
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks of a grid along x, y, z."""
SHARED_BYTES = 48 * 1024
"""Shared memory of a block, unless the program asks for more (cudaFuncSetAttribute)."""
OPT_IN_SHARED_BYTES = 227 * 1024
"""The most that a program may ask for on any of them (capability 9.0)."""
WARP_LANES = 32
BANKS = 32
"""Banks of shared memory: consecutive words of 4 bytes lie in consecutive banks."""
SECTOR_BYTES = 32
"""What global memory is moved by, aligned to as many."""


def is_possible_block(block: tuple[int, int, int]) -> bool:
    """Whether a device can run blocks of this shape, threads along x, y, z."""
    threads = block[0] * block[1] * block[2]
    fits = all(0 < side <= most for side, most in zip(block, MAX_BLOCK, strict=True))
    return threads <= MAX_THREADS_PER_BLOCK and fits


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


FLOAT_SENTINEL_BYTE = 0xFF
"""Every byte of an output of floating-point numbers before the launch: NaN in every format, so that what is added to it
shows whatever the tolerance.  Arithmetic makes another NaN (0x7FFFFFFF on a GPU), never this one."""

INTEGER_SENTINEL_BYTE = 0xA5
"""The same for integers: no value that a kernel comes by without meaning to, as 0 and -1 are."""

UNSET_BYTE = 0x7B
"""The same where nobody knows the elements: a large number of every type, 2e9 or 1e36, that no tolerance hides."""

GUARD_BYTE = 0x5C
"""What lies on either side of an array on a GPU, where no fault tells of an access out of bounds."""


GPUS = Path(__file__).parent / "timing" / "devices"
"""A file for each GPU that times are predicted for."""
DEVICE_FILE = ".yaml"
"""How the name of such a file ends, there or anywhere."""


def gpus() -> list[str]:
    """Names of the GPUs that times are predicted for."""
    return sorted(path.stem for path in GPUS.glob(f"*{DEVICE_FILE}"))


def sentinel_byte(dtype: str) -> int:
    """What every byte of unset elements of a NumPy type holds, by the type's name."""
    return FLOAT_SENTINEL_BYTE if dtype.startswith(("float", "complex")) else INTEGER_SENTINEL_BYTE
