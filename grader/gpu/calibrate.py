"""`grade calibrate LAB`: what the lab's speed checks may ask for on this machine's GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.gpu.bench import baseline_of, compile_references, reference_request, sample_rounds
from grader.gpu.process import has_driver
from grader.gpu.runs import pools
from grader.gpu.session import GpuSession, TimedKernel
from grader.lab.checks import SpeedupSettings
from grader.lab.expected import Oracle
from grader.lab.records import Lab
from grader.launching.programs import ProgramStore
from grader.message import msg
from grader.timing import lock, sampling
from grader.timing.sampling import Judgement, Proposal, Samples, judge, propose
from grader.timing.summary import reference
from grader.words import text

if TYPE_CHECKING:
    from grader.gpu.part import Gpu


REPEATS = 20
ROUNDS = 31
LOCK_WAIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """One check: what the lab file asks for, what was measured, what would be sound."""

    variant: str
    baseline: str
    minimum: float
    full: float
    proposal: Proposal
    judgement: Judgement

    @property
    def is_sound(self) -> bool:
        """Whether the lab file can stay as it is."""
        return self.judgement == "sound"


def calibrate(lab: Lab) -> list[Calibration]:
    """Measure the reference kernels of every speed check against each other, at the largest size that is timed.

    Raises
    ------
    UsageError : no GPU, nothing to be timed, or a kernel that is launch-bound at every size.
    FileError : a reference kernel does not compile.
    """
    if not has_driver():
        raise UsageError(msg("calibrate.no_gpu"))
    marked = [(v.name, settings) for v in lab.variants if (settings := v.settings_of(SpeedupSettings)) is not None]
    if lab.timing is None or not marked:
        raise UsageError(msg("calibrate.no_speed_check", lab=lab.id))
    from grader.gpu.part import Gpu

    calibrations = []
    with Gpu() as gpu:
        reason = gpu.refusal()
        if reason:
            raise UsageError(msg("calibrate.refused", reason=reason))
        session = gpu.session()
        with lock.exclusive(session.device.uuid, LOCK_WAIT_S):
            names = {name for variant, _settings in marked for name in (variant, baseline_of(lab, variant)[0])}
            samples = _measure(gpu, session, lab, sorted(names))
    for variant, settings in marked:
        measure = baseline_of(lab, variant)[0]
        speedups = [s.median for one in samples if (s := one.speedup(reference(variant), reference(measure)))]
        if not speedups:
            raise UsageError(msg("calibrate.launch_bound", lab=lab.id, variant=variant))
        proposal = propose(speedups)
        minimum, full = settings.minimum, settings.full
        calibrations.append(Calibration(variant, measure, minimum, full, proposal, judge(minimum, full, proposal)))
    return calibrations


def rows(found: Sequence[Calibration]) -> list[tuple[str, ...]]:
    """A table's cells: variant, baseline, measured with its spread, proposed minimum and full, the file's, verdict."""
    words = {
        "sound": msg("calibrate.sound"),
        "in_noise": msg("calibrate.in_noise"),
        "out_of_reach": msg("calibrate.out_of_reach"),
        "too_close": msg("calibrate.too_close"),
    }
    return [
        (
            row.variant,
            row.baseline,
            f"{row.proposal.measured:.3f} ± {100 * row.proposal.deviation:.2f} %",
            "–" if row.proposal.minimum is None else f"{row.proposal.minimum:g}",
            "–" if row.proposal.full is None else f"{row.proposal.full:g}",
            f"{row.minimum:g} … {row.full:g}",
            text(words[row.judgement]),
        )
        for row in found
    ]


def _measure(gpu: Gpu, session: GpuSession, lab: Lab, names: list[str]) -> list[Samples]:
    """Repeated measurements of reference kernels at the largest size at which all of them can run.

    [] when one of them is launch-bound there.
    """
    assert lab.timing is not None
    chosen = [v for v in lab.variants if v.name in names]
    sizes = next(s for s in reversed(lab.timing.sizes) if all(v.reference.fits(s) for v in chosen))
    compiled = compile_references(ProgramStore(gpu.compiler, session.device.architecture), chosen, [sizes])
    kernels = []
    for name, program in compiled.items():
        session.add(reference(name), program.built.result.cubin)
        kernels.append(TimedKernel(reference(name), reference(name), reference_request(lab, program, sizes)))
    values = pools(lab, Oracle(lab), [{p.name: p.dtype for p in lab.parameters if p.is_array}])
    session.warm_up(sampling.WARM_UP_MS)
    prepared = session.prepare(kernels, values, lab.timing.l2, sampling.CLOCK_SHARE, sampling.MAX_BATCH, (0.0, 0.0))
    order = sampling.Plan(stages=(ROUNDS,))
    names = [kernel.name for kernel in kernels]
    samples = [sample_rounds(session, names, [], order)[0] for _repeat in range(REPEATS)]
    least = min(interval.median for one in samples for n in names if (interval := one.median(n)))
    if least < sampling.LAUNCH_BOUND_FACTOR * prepared.empty_us:
        return []
    return samples
