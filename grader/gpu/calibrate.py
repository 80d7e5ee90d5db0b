"""`grade calibrate`: what the lab's speed checks may ask for on this machine's GPU, and with `--device FILE` the
figures that predictions need of it, measured by micro-benchmarks.

Cycles are counted by the kernels themselves, the least of some runs; whole launches are timed as any other
(`grader.timing`).  What no program can measure is taken from the file of a device of the same architecture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import yaml

from grader.devices import gpus
from grader.errors import InternalError, UsageError
from grader.files import write_atomically
from grader.gpu.bench import compile_references, reference_request, sample_rounds
from grader.gpu.part import Gpu
from grader.gpu.process import has_driver
from grader.gpu.runs import pools
from grader.gpu.session import GpuSession, TimedKernel
from grader.lab.checks import SpeedupSettings
from grader.lab.expected import Oracle
from grader.lab.records import Lab
from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument
from grader.launching.programs import ProgramStore
from grader.message import msg
from grader.timing import lock, sampling
from grader.timing.instructions import Processor, named_like, read_device
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

    Raises UsageError: no GPU, nothing to be timed, or a kernel that is launch-bound at every size.  Raises FileError: a
    reference kernel does not compile.
    """
    if not has_driver():
        raise UsageError(msg("calibrate.no_gpu"))
    # The student's own first kernel stands for the reference kernel of the same variant.
    marked = [
        (v.name, settings.against or lab.variants[0].name, settings)
        for v in lab.variants
        if (settings := v.settings_of(SpeedupSettings)) is not None
    ]
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
            names = {name for variant, measure, _ in marked for name in (variant, measure)}
            samples = _measure(gpu, session, lab, sorted(names))
    for variant, measure, settings in marked:
        speedups = [s.median for one in samples if (s := one.speedup(reference(variant), reference(measure)))]
        if not speedups:
            raise UsageError(msg("calibrate.launch_bound", lab=lab.id, variant=variant))
        proposal = propose(speedups)
        minimum, full = settings.thresholds[0], settings.most
        calibrations.append(Calibration(variant, measure, minimum, full, proposal, judge(minimum, full, proposal)))
    return calibrations


def rows(calibrations: Sequence[Calibration]) -> list[tuple[str, ...]]:
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
        for row in calibrations
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


PROBES = Path(__file__).parent / "device" / "probes.cu"
MODULE = "probes"
RUNS = 7
"""Launches of each kernel that counts its own cycles."""
TIMES = 5
"""How often launches are timed that are timed as a whole: rounds, and how often their memory is had anew, whose place
may matter."""
STEPS = 64
"""Steps of a dependency chain in one round, as in `device/probes.cu`."""
CHAIN_ROUNDS, RATE_ROUNDS = 32, 64
CHAINS = {
    "alu": 1,
    "imad": 1,
    "fma": 1,
    "double": 1,
    "special": 1,
    "convert": 2,
    "shuffle": 1,
    "divide": 1,
    "root": 1,
    "divide_integer": 1,
}
"""Instructions in a step of the chain by class of latency."""
RATES = ("alu", "imad", "fma", "double", "special", "shuffle")
CLEAR_OF_CACHES = 2
"""Bytes that are written between a pointer and its use, of the L2 cache's."""
L2_SHARE = 0.8
"""What kernels get of the bandwidth of one that does nothing but read from the L2 cache, as in the files
of the devices that came with the grader."""
WIDE_BYTES = 1 << 28
NARROW_BLOCKS = 2048
"""Blocks a multiprocessor, of one warp each."""
NEAREST = {"sm_87": "sm_86"}
"""Architectures that no device's file has, and one with the same multiprocessor."""


def measure_device() -> Processor:
    """The GPU at hand.  Raises UsageError: there is none, or none that is described by anything."""
    if not has_driver():
        raise UsageError(msg("calibrate.no_gpu"))
    with Gpu() as gpu:
        reason = gpu.refusal()
        if reason:
            raise UsageError(msg("calibrate.refused", reason=reason))
        session = gpu.session()
        like = _like(session.device.name, session.device.architecture)
        result = gpu.compiler.compile({PROBES.name: PROBES.read_text("utf-8")}, _entries(), session.device.architecture)
        if not result.ok:
            raise InternalError(f"{PROBES.name}: {result.reason} {result.log}")
        session.add(MODULE, result.cubin)
        with lock.exclusive(session.device.uuid, LOCK_WAIT_S):
            return _Measuring(session, like).processor()


