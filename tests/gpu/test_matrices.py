"""Sums on tensor cores that are not exact: a device adds in its own order, and stays close to the emulator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from grader.compiler.process import CompilerProcess
from grader.gpu.session import GpuSession
from grader.launching.backend import BufferArgument, Code, LaunchRequest
from grader.launching.emulator import Emulator
from tests.ptx.corpus.case import FOLDER


@pytest.mark.parametrize("scale", [1.0, 1e-4, 200.0])
def test_sums_of_any_numbers(lasting_session: GpuSession, compiler: CompilerProcess, scale: float) -> None:
    source = {"corpus.cu": (FOLDER / "matrices.cu").read_text(encoding="utf-8")}
    for_emulator = compiler.compile(source, ["wmma_tiles"], "compute_80")
    for_device = compiler.compile(source, ["wmma_tiles"], lasting_session.device.architecture)
    lasting_session.add("matrices", for_device.cubin)
    rng = np.random.default_rng(7)
    a, b = ((rng.standard_normal((32, 48)) * scale).astype(np.float16) for _ in range(2))
    arrays: dict[str, npt.NDArray[np.generic]] = {"a": a, "b": b, "c": np.zeros((32, 32), np.float32)}
    passed = [BufferArgument(name, x.shape, str(x.dtype), x, is_output=name == "c") for name, x in arrays.items()]
    request = LaunchRequest(for_emulator.entries["wmma_tiles"], (2, 2, 1), (32, 1, 1), 0, passed)
    emulated = Emulator().run(Code("x", for_emulator.ptx), request).outputs["c"]
    measured = lasting_session.run("matrices", request).outputs["c"]
    magnitude = 2 * np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64).T
    error = np.abs(emulated.astype(np.float64) - measured.astype(np.float64)) / magnitude
    print(f"largest difference: {error.max() * 2**24:.2f} · 2^-24 of the sum of magnitudes")
    # Sums are kept to 24 bits and more of the largest product, three times 16 of them (Fasi et al. 2021, tensor cores).
    assert error.max() < 2.0**-20
