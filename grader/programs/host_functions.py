"""Functions of the host that device code calls: nvcc refuses that, and NVRTC, which takes a function without an
execution space for one of the device, does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from grader.compiler.result import CompileResult
from grader.message import msg
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

_DEFINED = re.compile(r"#[ \t]*define[ \t]+(\w+)")
_UNKNOWN = re.compile(r'identifier "(\w+)" is undefined')


def as_nvcc(
    result: CompileResult, texts: Mapping[str, str], compile_texts: Callable[[Mapping[str, str]], CompileResult]
) -> CompileResult:
    """What nvcc makes of a file that NVRTC compiled: `result`, or that it was refused for calling the host's functions.

    Called is what device code lacks when these are taken out of it; a local variable of the same name is not.

    Parameters
    ----------
    texts : what was compiled, by file, the main one first: device code, and what it mentions of the host's.
    compile_texts : compiles such texts.
    """
    if result.reason not in ("", "missing_entry"):
        return result
    without, lines = _without_host_functions(texts)
    errors = compile_texts(without).diagnostics if lines else ()
    calls = [(d, match[1]) for d in errors if d.severity == "error" and (match := _UNKNOWN.search(str(d.message)))]
    refused = tuple(
        replace(
            call,
            message=msg("compiler.host_function", name=name, line=lines[name]),
            hint=msg("compiler.hint_host_function", line=lines[name]),
            cause=lines[name],
        )
        for call, name in calls
        if name in lines
    )
    if not refused:
        return result
    return replace(result, ok=False, ptx="", cubin=b"", entries={}, diagnostics=refused, reason="errors")


def _without_host_functions(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, int]]:
    """Return texts without the functions of the main one that no execution space is given, and where these stand."""
    unit, text = next(iter(texts.items()))
    parsed = parse(SourceText(Path(unit), text, "utf-8"))
    macros = {name for part in texts.values() for name in _DEFINED.findall(part)}
    data, lines = bytearray(parsed.data), dict[str, int]()
    for item in parsed.items:
        if item.kind not in ("function", "prototype") or item.is_device or item.namespace or not item.active:
            continue
        whole = parsed.data[item.start : item.end]
        # What a macro stands for may well be __device__.
        head = set(re.findall(r"\w+", whole.partition(b"(")[0].decode("utf-8", errors="replace")))
        if "constexpr" in item.qualifiers or "operator" in head or head & macros:
            continue
        data[item.start : item.end] = re.sub(rb"[^\n]", b" ", whole)
        if item.kind == "function":
            lines[item.name] = item.node.start_point.row + 1
    return {**texts, unit: data.decode("utf-8", errors="replace")}, lines
