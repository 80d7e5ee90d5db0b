"""Changes of calls in host code: their order, streams, waits and what lives on, as what becomes of lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.message import msg
from grader.repair.function import Change, changed
from grader.repair.host_arguments import host_of
from grader.repair.host_calls import (
    given_changes,
    host_changes,
    initial_changes,
    leaves_memory,
    lifetime_changes,
    stream_changes,
    waits,
)
from grader.repair.launches import grid_changes
from grader.running.evidence import HostCode, HostFault
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

HEAD = "__global__ void k(float *a);\nint main() {\n"
IN, BACK = "cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice);", "cudaMemcpy(h, d, 64, cudaMemcpyDeviceToHost);"
LAUNCH, FREE = "k<<<1, 32>>>(d);", "cudaFree(d);"


def moved(*lines: str) -> dict[tuple[str, ...], Change]:
    """What becomes of `main` with these lines, the first of them the third of the file, where a call is moved."""
    text = HEAD + "\n".join(lines) + "\n}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    found: dict[tuple[str, ...], Change] = {}
    for change in host_changes(host, (), (), ()):
        if change.group == "order":
            after = changed(text, change).removeprefix(HEAD).removesuffix("\n}\n")
            found.setdefault(tuple(after.split("\n")), change)
    return found


@pytest.mark.parametrize(
    ("lines", "after", "fields"),
    [
        ((LAUNCH, IN, BACK), (IN, LAUNCH, BACK), (4, "earlier", 3)),
        ((BACK, LAUNCH, FREE), (LAUNCH, BACK, FREE), (3, "later", 4)),
        ((LAUNCH, "int bad = 0;", "check(h);", BACK), (LAUNCH, "int bad = 0;", BACK, "check(h);"), (6, "earlier", 5)),
        ((FREE, LAUNCH, BACK), (LAUNCH, BACK, FREE), (3, "later", 5)),
        # Before the return, not behind it; behind a statement of several lines its last one counts.
        ((FREE, LAUNCH, "return 0;"), (LAUNCH, FREE, "return 0;"), (3, "later", 4)),
        ((FREE, "k<<<1,", "32>>>(d);"), ("k<<<1,", "32>>>(d);", FREE), (3, "later", 5)),
    ],
)
def test_a_call_that_is_moved_says_where_it_belongs(
    lines: tuple[str, ...], after: tuple[str, ...], fields: tuple[int, str, int]
) -> None:
    found = moved(*lines)
    assert after in found, list(found)
    change = found[after]
    assert (change.line, change.detail, change.to_line) == fields


def test_a_second_free_need_not_be_there() -> None:
    found = moved(LAUNCH, FREE, FREE, "return 0;")
    assert {(c.line, c.detail) for c in found.values() if c.detail == "extra"} == {(4, "extra")}
    assert (LAUNCH, FREE, "return 0;") in found


def test_blocks_of_another_size_and_the_same_offset_on_both_sides_of_a_copy() -> None:
    text = """void f(float *in, int rows, int cols, int first) {
dim3 grid((rows + 31) / 32, (rows + 7) / 8);
float *d;
cudaMemcpy(d, in + first, 64, cudaMemcpyHostToDevice);
k<<<grid, 32>>>(d, rows, cols);
}
"""
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = {changed(text, c): (c.line, c.detail) for c in grid_changes(host.launches[0])}
    assert made[text.replace("(rows + 31)", "(cols + 31)")] == (2, "grid")
    made = {changed(text, c): (c.line, c.detail) for c in host_changes(host, (), (), ())}
    assert made[text.replace("(d, in", "(d + first, in")] == (4, "target")


@pytest.mark.parametrize(
    ("line", "launched", "before"),
    [
        (10, 0, 10),
        # Before the loops that it stands in, those that launch left out.
        (14, 12, 13),
        (14, 0, 14),
        # In a function that the host calls: behind the launch, before that call.
        (4, 8, 10),
        (4, 0, None),
        (4, 10, None),
    ],
)
def test_the_host_waits_before_what_it_reads_or_before_the_call_of_what_reads(
    line: int, launched: int, before: int | None
) -> None:
    text = """__global__ void k(float *a);
