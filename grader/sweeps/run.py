"""Sweeps of a submission that has been graded: its right kernels and the lab's own, on the GPU or counted.

Timed sweeps are kept on disk, and found again by their key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from grader.files import read_kept, write_atomically
from grader.gpu.bench import lab_files
from grader.lab.records import Lab
from grader.launching.programs import ProgramStore
from grader.message import Message
from grader.oracle.expected import Oracle
from grader.result import SweepRecord
from grader.running.evidence import Evidence
from grader.submission.binding.bind import bind
from grader.submission.files.folder import FoundSubmission
from grader.submission.files.source import SourceText, decode
from grader.submission.observed import Observed
from grader.submission.records import Submission
from grader.submission.rewriting.changes import Original
from grader.sweeps.counted import EmulatorSweeps, KnownPoints, targets_of
from grader.sweeps.plan import Owner
from grader.timing import lock
from grader.timing.summary import folder, key_of

if TYPE_CHECKING:
    from grader.compiler.kept import KeptCompiler
    from grader.compiler.process import CompilerProcess
    from grader.gpu.part import Gpu


def keep(file: Path, records: Sequence[SweepRecord]) -> None:
    """Write records as they come from a run; a folder that cannot be written to is no reason to stop grading."""
    with suppress(OSError):
        write_atomically(file, msgspec.json.encode(records))


def find(file: Path, left_out: Mapping[str, Message]) -> list[SweepRecord] | None:
    """The records in `file`, None where there are none; `left_out`: variants that are not swept, and why."""
    try:
        kept = msgspec.json.decode(read_kept(file), type=list[SweepRecord])
    except (OSError, msgspec.DecodeError):
        return None
    return [
        structs.replace(
            record,
            left_out_said={name: left_out.get(name, reason) for name, reason in record.left_out_said.items()},
        )
        for record in kept
    ]


_known: dict[str, KnownPoints] = {}
"""Counts of the labs' own kernels, which are the same for every student that this process grades."""


def sweep(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compiler: CompilerProcess,
    architecture: str,
    gpu: Gpu | None,
    remeasure: bool,
) -> list[SweepRecord]:
    """All of the lab's sweeps: timed where there is a GPU, else counted, for `architecture`, on the emulator."""
    if gpu is not None:
        from grader.gpu.session import GpuFault

        with suppress(GpuFault, lock.Busy):
            return measure_time(lab, original, evidence, oracle, compiler, gpu, remeasure)
    return count_work(lab, original, evidence, oracle, compiler, architecture)


def original_of(lab: Lab, found: FoundSubmission, submission: Submission) -> Original:
    """A submission of which changed copies can be made: its texts are read and bound anew."""
    # Not so many as there are files: a notebook may hold several programs.
    main = submission.sources[: len(submission.sources) - submission.header_sources]

    def reread(texts: Mapping[Path, SourceText], observed: Observed) -> Submission:
        def header(path: Path) -> SourceText:
            return texts.get(path) or decode(path)

        sources = [texts.get(source.path, source) for source in main]
        return bind(found, sources, lab, header, observed, submission.read_true)

    def rebind(texts: Mapping[Path, SourceText]) -> Submission:
        return reread(texts, submission.observed)

    return Original(submission, rebind, reread)


def count_work(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compiler: CompilerProcess,
    architecture: str,
) -> list[SweepRecord]:
    """All of the lab's sweeps on the emulator; `evidence` by variant tells which kernels are right."""

    targets, left_out = targets_of(lab, original, evidence)
    key = key_of({}, "", lab_files(lab), compiler.nvrtc_version(), architecture, "")
    known = _known.setdefault(key, {})
    return EmulatorSweeps(lab, oracle, compiler, known).run(targets, left_out)


def measure_time(
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compiler: CompilerProcess,
    gpu: Gpu,
    remeasure: bool,
) -> list[SweepRecord]:
    """All of the lab's sweeps on the GPU; kept, and found again for the same programs on the same device.

    Raises
    ------
    GpuFault : the device is not usable.
    Busy : somebody else had it all the time.
    """
    from grader.gpu.runs import pools
    from grader.sweeps.timed import GpuSweeps

    session = gpu.session()
    device = session.device
    targets, left_out = targets_of(lab, original, evidence)
    key = key_of(
        dict(original.submission.device_source),
        repr([(t.variant, t.of, t.kernel.interpretation) for t in targets]),
        lab_files(lab),
        gpu.compiler.nvrtc_version(),
        f"{device.name} {device.architecture} {device.multiprocessors} {device.memory_bytes}",
        device.driver,
    )
    file = folder() / f"{key}.sweeps.json"
    found = None if remeasure else find(file, left_out)
    if found is not None:
        return found

    types = [target.kernel.dtypes for target in targets]
    own_types = {p.name: p.dtype for p in lab.parameters if p.is_array}
    # The lab's kernels are compiled in a process that never saw a student's file.
    compilers: dict[Owner, CompilerProcess | KeptCompiler] = {"submission": compiler, "reference": gpu.compiler}
    threads = {owner: ThreadPoolExecutor(1) for owner in compilers}
    try:
        programs = {o: ProgramStore(c, device.architecture, threads[o]) for o, c in compilers.items()}
        sweeps = GpuSweeps(lab, session, session.add, programs, pools(lab, oracle, [*types, own_types]))
        sweeps.plan(targets)
        with lock.exclusive(device.uuid):
            session.forget()
            records = sweeps.run(left_out)
    finally:
        for thread in threads.values():
            thread.shutdown(cancel_futures=True)
    keep(file, records)
    return records
