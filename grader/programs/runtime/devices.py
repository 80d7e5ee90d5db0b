"""The devices a program can be run on, by name, and the questions that programs ask about them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU as its data sheet and `cudaGetDeviceProperties` describe it.

    memory_bytes: as the runtime reports it.  clock_khz, memory_clock_khz: boost and memory clock.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int
    l2_bytes: int
    shared_per_multiprocessor: int
    shared_opt_in: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    cores_per_multiprocessor: int = 64


_MIB = 1 << 20
MODELS = {
    "t4": Model("Tesla T4", (7, 5), 40, 15_095 * _MIB, 1_590_000, 5_001_000, 256, 4 * _MIB, 65536, 65536, 1024, 16),
    "rtx2080ti": Model(
        "NVIDIA GeForce RTX 2080 Ti",
        (7, 5),
        68,
        11_011 * _MIB,
        1_545_000,
        7_000_000,
        352,
        5632 << 10,
        65536,
        65536,
        1024,
        16,
    ),
    "a100": Model(
        "NVIDIA A100-SXM4-40GB",
        (8, 0),
        108,
        40_326 * _MIB,
        1_410_000,
        1_215_000,
        5120,
        40 * _MIB,
        167936,
        166912,
        2048,
        32,
    ),
    "rtx3060": Model(
        "NVIDIA GeForce RTX 3060",
        (8, 6),
        28,
        12_044 * _MIB,
        1_777_000,
        7_501_000,
        192,
        2304 << 10,
        102400,
        101376,
        1536,
        16,
        128,
    ),
    "rtx4090": Model(
        "NVIDIA GeForce RTX 4090",
        (8, 9),
        128,
        24_080 * _MIB,
        2_520_000,
        10_501_000,
        384,
        72 * _MIB,
        102400,
        101376,
        1536,
        24,
        128,
    ),
    "h100": Model(
        "NVIDIA H100 80GB HBM3",
        (9, 0),
        132,
        81_079 * _MIB,
        1_980_000,
        2_619_000,
        5120,
        50 * _MIB,
        233472,
        232448,
        2048,
        32,
        128,
    ),
    "h200": Model(
        "NVIDIA H200", (9, 0), 132, 143_155 * _MIB, 1_980_000, 3_201_000, 6144, 60 * _MIB, 233472, 232448, 2048, 32, 128
    ),
}
DEFAULT = "t4"
GRADING = "grading"
"""What programs are run on to be graded: it has as much shared memory as any, so that none is ended by its lack."""
_MOST_SHARED = max(MODELS.values(), key=lambda model: model.shared_opt_in)


def model_of(name: str) -> Model:
    """A device by its key in `MODELS`, or the one of grading.

    That one is the default in all else: of the capability that kernels are graded for.
    """
    if name != GRADING:
        return MODELS[name]
    shared = _MOST_SHARED.shared_per_multiprocessor
    return replace(MODELS[DEFAULT], shared_per_multiprocessor=shared, shared_opt_in=_MOST_SHARED.shared_opt_in)
