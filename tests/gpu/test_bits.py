"""The emulator and the device give the same bits: reference kernels, known-good kernels and the emulator's corpus."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.compiler.process import CompilerProcess
from grader.errors import InternalError
from grader.gpu.bench import CompiledReference, reference_request, with_data
from grader.gpu.session import GpuSession
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.lab.records import Lab, Sizes, Variant
from grader.launching.backend import BufferArgument, Code, LaunchRequest, ScalarArgument
from grader.launching.emulator import Emulator
from grader.launching.programs import Built
from tests.every_lab import EVERY_LAB
from tests.ptx.corpus.case import FOLDER
from tests.ptx.corpus_cases import CASES, Case, Struct
from tests.ptx.textbook import cases as textbook

LABS = [lab for lab in EVERY_LAB if not lab.makes_launches]


def reference_cases() -> Iterator[tuple[str, Lab, Variant, Sizes]]:
    for lab in LABS:
        cases = lab.cases["emulator"]
        for variant in lab.variants:
            for sizes in (*cases.correct, *cases.ragged):
                if variant.reference.fits(sizes):
                    yield f"{lab.id}-{variant.name}-{'x'.join(map(str, sizes.values()))}", lab, variant, sizes


REFERENCES = list(reference_cases())


@pytest.mark.parametrize(("lab", "variant", "sizes"), [r[1:] for r in REFERENCES], ids=[r[0] for r in REFERENCES])
def test_reference_kernels(
    lasting_session: GpuSession, compiler: CompilerProcess, lab: Lab, variant: Variant, sizes: Sizes
) -> None:
    kernel = variant.reference
    expression = kernel.expression(sizes)
    source = {kernel.file.name: kernel.file.read_text("utf-8")}
    for_emulator = compiler.compile(source, [expression], "compute_75")
    for_device = compiler.compile(source, [expression], lasting_session.device.architecture)
    lasting_session.add("reference", for_device.cubin)
    inputs, _expected = Oracle(lab).case(sizes, {p.name: p.dtype for p in lab.parameters if p.is_array})
    emulated = Emulator().run(
        Code("x", for_emulator.ptx),
        with_data(reference_request(lab, CompiledReference(variant, Built("x", for_emulator)), sizes), inputs),
    )
    measured = lasting_session.run(
        "reference",
        with_data(reference_request(lab, CompiledReference(variant, Built("x", for_device)), sizes), inputs),
    )
    assert emulated.status == measured.status == "ok"
    assert emulated.outputs.keys() == measured.outputs.keys()
    for name, array in emulated.outputs.items():
        if "rsqrt.approx" in for_emulator.ptx:
            # How a device rounds an approximate root is its own.
            atol = 1e-6 * float(np.abs(array).max())
            assert np.allclose(measured.outputs[name], array, rtol=1e-5, atol=atol), name
        else:
            assert array.tobytes() == measured.outputs[name].tobytes(), name


ON_DEVICE = [
    case
    for case in [*CASES, *textbook.CASES]
    if case.on_device and not any(isinstance(a, Struct) for a in case.make_arguments(np.random.default_rng(0)))
]


@pytest.mark.parametrize("case", ON_DEVICE, ids=lambda case: case.name)
def test_corpus(lasting_session: GpuSession, compiler: CompilerProcess, case: Case) -> None:
    """Structs that hold pointers are left out: the device's addresses are not known here."""
    source = case.text or (FOLDER / case.source).read_text(encoding="utf-8")
    if "__int128" in source:
        pytest.skip("the grader compiles without 128-bit integers")
    # One compilation for both: what it asks of an architecture is there, and the emulator is handed the device's PTX.
    try:
        compiled = compiler.compile({"corpus.cu": source}, [case.entry], lasting_session.device.architecture)
    except InternalError as error:
        pytest.skip(f"neither NVRTC nor a toolkit has the headers: {error}")
    assert compiled.ok, compiled.log
    lasting_session.add("corpus", compiled.cubin)
    arguments = case.make_arguments(np.random.default_rng(zlib.crc32(case.name.encode())))
    x, y, z = [*case.grid, 1, 1][:3]
    bx, by, bz = [*case.block, 1, 1][:3]
    cooperative = "this_grid" in source
    passed: list[BufferArgument | ScalarArgument] = [
        BufferArgument(f"buffer{i}", a.shape, str(a.dtype), a, is_output=False)
        if isinstance(a, np.ndarray)
        else ScalarArgument(a.item(), str(a.dtype))  # type: ignore[union-attr]  # structs are left out
        for i, a in enumerate(arguments)
    ]
    request = LaunchRequest(
        compiled.entries[case.entry], (x, y, z), (bx, by, bz), case.shared_bytes, passed, cooperative=cooperative
    )
    emulated = Emulator().run(Code("x", compiled.ptx), request)
    measured = lasting_session.run("corpus", request)
    assert (emulated.status, emulated.reason) == (measured.status, measured.reason) == ("ok", "")
    assert emulated.outputs.keys() == measured.outputs.keys()
    for name, array in emulated.outputs.items():
        assert array.tobytes() == measured.outputs[name].tobytes(), name


KERNELS = Path(__file__).parents[1] / "kernels"
GOOD = sorted(path for lab in LABS for path in (KERNELS / lab.id).glob("good/*.cu"))


@pytest.mark.parametrize("path", GOOD, ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_known_good_kernels_pass_on_the_device(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAB_GRADER_STORE", str(tmp_path / "store"))
    lab = replace(labs.find(path.parts[-3]), sweeps=(), timing=None)
    result = pipeline.grade(path, lab, GradeOptions(backend="gpu", repairs=False))
    wrong = [
        c.message for c in result.checks if c.check in ("correct", "ragged_sizes") and c.status in ("fail", "error")
    ]
    assert not wrong
    ran = [case for v in result.variants.values() for case in v.cases if case.backend == "gpu"]
    # What kernels may take for granted need not hold at sizes that cost nothing.
    assert ran and all(case.status == "pass" or case.kind == "large" for case in ran)