bool check(const float *a)
{
    return a[0] == 1;
}
int main() {
    check(d);
    k<<<1, 32>>>(d);
    cudaGetLastError();
    check(d);
    for (int pass = 0; pass < 2; pass++) {
        k<<<1, 32>>>(d);
        for (int i = 0; i < 8; i++) {
            sum += d[i];
        }
    }
    cudaFree(d);
}
"""
    found = list(waits(host_of(parse(SourceText(Path("p.cu"), text, "utf-8"))), line, launched))
    rows = text.split("\n")
    if before is not None:
        indent = rows[before - 1][: -len(rows[before - 1].lstrip())]
        rows.insert(before - 1, f"{indent}cudaDeviceSynchronize();")
    assert [(change.line, changed(text, change)) for change in found] == (
        [] if before is None else [(before, "\n".join(rows))]
    )


def test_a_template_is_launched_with_the_number_that_is_meant() -> None:
    text = HEAD + "k<6><<<1, 32>>>(d);\nk<T><<<1, 32>>>(d);\n}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [c for c in host_changes(host, (), (), (), ["7", "6"]) if c.detail == "instance"]
    assert [(c.line, changed(text, c)) for c in made] == [(3, text.replace("<6>", "<7>"))]


@pytest.mark.parametrize("kind", ["__constant__", "__device__"])
def test_a_variable_of_the_device_is_filled_before_the_launch(kind: str) -> None:
    text = f"{kind} float w[8];\n{HEAD}float hw[8];\n{LAUNCH}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_changes(host, (), ["w"], ()) if c.detail == "missing_before"]
    assert text.replace(LAUNCH, f"cudaMemcpyToSymbol(w, hw, sizeof(w));\n{LAUNCH}") in made


def test_only_what_lives_where_the_launch_stands_is_copied_there() -> None:
    text = (
        f"__constant__ float w[8];\n__global__ void k(float *d) {{}}\nvoid solve(const float *mask) {{\n"
        f"float *d;\n{{ float inner[8]; }}\n{LAUNCH}\nfloat later[8];\n}}\n"
    )
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [c.edits[0].text for c in host_changes(host, (), ["w"], ()) if c.detail == "missing_before"]
    assert made == [f"cudaMemcpyToSymbol(w, {name}, sizeof(w));\n" for name in ("mask", "d")]


STREAMS = """cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, s[1]);
k<<<1, 32, 0, s[1]>>>(d);
cudaStreamSynchronize(s[0]);"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("cudaStreamSynchronize(s[0])", "cudaStreamSynchronize(s[1])", 5),
        ("0, s[1]>>>", "0, s[0]>>>", 4),
        ("cudaMemcpyHostToDevice, s[1]", "cudaMemcpyHostToDevice, s[0]", 3),
    ],
)
def test_another_stream_of_the_function(old: str, new: str, line: int) -> None:
    text = f"{HEAD}{STREAMS}\n}}\n"
    found = {changed(text, c): c.line for c in stream_changes(parse(SourceText(Path("p.cu"), text, "utf-8")))}
    assert found[text.replace(old, new)] == line and len(found) == 3


@pytest.mark.parametrize(
    ("wait", "index"),
    [
        ("for (int i = 0; i < 2; i++)\nCHECK(cudaStreamSynchronize(s[0]));", "i"),
        ("cudaStreamSynchronize(s[0]);\ncudaStreamSynchronize(s[0]);", "1"),
        ("cudaStreamSynchronize(s[0]);", None),
        ("for (int i = 0; i < 2; i++)\ncudaStreamSynchronize(s[i]);", None),
    ],
)
def test_the_same_stream_that_is_waited_for_again_may_be_another_of_its_array(wait: str, index: str | None) -> None:
    text = f"{HEAD}{wait}\n}}\n"
    made = {changed(text, c): c.cost for c in stream_changes(parse(SourceText(Path("p.cu"), text, "utf-8")))}
    assert (text.replace("s[0]", f"s[{index}]", 1) in made) is (index is not None)
    assert len(made) == (0 if index is None else wait.count("s[0]"))


