"""Cases in folders: what is handed in, the limit of what grading it may take, and what must come out.

`case.yaml` says what the case is about, the lab, and what is expected:

    points            the points earned, exactly
    points_at_most    … at most
    checks            {an id of a check: its status}
    says              a piece of text that the command's output or a message of the result has in it
    exit              of the command, one of these; [0, 1] where nothing is said
    refused           true: there is no result, as the file is not read

`variants` holds the same for files of which something else is expected.

Each `.cu` file beside it is handed in alone.  `named.cu` is the case as it was first seen, with all that follows the
marks; the others are variants, graded for their marks alone.
In these files `@{…}@` holds a Python expression, evaluated with the names of `pieces`; what comes of it is put there.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.attacks import measure
from tests.attacks.measure import Took
from tests.gpu.test_cheats import HEAD as CHEATING
from tests.marks_only import put_marks_only

HERE = Path(__file__).parent
RIGHT = Path(__file__).parents[2] / "submissions" / "ivanov" / "transpose.cu"
SECONDS = 20.0
MEGABYTES = 1000
"""Above what a right sample takes."""
WALL_S = 200.0
_EXPRESSION = re.compile(r"@\{(.+?)\}@")
_LAUNCHES = """float *d_in, *d_out;
    cudaMalloc(&d_in, 64 * 64 * sizeof(float));
    cudaMalloc(&d_out, 64 * 64 * sizeof(float));
    cudaMemset(d_in, 0, 64 * 64 * sizeof(float));
    transposeNaive<<<dim3(2, 2), dim3(32, 32)>>>(d_in, d_out, 64, 64);
    transposeShared<<<dim3(2, 2), dim3(32, 32)>>>(d_in, d_out, 64, 64);
    transposePadded<<<dim3(2, 2), dim3(32, 32)>>>(d_in, d_out, 64, 64);
    cudaDeviceSynchronize();
    std::vector<float> back(64 * 64);
    cudaMemcpy(back.data(), d_out, 64 * 64 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\\n", back[0]);
    cudaFree(d_in);
    cudaFree(d_out);"""


@dataclass(frozen=True, slots=True)
class Case:
    """One file of one case."""

    name: str
    source: Path
    lab: str
    expect: dict[str, Any]

    def text(self) -> str:
        """What is handed in."""
        return _EXPRESSION.sub(lambda match: str(eval(match[1], pieces())), self.source.read_text(encoding="utf-8"))


def cases() -> list[Case]:
    """All files of all cases."""
    found = []
    for path in sorted(HERE.glob("*/case.yaml")):
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
        for source in sorted(path.parent.glob("*.cu")):
            expect = said.get("variants", {}).get(source.stem, said["expect"])
            found.append(Case(f"{path.parent.name}/{source.stem}", source, said["lab"], expect))
    return found


@cache
def pieces() -> dict[str, Any]:
    """What expressions may use: the whole right file, its kernels, launches of these; rows of lines or of items;
    kernels with a variable that lives on from launch to launch."""
    whole = RIGHT.read_text(encoding="utf-8")
    kernels = whole[: whole.index("static bool matches")]
    return {
        "whole": whole,
        "kernels": kernels,
        "launches": _LAUNCHES,
        "lines": lambda count, line: "\n".join(line.replace("{n}", str(n)) for n in range(count)),
        "keeping": _keeping,
        "joined": lambda count, item: ", ".join(item.replace("{n}", str(n)) for n in range(count)),
    }


def _keeping(variable: str, before: str = "", behind: str = "", end: str = "") -> str:
    """Kernels that keep something in a `variable` from launch to launch, with what they do at three places."""
    return CHEATING.replace("float kept[1 << 24]", variable) % (before, behind, end)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The points earned, the status of each check that fails or is told of, and all that is said."""

    earned: float
    statuses: dict[str, str]
    said: str


def graded(text: str, lab: str, folder: Path, is_whole: bool = True) -> tuple[Took, Verdict | None]:
    """What grading takes, and the verdict; None where nothing was graded.

    is_whole: with sweeps, repairs and the report; else by `grade check`, which tells what does not pass.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, out = folder / "student.cu", folder / "out"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "grader"]
    if is_whole:
        command += [str(path), "--lab", lab, "--out", str(out), "--no-pdf"]
    else:
        put_marks_only(folder, lab, with_drawn=True)
        command += ["check", str(path), "--lab", lab, "--format", "json"]
    took = measure.run(command, WALL_S, folder)
    results = list(out.glob("**/result.json"))
    said = results[0].read_text() if results else "" if is_whole or not took.output.startswith("{") else took.output
    if not said:
        return took, None
    result = json.loads(said)
    statuses = {check["id"]: check["status"] for check in result.get("checks", ())}
    for finding in result.get("findings", ()):
        # What costs no points itself, as `compiles`, holds those of what it is asked for.
        is_failed = finding["lost"] or (finding["held"] and not finding["unjudged"])
        statuses |= {f"{variant}.{finding['check']}": "fail" for variant in finding["variants"] if is_failed}
    return took, Verdict(result["score"]["earned"], statuses, json.dumps(result, ensure_ascii=False))
