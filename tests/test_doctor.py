"""What the machine can do, as found on the machine that runs the tests."""

from __future__ import annotations

import ctypes
import platform
import sys
from dataclasses import replace
from typing import Any

import pytest

from grader import doctor
from grader.cli import main as cli
from grader.message import msg
from grader.programs.toolchain import zig
from grader.words import said

pytestmark = pytest.mark.started


def findings() -> dict[str, doctor.Tool]:
    told = [replace(f, name=said(f.name), found=said(f.found), advice=said(f.advice)) for f in doctor.examine()]
    return {str(finding.name): finding for finding in told}


def test_every_tool_is_examined() -> None:
    assert list(findings()) == [
        "Python",
        "operating system",
        "NVRTC",
        "ziglang and wasmtime",
        "Landlock",
        "GPU and driver",
        "Pango",
        "font with Cyrillic",
        "ncu",
        "compute-sanitizer",
    ]


def test_a_kernel_without_landlock_is_told_what_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def syscall(self, *_arguments: object) -> int:
            return -1

    real = ctypes.CDLL

    def loaded(name: str | None, *mode: Any, **options: Any) -> object:
        return Refusing() if name is None else real(name, *mode, **options)

    monkeypatch.setattr(ctypes, "CDLL", loaded)
    found = findings()["Landlock"]
    assert (found.state, found.found) == ("optional", "not in this kernel; #include lines are checked instead")


@pytest.mark.parametrize(
    ("release", "variable", "system", "state", "driver"),
    [
        ("6.8.0-45-generic", "", "Linux 6.8.0-45-generic", "ok", "apt install nvidia-driver-580"),
        ("6.8.0-45-generic", "podman", "Linux 6.8.0-45-generic", "ok", "--device nvidia.com/gpu=all"),
        ("5.15.153.1-microsoft-standard-WSL2", "", "WSL 2 (5.15", "ok", "installed in Windows (not in WSL"),
        ("4.4.0-19041-Microsoft", "", "WSL 1 (4.4", "optional", "wsl --set-version DISTRIBUTION 2"),
        # A container of Docker's on Windows: its kernel is that of WSL.
        ("5.15.153.1-microsoft-standard-WSL2", "docker", "Linux 5.15", "ok", "--device nvidia.com/gpu=all"),
    ],
)
def test_each_place_is_told_where_its_driver_belongs(
    release: str, variable: str, system: str, state: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In WSL the advice of other Linux systems would do harm: a Linux driver takes the place of that of Windows."""
    monkeypatch.setattr(platform, "release", lambda: release)
    monkeypatch.setattr("os.path.exists", lambda _path: False)
    monkeypatch.setenv("container", variable)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    found = findings()
    assert str(found["operating system"].found).startswith(system)
    assert found["operating system"].state == state
    assert (found["operating system"].advice == "") == (state == "ok")
    assert driver in str(found["GPU and driver"].advice)


def test_what_the_tests_themselves_need_is_found() -> None:
    found = findings()
    assert found["Python"].found == platform.python_version()
    assert found["NVRTC"].state == "ok"
    assert str(found["NVRTC"].found).startswith("13.")
    assert found["ziglang and wasmtime"].state == "ok"


def test_another_version_of_the_compiler_than_the_one_known_will_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zig, "VERSION", "0.0.1")
    found = findings()["ziglang and wasmtime"]
    assert found.state == "missing" and str(found.advice).startswith("pip install ziglang==0.0.1 ")


def test_what_is_missing_comes_with_advice() -> None:
    for finding in findings().values():
        assert (finding.state == "ok") == (finding.advice == ""), finding


def test_no_tool_on_the_path_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = findings()
    assert (found["ncu"].state, found["ncu"].found) == ("optional", "not installed")
    assert (found["compute-sanitizer"].state, found["compute-sanitizer"].found) == ("optional", "not installed")


def test_a_machine_without_pango_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a machine where the import fails for want of a library.
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    found = findings()["Pango"]
    assert found.state == "missing"
    assert str(found.advice).startswith("apt install libpango-1.0-0 ")


def test_a_machine_without_nvrtc_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    found = findings()
    assert found["NVRTC"].state == "missing"
    assert found["NVRTC"].advice == "pip install nvidia-cuda-nvrtc cuda-python"
    assert (found["GPU and driver"].state, found["GPU and driver"].found) == ("optional", "no NVIDIA driver")


def test_the_table_ends_with_what_it_comes_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = doctor.Tool("Here", msg("doctor.for_python"), "ok", "1")
    pango = doctor.Tool("Pango", msg("doctor.for_pdf"), "missing", "none", "apt install pango")
    gpu = doctor.Tool("GPU", msg("doctor.for_gpu"), "optional", "none", "a driver")
    monkeypatch.setattr(doctor, "examine", lambda: [here, pango, gpu])
    assert cli.run(["doctor"]) == 0
    lines = capsys.readouterr().out.rstrip().splitlines()
    assert lines[-2:] == ["Missing for grading or reports: Pango.", "Optional, not found: GPU."]
    monkeypatch.setattr(doctor, "examine", lambda: [here])
    cli.run(["doctor"])
    assert capsys.readouterr().out.rstrip().endswith("Everything that grading and reports need is here.")
