"""What this machine can do: every tool that grading can use, whether it is here, and what to install if not."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from grader.compiler.worker import brings_headers, header_folders, matching_folder
from grader.message import Message, msg
from grader.processes.limits import IS_LINUX, landlock_version
from grader.programs.toolchain import zig

OLDEST_TIMED = (7, 5)
"""Compute capability: CUDA 13 compiles for Turing and newer."""
_CAPABILITY = "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY"

State = Literal["ok", "missing", "optional"]
Place = Literal["linux", "container", "wsl", "wsl1", "windows", "macos"]
"""The places that docs/places.md speaks of."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.  state: "ok"; "missing": grading or a report needs it; "optional": something is left out without it.

    name, found, advice: text that no language changes, or a message.
    found: its version, or what came of looking for it.  advice: what to install, "" when nothing is needed.
    """

    name: str | Message
    purpose: Message
    state: State
    found: str | Message
    advice: str | Message = ""


def examine() -> list[Tool]:
    """Everything worth knowing of this machine, most important first."""
    return list(_tools())


def _tools() -> Iterator[Tool]:
    for probe in (_python, _system, _nvrtc, _programs, _landlock, _gpu, _weasyprint, _cyrillic_font, _ncu, _sanitizer):
        yield probe()


def _python() -> Tool:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Tool("Python", msg("doctor.for_python"), "ok", version)


def _place() -> Place:
    if sys.platform == "win32" or (sys.platform == "linux" and not IS_LINUX):
        return "windows"
    if sys.platform == "darwin":
        return "macos"
    # A read-only root hides podman's file; the variable is of the interface that containers tell of themselves by
    # (https://systemd.io/CONTAINER_INTERFACE/), which Docker does not follow.
    inside = bool(os.environ.get("container")) or any(  # noqa: SIM112
        map(os.path.exists, ("/run/.containerenv", "/.dockerenv"))
    )
    if inside:
        return "container"
    release = platform.release()
    if "microsoft" not in release.lower():
        return "linux"
    # WSL 1 is no kernel but stands in for one: "4.4.0-19041-Microsoft", where WSL 2 has "…-microsoft-standard-WSL2".
    return "wsl1" if release.startswith("4.4.") and release.endswith("-Microsoft") else "wsl"


def _system() -> Tool:
    """Return which of the places that docs/places.md describes this is."""
    name, purpose = msg("doctor.system"), msg("doctor.for_system")
    release = platform.release()
    place = _place()
    if place == "windows":
        return Tool(name, purpose, "optional", f"Windows {release}", msg("doctor.advice_windows"))
    if place == "macos":
        return Tool(name, purpose, "optional", f"macOS {platform.mac_ver()[0]}", msg("doctor.advice_macos"))
    if place == "wsl1":
        return Tool(name, purpose, "optional", f"WSL 1 ({release})", msg("doctor.advice_wsl1"))
    if place == "wsl":
        return Tool(name, purpose, "ok", f"WSL 2 ({release})")
    machine = f"Linux {release}, {platform.machine()}"
    return Tool(name, purpose, "ok", msg("doctor.container", system=machine) if place == "container" else machine)


def _nvrtc() -> Tool:
    purpose = msg("doctor.for_nvrtc")
    try:
        from cuda.bindings import nvrtc

        status, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:
        return Tool("NVRTC", purpose, "missing", _first_line(error), "pip install nvidia-cuda-nvrtc cuda-python")
    if int(status) != 0:
        return Tool("NVRTC", purpose, "missing", str(status), "pip install nvidia-cuda-nvrtc")
    if brings_headers() or matching_folder(header_folders(os.environ, sys.path), (int(major), int(minor))):
        return Tool("NVRTC", purpose, "ok", f"{major}.{minor}")
    without = msg("doctor.no_headers", version=f"{major}.{minor}")
    advice = "pip install --upgrade nvidia-cuda-nvrtc"
    return Tool("NVRTC", purpose, "optional", without, advice)


def _programs() -> Tool:
    purpose = msg("doctor.for_programs")
    advice = f"pip install ziglang=={zig.VERSION} wasmtime"
    versions = []
    for package in ("ziglang", "wasmtime"):
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            return Tool(msg("doctor.programs"), purpose, "missing", msg("doctor.lacks", package=package), advice)
    if metadata.version("ziglang") != zig.VERSION:
        return Tool(msg("doctor.programs"), purpose, "missing", ", ".join(versions), advice)
    return Tool(msg("doctor.programs"), purpose, "ok", ", ".join(versions))


def _gpu() -> Tool:
    purpose = msg("doctor.for_gpu")
    name = msg("doctor.gpu")
    # The driver is not always a thing of the system that the grader runs on.
    advice = {
        "container": msg("doctor.advice_gpu_container"),
        "wsl": msg("doctor.advice_gpu_wsl"),
        "wsl1": msg("doctor.advice_wsl1"),
    }.get(_place(), msg("doctor.advice_gpu"))
    try:
        from cuda.bindings import driver

        status = driver.cuInit(0)[0]
        if int(status) != 0:
            return Tool(name, purpose, "optional", status.name, advice)
        count = driver.cuDeviceGetCount()[1]
        if count == 0:
            return Tool(name, purpose, "optional", msg("doctor.no_gpu"), advice)
        device = driver.cuDeviceGet(0)[1]
        model = driver.cuDeviceGetName(128, device)[1].split(b"\0")[0].decode(errors="replace")
        version = driver.cuDriverGetVersion()[1]
        capability = tuple(
            driver.cuDeviceGetAttribute(getattr(driver.CUdevice_attribute, f"{_CAPABILITY}_{part}"), device)[1]
            for part in ("MAJOR", "MINOR")
        )
    except (ImportError, RuntimeError, OSError):
        return Tool(name, purpose, "optional", msg("doctor.no_driver"), advice)
    if capability < OLDEST_TIMED:
        # The compiler makes no code for it.
        old = msg("doctor.old_gpu", model=model, capability=".".join(map(str, capability)))
        return Tool(name, purpose, "optional", old, msg("doctor.advice_old_gpu"))
    several = f" (+{count - 1})" if count > 1 else ""
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}{several}"
    return Tool(name, purpose, "ok", msg("pieces.listed", items=[model, cuda, *_gpu_state(device)], more=False))


def _gpu_state(device: object) -> list[Message]:
    """Return driver and SM clock, now and at most, from NVML; [] where it does not tell."""
    try:
        from cuda.bindings import driver, nvml

        from grader.driver import uuid_text

        nvml.init_v2()
        uuid = driver.cuDeviceGetUuid(device)[1].bytes
        handle = nvml.device_get_handle_by_uuid(f"GPU-{uuid_text(uuid)}")
        kind = nvml.ClockType.CLOCK_SM
        now, most = nvml.device_get_clock_info(handle, kind), nvml.device_get_max_clock_info(handle, kind)
        return [
            msg("doctor.driver", version=nvml.system_get_driver_version()),
            msg("doctor.sm_clock", now=now, most=most),
        ]
    except Exception:
        # The bindings raise a class per error, and older ones lack NVML; the GPU itself works without.
        return []


def _weasyprint() -> Tool:
    from grader.report import pdf

    purpose = msg("doctor.for_pdf")
    packages = "apt install " + " ".join(pdf.DEBIAN_PACKAGES)
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        return Tool("Pango", purpose, "missing", str(error), packages)
    if ctypes.util.find_library("harfbuzz-subset") is None:
        without = msg("doctor.no_subset", version=_pango_version())
        return Tool("Pango", purpose, "optional", without, "apt install libharfbuzz-subset0")
    return Tool("Pango", purpose, "ok", _pango_version())


def _pango_version() -> str | Message:
    library = ctypes.util.find_library("pango-1.0")
    if library is None:
        return msg("doctor.found")
    version = ctypes.CDLL(library).pango_version_string
    version.restype = ctypes.c_char_p
    return str(version().decode())


def _cyrillic_font() -> Tool:
    """Ask fontconfig, as Pango does; a missing font shows as boxes in the PDF."""
    name, purpose = msg("doctor.font"), msg("doctor.for_font")
    advice = "apt install fonts-dejavu-core"
    tool = shutil.which("fc-list")
    if tool is not None:
        families = _output([tool, ":lang=ru", "family"]).splitlines()
        if not families:
            return Tool(name, purpose, "missing", msg("doctor.none"), advice)
        names = sorted({family.split(",")[0] for family in families})
        return Tool(name, purpose, "ok", "DejaVu Sans" if "DejaVu Sans" in names else names[0])
    font = next(Path("/usr/share/fonts").glob("**/DejaVuSans.ttf"), None)
    if font is None:
        return Tool(name, purpose, "missing", msg("doctor.none_in"), advice)
    return Tool(name, purpose, "ok", "DejaVu Sans")


def _ncu() -> Tool:
    purpose = msg("doctor.for_counters")
    return _tool("ncu", ["ncu", "--version"], purpose, "apt install nsight-compute")


def _sanitizer() -> Tool:
    purpose = msg("doctor.for_memory")
    return _tool("compute-sanitizer", ["compute-sanitizer", "--version"], purpose, msg("doctor.advice_sanitizer"))


def _tool(name: str, command: list[str], purpose: Message, advice: str | Message) -> Tool:
    path = shutil.which(command[0])
    if path is None:
        return Tool(name, purpose, "optional", msg("doctor.not_installed"), advice)
    lines = [line for line in _output([path, *command[1:]]).splitlines() if "ersion" in line]
    return Tool(name, purpose, "ok", lines[0].strip() if lines else path)


def _landlock() -> Tool:
    """Return Landlock's ABI version from the kernel itself, and what is not confined without it."""
    purpose = msg("doctor.for_landlock")
    abi = landlock_version()
    if abi > 0:
        return Tool("Landlock", purpose, "ok", msg("doctor.abi", version=abi))
    if not IS_LINUX:
        return Tool("Landlock", purpose, "optional", msg("doctor.unconfined"), msg("doctor.advice_elsewhere"))
    advice = msg("doctor.advice_landlock")
    return Tool("Landlock", purpose, "optional", msg("doctor.no_landlock"), advice)


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
