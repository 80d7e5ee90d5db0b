"""Grading where the system lacks what Linux has: no limits, no handed-over descriptors, no poll, no signals of Unix.

What native Windows has is imitated: a `sitecustomize` in an environment of its own takes the rest away from the grader
and from every process that it starts.  That Windows itself starts them is not shown by this.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.autograders import wheel
from tests.autograders.test_services import furnish
from tests.marks_only import put_marks_only

pytestmark = pytest.mark.started

SAMPLES = Path(__file__).parents[2] / "submissions"

AS_ON_WINDOWS = """
import ctypes, os, select, signal, socket, subprocess, sys

for name in ("resource", "fcntl", "pwd", "grp"):
    sys.modules[name] = None
for module, names in {
    os: ("fork", "memfd_create", "pidfd_open", "killpg", "sched_getaffinity", "O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW",
         "O_PATH", "sysconf", "getuid", "geteuid", "pread"),
    select: ("poll", "epoll", "POLLIN", "POLLOUT"),
    socket: ("send_fds", "recv_fds", "MSG_DONTWAIT", "AF_UNIX"),
    signal: ("SIGHUP", "SIGXFSZ", "SIGXCPU", "SIGSYS", "SIGBUS"),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

_start = subprocess.Popen.__init__

def start(self, *words, **options):
    for name in ("pass_fds", "start_new_session", "preexec_fn"):
        if options.get(name):
            raise ValueError(f"{name} is not supported on Windows platforms")
    options.pop("creationflags", None)
    _start(self, *words, **options)

subprocess.Popen.__init__ = start

_library = ctypes.CDLL.__init__

def load(self, name, *words, **options):
    if name is None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")
    _library(self, name, *words, **options)

ctypes.CDLL.__init__ = load
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`grade` in an environment whose Python has no more than Windows."""
    root = tmp_path_factory.mktemp("elsewhere")
    furnish(root / "venv")
    (root / wheel().name).write_bytes(wheel().data)
    subprocess.run([sys.executable, "-m", "venv", root / "venv"], check=True)
    pip: list[str | Path] = [
        root / "venv" / "bin" / "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        root / wheel().name,
    ]
    subprocess.run(pip, check=True)
    (site,) = (root / "venv" / "lib").glob("python*/site-packages")
    (site / "sitecustomize.py").write_text(AS_ON_WINDOWS, "utf-8")
    return root / "venv" / "bin" / "grade"


def run(grade: Path, cwd: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(grade), *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1800, stdin=subprocess.DEVNULL)


@pytest.mark.slow
def test_the_same_marks_without_what_linux_has(elsewhere: Path, tmp_path: Path) -> None:
    found = run(elsewhere, tmp_path, "check", SAMPLES / "petrova", "--lab", "transpose", "--lang", "en")
    assert found.returncode == 1
    assert (
        found.stderr.endswith("petrova: ✗ needs work: 76 of 91 points, 5 pending\n") and found.stderr.count("\n") == 1
    )
    assert "transpose.cu:44:5: error: 32-way bank conflict" in found.stdout
    put_marks_only(tmp_path)
    graded = run(elsewhere, tmp_path, SAMPLES / "petrova", SAMPLES / "ivanov", "--lab", "transpose", "--no-pdf")
    assert graded.returncode == 1, graded.stderr
    assert "76 of 91" in graded.stdout
    assert "95 of 100" in graded.stdout
    assert (tmp_path / "reports" / "ivanov" / "transpose" / "report.html").is_file()


@pytest.mark.slow
def test_what_is_not_confined_or_not_there_is_told(elsewhere: Path, tmp_path: Path) -> None:
    told = run(elsewhere, tmp_path, "doctor", "--lang", "en")
    assert told.returncode == 0, told.stderr
    assert "Windows" in told.stdout
    assert "not on this system:" in told.stdout
    (tmp_path / "x.cu").write_text("int main() { return 0; }")
    ran = run(elsewhere, tmp_path, "run", "x.cu", "--lang", "en")
    assert ran.returncode == 2
    assert "on Linux only" in ran.stderr
    # An include of a file outside is refused without Landlock.
    (tmp_path / "transpose.cu").write_text('#include "/etc/passwd"\n__global__ void naive() {}\n')
    refused = run(elsewhere, tmp_path, "check", "transpose.cu", "--lang", "en")
    assert "root:" not in refused.stdout + refused.stderr
