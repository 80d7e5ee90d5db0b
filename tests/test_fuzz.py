"""Anything may be handed in: whatever the readers are given, they read it or refuse it in words of their own.

Texts are made of the corpus: pieces of real files cut, doubled, put into each other, bytes changed.  Slow, for each
reader gets hundreds of them; a seed makes every run the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.compiler.diagnostics import assembler_errors, diagnostics_of
from grader.compiler.headers import forbidden_include, needs_bundled
from grader.compiler.result import resources_of
from grader.errors import GraderError
from grader.lab.records import Lab
from grader.preprocessor import without_line_directives
from grader.submission.binding.bind import bind
from grader.submission.changes import Original, ProgramChange
from grader.submission.folder import FoundSubmission, read_settings
from grader.submission.records import Submission, VariantBinding
from grader.submission.source import decode_bytes
from tests.pace import slowness
from tests.submission.labs import FLIP, LINE, PRODUCT

pytestmark = pytest.mark.started

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted(
    [*ROOT.glob("tests/data/sources/*.cu"), *ROOT.glob("submissions/**/*.cu"), *ROOT.glob("reference/**/*.cu")]
)
SETTINGS = sorted(ROOT.glob("submissions/**/submission.yaml"))
# What a parser may trip over, put in anywhere.
SPICES = [
    b"\\\n",
    b"/*",
    b"*/",
    b"//",
    b'"',
    b"'",
    b'R"(',
    b"(",
    b")",
    b"{",
    b"}",
    b"<",
    b">",
    b"<<<",
    b">>>",
    b"[",
    b"]",
    b";",
    b",",
    b"#define X ",
    b"#define X(a) a##a X(a)\n",
    b"#if 1\n",
    b"#endif\n",
    b"#line 7\n",
    b'#include "main.cu"\n',
    b"##",
    b"#",
    b"__global__ void ",
    b"__device__ ",
    b"__shared__ float t[N - 64];",
    b"extern ",
    b"template <int N> ",
    b"operator",
    b"9" * 5000,
    b"0x" + b"f" * 5000,
    b"1e999999",
    b"-0",
    b"0",
    b"1/0",
    b"%0",
    b"<<99",
    b"~0u",
    b"\xff",
    b"\x98",
    b"\xd0",
    b"\xef\xbb\xbf",
    b"\r",
    b"\x0b",
    b"\x0c",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xae",
    b" ",
    b"\t",
    b"\n",
    b"a" * 5000,
    b"\xf0\x9f\x98\x80",
    b"dim3 a(b); dim3 b(a);",
    b"k<<<n, m>>>();",
    b"for (;;)",
    b"#pragma unroll 99999999999999999999\n",
    b"const int N = N;",
]
YAML_SPICES = [
    b": ",
    b"- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"&a ",
    b"*a",
    b"!!int x",
    b"!!float x",
    b"!!bool x",
    b"!!binary x",
    b"!!python/name:x ",
    b"? ",
    b"|\n",
    b">\n",
    b"%YAML 9.9\n",
    b"---\n",
    b"...\n",
    b"<<: ",
    b"\t",
    b"\xff",
    b"\x00",
    b"\xe2\x80\xa8",
    b"~",
    b"null",
    b"9" * 5000,
    b"0x" + b"f" * 5000,
    b"1e999999",
    b".inf",
    b"-.nan",
    b"1:99:99",
    b"2024-99-99",
    b"'",
    b'"',
    b'"\\0"',
    b'"\\ud800"',
    b"labs:\n",
    b"variants:\n",
    b"file: ",
    b"block: [32, 64]\n",
    b"\n",
    b"  ",
    b"#",
]


def mutations(corpus: list[bytes], spices: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many texts made of pieces of the corpus."""
    chance = random.Random(seed)
    for _number in range(count):
        data = chance.choice(corpus)
        for _change in range(chance.randint(1, 6)):
            start = chance.randint(0, len(data))
            end = min(len(data), start + chance.choice([0, 1, 5, 50, 500]))
            match chance.randint(0, 5):
                case 0:
                    data = data[:start] + data[end:]
                case 1:
                    data = data[:start] + chance.choice(spices) + data[start:]
                case 2:
                    data = data[:start] + chance.choice(spices) * chance.randint(2, 40) + data[end:]
                case 3:
                    data = data[:end] + data[start:end] * chance.randint(1, 20) + data[end:]
                case 4:
                    other = chance.choice(corpus)
                    place = chance.randint(0, len(other))
                    data = data[:start] + other[place : place + 300] + data[end:]
                case 5 if start < end:
                    data = data[:start] + bytes([chance.randint(0, 255)]) + data[start + 1 :]
        yield data


