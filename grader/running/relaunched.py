"""Whether a kernel that keeps something from launch to launch is right in later launches too.

Every graded launch has a fresh device, on which a variable declared `__device__` holds what the program is loaded with.
Real programs launch their kernels many times: a kernel that counts its launches, or keeps a result, is launched here
several times on other data first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from math import prod

from grader.backends.base import LaunchOutcome, LaunchRequest
from grader.running.cases import dtypes_of, request
from grader.running.choosing import is_right
from grader.running.evidence import Evidence, Run
from grader.running.runs import TOO_LONG, Runner

LAUNCHES_BEFORE = 8

_COPIED = re.compile(r"\bcuda(?:MemcpyToSymbol(?:Async)?|GetSymbolAddress)\s*+\(([^;]{0,300})")
_COMMENT = re.compile(r"//[^\n]*+|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*+")


def set_by_host(texts: Iterable[str]) -> frozenset[str]:
    """Names in calls that give a variable on the device a value, or that find its address, in programs' texts."""
    found: set[str] = set()
    for text in texts:
        if "Symbol" in text:
            for call in _COPIED.findall(_COMMENT.sub(" ", text)):
                found |= set(_WORD.findall(call))
    return frozenset(found)


def with_later_launch(evidence: Evidence, entry: str, runner: Runner, other: Runner, texts: Iterable[str]) -> Evidence:
    """`evidence` with a run that says so, where a kernel with state is wrong when it was launched before.

    Of a kernel that is right at the lab's exact sizes; where it is right again nothing is added.

    Parameters
    ----------
    other : a runner with other data.
    texts : of the submission's files, host code included: what that sets before a launch is reset between launches.
    """
    exact = [run for run in evidence.runs_of("correct", "observe") if run.difference is not None]
    state = next((run.outcome.state for run in exact if run.outcome.state), ())
    if not state or not all(is_right(run) for run in exact):
        return evidence
    reset = tuple(sorted(set_by_host(texts) & set(state)))
    sizes = min((run.sizes for run in exact), key=lambda sizes: prod(sizes.values()))
    candidate = evidence.candidate
    assert candidate is not None

    def after_others(launch: LaunchRequest) -> LaunchRequest:
        dtypes = dtypes_of(other.lab, evidence.bound, candidate)
        inputs, outputs = other.oracle.case(sizes, dtypes)
        earlier = request(other.lab, evidence.bound, candidate, entry, sizes, inputs, outputs, observe=False)
        return replace(launch, before=(earlier,) * LAUNCHES_BEFORE, reset=reset)

    run = runner.run_once(evidence.bound, candidate, entry, "correct", sizes, observe=False, changed=after_others)
    if is_right(run) and not run.changed_inputs:
        return evidence
    if run.outcome.status == "unsupported" or run.outcome.reason in TOO_LONG:
        return evidence
    line = _declared(evidence, state)
    wrong = LaunchOutcome("fault", reason="repeat_wrong", line=line)
    return replace(evidence, runs=(*evidence.runs, Run("correct", sizes, wrong, None)))


def _declared(evidence: Evidence, state: Iterable[str]) -> int:
    """The line on which the first of these variables is declared; the kernel's where that is not found."""
    text = evidence.source.get(evidence.bound.kernel.file, "")
    for name in state:
        found = re.search(rf"\b(?:__device__|__managed__|static)\b[^;{{}}()]*\b{re.escape(name)}\b", text)
        if found is not None:
            return text.count("\n", 0, found.end()) + 1
    return evidence.bound.kernel.line
