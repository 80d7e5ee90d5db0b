"""Has a program see what it sees under nvcc: NVRTC's macro hidden from it, and the headers that nvcc would find.

A program could do its work under `#ifdef __CUDACC_RTC__` only, and be wrong wherever it is built for use.  Macros that
tell NVRTC from nvcc (NVRTC user guide, "Predefined macros"; nvcc's own `__NVCC__`) are therefore set as nvcc sets them.
NVRTC's headers ask for the macro too, and have to find it: each that a program may include goes by way of a header of
ours, which defines it meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from grader.compiler.headers import STAND_INS, included_bundled
from grader.device_headers import BUNDLED, OURS

MACROS = """\
#undef __CUDACC_RTC__
#define __NVCC__ 1
"""
"""For the end of what is read before a program."""

# Named the way nvcc's search path has them, so that `__has_include(<stdio.h>)` says what it says there.
_C_HEADERS = (
    "assert",
    "ctype",
    "errno",
    "float",
    "limits",
    "math",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
    "string",
    "time",
)
_HOST_HEADERS = (
    *(f"{name}.h" for name in _C_HEADERS),
    *(f"c{name}" for name in _C_HEADERS),
    *("algorithm", "array", "chrono", "fstream", "functional", "iomanip", "iostream", "limits", "memory", "numeric"),
    *("random", "sstream", "string", "type_traits", "utility", "vector"),
    *("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"),
)

_OF_SANDBOX = re.compile(r"(?<![\w$])__(?:wasm(?:32|64)?|wasm_\w+|wasi|clang|clang_\w+|llvm|CUDACLANG)__(?![\w$])")


def as_nvcc_sees(text: str) -> str:
    """Host code in which no macro tells that it is built for a sandbox; as long as it was, no line or column moved.

    nvcc hands host code to the system's compiler: a program that asks for clang or WebAssembly would do here what it
    does nowhere else.
    """
    return _OF_SANDBOX.sub(lambda match: match[0][:-3] + "_" * 3, text)


_DETOUR = """\
#ifdef __CUDACC_RTC__
#include <./{name}>
#else
#define __CUDACC_RTC__ 1
#include <./{name}>
#undef __CUDACC_RTC__
#endif
"""


def headers_for(texts: Iterable[str], unpacked: bool) -> Mapping[str, str]:
    """Headers by the names that a program of these `texts` may include them by.

    unpacked: whether NVRTC's headers lie in its search path; without them it knows some itself.
    """
    included = frozenset[str]().union(*(included_bundled(text) for text in texts))
    names = (BUNDLED | included) - OURS if unpacked else frozenset()
    ours = {name: (STAND_INS / name).read_text(encoding="utf-8") for name in included & OURS}
    return {**dict.fromkeys(_HOST_HEADERS, ""), **{name: _DETOUR.format(name=name) for name in names}, **ours}
