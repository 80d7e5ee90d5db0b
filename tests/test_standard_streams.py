"""The command's streams as others may have left them: closed, in an old encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NO_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


SAMPLES = ROOT / "submissions"


def grade(cwd: Path, arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`grade` by a shell, which can close its streams."""
    command = f"exec {sys.executable} -m grader {arguments}"
    own = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(["sh", "-c", command], capture_output=True, env=own, cwd=cwd, timeout=1200)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_nothing(closed: str, tmp_path: Path) -> None:
    run = grade(tmp_path, f"labs {closed}")
    assert (run.returncode, run.stderr) == (0, b"")
    refused = grade(tmp_path, f"no-such-folder --lab transpose {closed}")
    assert refused.returncode == 2


@pytest.mark.slow
def test_a_locale_that_lacks_letters_gets_question_marks_and_json_stays_utf8() -> None:
    lines = grade(SAMPLES, "check petrova --lab transpose --lang ru", **NO_UTF8)
    assert lines.returncode == 1
    assert b" 76 " in lines.stderr and lines.stderr.count(b"\n") == 1
    assert lines.stdout.startswith(b"petrova/transpose.cu:44:5: error: ???")
    told = json.loads(grade(SAMPLES, "check petrova --lab transpose --lang ru --format json", **NO_UTF8).stdout)
    assert told["findings"][0]["message"].startswith("Конфликт банков")
