"""`launch`: the launch that the student's own host code asks for is one that the hardware accepts.

Limits of every GPU since compute capability 3.0 (CUDA programming guide, "Compute Capabilities").
"""

from __future__ import annotations

from math import prod

from grader.checks.base import CheckKind, Settings, Verdict, failed, not_applicable, passed
from grader.i18n import _, ngettext
from grader.running.evidence import Evidence

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory that a launch may ask for without `cudaFuncSetAttribute`."""
MAX_OPT_IN_SHARED_BYTES = 227 * 1024
"""With it, on the GPUs that have most (compute capability 9.0)."""


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail for a block that no GPU can run; the kernel itself is then graded with the lab's block."""
    site = evidence.bound.requested
    if site is None or site.block is None:
        return not_applicable(_("The host code has no launch of this kernel that could be read."))
    shape = "×".join(str(n) for n in site.block[: 3 if site.block[2] > 1 else 2])
    threads = prod(site.block)
    if threads > MAX_THREADS:
        return failed(
            _too_large(shape, threads),
            _too_large_hint(evidence, shape, threads),
            line=site.line,
            data={"threads": threads},
        )
    if any(n < 1 or n > limit for n, limit in zip(site.block, MAX_BLOCK, strict=True)):
        return failed(
            _("A block of {shape} threads is impossible: every side needs at least 1 and at most {limit}.").format(
                shape=shape, limit="×".join(str(n) for n in MAX_BLOCK)
            ),
            _never_ran(),
            line=site.line,
            data={"threads": threads},
        )
    limit = MAX_OPT_IN_SHARED_BYTES if site.opts_in else MAX_SHARED_BYTES
    if site.shared_bytes is not None and site.shared_bytes > limit:
        return failed(
            _("The launch asks for {n} bytes of dynamic shared memory; {limit} are allowed.").format(
                n=site.shared_bytes, limit=limit
            ),
            _never_ran() + " " + _("Use a smaller tile, or raise the limit with cudaFuncSetAttribute."),
            line=site.line,
            data={"shared_bytes": site.shared_bytes},
        )
    return passed(
        ngettext(
            "A block of {shape} threads ({n} thread).", "A block of {shape} threads ({n} threads).", threads
        ).format(shape=shape, n=threads),
        line=site.line,
        data={"threads": threads},
    )


def _too_large(shape: str, threads: int) -> str:
    return _(
        "The program launches {shape} = {threads} threads a block; the limit is {limit}. The launch fails, so this "
        "kernel never ran, and any time that the program prints for it is the time of a failed launch."
    ).format(shape=shape, threads=threads, limit=MAX_THREADS)


def _too_large_hint(evidence: Evidence, shape: str, threads: int) -> str:
    rule = evidence.lab.launch_of(evidence.variant)
    x, y, z = (
        evidence.candidate.launch.block if evidence.candidate else rule.block_at(evidence.lab.cases["emulator"].observe)
    )
    words = _(
        "The limit counts all threads of a block together: {shape} are {threads} threads, {allowed} are {n}. Take a "
        "block of {allowed} threads and divide the grid by the same numbers."
    ).format(
        shape=shape, threads=threads, allowed="×".join(str(n) for n in ((x, y, z) if z > 1 else (x, y))), n=x * y * z
    )
    return f"{words} {_never_ran()} " + _("Here the kernel is graded with the lab's block instead.")


def _never_ran() -> str:
    return _("Call cudaGetLastError() after every launch: it would have said “invalid configuration argument”.")


CHECK = CheckKind("launch", judge, needs=("present",))
