"""Gradings of one file while it is written: each comes out as if it were the first, byte by byte."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.grading.options import GradeOptions, Warm
from grader.grading.pipeline import grade
from grader.lab import labs
from grader.lab.records import Lab
from grader.result import encode

ROOT = Path(__file__).parent.parent.parent
Edit = Callable[[str], str]
SMALL = 64


def in_a_kernel(text: str, statement: str) -> str:
    """`text` with a statement at the beginning of its first kernel's body."""
    begin = text.index("{", re.search(r"^(?:template.*\n)?__global__", text, re.M).start()) + 1  # type: ignore[union-attr]
    return text[:begin] + statement + text[begin:]


EDITS: dict[str, Edit] = {
    "nothing": lambda text: text,
    "a line above": lambda text: "// a line more\n" + text,
    "a comment at the end": lambda text: text + "// the end\n",
    "a kernel, on its line": lambda text: in_a_kernel(text, " if (blockIdx.z > 5) return;"),
    "a kernel, a line more": lambda text: in_a_kernel(text, "\n    if (blockIdx.z > 6) return;\n"),
    "a kernel, a space": lambda text: in_a_kernel(text, "  "),
    "a kernel that does not compile": lambda text: in_a_kernel(text, " nonsense;"),
    "a kernel that is wrong": lambda text: in_a_kernel(text, " if (threadIdx.x == 3) return;"),
    "another kernel's name": lambda text: re.sub(r"\btransposeNaive\b|\bmulNaive\b", "naive_one", text),
    "main": lambda text: text.replace("return 0;", "fflush(stdout); return 0;"),
    "main, a line and a comment more": lambda text: re.sub(
        r"(int main\([^{]*\{)", r"/* begins\n   here */ \1\n\n    // and goes on\n", text
    ),
    "blank lines in calls": lambda text: re.sub(r"(cudaM\w+\()", r"\1\n\n    ", text),
    "lines are data": lambda text: text.replace("int main(", "static int here = __LINE__;\nint main("),
    "main leaks": lambda text: re.sub(r"cudaFree\(\w+\);", "", text, count=1),
    "a macro": lambda text: re.sub(r"(#define (?:TILE|BLOCK)\w*) \d+", r"\1 16", text),
    "a macro above": lambda text: "#define UNUSED 3\n" + text,
    "a device variable": lambda text: in_a_kernel(text, " counted = 1;").replace(
        "__global__", "__device__ int counted;\n__global__", 1
    ),
    "its lines run by Windows": lambda text: text.replace("\n", "\r\n"),
    "a header": lambda text: '#include "mine.cuh"\n' + in_a_kernel(text, " if (mine() > 5) return;"),
}
HEADERS = ("__device__ int mine()\n{\n    return blockIdx.z;\n}\n", "__device__ int mine()\n{\n\n    return 1;\n}\n")


@contextmanager
def without_stored_runs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """Runs of programs are kept nowhere but in memory."""
    with monkeypatch.context() as patch:
        patch.setattr("grader.programs.remembered.default_folder", lambda: folder)
        patch.setattr("grader.programs.remembered.Stored.get", lambda *_: None)
        patch.setattr("grader.programs.remembered.Stored.put", lambda *_: None)
        yield


def without_sweeps(lab: str) -> Lab:
    return replace(labs.find(lab), sweeps=(), timing=None)


def at_small_sizes(lab: Lab) -> Lab:
    """At few and small ones: it is asked whether two gradings are the same, not what they are."""
    usual = lab.cases["emulator"]
    small = {name: min(value, SMALL) if value % SMALL == 0 else value for name, value in usual.observe.items()}
    few = replace(usual, correct=usual.correct[:1], ragged=usual.ragged[:1], observe=small)
    return replace(lab, cases={**lab.cases, "emulator": few})


def graded(path: Path, lab: Lab, warm: Warm | None) -> bytes:
    return encode(grade(path, lab, GradeOptions(backend="emulator", repairs=False), warm=warm))