def write_device(processor: Processor, file: Path) -> None:
    """Write a device's file in the form of those that come with the grader."""
    figures = asdict(processor)
    sources = {"sources": figures.pop("sources")}
    parts = (
        yaml.safe_dump(part, sort_keys=False, width=1000, default_flow_style=style)
        for part, style in ((figures, None), (sources, False))
    )
    write_atomically(file, b"# Measured by `grade calibrate --device`; see `sources`.\n" + "".join(parts).encode())


def _like(full_name: str, architecture: str) -> Processor:
    """Return the device of that name, else one of that architecture."""
    wanted = NEAREST.get(architecture, architecture)
    for name in (*filter(None, [named_like(full_name)]), *gpus()):
        device = read_device(name)
        if device.architecture == wanted:
            return device
    raise UsageError(msg("calibrate.unknown_architecture", architecture=architecture))


def _entries() -> list[str]:
    chains = [f"chain_{name}" for name in (*CHAINS, "barrier")]
    whole = ["chase_shared", "chase_global", "copy_wide", "read_again", "copy_narrow", "nothing"]
    return [*chains, *(f"rate_{name}" for name in RATES), *whole]


def _figures(value: float) -> float:
    return float(f"{value:.4g}")


class _Measuring:
    """Measures one device; what cannot be measured is taken from `like`, a device of the same architecture."""

    def __init__(self, session: GpuSession, like: Processor) -> None:
        self._session = session
        self._like = like

    def processor(self) -> Processor:
        """All figures."""
        device = self._session.device
        self._session.warm_up(sampling.WARM_UP_MS)
        latency, rates = dict(self._like.latency), dict(self._like.rates)
        measured = {name: self._chain(name) / count for name, count in CHAINS.items()}
        one, most = self._chain("barrier"), self._chain("barrier", 1024)
        rates["barrier"] = _figures(31 / (most - one))
        measured["barrier"] = one - 1 / rates["barrier"]
        measured |= self._memory()
        latency |= {name: _figures(cycles) for name, cycles in measured.items()}
        pipes = {name: self._rate(name) for name in RATES}
        pipes["memory"] = pipes.pop("shuffle")
        rates |= {name: _figures(rate) for name, rate in pipes.items()}
        timed = self._timed()
        return replace(
            timed,
            name=device.name.removeprefix("NVIDIA "),
            is_checked=False,
            architecture=device.architecture,
            multiprocessors=device.multiprocessors,
            l2_bytes=device.l2_bytes,
            rates=rates,
            latency=latency,
            sources=self._sources(measured, [*pipes, "barrier"]),
        )

    def _sources(self, latencies: Iterable[str], rates: Iterable[str]) -> dict[str, str]:
        taken = f"as in the file of {self._like.name}"
        return {
            "multiprocessors, l2_bytes": "the driver",
            f"latency.{', '.join(latencies)}": "chains of dependent instructions and of pointers in one warp",
            f"rates.{', '.join(rates)}": "independent instructions of 32 warps on one multiprocessor",
            "clock_ghz": "while launches were timed",
            "dram_bytes_per_second": f"a copy of {WIDE_BYTES >> 20} MiB by float4",
            "l2_bytes_per_second": f"a quarter of the cache read again and again, times {L2_SHARE}",
            "block_cycles": "copies by blocks of 32 threads",
            "launch_us": "an empty kernel",
            "most_warps, most_blocks, shared_bytes, l1_bytes, dram_fetch_bytes, the other rates and latencies": taken,
        }

    def _cycles(self, entry: str, threads: int, *arguments: BufferArgument | ScalarArgument) -> float:
        """Return the fewest cycles that a kernel has counted."""
        out = _buffer("out", 1, "uint64")
        request = LaunchRequest(entry, (1, 1, 1), (threads, 1, 1), 0, [out, *arguments])
        counts = []
        for _run in range(RUNS):
            outcome = self._session.run(MODULE, request)
            if outcome.status != "ok":
                raise InternalError(f"{entry}: {outcome.status} {outcome.reason}")
            counts.append(int(outcome.outputs["out"][0]))
        return float(min(counts))

    def _chain(self, name: str, threads: int = 32) -> float:
        """Return the cycles of a step of a dependent chain."""
        numbers = [ScalarArgument(value, "int32") for value in (1009, 1000003)]
        cycles = self._cycles(f"chain_{name}", threads, *numbers, ScalarArgument(CHAIN_ROUNDS, "uint32"))
        return cycles / (CHAIN_ROUNDS * STEPS)

    def _rate(self, name: str) -> float:
        """Return the steps of 32 warps that begin in a cycle."""
        numbers = [ScalarArgument(value, "int32") for value in (3, 5)]
        cycles = self._cycles(f"rate_{name}", 1024, *numbers, ScalarArgument(RATE_ROUNDS, "uint32"))
        return RATE_ROUNDS * 16 * 8 * 32 / cycles

    def _memory(self) -> dict[str, float]:
        """Return the latency in cycles of shared memory and of each level of global memory."""
        steps = 2048
        counts = ScalarArgument(2048, "uint32"), ScalarArgument(steps, "uint32")
        latency = {"shared": self._cycles("chase_shared", 32, *counts) / steps}
        l2 = self._session.device.l2_bytes
        beyond = 1 << (CLEAR_OF_CACHES * l2 - 1).bit_length()
        for name, spread, others, warm in (
            ("l1", 1 << 14, 0, 2),
            ("l2", max(1 << 20, 1 << (l2 // 8).bit_length() - 1), 0, 2),
            ("dram", beyond, CLEAR_OF_CACHES * l2, 0),
        ):
            memory = _buffer("memory", (spread + others) // 8, "uint64")
            arguments = (
                ScalarArgument(spread // 128, "uint32"),
                ScalarArgument(others // 8, "uint64"),
                ScalarArgument(warm, "uint32"),
                ScalarArgument(steps, "uint32"),
            )
            latency[name] = self._cycles("chase_global", 1024, memory, *arguments) / steps
        return latency

    def _timed(self) -> Processor:
        """Return `like` with the clock, and with what follows from times of whole launches."""
        device = self._session.device
        wide = WIDE_BYTES // 16
        blocks = device.multiprocessors * NARROW_BLOCKS
        cached, times, width = device.l2_bytes // 4 // 16, 64, device.multiprocessors * 2 * 512
        numbers = [ScalarArgument(cached, "uint32"), ScalarArgument(times, "uint32")]
        all_wide = ScalarArgument(wide, "uint32")
        requests = {
            "nothing": _over(1, 1),
            "copy_wide": _over(wide, 256, _buffer("in", 4 * wide), _buffer("out", 4 * wide), all_wide),
            "copy_narrow": _over(32 * blocks, 32, _buffer("in", 32 * blocks), _buffer("out", 32 * blocks)),
            "read_again": _over(width, 512, _buffer("in", 4 * cached), _buffer("out", width), *numbers),
        }
        each_us: dict[str, list[float]] = {name: [] for name in requests}
        clocks = []
        for _time in range(TIMES):
            samples, mhz = self._rounds(requests)
            clocks.append(mhz)
            for name in requests:
                interval = samples.median(name)
                if interval is None:
                    raise UsageError(msg("calibrate.throttled"))
                each_us[name].append(interval.median)
        median_us = {name: median(times_us) for name, times_us in each_us.items()}
        mhz = median(clocks)
        # The first pass over what is read again comes from memory.
        per_second = 2 * WIDE_BYTES / median_us["copy_wide"] * 1e6
        again_us = median_us["read_again"] - 16 * cached / per_second * 1e6
        return replace(
            self._like,
            clock_ghz=_figures(mhz / 1000),
            launch_us=_figures(median_us["nothing"]),
            dram_bytes_per_second=_figures(per_second),
            l2_bytes_per_second=_figures(L2_SHARE * 16 * cached * (times - 1) / again_us * 1e6),
            block_cycles=_figures(median_us["copy_narrow"] * mhz / NARROW_BLOCKS),
        )

    def _rounds(self, requests: dict[str, LaunchRequest]) -> tuple[Samples, float]:
        """Return the times of some launches side by side, and the clock in MHz."""
        kernels = [TimedKernel(name, MODULE, replace(request, entry=name)) for name, request in requests.items()]
        pools = {"in:float32": np.linspace(0, 1, 1 << 10, dtype=np.float32)}
        self._session.prepare(kernels, pools, "cold", sampling.CLOCK_SHARE, sampling.MAX_BATCH, (0.0, 0.0))
        return sample_rounds(self._session, list(requests), [], sampling.Plan(stages=(ROUNDS,)))


def _buffer(name: str, count: int, dtype: str = "float32") -> BufferArgument:
    return BufferArgument(name, (count,), dtype, None, is_output=name != "in")


def _over(threads: int, block: int, *arguments: BufferArgument | ScalarArgument) -> LaunchRequest:
    return LaunchRequest("", (-(-threads // block), 1, 1), (block, 1, 1), 0, list(arguments))
