"""What a confined process can still do, tried out in processes of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.processes.limits import landlock_version

pytestmark = pytest.mark.started

ROOT = Path(__file__).parent.parent.parent


def run(code: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom grader.processes import limits\n{code}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(landlock_version() < 1, reason="this kernel has no Landlock")
def test_only_the_given_folders_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "a").write_text("inside")
    (tmp_path / "b").write_text("outside")
    code = f"""
import socket
print(limits.confine_files([{str(tmp_path / "allowed")!r}]))
print(open({str(tmp_path / "allowed" / "a")!r}).read())
for attempt in (
    lambda: open({str(tmp_path / "b")!r}),
    lambda: open({str(tmp_path / "allowed" / "new")!r}, "w"),
    lambda: open("/proc/self/environ"),
    lambda: __import__("os").unlink({str(tmp_path / "b")!r}),
    lambda: __import__("os").listdir("/"),
    lambda: __import__("os").execv("/bin/true", ["true"]),
):
    try:
        attempt()
        print("done")
    except PermissionError:
        print("denied")
"""
    assert run(code).stdout.split() == ["True", "inside", *["denied"] * 6]


def test_limits(tmp_path: Path) -> None:
    code = f"""
limits.bound_for_good(file_bytes=0, descriptors=64, address_bytes=2 << 30, data_bytes=640 << 20)
try:
    bytearray(3 << 30)
except MemoryError:
    print("no memory")
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open({str(tmp_path / "x")!r}, "wb") as f:
        f.write(b"x")
except OSError:
    print("no file")
"""
    assert run(code).stdout.split("\n")[:2] == ["no memory", "no file"]


def test_no_more_processor_time_is_allowed_than_the_shell_does() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
for seconds in (1000, 3):
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits.allow_cpu_seconds(seconds)
    print(*resource.getrlimit(resource.RLIMIT_CPU), int(used.ru_utime + used.ru_stime))
"""
    first, second = ([int(word) for word in line.split()] for line in run(code).stdout.splitlines())
    assert first[:2] == [20, 20]
    # So many more than it had used, rounded up.
    assert second[1] == 20 and second[0] - second[2] in (4, 5)


def test_processor_time_ends() -> None:
    result = run("limits.allow_cpu_seconds(0)\nwhile True: pass")
    assert result.returncode == -24  # SIGXCPU
