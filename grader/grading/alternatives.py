"""Several kernels that may be one variant: all are graded, the best counts, and the others are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.running.evidence import Evidence, Other
from grader.submission.records import Missing, Submission, VariantBinding


def with_best(
    submission: Submission,
    found: Mapping[str, Evidence],
    grade: Callable[[Submission], Mapping[str, Evidence]],
) -> tuple[Submission, dict[str, Evidence]]:
    """The submission with the best kernel of each variant, and its evidence.

    grade : all evidence on a submission; it is asked of one that has a single kernel.
    """
    bindings = dict(submission.bindings)
    best = dict(found)
    for name, binding in submission.bindings.items():
        if isinstance(binding, Missing) or not binding.others:
            continue
        tried: list[tuple[VariantBinding, Evidence, float]] = []
        left_out: list[VariantBinding] = []
        for one in (binding, *binding.others):
            plain = replace(one, others=())
            if tried and _is_of_one_thread(one):
                # It takes longest by far, and would earn nothing for its launch.
                left_out.append(one)
                continue
            evidence = found[name] if one is binding else grade(_alone(submission, plain))[name]
            tried.append((plain, replace(evidence, binding=plain), _points(evidence)))
        # The first of equals is the likeliest.
        chosen, evidence, _most = max(tried, key=lambda item: item[2])
        others = tuple(
            Other(one.kernel.name, one.kernel.file, one.kernel.line, points)
            for one, _evidence, points in tried
            if one is not chosen
        )
        others += tuple(Other(one.kernel.name, one.kernel.file, one.kernel.line, None) for one in left_out)
        bindings[name], best[name] = chosen, replace(evidence, others=others)
    return replace(submission, bindings=bindings), best


def _alone(submission: Submission, binding: VariantBinding) -> Submission:
    nothing = {name: Missing(name, "no_candidate") for name in submission.bindings}
    return replace(submission, bindings={**nothing, binding.variant: binding})


def _is_of_one_thread(binding: VariantBinding) -> bool:
    """Whether the program was seen to launch it with a single thread."""
    site = binding.requested
    return site is not None and site.observed and site.block == (1, 1, 1) and site.grid == (1, 1, 1)


def _points(evidence: Evidence) -> float:
    """What it earns, and may earn yet; what could not be graded is worth less than what is known to be right."""
    from grader.checks import judge

    return sum(c.earned + (c.pending / 2 if c.status == "error" else c.pending) for c in judge(evidence))
