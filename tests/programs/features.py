"""Which program has which feature: found in its files, so that the table cannot be wrong; FEATURES.md is made of it.

python -m tests.programs.features
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from grader.submission.source import text_of_bytes
from tests.programs.expected import HERE, PROGRAMS, expected_of

TABLE = HERE / "FEATURES.md"
SUFFIXES = {".cu", ".cuh", ".h", ".hpp"}

# Looked for in the text of all files.
IN_TEXT = {
    "launch with spaces, `<< <` or `<<< a, b >>> (…)`": r"<<<\s+\S|<<\s+<|>>>\s+\(",
    "launch of a template's instance": r"\w+<[^<>;]*>\s*<<<",
    "launch through a function pointer or a parameter": r"\(\s*\*\s*\w+\)\s*\(|kernel\s*<<<|pointer<<<",
    "cudaLaunchKernel and its kin": r"cudaLaunch(?:Cooperative)?Kernel",
    "dim3 by parentheses": r"dim3\s+\w+\s*\(|dim3\(",
    "dim3 by braces": r"dim3\s+\w+\s*(?:=\s*)?\{",
    "grid by ceil of a fraction": r"ceil\(\s*\w+\s*/\s*[\d.(]",
    "dynamic shared memory": r"extern\s+__shared__",
    "shared tile padded": r"\+\s*1\]|\[33\]|\[17\]",
    "constant memory": r"__constant__",
    "arrays or counters of the device": r"^__device__\s+(?!__)[\w ]+\s*[*\w]+(?:\[|;|\s*=|,)",
    "template kernel": r"template\s*<[^>]*>\s*\n?\s*__global__",
    "namespace": r"^\s*namespace\b",
    "struct by value as a parameter": r"__global__[^;{]*\(\s*(?:const\s+)?(?:Matrix|Before|cudaPitchedPtr)\s",
    "atomics": r"\batomic[A-Z]\w+\(",
    "shuffles": r"__shfl_",
    "#pragma unroll": r"#pragma unroll",
    "error-check macro": r"#\s*define\s+\w+\(\w+\)[^\n]*(?:\\\n[^\n]*)*cuda(?:Error|Success)",
    "errors by exceptions": r"\bthrow\b",
    "errors by goto": r"\bgoto\b",
    "events": r"cudaEventElapsedTime",
    "clock()": r"\bclock\(\)",
    "chrono": r"std::chrono|chrono::",
    "gettimeofday": r"gettimeofday",
    "C: malloc and printf": r"\bmalloc\(",
    "C++: vector": r"\bvector<",
    "C++: iostream": r"#\s*include\s*<iostream>",
    "classes that own memory": r"~\w+\(\)",
    "lambda or std::function": r"std::function|\[[&=]?\]\s*[\({]",
    "Russian": r"[а-яА-Я]{4}",
    "Polish": r"[ąćęłńóśźż]{1}|pamieci|plansza|blad|wynik|macierz|krawedzia|zywych",
    "managed memory": r"cudaMallocManaged|__managed__",
    "pinned memory": r"cudaMallocHost|cudaHostAlloc|cudaHostRegister",
    "pitched memory and volumes": r"cudaMallocPitch|cudaMalloc3D|cudaMemcpy2D|cudaMemcpy3D",
    "copies to and from symbols": r"cudaMemcpy(?:To|From)Symbol",
    "streams": r"cudaStreamCreate",
    "device queries": r"cudaGetDeviceProperties|cudaDeviceGetAttribute|cudaOccupancy",
    "arguments of the command line": r"\bargv\b",
    "elements of type double": r"\bdouble\s*\*",
    "elements of type int": r"__global__[^;{]*\bint\s*\*",
    "sums into memory (`+=` an output)": r"\]\s*\+=",
    "kernels without parameters": r"__global__\s+void\s+\w+\(\s*(?:void)?\s*\)",
}


def features_of(folder: Path) -> set[str]:
    """The features of a program, by what its files and its `expected.yaml` hold."""
    expected = expected_of(folder)
    raw = {path: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES}
    text = "\n".join(text_of_bytes(data)[0].replace("\r\n", "\n") for data in raw.values())
    found = {name for name, pattern in IN_TEXT.items() if re.search(pattern, text, re.M)}
    first = b"".join(raw.values())
    checks = {
        "not UTF-8": any(not _is_utf8(data) for data in raw.values()),
        "CRLF": b"\r\n" in first,
        "several .cu files": sum(path.suffix == ".cu" for path in raw) > 1,
        "a header of its own": any(path.suffix != ".cu" for path in raw),
        "reads a data file": any(path.suffix in {".txt", ".mtx"} for path in folder.iterdir()),
        "writes a file": bool(re.search(r"fopen\([^)]*\"w|ofstream", text)),
        "above 200 lines": text.count("\n") > 200,
        "kernel of one thread or one block": any(_blocks(launch) == 1 for launch in expected.get("launches", [])),
        "launches in a loop or several of one kernel": any(x.get("times", 1) > 1 for x in expected.get("launches", [])),
        "never comes to its end": expected.get("exit", 0) is None,
        "launch that fails": any(launch.get("status") == "failed" for launch in expected.get("launches", [])),
        "lab: transpose": _lab(expected) == "transpose",
        "lab: matmul": _lab(expected) == "matmul",
        "lab: batch-square": _lab(expected) == "batch-square",
        "lab: box-blur": _lab(expected) == "box-blur",
        **{f"told: {kind}": _tells(expected, kind) for kind in ("uninitialized", "out_of_bounds", "race", "not_run")},
        **{f"graded: fails {check}": _fails(expected, check) for check in ("present", "correct", "ragged_sizes")},
        "graded: fails races, memory_safety or bank_conflicts": any(
            _fails(expected, check) for check in ("races", "memory_safety", "bank_conflicts")
        ),
        "graded: fails host_code": _fails(expected, "host_code"),
        "graded: nothing to find fault with": _is_right(expected),
    }
    return found | {name for name, has in checks.items() if has}


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not data.startswith(b"\xef\xbb\xbf")


def _blocks(launch: dict[str, Any]) -> int:
    count = 1
    for size in launch.get("grid", []):
        count *= size
    return count


def _lab(expected: dict[str, Any]) -> str:
    return str(expected.get("grading", {}).get("lab", ""))


def _tells(expected: dict[str, Any], kind: str) -> bool:
    return any(found == kind for found, _line in expected.get("findings", []))


def _fails(expected: dict[str, Any], check: str) -> bool:
    variants = expected.get("grading", {}).get("variants", {}).values()
    return any(check in variant.get("fails", {}) for variant in variants)


def _is_right(expected: dict[str, Any]) -> bool:
    variants = expected.get("grading", {}).get("variants", {}).values()
    return bool(variants) and not any(variant.get("fails") for variant in variants)


def table() -> dict[str, list[str]]:
    """Programs by feature, both sorted."""
    rows: dict[str, list[str]] = {}
    for folder in PROGRAMS:
        for feature in features_of(folder):
            rows.setdefault(feature, []).append(folder.name)
    return {feature: sorted(rows[feature]) for feature in sorted(rows, key=str.lower)}


def markdown() -> str:
    """FEATURES.md."""
    rows = [f"| {feature} | {len(names)} | {', '.join(names)} |" for feature, names in table().items()]
    head = [
        "# Features of the programs",
        "",
        f"{len(PROGRAMS)} programs; made by `python -m tests.programs.features`, and checked by a test.",
        "",
        "| feature | programs | which |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    TABLE.write_text(markdown(), encoding="utf-8")