def survives(read: Callable[[bytes], object], data: bytes) -> None:
    """Reading `data` ends in time, with a result or an error that says whose fault it is."""
    began_s = time.process_time()
    try:
        read(data)
    except GraderError as error:
        assert str(error)
    took_s = time.process_time() - began_s
    # An honest file of that size takes a hundredth of it.
    assert took_s < 10 or took_s < 10 * slowness(), data[:2000]


@pytest.mark.slow
@pytest.mark.parametrize(("lab", "seed"), [(FLIP, 1), (PRODUCT, 2), (LINE, 3)], ids=["flip", "product", "line"])
def test_programs(lab: Lab, seed: int) -> None:
    def read(data: bytes) -> Submission:
        found = FoundSubmission("student", lab.id, Path("/nonexistent"), ())
        source = decode_bytes(Path("main.cu"), data)
        submission = bind(found, [source], lab)
        for text in submission.device_source.values():
            assert text.count("\n") == source.text.count("\n")
            needs_bundled(text)
            forbidden_include(text, frozenset())
            assert without_line_directives(text) == text
        for binding in submission.bindings.values():
            if isinstance(binding, VariantBinding):
                submission.program(binding.kernel.file, {"N": 5, "TILE": 7})
                program = Original(submission, lambda texts: bind(found, [texts.get(source.path, source)], lab))
                program.changed(binding, ProgramChange(((("N|TILE.*",), 8),), width=32, unroll=4))
        return submission

    corpus = [path.read_bytes() for path in PROGRAMS]
    for data in mutations(corpus, SPICES, 400, seed):
        survives(read, data)


@pytest.mark.slow
def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "submission.yaml"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_settings(path, "transpose", ["transpose", "matmul"])

    corpus = [p.read_bytes() for p in SETTINGS]
    corpus.append(b"name: a\ngroup: 12\nlabs:\n  transpose:\n    file: [a.cu, b.cu]\n    variants:\n      naive: k\n")
    corpus.append(
        b"labs: {transpose: {variants: {padded: {kernel: k, arguments: [in, out], block: [32, 8], tile: [32]}}}}"
    )
    for data in mutations(corpus, YAML_SPICES, 4000, seed=4):
        survives(read, data)


LOG = b"""main.cu(12): error: identifier "x" is undefined
      a[0] = x;
             ^

main.cu(14): warning #177-D: variable "q" was declared but never referenced
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 80 bytes smem
ptxas application ptx input, line 28; error   : Unknown modifier '.bar'
ptxas error   : Entry function '_Z1kPi' uses too much shared data (0x13880 bytes, 0xc000 max)
"""
LOG_SPICES = [
    b"(",
    b")",
    b": ",
    b"error: ",
    b"\n",
    b"9" * 5000,
    b"^",
    b"main.cu(",
    b"ptxas info    : Used ",
    b"'",
    b'"',
    b"\xff",
    b"line ",
]


@pytest.mark.slow
def test_the_compilers_log() -> None:
    source = "\n".join(f"line {i}" for i in range(30))
    ptx = ".loc 1 7 3\n.entry _Z1kPi(\n{\n.loc 1 99999 1\n}\n" * 9

    def read(data: bytes) -> None:
        log = data.decode("utf-8", errors="replace")
        found, shown = diagnostics_of(log, {"main.cu": source})
        errors = assembler_errors(log, ptx, "main.cu", source)
        resources_of(log)
        assert all(1 <= d.line <= 30 for d in (*found, *errors))
        assert len(found) <= 100 and len(shown) <= 32 * 1024

    for data in mutations([LOG], LOG_SPICES, 5000, seed=5):
        survives(read, data)
