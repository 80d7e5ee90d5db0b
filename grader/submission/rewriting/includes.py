"""Headers that a file includes: NVRTC's, the host's, and the submission's own, which are looked for."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.device_headers import OURS, is_bundled
from grader.files import kind_of, real
from grader.submission.cpp.tree import Item, ParsedFile
from grader.submission.effort import spend

# Thrust and whole-device CUB algorithms are called from host code.
_HOST_ONLY_HEADERS = re.compile(r"thrust/.*|cub/(cub\.cuh|device/.*)")
# The toolkit's and the samples' headers: host code, or what NVRTC knows without them.
_TOOLKIT_HEADERS = re.compile(
    r"(cuda|cuda_runtime|cuda_runtime_api|cuda_profiler_api|cuda_device_runtime_api|device_launch_parameters"
    r"|device_functions|sm_\w+|vector_functions|driver_types|host_defines|curand|cublas(_v2)?|cufft|nvToolsExt|helper_\w+"
    r"|device_atomic_functions|math_functions|builtin_types|channel_descriptor|cudaProfiler|texture_fetch_functions"
    r"|exception|windows|omp|mpi|nvtx3/.*|crt/.*)\.h(pp)?|thrust/.*|cub/.*"
)
_STANDARD_HEADERS = re.compile(
    r"(assert|complex|conio|ctype|errno|fenv|float|getopt|inttypes|iso646|limits|locale|malloc|math|memory|process"
    r"|pthread|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|tgmath|time|unistd|wchar"
    r"|sys/(time|types|stat|resource))\.h"
)


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` in a file: `kind` as `header_kind` tells it; `is_needed`: nobody but the submission has it."""

    name: str
    line: int
    kind: str
    is_needed: bool


def include_in(parsed: ParsedFile, item: Item) -> Include | None:
    """The include that an item of the file is; None where it is another item, or a macro names the header."""
    path = item.node.child_by_field_name("path") if item.kind == "include" else None
    if path is None or path.type not in {"system_lib_string", "string_literal"}:
        return None
    name = parsed.text(path)[1:-1].strip()
    is_needed = path.type == "string_literal" and name not in OURS
    return Include(name, path.start_point.row + 1, header_kind(name), is_needed)


def includes_of(parsed: ParsedFile) -> list[Include]:
    """The file's active includes that name a header plainly."""
    found = (include_in(parsed, item) for item in parsed.items if item.active)
    return [include for include in found if include is not None]


def header_kind(name: str) -> str:
    """ "device" for a header that NVRTC carries, "host" for one of the toolkit or the language, else "local".

    Local ones are the submission's own, or missing; it may have its own of those that we bring.
    """
    if name in OURS:
        return "local"
    if is_bundled(name) and not _HOST_ONLY_HEADERS.fullmatch(name):
        return "device"
    if _STANDARD_HEADERS.fullmatch(name) or _TOOLKIT_HEADERS.fullmatch(name) or "." not in Path(name).name:
        return "host"
    return "local"


HEADER_FOLDERS = ("include", "inc", "includes", "headers", "common", "utils", "src")
"""Where a program's headers lie by custom."""


def find_header(name: str, *places: Path) -> Path | None:
    """The submission's own header `name`, looked for in `places` in turn.

    The last of these is the student's folder, with the folders in it that are handed to compilers as `-I include`: None
    where the header is not there or lies outside that.
    """
    spend(50)
    folder = places[-1]
    for place in dict.fromkeys((*places, *(folder / inner for inner in HEADER_FOLDERS))):
        path = place / name
        with suppress(OSError):
            if kind_of(path) == "file" and real(path).is_relative_to(real(folder)):
                return path
    return None
