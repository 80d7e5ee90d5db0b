"""Device code of a program → PTX by the compiler of its host code: what NVRTC cannot give.

Templates over a lambda's or a local type, kernels that a template of the host launches: both halves come from one
compiler here, so that every kernel which the host registers is there, by the name that it is registered by.  It has no
library of arithmetic: functions of that are NVRTC's, see `missing`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.compiler.headers import reads_beyond
from grader.processes.limits import landlock_version
from grader.programs.toolchain.advance import RUNTIME, device_half, precompiled, thrust_folder
from grader.programs.toolchain.compile import (
    Diagnostic,
    compile_file,
    headers_in_advance,
    too_long,
    uses_thrust,
    written,
)
from grader.programs.toolchain.zig import Library

MAX_PTX_BYTES = 48 << 20

_FILE = re.compile(r'^\t\.file\t(\d+) "([^"]*)"(?: "([^"]*)")?$', re.M)
_LOC = re.compile(r"^(\t\.loc\t)(\d+) (\d+) (\d+)[ \t]*//(.*)$", re.M)
_SITE = re.compile(r"@\[ (.+?):(\d+):(\d+)")
# `grader_nvcc::sinf(float)` and its like, declared in `grader_device_math.h`.
_WANTED = re.compile(r"^\.extern \.func .*?\b(_ZN11grader_nvcc(\d+)(\w+))\n\([^)]*\)\n;\n", re.M | re.S)
_TYPES = {
    "f": "float", "d": "double", "i": "int", "j": "unsigned", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "Pf": "float *", "Pd": "double *", "Pi": "int *", "PKf": "const float *",
    "PKd": "const double *",
}  # fmt: skip
# `S0_`: the pointer that came before, once more.
_TYPE = re.compile(r"PK?[a-z]|S\d*_|[a-z]")
_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.M)
_LINES = re.compile(r"^\t\.(?:loc|file)\b.*\n?", re.M)


@dataclass(frozen=True, slots=True)
class DevicePtx:
    """PTX of a file, or "" and why there is none, as in `HostProgram`."""

    ptx: str
    diagnostics: tuple[Diagnostic, ...] = ()
    reason: str = ""


def compile_device(
    unit: str,
    units: Sequence[str],
    files: Mapping[str, str],
    library: Library,
    architecture: str,
    options: Sequence[str] = (),
) -> DevicePtx:
    """Compile the device half of the file `unit` of a program.

    units, files, options: as `compile.compile_program` takes them, kernels with their bodies.
    architecture: "compute_75".
    """
    if too_long(files) is not None:
        return DevicePtx("", reason="long")
    if landlock_version() < 1 and any(reads_beyond(text) for text in files.values()):
        return DevicePtx("", reason="beyond")
    half = device_half(architecture, thrust_folder() if uses_thrust(files) else None)
    headers = headers_in_advance(files)
    with written(files) as folder:
        more = [f"-fdebug-prefix-map={folder}/src/=", f"-fdebug-prefix-map={folder}/src=.", *options]
        for read in dict.fromkeys((headers, RUNTIME)):
            with precompiled(read, library, half) as first:
                done = compile_file(unit, units, folder, library, half, first, "device.ptx", more)
            if done.reason != "errors":
                break
        if done.reason:
            return DevicePtx("", done.diagnostics, done.reason)
        output = folder / "out" / "device.ptx"
        if output.stat().st_size > MAX_PTX_BYTES:
            return DevicePtx("", reason="limit")
        return DevicePtx(_on_own_lines(output.read_text(encoding="utf-8", errors="replace"), unit))


def _on_own_lines(ptx: str, unit: str) -> str:
    """`ptx` with what was inlined from headers on the line of the program's file that it was inlined into."""
    files = {match[1]: match[3] or match[2] for match in _FILE.finditer(ptx)}
    own = next((number for number, name in files.items() if name.removeprefix("./") == unit), "")

    def placed(loc: re.Match[str]) -> str:
        if loc[2] == own or not own:
            return f"{loc[1]}{loc[2]} {loc[3]} {loc[4]}"
        sites = (site for site in _SITE.finditer(loc[5]) if site[1].removeprefix("./") == unit)
        site = next(sites, None)
        return f"{loc[1]}{own} {site[2]} {site[3]}" if site else f"{loc[1]}{loc[2]} {loc[3]} {loc[4]}"

    return _LOC.sub(placed, ptx)


def missing(ptx: str) -> str:
    """What NVRTC is to compile, with relocatable code, so that `ptx` lacks no function; "" where it lacks none."""
    lines = []
    for match in _WANTED.finditer(ptx):
        length = int(match[2])
        name, types = match[3][:length], _TYPE.findall(match[3][length:].removeprefix("E"))
        pointer = next((code for code in types if code.startswith("P")), "")
        parameters = ", ".join(f"{_TYPES.get(code, _TYPES.get(pointer))} a{n}" for n, code in enumerate(types))
        arguments = ", ".join(f"a{number}" for number in range(len(types)))
        lines.append(
            f"namespace grader_nvcc {{ __device__ auto {name}({parameters}) {{ return ::{name}({arguments}); }} }}"
        )
    return "\n".join(lines)


def joined(ptx: str, functions: str) -> str:
    """`ptx` with the `functions` that were `missing`, as NVRTC has written them: their lines are nobody's."""
    functions = _LINES.sub("", _HEADER.sub("", functions))
    functions = functions.partition("\t.section")[0].replace(".visible .func", ".func")
    start = _HEADER.search(ptx)
    end = ptx.find("\n", ptx.rfind(".address_size")) + 1
    assert start is not None
    # What they are made of, tables among it, stands before what uses it.
    return ptx[:end] + functions + _WANTED.sub("", ptx[end:])
