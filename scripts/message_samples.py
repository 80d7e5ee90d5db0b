"""Sample data for every message, so that all of them can be read as users see them (`messages_page.py`).

`DATA` holds a value for each name that texts put in; `OWN` what a single message wants instead.  A name without a value
is a `KeyError`, which a test turns into a failure: a new message is not done before somebody could read it in a
sentence.
"""

from __future__ import annotations

import inspect
import re
import string
from collections.abc import Mapping
from typing import Any

from grader import words
from grader.message import Message, msg
from grader.words.texts import Plural

Value = Any

COUNTS = (1, 3, 5, 21)
"""Numbers that between them take every plural form of our languages."""

_ARRAY = "tile"
_THREAD = {"thread": "(1, 0)", "block": "(2, 0)"}

_ADDITIONS = msg("checks.work.additions")
_SMALL, _LARGE = msg("pieces.sizes", n=256), msg("pieces.sizes", n=2048)
_EACH = msg("checks.work.each", what=_ADDITIONS, each=10.25)
_GROWTH = msg("checks.work.growth", small=_SMALL, large=_LARGE, got=11.42)

DATA: Mapping[str, Value] = {
    "capability": "6.1",
    "device": "8.0",
    "meant": "transpose.cu",
    "model": "GeForce GTX 1080",
    "added": "padded.races",
    "variants": "naive, shared",
    "kernel_line": 14,
    "launch_line": 61,
    "read_line": 62,
    "groups": "12",
    "judged": "12",
    "used": 812,
    "first_given": "rows",
    "second_given": "cols",
    "inputs": "in",
    "interface": "function",
    "namespace": "student",
    "signature": "void solve(const float *in, float *out, int n)",
    "types": "float, int",
    "wanted": "const T *",
    "address": "0x7f30",
    "after": 64,
    "all": 6,
    "allowed": msg("yaml.allowed", names="naive, shared, padded"),
    "also": msg("checks.bank_conflicts.also", n=2, lines="18, 24"),
    "amount": "12,5 ms",
    "architecture": "sm_90",
    "archive": "ivanov_2.zip",
    "archives": "a.zip, b.zip",
    "args": "'more'",
    "array": _ARRAY,
    "arrays": "tile, rows",
    "asked": "128 × 128",
    "axes": 2,
    "axis": "x",
    "backend": "emulator",
    "bank": 0,
    "baseline": "naive",
    "before": 8192,
    "best": "padded",
    "block": "32 × 8",
    "blocks": 512,
    "bounds": "RLIMIT_AS 512 MB",
    "branch": 41,
    "by": 2,
    "by_variant": "naive: 40, shared: 50",
    "bytes": 2048,
    "call": "cudaMalloc",
    "cell": 4,
    "change": "tile[32][33]",
    "check": "correct",
    "checks": "correct, races",
    "choice": "emulator",
    "command": "grade check",
    "choices": ["emulator", "gpu"],
    "code": 3,
    "columns": "0…7",
    "conflict": msg("checks.bank_conflicts.conflict", ways=32, line=44, excess=31.0),
    "constants": "TILE = 16",
    "column": 0,
    "cost": "32",
    "count": 40,
    "covered": 96,
    "deadline": "2026-11-20 23:59",
    "default": "auto",
    "depth": 300,
    "directory": "labs",
    "distance": msg("faults.bytes", n=4),
    "divisor": 5,
    "done": 12,
    "dropped": 3,
    "dtype": "float",
    "each": 8.5,
    "earned": "5",
    "efficiency": msg("checks.bank_conflicts.efficiency", pct=6.06),
    "element": "in[0][1]",
    "elements": "a[0][0…15]",
    "ending": "SIGSEGV",
    "error": "invalid argument",
    "excess": 31.0,
    "expected": "17",
    "explanation": msg("diagnosis.first_unwritten", where="out[2][0]", expected="17"),
    "expression": "scale<16>",
    "extent": "rows",
    "factor": 0.2,
    "fault": msg("faults.barrier", who=msg("pieces.Thread", **_THREAD)),
    "figures": msg("checks.coalescing.figures", loads="4", stores="32"),
    "file": "transpose.cu",
    "in_file": "kernels.cuh",
    "filename": "report.html",
    "files": "a.cu, b.cu",
    "first": 12,
    "folder": "submissions/ivanov",
    "format": "sarif",
    "formats": "text, github",
    "found": "notes.txt",
    "full": 2.0,
    "got": 3,
    "grid": "2 × 2",
    "handed_in": "2026-11-21 10:02",
    "header": "thread",
    "headers": "matrix.h",
    "high": 2.05,
    "holds": 56,
    "ideal": 4.0,
    "include": "<vector>",
    "index": 1024,
    "items": ["128 KiB", "64 KiB"],
    "kernel": "transpose_padded",
    "kernels": "a, b",
    "key": "name",
    "kilobytes": 340,
    "kind": "cudaMemcpyHostToDevice",
    "lab": "transpose",
    "labs": "transpose, matmul",
    "lane": 5,
    "lane_a": 0,
    "lane_b": 1,
    "last": 1023,
    "least": 1,
    "library": "openpyxl",
    "like": "PetrovaA",
    "known": "petrova.anna",
    "limit": 1024,
    "listed": "Petrova Anna",
    "limits": "ulimit -v 500000",
    "lanes": 16.5,
    "line": 44,
    "lines": "18, 24",
    "macro": "REPEAT",
    "models": "NVIDIA A2, NVIDIA H200",
    "loaded": 2048,
    "loads": "4",
    "log": "reports/ivanov/grade-error.log",
    "low": 1.87,
    "made": 256,
    "mean": "7.5",
    "median": "8",
    "megabytes": 96,
    "message": 'expected a ";"',
    "minimum": 1.2,
    "more": True,
    "most": 8,
    "name": "padded",
    "names": "naive, shared",
    "nargs": 2,
    "near": "`transpose`",
    "needed": 12.5,
    "next": 3,
    "note": "OK",
    "now": 1305,
    "noticed": 45,
    "number": 3,
    "opened": 12,
    "others": "3, 5",
    "number_type": "integer",
    "of": 120,
    "of_array": msg("pieces.of_array", array=_ARRAY),
    "offset": 128,
    "one": "a.yaml",
    "operation": "load",
    "option": "--tile",
    "options": "--lab",
    "other": msg("pieces.thread", thread="(3, 0)", block="(2, 0)"),
    "other_line": 12,
    "package": "lxml",
    "packages": "libpango-1.0-0",
    "param_hint": "'--jobs'",
    "parameter": "PATH",
    "parameters": "in, out, rows, cols",
    "parts": [msg("diagnosis.every_element"), msg("diagnosis.read_nothing")],
    "path": "submissions/ivanov",
    "pattern": "(",
    "pct": 6.06,
    "per_request": "16.5",
    "percent": "20 %",
    "pitch": 16,
    "place": "tile[18]",
    "places": "N = 64",
    "points": 5,
    "possible": "10",
    "power": 60,
    "problem": "expected ','",
    "put_line": 40,
    "quantity": "GB/s",
    "range": "1<=x<=64",
    "rate": "1,832",
    "ratio": "3.31",
    "reads": 5.2,
    "reason": "out of memory",
    "region": msg("regions.diagonal"),
    "removed": "naive.coalescing",
    "requested": "512",
    "requests": 4096,
    "right": 8,
    "role": "rows",
    "roles": "in, out",
    "rounds": 20,
    "rows": "0…7",
    "rule": msg("rules.zero"),
    "row": 21,
    "sampled": 64,
    "second": 15,
    "seconds": 60,
    "sectors": 8.12,
    "seed": 42,
    "settings": "submission.yaml",
    "shape": "128×128",
    "side": msg("faults.past_end"),
    "sign": ")",
    "signal": "SIGKILL",
    "size": 4096,
    "sizes": "rows = 33, cols = 31",
    "source": "in[0][1]",
    "speedup": 1.93,
    "start": 1,
    "step": 2,
    "stored": 2048,
    "stores": "32",
    "student": "ivanov",
    "students": "ivanov, petrova",
    "tag": "!!python",
    "suffix": ".cpp",
    "system": "Linux 6.8",
    "text": "N x 2",
    "thread": "(1, 0)",
    "threads": 16384,
    "thresholds": msg("checks.speedup.thresholds", full=2.0, minimum=1.2),
    "through": 0,
    "tile": 32,
    "time": "98.0 µs",
    "times": "5.2",
    "title": "Matrix size",
    "total": 256,
    "total_points": 100.0,
    "touched": "8",
    "type": "char *",
    "usual": 1031.47168,
    "value": "fast",
    "values": "2, 4",
    "variable": "sum",
    "variant": "padded",
    "version": "13.0",
    "was": 4,
    "wavefronts": 4096,
    "ways": 32,
    "what": msg("outputs.wrong", n=3, total=256),
    "where": "out[0][1]",
    "who": msg("pieces.thread", **_THREAD),
    "why": msg("programs.needs_mpi", header="mpi.h"),
    "width": 4,
    "warp": 0,
    "worker": "tcp://10.0.0.7:34511",
    "word": 160,
    "word_a": 0,
    "word_b": 32,
    "worst": "shared",
    "wrong": 2,
    "x": 32,
    "y": 8,
    "z": 1,
    "zone": "Europe/Mars",
}

