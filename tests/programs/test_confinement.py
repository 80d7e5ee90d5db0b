"""What a hostile program gets: no file but its own, no environment, no memory or disk without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.execution import Setting, run_program
from grader.programs.records import Observation, RunLimits, Start
from grader.programs.sources import Sources
from grader.programs.toolchain import compile

pytestmark = pytest.mark.started


def run(folder: Path, text: str, cache: Path, arguments: list[str] | None = None) -> Observation:
    (folder / "main.cu").write_text(text)
    return run_program(Sources([folder / "main.cu"]), Start(arguments or []), setting=Setting(host_cache=cache))


FILES = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void k() {}
int main(int argc, char** argv) {
    const char* names[] = {"/etc/passwd", "../secret.txt", "main.cu", "other.cu", "/proc/self/environ", "given.txt"};
    for (const char* name : names) printf("%d", fopen(name, "r") != nullptr);
    printf(" %d %d", getenv("PATH") != nullptr, argc);
    FILE* f = fopen("big", "w");
    char* block = (char*)calloc(1, 1 << 20);
    int written = 0;
    while (written < 1000 && fwrite(block, 1 << 20, 1, f) == 1) written++;
    printf(" %d\n", written);
    for (int i = 0; i < 30; i++) fwrite(block, 1 << 20, 1, stdout);
}
"""


def test_a_program_sees_the_files_that_it_names_only_and_fills_no_disk(tmp_path: Path, host_cache: Path) -> None:
    folder = tmp_path / "student"
    folder.mkdir()
    for path in (tmp_path / "secret.txt", folder / "other.cu", folder / "given.txt", folder / "unnamed.txt"):
        path.write_text("secret")
    got = run(folder, FILES, host_cache, ["given.txt"])
    first = got.stdout.split(b"\n")[0]
    assert first.startswith(b"000001 0 2 ")
    assert int(first.split()[-1]) <= 64
    # What is beyond the limit is dropped, and that is told.
    assert got.exit == 0
    assert [f.kind for f in got.findings if f.kind == "output_cut"] == ["output_cut"]
    assert sorted(p.name for p in folder.iterdir()) == ["given.txt", "main.cu", "other.cu", "unnamed.txt"]


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        'asm(".incbin \\"/etc/passwd\\"");',
        "const char secret[] = {\n#embed </etc/passwd>\n};",
    ],
)
def test_the_compiler_reads_no_file_of_the_machine(tmp_path: Path, host_cache: Path, line: str) -> None:
    assert Path("/etc/passwd").is_file()
    got = run(tmp_path, f"{line}\n__global__ void k() {{}}\nint main() {{ return 0; }}\n", host_cache)
    assert got.exit is None
    assert "root" not in str(got.findings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('#include "/etc/passwd"', '"/etc/passwd"'),
        ("%: /* */ include </etc/passwd>", "</etc/passwd>"),
        ("#inc\\\nlude <../../etc/passwd>", "<../../etc/passwd>"),
        ("#define P </etc/passwd>\n#include P", "P"),
        ('asm(".incbin \\"/etc/passwd\\"");', "asm"),
        ('#define A(x, y) x##y\nA(a, sm)("");', "##"),
        ("#if __has_include(</etc/passwd>)\n#endif", "__has_include"),
        ("const char secret[] = {\n#embed </etc/passwd>\n};", "</etc/passwd>"),
    ],
)
def test_without_landlock_what_could_read_files_is_not_compiled(
    tmp_path: Path, host_cache: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.setattr(compile, "landlock_version", lambda: 0)
    got = run(tmp_path, f"{text}\n__global__ void k() {{}}\nint main() {{ return 0; }}\n", host_cache)
    assert got.exit is None and got.cause is not None
    assert (got.cause.id, got.cause.data["text"]) == ("programs.reads_beyond", told)


def test_without_landlock_other_programs_run(tmp_path: Path, host_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile, "landlock_version", lambda: 0)
    (tmp_path / "own.h").write_text("const int mine = 3;\n")
    text = '#include <cstdio>\n#include "own.h"\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); return mine; }\n'
    assert run(tmp_path, text, host_cache).exit == 3


CRASHES = {
    "int* p; cudaMalloc(&p, 64); p[1] = 1;": "programs.segmentation_fault",
    "static long a[9] = {-1, -1, -1, -1}; long* volatile p = a + 4; free(p);": "programs.crash_in_free",
    """for (int kind = 0; kind < 3; ++kind) {
        float* p[2];
        for (float*& one : p)
            if (kind == 0) one = (float*)malloc(1 << 16); else cudaMallocHost(&one, 1 << 16);
        for (float* one : p) for (int i = 0; i < 1 << 14; ++i) one[i] = i * 37 % 100;
        for (float* one : p) free(one);
    }""": "programs.crash_in_free_pinned",
    "volatile int zero = 0; return 100 / zero;": "programs.division_by_zero",
    "abort();": "programs.aborted",
    "cudaMemcpy((void*)7, (void*)(1ull << 40), 1 << 20, cudaMemcpyHostToHost);": "programs.bad_address",
    "char *d, *h = (char*)(1ull << 40); cudaMalloc(&d, 64); cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice);": (
        "programs.bad_address"
    ),
    "for (char* volatile p;;) { p = (char*)malloc(100 << 20); p[0] = 1; }": "programs.host_memory",
}


@pytest.mark.parametrize("body", CRASHES)
def test_a_crash_is_told(tmp_path: Path, host_cache: Path, body: str) -> None:
    got = run(tmp_path, f"__global__ void k() {{}}\nint main() {{ {body} return 0; }}\n", host_cache)
    assert got.cause is not None and got.cause.id == CRASHES[body]
    assert got.cause.data.get("address", "0x10000000000") == "0x10000000000"
    assert got.exit is None


def test_an_endless_program_is_ended_by_count(tmp_path: Path, host_cache: Path) -> None:
    text = "#include <stdio.h>\n__global__ void k() {}\nint main() { volatile int i = 0; for (;;) i++; }\n"
    (tmp_path / "main.cu").write_text(text)
    limits = RunLimits(host_instructions=100_000_000)
    got = run_program(Sources([tmp_path / "main.cu"]), limits=limits, setting=Setting(host_cache=host_cache))
    assert got.cause is not None and got.cause.id == "programs.host_limit"