def test_a_stream_that_nobody_waits_for_is_known_by_its_end() -> None:
    text = f"{HEAD}cudaStreamSynchronize(one);\ncudaStreamDestroy(one);\ncudaStreamDestroy(two);\n}}\n"
    made = [changed(text, c) for c in stream_changes(parse(SourceText(Path("p.cu"), text, "utf-8")))]
    assert made == [text.replace("Synchronize(one)", "Synchronize(two)")]
    twice = text.replace("cudaStreamSynchronize(one);\n", "cudaStreamSynchronize(one);\ncudaStreamSynchronize(one);\n")
    costs = {c.cost for c in stream_changes(parse(SourceText(Path("p.cu"), twice, "utf-8")))}
    assert costs == {0.4}


def test_a_copy_is_given_the_pitch_that_its_array_was_allocated_with() -> None:
    made = "cudaMallocPitch(&d, &wide, 64, 8);\ncudaMallocPitch((void **)&e, &narrow, 32, 8);\n"
    copies = "cudaMemcpy2D(d, WIDE, h, 64, 64, 8, H);\ncudaMemcpy2DAsync(h, 32, e, NARROW, 32, 8, D, s);\n}\n"

    def text(wide: str, narrow: str) -> str:
        return HEAD + made + copies.replace("WIDE", wide).replace("NARROW", narrow)

    own = text("narrow", "32")
    host = host_of(parse(SourceText(Path("p.cu"), own, "utf-8")))
    changes = [change for change in host_changes(host, (), (), ()) if change.group == "pitch"]
    after = {changed(own, change): (change.line, change.detail) for change in changes}
    assert after == {text("wide", "32"): (5, "pitch"), text("narrow", "narrow"): (6, "pitch")}


LIFETIME_HEAD = "void solve(float *out, const float *in, int n)\n{\n"
FREED, RIGHT = "cudaFree(b);", "cudaFree(b != {0} ? b : a);"


def made(body: str, arrays: tuple[str, ...] = ()) -> dict[str, Change]:
    """What becomes of a function's body."""
    text = f"{LIFETIME_HEAD}{body}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    changes = [*lifetime_changes(host), *(initial_changes(host, arrays) if arrays else ())]
    return {changed(text, change).removeprefix(LIFETIME_HEAD).removesuffix("\n}\n"): change for change in changes}


@pytest.mark.parametrize("swap", ["std::swap(a, b);", "float *t = a; a = b; b = t;"])
def test_of_two_pointers_that_are_swapped_the_caller_s_is_not_freed(swap: str) -> None:
    body = f"float *a = out, *b;\ncudaMalloc(&b, 4);\n{swap}\nCHECK(cudaFree(b));"
    found = made(body)
    assert found[body.replace(FREED[:-1], RIGHT.format("out")[:-1])].detail == "freed"
    assert not made(body.replace(swap, "f(a, b);"))


@pytest.mark.parametrize(
    ("flag", "condition", "is_tried"),
    [
        ("static bool is_ready = false;", "!is_ready", True),
        ("static int calls = 0;", "calls == 0", True),
        ("static int calls = 0;", "calls < n", False),
        ("bool is_ready = false;", "!is_ready", False),
    ],
)
def test_what_is_done_once_may_be_needed_in_every_call(flag: str, condition: str, is_tried: bool) -> None:
    inner = "{\ncudaMemcpyToSymbol(w, in, 4);\n}"
    body = f"{flag}\nif ({condition}) {inner}\nk<<<1, 1>>>(out);"
    changes = made(body)
    assert [(text, c.line) for text, c in changes.items()] == ([(f"{flag}\n{inner}\nk<<<1, 1>>>(out);", 4)] * is_tried)
    # What is allocated in every call is never freed.
    assert not made(body.replace("cudaMemcpyToSymbol(w, in, 4);", "cudaMalloc(&w, 4);"))


