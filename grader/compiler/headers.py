"""Headers for device code: which there are, what stands in for the host's, and which includes are refused.

NVRTC brings no standard headers.  nvcc reads a few before any program (`cuda_runtime.h` includes them), so kernels use
`uint`, `uint32_t` or `std::size_t` without an include: `PRELUDE` gives the compiler these, before the student's text
and without a line of its own in it.  `grader.submission.device_code` blanks headers that only the host needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.devices import BUNDLED, OURS, is_bundled
from grader.files import user_cache
from grader.preprocessor import COMMENT, LITERAL, Gaps, hashes

PRELUDE_NAME = "grader_prelude.h"

PRELUDE = """\
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;
typedef decltype(sizeof 0) size_t;
typedef long ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
#define register
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32767 - 1)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807L - 1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX ULONG_MAX
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define M_E 2.71828182845904523536
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_SQRT2 1.41421356237309504880
#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fffffff))
#define HUGE_VALF INFINITY
#define cudaGraphSetConditional(handle, value) (*(volatile unsigned *)(handle) = (value))
"""

STAND_INS = Path(__file__).parent / "stand_ins"

_SPLICE = re.compile(r"\\[ \t\v\f]*+\n")
_INCLUDING = re.compile(r"(?:include(?:_next)?|import|embed)\b")
_OPERAND = re.compile(r"""[<"](?P<name>[\w./+-]+)[>"]\s*+(?://.*|/\*.*)?$""")
_ASKING = re.compile(r"include_alias|(?<![\w$])has_(?:include|embed)")
_COMMENT = re.compile(rf"{COMMENT}|(?P<kept>{LITERAL})", re.DOTALL)
_DEFINED = re.compile(r"#[ \t]*(?:define[ \t]+\w+|(?:el)?if)(?P<body>[^\n]*)")
_HIDDEN_ASKING = re.compile(r"#[ \t]*define\b[^\n]*\b__has_(?:include|embed)")
_LEADS_OUT = re.compile(r"[\"<(\s]\s*/(?![/*\s\d(])|^\s*/(?![/*])|\.\.(?!\.)")
_ASKED = re.compile(r"(?<![\w$])__has_(?:include|include_next|embed)\s*+\(\s*+(?P<operand>[^()\n]*+)\)")
_ASKING_NAMES = ("__has_include", "__has_include_next", "__has_embed")
# What these are pasted together of begins with one of their beginnings, and no header of NVRTC's pastes such a one.
_BEGINNING = re.compile(
    r"(?<![\w$])(?:"
    + "|".join(sorted({name[:end] for name in _ASKING_NAMES for end in range(1, len(name) + 1)}, key=len, reverse=True))
    + r")(?![\w$])"
)

_READING = re.compile(rf"(?<![\w$])(?:asm|__asm|__asm__|{'|'.join(_ASKING_NAMES)})(?![\w$])|include_alias|##|%:%:")


def included_bundled(text: str) -> frozenset[str]:
    """Headers that NVRTC carries and `text` includes, by the names it includes them by."""
    if "include" not in text:
        return frozenset()
    operands = (_OPERAND.match(operand) for operand in _operands(_SPLICE.sub("", text)))
    return frozenset(operand["name"] for operand in operands if operand is not None and is_bundled(operand["name"]))


def needs_bundled(text: str) -> bool:
    """Whether `text` includes a header that NVRTC carries."""
    return bool(included_bundled(text))


def forbidden_include(text: str, in_memory: frozenset[str]) -> str | None:
    """The first include in `text` of anything but NVRTC's headers and those `in_memory`; None where there is none.

    What asks whether a file exists counts too, be its name pasted together.

    The defence of last resort, for kernels without Landlock.  It errs on the side of refusing: an include in a comment
    counts, and so does a name that a macro makes.
    """
    joined = _SPLICE.sub("", text.replace("??=", "#").replace("??/\n", ""))
    asking = _ASKING.search(joined) or _BEGINNING.search(joined)
    if asking:
        return asking.group()
    for operand in _operands(joined):
        match = _OPERAND.match(operand.strip())
        if match is None or not (is_bundled(match["name"]) or match["name"] in in_memory):
            return operand.strip()[:80]
    return None


def reads_beyond(text: str) -> str | None:
    """What in host code may have a compiler read, or ask for, a file outside its own folders; None where nothing does.

    The same defence for the host's compiler, which finds headers in folders of its own: an include must name one
    plainly, and no path that leaves them.  An assembler's `.incbin` reads files as well, so there is no `asm`, nor
    anything that could be pasted together to be one.
    """
    joined = _SPLICE.sub("", text.replace("??=", "#").replace("??/\n", ""))
    reading = _READING.search(joined)
    if reading:
        return reading.group()
    for operand in _operands(joined):
        match = _OPERAND.match(operand.strip())
        if match is None or match["name"].startswith("/") or ".." in match["name"]:
            return operand.strip()[:80]
    return None


def outside_include(name: str, text: str) -> str | None:
    """What `text`, the file `name` of a program, includes or asks for outside the program's folder; None for nothing.

    Whether such a file exists must not show, and a compiler that may not read one says so.  So what leads there is
    refused, exist or not, also where a macro may stand for it.
    """
    joined = _SPLICE.sub("", text.replace("??=", "#").replace("??/\n", ""))
    joined = _COMMENT.sub(lambda match: match["kept"] or " ", joined)
    asked = [match["operand"] for match in _ASKED.finditer(joined)]
    has_macro = "##" in joined and _BEGINNING.search(joined) is not None
    for operand in (*asked, *_operands(joined)):
        match = _OPERAND.match(operand.strip())
        if match is not None and match["name"].startswith("/"):
            return operand.strip()[:80]
        if match is not None and _climbs(match["name"]) > name.count("/"):
            return operand.strip()[:80]
        if match is None and (_LEADS_OUT.search(operand) or "/." in operand):
            return operand.strip()[:80]
        has_macro = has_macro or (match is None and operand.strip()[:1] not in ('"', "<"))
    if has_macro or _HIDDEN_ASKING.search(joined):
        definition = next((match for match in _DEFINED.finditer(joined) if _LEADS_OUT.search(match["body"])), None)
        return definition["body"].strip()[:80] if definition is not None else None
    return None


def _climbs(path: str) -> int:
    """How many folders a path leads up at most, from where it begins."""
    deepest = level = 0
    for part in path.split("/"):
        level += 1 if part == ".." else -1 if part not in ("", ".") else 0
        deepest = max(deepest, level)
    return deepest


def _operands(joined: str) -> Iterator[str]:
    """What stands after each `#include` and its kin, to the line's end; comments may stand between a directive's words.

    A raw string may hide a comment's end, so whatever looks like a directive counts.
    """
    gaps = Gaps(joined, with_line_ends=True)
    for _start, place in hashes(joined, gaps):
        name = _INCLUDING.match(joined, place)
        if name is not None:
            begin = gaps.end(name.end())
            end = joined.find("\n", begin)
            yield joined[begin : end if end >= 0 else len(joined)]


def header_folder() -> Path:
    """The user's folder for NVRTC's headers, one folder below it a version: `~/.cache/cuda-lab-grader/nvrtc`."""
    return user_cache() / "nvrtc"


# Has a program see what it sees under nvcc: NVRTC's macro hidden from it, and the headers that nvcc would find.
#
# A program could do its work under `#ifdef __CUDACC_RTC__` only, and be wrong wherever it is built for use.  Macros
# that
# tell NVRTC from nvcc (NVRTC user guide, "Predefined macros"; nvcc's own `__NVCC__`) are therefore set as nvcc sets
# them.
# NVRTC's headers ask for the macro too, and have to find it: each that a program may include goes by way of a header
# of
# ours, which defines it meanwhile.

_OF_GCC = {
    "CHAR_BIT": "8",
    "SCHAR_MAX": "0x7f",
    "SHRT_MAX": "0x7fff",
    "INT_MAX": "0x7fffffff",
    "LONG_MAX": "0x7fffffffffffffffL",
    "LONG_LONG_MAX": "0x7fffffffffffffffLL",
    "FLT_DIG": "6",
    "FLT_MANT_DIG": "24",
    "FLT_MIN": "1.17549435e-38F",
    "FLT_MAX": "3.40282347e+38F",
    "FLT_EPSILON": "1.19209290e-7F",
    "FLT_DENORM_MIN": "1.40129846e-45F",
    "DBL_DIG": "15",
    "DBL_MANT_DIG": "53",
    "DBL_MIN": "2.2250738585072014e-308",
    "DBL_MAX": "1.7976931348623157e+308",
    "DBL_EPSILON": "2.2204460492503131e-16",
    "DBL_DENORM_MIN": "4.9406564584124654e-324",
}
"""Limits that GCC and clang define by these names between underscores, and with them nvcc in kernels too."""
MACROS = """\
#undef __CUDACC_RTC__
#define __NVCC__ 1
""" + "".join(f"#ifndef __{name}__\n#define __{name}__ {value}\n#endif\n" for name, value in _OF_GCC.items())
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