OWN: Mapping[str, Mapping[str, Value]] = {
    "checks.speedup.timed": {
        "figures": msg("checks.speedup.figures", sizes="n = 4096", speedup=1.93, low=1.87, high=2.05),
        "thresholds": msg("checks.speedup.thresholds", full=2.0, minimum=1.2),
    },
    "checks.launch.hint_too_large": {"shape": "128×128", "threads": 16384, "allowed": "32×32", "n": 1024},
    "checks.uses.lacks": {"what": msg("checks.uses.shuffles")},
    "checks.uses.forbidden": {"what": msg("checks.uses.float_atomics"), "line": 44},
    "checks.uses.forbidden_somewhere": {"what": msg("checks.uses.library")},
    "checks.divergence.failed": {"pct": 48.2, "allowed": 10.0, "sizes": _LARGE, "line": 44, "lanes": 16.5},
    "checks.work.each": {"what": _ADDITIONS, "each": 10.25},
    "checks.work.growth": {"small": _SMALL, "large": _LARGE, "got": 11.42},
    "checks.work.passed": {"figure": _EACH, "sizes": _LARGE},
    "checks.work.passed_growth": {"figure": _EACH, "growth": _GROWTH},
    "checks.work.too_much": {"figure": _EACH, "sizes": _LARGE, "needed": 2.5},
    "checks.work.grows": {"what": _ADDITIONS, "growth": _GROWTH, "needed": 8.8},
    "checks.work.at_line": {
        "message": msg("checks.work.too_much", figure=_EACH, sizes=_LARGE, needed=2.5),
        "line": 44,
        "share": 75,
    },
    "checks.deterministic.differs": {
        "element": "out[0]",
        "usual": 1031.47168,
        "other": 1031.47180,
        "sizes": _LARGE,
        "n": 1,
    },
    "course.no_check": {"check": "correct", "allowed": "naive, shared"},
    "session.unknown_backend": {"backend": "cpu", "allowed": "auto, emulator, gpu"},
    "intake.renamed": {"name": "transpose.cu.txt", "meant": "transpose.cu"},
    "checks.launch.exchanged": {"first": "rows", "first_given": "cols", "second": "cols", "second_given": "rows"},
    "programs.launch_refused": {"kernel": "scale", "why": "invalid device function"},
    "checks.technique.reads": {"reads": 5.2, "allowed": 1.5},
    "session.refused": {"reason": "submissions/ivanov: no .cu file", "path": "submissions/ivanov"},
    "pieces.sizes": {"rows": 33, "cols": 31},
    "pieces.number": {"value": 6.25},
    "regions.box": {"axes": 2, "low_0": 1, "high_0": 2, "low_1": 3, "high_1": 5},
    "regions.one_block": {"axes": 2, "block_0": 1, "block_1": 2},
    "rules.constant": {"axes": 2, "value": 7.0},
    "rules.offset": {"axes": 2, "value": -1.5},
    "rules.reversed": {"axes": 2, "axis": 0},
    "rules.shifted": {"axes": 2, "axis": 0, "by": 2},
    "rules.scaled_shifted": {"axes": 1, "factor": 5.0, "axis": 0, "by": 2},
    "labs.only_kind": {"kind": "scalar"},
    "labs.signature": {"got": "void solve(float *, int n)"},
    "labs.signature_returns": {"got": "int"},
    "labs.signature_type": {"got": "float *in", "kind": "input"},
    "labs.signature_size": {"got": "float n"},
    "labs.signature_dtype": {"got": "int32", "allowed": "float32"},
    "labs.signature_number": {"got": "0.5", "dtype": "int32"},
    "yaml.kind": {"kind": msg("yaml.whole_number"), "value": "fast"},
    "yaml.fault": {"fault": msg("yaml.whole_number"), "value": "fast"},
}