@pytest.mark.parametrize(
    ("variable", "first"),
    [("unsigned int done = 2u;", "2u"), ("unsigned int done;", "0"), ("unsigned int done[4];", None)],
)
def test_what_a_kernel_counts_up_is_set_back_before_the_launch(variable: str, first: str | None) -> None:
    head = f"__device__ {variable}\n__global__ void k(float *a) {{ atomicAdd(&done, 1u); }}\n"
    host = host_of(parse(SourceText(Path("p.cu"), f"{head}void solve(float *a) {{\nk<<<1, 1>>>(a);\n}}\n", "utf-8")))
    found = {edit.text: c for c in lifetime_changes(host) for edit in c.edits}
    text = (
        f"const unsigned int done_at_first = {first};\n"
        "cudaMemcpyToSymbol(done, &done_at_first, sizeof(done_at_first));\n"
    )
    assert [(t, c.line, c.to_line) for t, c in found.items()] == ([(text, 4, 1)] if first else [])


def test_an_array_gets_its_first_value_before_the_first_launch() -> None:
    body = "float *sums;\ncudaMalloc(&sums, 4 * n);\nj<<<1, 8>>>(in, sums, n);\nk<<<1, 8>>>(sums, out);"
    costs: dict[str, float] = {}
    for text, change in made(body, ("out",)).items():
        assert (change.kind, change.detail) == ("host", "unset") and text.count("\n") == body.count("\n") + 1
        line = next(row for row in text.split("\n") if row not in body)
        assert text.index(line) < text.index({5: "j<<<", 6: "k<<<"}[change.line])
        costs[line] = change.cost
    assert next(iter(costs)) == "cudaMemset(sums, 0, 4 * n);"
    assert min(costs, key=lambda line: costs[line]) == "cudaMemset(out, 0, sizeof(*out));"
    assert "cudaMemcpy(out, sums, sizeof(*out), cudaMemcpyDeviceToDevice);" in costs
    assert not any("(in," in line for line in costs)


@pytest.mark.parametrize(
    ("call", "waits_by"),
    [("cudaFree(d);", "cudaDeviceSynchronize();"), ("ERR(cudaFree(d));", "ERR(cudaDeviceSynchronize());")],
)
def test_a_wait_comes_before_a_clock_and_is_checked_as_other_calls_are(call: str, waits_by: str) -> None:
    text = f"void run(float *d) {{\n{call}\nk<<<1, 32>>>(d);\nauto t1 = clock::now();\nuse(d[0]);\n}}\n"
    host = host_of(parse(SourceText(Path("w.cu"), text, "utf-8")))
    assert [changed(text, change) for change in waits(host, 5, 3)] == [
        text.replace("auto t1", f"{waits_by}\nauto t1"),
    ]


def test_another_of_the_program_s_arguments() -> None:
    text = "int main(int n, char **argv) {\nint r = f(argv[2]);\n}\nint other(int n, int *argv) { return argv[1]; }\n"
    found = {changed(text, change) for change in given_changes(parse(SourceText(Path("w.cu"), text, "utf-8")))}
    assert found == {text.replace("argv[2]", "argv[3]"), text.replace("argv[2]", "argv[1]")}


GIVEN_BACK = "CHECK(cudaFree(part));\ncudaFree(in);"


@pytest.mark.parametrize(
    ("known", "left", "text", "was_whole", "is_lost"),
    [
        ((), ("part",), "cudaFree(in);", False, True),
        # What a program that did not come to its end would have left as well is no matter of the change.
        ((), ("part",), GIVEN_BACK, False, False),
        ((), ("part",), GIVEN_BACK, True, True),
        (("part",), ("part",), "cudaFree(in);", True, False),
        ((), (), "cudaFree(in);", True, False),
    ],
)
def test_memory_that_was_given_back_is_not_left(
    known: tuple[str, ...], left: tuple[str, ...], text: str, was_whole: bool, is_lost: bool
) -> None:
    hosts = [
        HostCode(
            True, untidy=tuple(HostFault("copy", "k.cu", 9, msg("programs.leak", array=a, bytes=8)) for a in names)
        )
        for names in (known, left)
    ]
    assert leaves_memory(hosts[0], hosts[1], GIVEN_BACK, text, was_whole=was_whole) is is_lost
