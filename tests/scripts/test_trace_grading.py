"""A grading goes from stage to stage, and no later one calls back into an earlier one's modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trace_grading", ROOT / "scripts" / "trace_grading.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "lab"),
    [
        ("submissions/petrova", "transpose"),
        # Wrong, so that it is explained; compiled anew for every size.
        ("tests/kernels/box-blur/bad/missing_guard.cu", "box-blur"),
        ("tests/kernels/transpose/good/constants_and_globals.cu", "transpose"),
    ],
)
def test_no_stage_calls_back(script: ModuleType, path: str, lab: str) -> None:
    calls = script.trace(ROOT / path, lab)
    assert [str(call) for call in script.ways_back(calls)] == []
    stages = [stage for call in calls if (stage := script.stage_of(call.callee))]
    assert list(dict.fromkeys(stages)) == ["read", "run", "judge", "record", "words"]
    # What is noted is real: the kernel was run, and compiled for it.
    entered = {call.callee for call in calls}
    assert {"launching.emulator", "launching.trial", "compiler.process", "checks.correct"} <= entered


def test_a_call_back_is_found_and_marked(script: ModuleType) -> None:
    forward = script.Call("grading.pipeline", "running.runs", "run_variant")
    back = script.Call("launching.kernel", "submission.cpp.parse", "parse")
    noun = script.Call("launching.kernel", "submission.records", "program")
    assert script.ways_back([back, forward, noun]) == []
    assert script.ways_back([forward, noun, back]) == [back]
    assert list(script.told([forward, back])) == ["run:", f"  {forward}", f"  {back}   ← back"]


def test_stages_are_of_modules_that_there_are(script: ModuleType) -> None:
    names = [*script.NOUNS, *(part for parts in script.STAGES.values() for part in parts)]
    for name in names:
        path = ROOT / "grader" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
