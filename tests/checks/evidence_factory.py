"""Evidence made by hand, for tests of checks: a kernel that is right in every way, from which each test departs."""

from __future__ import annotations

from typing import Any

from grader.checks import judge
from grader.lab import labs
from grader.lab.compare import Difference
from grader.lab.records import Lab
from grader.launching.backend import LaunchOutcome
from grader.launching.trial import Run
from grader.message import verbatim
from grader.ptx.records import Hazard
from grader.result import CaseKind, Check
from grader.running.evidence import Compilation, Evidence
from grader.submission.kernels.records import Kernel, KernelParameter, LaunchSite, SharedArray
from grader.submission.records import Interpretation, LaunchPlan, VariantBinding
from grader.words import told
from tests.sample_results import counters

LAB: Lab = labs.find("transpose")
RIGHT = Difference(total=4096, mismatches=0, name="out")


def kernel(dims: tuple[int, int] | None = (32, 33)) -> Kernel:
    """The kernel of lines 6 to 13 in `sample_results.SOURCE_TEXT`."""
    pointer = KernelParameter("in", "const float *", True, True, "float32")
    number = KernelParameter("rows", "int", False, False, "int32")
    return Kernel(
        name="tiled",
        file="transpose.cu",
        line=6,
        end_line=13,
        parameters=(pointer, pointer, number, number),
        template_parameters=(),
        shared_arrays=(SharedArray("t", 7, "float32", dims, False),) if dims else (),
        is_empty=False,
    )


def site(block: tuple[int, int, int] | None, shared_bytes: int | None = 0) -> LaunchSite:
    """A launch in line 60 of the host code."""
    return LaunchSite("tiled", 60, block, (32, 32), shared_bytes)


def evidence(variant: str = "padded", block: tuple[int, int, int] = (32, 32, 1), **changes: Any) -> Evidence:
    """Evidence of a right kernel; `changes` replace fields of `Evidence` or of its binding."""
    plan = LaunchPlan(block, (32, 32), ("cols", "rows"), False, line=60)
    interpretation = Interpretation(("in", "out", "rows", "cols"), plan)
    binding = VariantBinding(
        variant=variant,
        kernel=changes.pop("kernel", kernel()),
        expression="tiled",
        interpretations=(interpretation,),
        requested=changes.pop("requested", site(block)),
        takes_sizes=changes.pop("takes_sizes", True),
    )
    fields: dict[str, Any] = {
        "lab": LAB,
        "variant": next(v for v in LAB.variants if v.name == variant),
        "binding": binding,
        "compilation": Compilation(),
        "interpretation": interpretation,
        "runs": (run("correct"), run("observe"), run("ragged")),
        "counters": counters(load_ways=1),
        "array_bytes": {"in": 4 * 65536, "out": 4 * 65536},
        "unmeasured": {"time": verbatim("no GPU here")},
    }
    return Evidence(**(fields | changes))


def run(kind: CaseKind, difference: Difference | None = RIGHT, hazards: tuple[Hazard, ...] = (), **outcome: Any) -> Run:
    """A run at a size that its kind stands for."""
    sizes = {"correct": (64, 64), "observe": (256, 256), "ragged": (33, 31)}[kind]
    fields: dict[str, Any] = {"status": "ok", "hazards": hazards}
    launched = LaunchOutcome(**(fields | outcome))
    return Run(kind, dict(zip(("rows", "cols"), sizes, strict=True)), launched, difference)


def hazard(kind: str, detail: str, line: int = 12, **changes: Any) -> Hazard:
    """A fault of thread (1, 0, 0) of block (2, 0, 0) at an element of `t`."""
    fields: dict[str, Any] = {
        "kind": kind,
        "detail": detail,
        "line": line,
        "space": "shared",
        "op": "load",
        "array": "t",
        "offset_bytes": 128,
        "width_bytes": 4,
        "array_bytes": 4096,
        "block": (2, 0, 0),
        "thread": (1, 0, 0),
    }
    return Hazard(**(fields | changes))


def check(given: Evidence, name: str) -> Check:
    """The verdict of one check, after all that it depends on, in words too."""
    return told(next(c for c in judge(given) if c.check == name))
