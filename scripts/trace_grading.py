"""The way of one submission through the grader: `python scripts/trace_grading.py PATH --lab LAB`.

Grades once and prints the calls from one module to another in the order in which they are first made, by stage.  A
stage's modules are entered one stage after the other: a call back into an earlier one's is marked, and makes the
command end with 1.  Sweeps and repairs, which read changed programs anew, are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

STAGES: dict[str, tuple[str, ...]] = {
    "read": ("submission", "programs.observation", "programs.starts"),
    "run": ("running",),
    "gpu": ("gpu",),
    "judge": ("checks",),
    "record": ("grading.recording",),
    "words": ("words",),
}
"""What belongs to a stage alone, in their order.  The compiler and `launching` serve every stage that runs something;
they know no stage."""

NOUNS = ("submission.records", "submission.kernels.records", "submission.source", "running.evidence")
"""What stages hand on: records, with what can be asked of them."""
TEXTS = ("submission.lexical", "submission.effort")
"""What looks at the characters of a text, whoever has it, and bounds that."""


class Call(NamedTuple):
    """A call from one module of the package to another."""

    caller: str
    callee: str
    function: str

    def __str__(self) -> str:
        return f"{self.caller} → {self.callee}.{self.function}"


class Tracer:
    """Notes calls between modules of the package in `folder`, each once, in the order of the first."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[Call] = []
        self._folder = f"{folder}/"
        self._modules: dict[CodeType, str] = {}
        self._seen: set[tuple[CodeType, CodeType]] = set()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Note the calls of this thread that are made meanwhile."""
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        callee = self._module(frame.f_code) if event == "call" else ""
        caller = frame.f_back
        if not callee or frame.f_code.co_name == "<module>":
            return
        # What is between, a library's or a generated function, hands the call on.
        while caller is not None and not self._module(caller.f_code):
            caller = caller.f_back
        if caller is None or (caller.f_code, frame.f_code) in self._seen:
            return
        self._seen.add((caller.f_code, frame.f_code))
        call = Call(self._module(caller.f_code), callee, frame.f_code.co_name)
        if call.caller != callee and call not in self.calls:
            self.calls.append(call)

    def _module(self, code: CodeType) -> str:
        """Of a function in the package, "" for others."""
        if code not in self._modules:
            inside = code.co_filename.startswith(self._folder)
            name = code.co_filename[len(self._folder) : -len(".py")].replace("/", ".") if inside else ""
            self._modules[code] = name.removesuffix(".__init__")
        return self._modules[code]


def stage_of(module: str) -> str:
    """The stage that a module belongs to alone, "" for what serves several."""
    if module in (*NOUNS, *TEXTS):
        return ""
    return next((s for s, parts in STAGES.items() if any(f"{module}.".startswith(f"{p}.") for p in parts)), "")


def ways_back(calls: list[Call]) -> list[Call]:
    """The calls, by whomever, into a module of a stage when a later one had begun."""
    order = list(STAGES)
    found, now = [], 0
    for call in calls:
        stage = stage_of(call.callee)
        if stage and order.index(stage) < now:
            found.append(call)
        now = max(now, order.index(stage) if stage else 0)
    return found


def told(calls: list[Call]) -> Iterator[str]:
    """Lines: a heading where a stage begins, and the first call from each module to each other."""
    back = set(ways_back(calls))
    seen: set[tuple[str, str]] = set()
    now = ""
    for call in calls:
        stage = stage_of(call.callee)
        if stage and stage != now and call not in back:
            now = stage
            yield f"{stage}:"
        if call in back or call[:2] not in seen:
            yield f"  {call}{'   ← back' if call in back else ''}"
        seen.add((call.caller, call.callee))


def trace(path: Path, lab_id: str) -> list[Call]:
    """The calls of one grading on the emulator."""
    import grader
    from grader.grading import pipeline
    from grader.grading.options import GradeOptions
    from grader.lab import labs

    lab = replace(labs.find(lab_id), sweeps=())
    tracer = Tracer(Path(grader.__file__).parent)
    with tracer.at_work():
        pipeline.grade(path, lab, GradeOptions(backend="emulator", repairs=False))
    return tracer.calls


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="a student's folder or a .cu file")
    parser.add_argument("--lab", required=True)
    options = parser.parse_args()
    calls = trace(options.path, options.lab)
    for line in told(calls):
        print(line)
    back = ways_back(calls)
    print(f"{len({call.callee for call in calls})} modules entered, {len(back)} calls back into an earlier stage")
    return 1 if back else 0


if __name__ == "__main__":
    sys.exit(main())