def compared(
    lab: str, student: str, names: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Edit after edit, graded in one warm place and in a fresh one."""
    written = (ROOT / "submissions" / student / f"{lab}.cu").read_text("utf-8")
    file = folder / f"{lab}.cu"
    small = at_small_sizes(without_sweeps(lab))
    with without_stored_runs(monkeypatch, folder), Warm() as warm:
        for name in names[:most]:
            text = written
            for one in name.split(" + "):
                text = EDITS[one](text)
            (folder / "mine.cuh").write_text(HEADERS[len(text) % 2], "utf-8")
            file.write_bytes(text.encode())
            assert graded(file, small, warm) == graded(file, small, None), (lab, name)


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "student"), [("transpose", "petrova"), ("matmul", "ivanov"), ("box-blur", "ivanov")])
def test_every_save_is_graded_as_if_it_were_the_first(
    lab: str, student: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(lab)
    names = [name for name in EDITS if name != "a header"]
    chance.shuffle(names)
    pairs = [" + ".join(chance.sample(names, 2)) for _ in range(4)]
    compared(lab, student, ["a header", *names, "a header", *pairs], tmp_path, monkeypatch, 10)


@pytest.mark.usefixtures("compiled_anew")
def test_a_line_above_runs_nothing_but_the_drawn_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a kernel that is changed does not have the program compiled again; with its results the program is run."""
    from grader.launching import emulator
    from grader.programs import execution
    from grader.programs.sandbox.process import ProgramProcess

    made: list[str] = []

    def counting(owner: object, name: str, said: Callable[..., str]) -> None:
        real = getattr(owner, name)

        def counted(*arguments: object, **named: object) -> object:
            made.append(said(*arguments))
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)

    counting(emulator._Launches, "run", lambda _self, request: "launch")
    counting(execution, "compile_program", lambda *_: "compiled")
    counting(ProgramProcess, "run", lambda *_: "run")
    transpose = without_sweeps("transpose")
    file = tmp_path / "transpose.cu"
    written = (ROOT / "submissions" / "ivanov" / "transpose.cu").read_text("utf-8")
    with without_stored_runs(monkeypatch, tmp_path), Warm() as warm:

        def saved(text: str) -> tuple[int, set[str]]:
            made.clear()
            file.write_text(text, "utf-8")
            graded(file, transpose, warm)
            return made.count("launch"), set(made) - {"launch"}

        first, parts = saved(written)
        assert (first > 20, parts) == (True, {"compiled", "run"})
        launches, parts = saved("// above\n" + written)
        # Of each of three kernels the drawn sizes, and what is traced.
        assert (launches < first / 2, parts) == (True, set())
        # Of host code comments and blanks are no change either; what it does is.
        assert saved(written.replace("int main(", "/* begins\n   here */ int  main("))[1] == set()
        more = written.replace("int main(", "static int more = 1; int main(")
        # It was expected to do what it did: what followed from that stands.
        assert saved(more) == (launches, {"compiled", "run"})
        # Where it does something else all is graded by that.
        other = more.replace("block(TILE, TILE)", "block(TILE, TILE / 4)")
        assert saved(other)[0] > launches
        assert graded(file, transpose, warm) == graded(file, transpose, None)
        changed, parts = saved(in_a_kernel(written, " if (blockIdx.z > 5) return;"))
        assert (launches < changed < first, parts) == (True, {"run"})
        # It was run, so that its lines may move again.
        assert saved("// above\n" + in_a_kernel(written, " if (blockIdx.z > 5) return;"))[1] == set()


@pytest.mark.usefixtures("compiled_anew")
def test_a_program_that_ran_another_day_is_ready_for_its_first_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its run came to lies on the disk; what it was made into is made while the first verdict is read."""
    from grader.programs.toolchain.compile import HostProgram, compile_program

    compiled: list[object] = []

    def counted(*asked: Any) -> HostProgram:
        compiled.append(asked)
        return compile_program(*asked)

    monkeypatch.setattr("grader.programs.execution.compile_program", counted)
    monkeypatch.setattr("grader.programs.remembered.default_folder", lambda: tmp_path / "runs")
    file = tmp_path / "transpose.cu"
    shutil.copy(ROOT / "submissions" / "petrova" / "transpose.cu", file)
    small = at_small_sizes(without_sweeps("transpose"))
    fresh = graded(file, small, None)
    assert len(compiled) == 1
    with Warm() as warm:
        assert graded(file, small, warm) == fresh
        # What was begun beside has come to its end.
        warm.beside.start(lambda: None).result()
        assert len(compiled) == 2
        file.write_text(in_a_kernel(file.read_text("utf-8"), " if (blockIdx.z > 5) return;"), "utf-8")
        graded(file, small, warm)
    assert len(compiled) == 2
