"""No source reads a file, with Landlock or without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.process import CompilerProcess
from grader.message import msg
from tests.compiler.processes import KERNEL, compiled, needs_landlock

pytestmark = pytest.mark.started


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("const int the_solution = 42;\n")
    return path


LEAKS = [
    '#include "{secret}"\n',
    "#include <{secret}>\n",
    "#include_next <{secret}>\n",
    '%:include "{secret}"\n',
    '??=include "{secret}"\n',
    '#inc\\\nlude "{secret}"\n',
    '#/**/include/**/"{secret}"\n',
    '#define FILE "{secret}"\n#include FILE\n',
    '#define TEXT(x) #x\n__constant__ char text[] = TEXT(\n#include "{secret}"\n);\n',
    '#if __has_include("{secret}")\n__constant__ char text[] = "the_solution";\n#endif\n',
    '#ifdef __has_embed\n#if __has_embed("{secret}")\n__constant__ char text[] = "the_solution";\n#endif\n#endif\n',
    '__constant__ char text[] = {{\n#embed "{secret}"\n}};\n',
    '#pragma include_alias("a.h", "{secret}")\n#include "a.h"\n',
    '#import "{secret}"\n',
]

FORMS = ["plain", "angle", "next", "digraph", "trigraph", "splice", "comments", "macro", "string", "asks", "asks_embed",
         "embed", "alias", "import"]  # fmt: skip


@needs_landlock
@pytest.mark.parametrize("source", LEAKS, ids=FORMS)
def test_no_file_is_read(compiler: CompilerProcess, secret: Path, source: str) -> None:
    result = compiled(compiler, source.format(secret=secret) + KERNEL, "k")
    assert "the_solution" not in result.ptx + result.log + repr(result.diagnostics)
    assert not (result.ok and "the_solution" in source and "text" in result.ptx)


@needs_landlock
def test_a_file_that_is_there_looks_like_one_that_is_not(compiler: CompilerProcess, secret: Path) -> None:
    there = compiled(compiler, f'#include "{secret}"\n', "k")
    gone = compiled(compiler, f'#include "{secret.with_suffix(".gone")}"\n', "k")
    seen = [[str(d.message).replace(".txt", ".gone") for d in one.diagnostics] for one in (there, gone)]
    assert seen[0] == seen[1]
    assert there.log.replace(".txt", ".gone").replace("^", "").split() == gone.log.replace("^", "").split()


@needs_landlock
@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/stdin"])
def test_the_systems_files_are_not_read(compiler: CompilerProcess, path: str) -> None:
    result = compiled(compiler, f'#include "{path}"\n', "k")
    # One that was waited for, as a terminal is, would have been a timeout without a word.
    assert result.diagnostics == (Diagnostic("main.cu", 1, "error", f'cannot open source file "{path}"'),)


@pytest.mark.parametrize("source", LEAKS, ids=FORMS)
def test_without_landlock_such_a_source_is_not_compiled(filtered: CompilerProcess, secret: Path, source: str) -> None:
    result = compiled(filtered, source.format(secret=secret) + KERNEL, "k")
    assert (result.ok, result.reason, result.ptx) == (False, "forbidden_include", "")
    assert [d.severity for d in result.diagnostics] == ["error"]


def test_without_landlock_ordinary_sources_are_compiled(filtered: CompilerProcess) -> None:
    source = "#include <cuda_fp16.h>\n" + KERNEL
    assert compiled(filtered, source, "k").ok
    assert filtered.compile(
        {"main.cu": '#include "own.h"\n' + KERNEL, "own.h": "#define X 1\n"}, ["k"], "compute_75"
    ).ok


def test_messages_about_other_files_are_dropped(compiler: CompilerProcess) -> None:
    result = compiled(compiler, '#line 7 "/etc/<script>.h"\nint f() { return undeclared; }\n', "k")
    assert result.diagnostics == (Diagnostic("main.cu", 1, "error", msg("compiler.error_elsewhere")),)
    assert "script" not in result.log