def sentences(id: str, text: object) -> list[str]:
    """A message of `grader.words` with sample data, in the language in use; once for each count that it depends on."""
    if isinstance(text, Plural):
        return [words.text(Message(id, _data(id, text.many + text.one, count, text.by))) for count in COUNTS]
    if isinstance(text, str):
        return [words.text(Message(id, _data(id, text)))]
    assert callable(text)
    names = list(inspect.signature(text).parameters)
    data = dict(OWN[id]) if id in OWN else _data(id, "".join(f"{{{name}}}" for name in names))
    counts = COUNTS if "n" in names else COUNTS[:1]
    return [words.text(Message(id, data | {"n": count} if "n" in names else data)) for count in counts]


def filled(text: str, count: int = 3) -> str:
    """A text of a page or of the command line in the language in use, with sample data put in."""
    data = {name: DATA[name] if name != "n" else count for name in names_in(text)}
    return text.format(**{name: words.said(v) if isinstance(v, Message) else v for name, v in data.items()})


def names_in(text: str) -> set[str]:
    """Names that a text puts in."""
    return {
        re.split(r"[.\[]", name)[0] for _text, name, _form, _how in string.Formatter().parse(text) if name is not None
    }


def _data(id: str, text: str, count: int = 3, by: str = "") -> dict[str, Any]:
    """Data for a message: its own, else that of each name; `by` is the name of what its plural form depends on."""
    own = OWN.get(id, {})
    data = {name: own[name] if name in own else count if name == "n" else DATA[name] for name in names_in(text)}
    if by:
        data[by] = count
    if text.startswith("{who}"):
        data["who"] = msg("pieces.Thread", **_THREAD)
    return data
