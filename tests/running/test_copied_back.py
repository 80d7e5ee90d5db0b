"""Results that a program copies to the host, and reads never or too early; one array for what is read and written."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from grader.programs.records import LIBRARY
from grader.running.calls import cut_differences, fetched_over, not_noticed, of_other_type, zero_constants, zeros_copied
from grader.running.data_flow import flow_faults, may_be_meant
from grader.running.own_program import never_read, read_early
from grader.submission.kernels.records import (
    Contents,
    Kernel,
    KernelParameter,
    SeenArgument,
    SeenBlind,
    SeenCopy,
    SeenLaunch,
    SeenRun,
    SeenStep,
    SeenWord,
)

BACK = "cudaMemcpy(out, d, bytes, cudaMemcpyDeviceToHost);"


def program(*lines: str) -> tuple[SeenRun, dict[str, str]]:
    """A run of a `main` of these lines, the first its line 2: `k<<<…>>>` launches, and what is copied back."""
    rows = ["int main() {", *lines, "}"]
    launches = tuple(
        SeenLaunch("k", (), "a.cu", number, (1, 1, 1), (32, 1, 1), 0, ())
        for number, row in enumerate(rows, 1)
        if "k<<<" in row
    )
    copies, made = [], 0
    for number, row in enumerate(rows, 1):
        made += "k<<<" in row
        if "DeviceToHost" in row:
            copies.append(SeenCopy("out", "a.cu", number, "d", 1, 64, is_whole=True, launches=made))
    steps = tuple(SeenStep(number, ()) for number in range(len(launches)))
    return SeenRun(("a.cu",), launches, ended=True, copies=tuple(copies), order=steps), {"a.cu": "\n".join(rows)}


@pytest.mark.parametrize(
    "lines",
    [
        (
            "float *out = (float *)malloc(bytes), *ref = cpu();",
            "k<<<1, 32>>>(d);",
            BACK,
            "check(ref, in);",
            "free(out);",
        ),
        ("std::vector<float> in(n), out(n);", "k<<<1, 32>>>(d);", BACK.replace("out,", "out.data(),"), "check(in);"),
        ("float out[64];", "memset(out, 0, 64);", "out[0] = 1;", "k<<<1, 32>>>(d);", BACK),
        ("float *out;", "cudaMallocHost((void **)&out, bytes);", "if (!out) return 1;", "k<<<1, 32>>>(d);", BACK),
    ],
)
def test_an_array_that_nothing_reads_is_told_at_its_copy(lines: tuple[str, ...]) -> None:
    run, texts = program(*lines)
    (fault,) = never_read(run, "k", texts)
    assert fault.line == next(n for n, row in enumerate(texts["a.cu"].split("\n"), 1) if "DeviceToHost" in row)
    assert fault.message.id == "checks.host_code.compared_other"
    assert fault.message.data == {"array": "out", "kernel": "k"}


@pytest.mark.parametrize(
    "use",
    [
        "check(ref, out);",
        "sum += w * out[0];",
        "float first = out[0];",
        "float e = diff(in, out, n);",
        'printf("%f", *out);',
        "return out[3] != 1;",
        "float *p = out;",
        "for (float x : out) s += x;",
        "out[1] = out[0] + 1;",
        "if (out[0] == 0) return 1;",
        "save(\n  out\n);",
    ],
)
def test_whatever_else_mentions_it_may_read_it(use: str) -> None:
    run, texts = program("float *out = (float *)malloc(bytes);", "k<<<1, 32>>>(d);", BACK, *use.split("\n"))
    assert not never_read(run, "k", texts)


def test_an_array_of_the_file_may_be_read_anywhere() -> None:
    run, texts = program("k<<<1, 32>>>(d);", BACK)
    texts = {"a.cu": texts["a.cu"] + "\nfloat last() { return out[0]; }"}
    assert not never_read(run, "k", texts)
    assert never_read(run, "k", {"a.cu": texts["a.cu"].replace("out[0]", "0")})


def test_results_that_are_read_before_they_are_copied_are_told() -> None:
    before = ("float *out = (float *)malloc(bytes);", "k<<<1, 32>>>(d);")
    run, texts = program(*before, "check(ref, out);", BACK, "k<<<1, 32>>>(d);", BACK, "check(ref, out);")
    (fault,) = read_early(run, "k", texts)
    assert (fault.line, fault.message.id) == (5, "checks.host_code.compared_early")
    assert fault.message.data == {"array": "out", "kernel": "k", "read_line": 4}
    # Read after that copy too: what was before is somebody else's.
    run, texts = program(*before, "check(ref, out);", BACK, "check(ref, out);")
    assert not read_early(run, "k", texts)
    # Read before the launch.
    run, texts = program(before[0], "check(ref, out);", before[1], BACK)
    assert not read_early(run, "k", texts)


@pytest.mark.parametrize(("other", "count"), [(7, 1), (8, 0)])
def test_one_array_for_an_input_and_an_output(other: int, count: int) -> None:
    def parameter(name: str, is_written: bool) -> KernelParameter:
        return KernelParameter(
            name, "float *", is_pointer=True, is_const=not is_written, dtype="float32", is_read=not is_written,
            is_written=is_written,
        )  # fmt: skip

    kernel = Kernel("k", "a.cu", 1, 2, (parameter("x", False), parameter("y", True)), (), (), is_empty=False)
    seen = (SeenArgument("x", "float *", buffer="hx"), SeenArgument("y", "float *", buffer="hx"))
    launch = SeenLaunch("k", (), "a.cu", 9, (1, 1, 1), (32, 1, 1), 0, seen)
    run = SeenRun(("a.cu",), (launch,), ended=True, order=(SeenStep(0, (7, other)),))
    found = may_be_meant(run, {"k": kernel})
    # It is as true of a run that is stopped later.
    assert may_be_meant(replace(run, ended=False), {"k": kernel}) == found
    assert [(f.line, f.message.id) for f in found] == [(9, "checks.host_code.same_array")] * count
    assert all(f.message.data["first"] == "x" and f.message.data["second"] == "y" for f in found)


def one_array(*kernels: str) -> tuple[SeenRun, dict[str, Kernel]]:
    """A run that launches each of these upon one array, where `.` copies the next quarter of that to the host, and `:`
    the same as before."""
    parameter = KernelParameter("y", "float *", is_pointer=True, is_const=False, dtype="float32", is_read=False)
    known = {name: Kernel(name, "a.cu", 1, 2, (parameter,), (), (), is_empty=False) for name in dict.fromkeys(kernels)}
    for copied in ".:":
        known.pop(copied, None)
    seen = (SeenArgument("y", "float *", buffer="d", buffer_bytes=64),)
    launches: list[SeenLaunch] = []
    copies: list[SeenCopy] = []
    offset = -16
    for line, name in enumerate(kernels, 1):
        if name in (".", ":"):
            offset += 16 if name == "." else 0
            copy = SeenCopy("out", "a.cu", line, "d", 7, 16, is_whole=False, launches=len(launches), of=64)
            copies.append(replace(copy, offset=offset))
        else:
            offset = -16
            launches.append(SeenLaunch(name, (), "a.cu", line, (1, 1, 1), (32, 1, 1), 0, seen))
    order = tuple(SeenStep(number, (7,)) for number in range(len(launches)))
    return SeenRun(("a.cu",), tuple(launches), ended=True, order=order, copies=tuple(copies)), known


@pytest.mark.parametrize(
    ("kernels", "graded", "lines"),
    [
        ("k j . i .", {"k", "j", "i"}, [1]),
        ("j . k i .", {"k", "j", "i"}, [3]),
        # It may set what the other one leaves as it is.
        ("k j . i .", {"j", "i"}, []),
        # To warm up, or a time.
        ("k j . i . k .", {"k", "j", "i"}, []),
        ("k k . j .", {"k", "j"}, []),
        # Of one variant alone: the others are shown.
        ("k j .", {"k", "j"}, []),
        # Nothing is fetched: only launches are shown.
        ("k j", {"k", "j"}, []),
    ],
)
def test_results_that_another_variant_stores_over_are_told_at_their_launch(
    kernels: str, graded: set[str], lines: list[int]
) -> None:
    run, known = one_array(*kernels.split())
    found = flow_faults(run, known, {}, (), graded)
    assert [(f.line, f.message.id) for f in found] == [(n, "checks.host_code.never_fetched") for n in lines]


@pytest.mark.parametrize("at", range(3))
def test_results_that_a_library_fetches_are_fetched(at: int) -> None:
    run, known = one_array(*["k", ".", "j", ".", "i", "."])
    copies = tuple(replace(copy, file=LIBRARY, line=0) if n == at else copy for n, copy in enumerate(run.copies))
    assert flow_faults(replace(run, copies=copies), known, {}, (), {"k", "j", "i"}) == []


@pytest.mark.parametrize(
    ("kernels", "short"),
    [
        ("k .", {2: 16}),
        ("k . . . .", {}),
        ("k . j .", {2: 16, 4: 16}),
        # The same part twice is one part.
        ("k . : : :", {5: 16}),
        ("k . . : .", {5: 48}),
    ],
)
def test_a_part_of_the_results_may_be_meant(kernels: str, short: dict[int, int]) -> None:
    found = [f for f in may_be_meant(*one_array(*kernels.split())) if f.message.id.endswith("copied_short")]
    assert {f.line: f.message.data["bytes"] for f in found} == short
    assert all(f.message.data["size"] == 64 for f in found)


def test_parts_that_launches_make_one_by_one_are_fetched_together() -> None:
    run, known = one_array("k", ".", "k", ".")
    first, second = run.launches
    argument = msgspec.structs.replace(second.arguments[0], offset_bytes=32)
    halves = tuple(replace(copy, offset=32 * n, bytes=32) for n, copy in enumerate(run.copies))
    in_parts = replace(run, launches=(first, msgspec.structs.replace(second, arguments=(argument,))), copies=halves)
    assert may_be_meant(in_parts, known) == []
    # The whole of it twice, and a half copied back each time.
    assert [fault.message.data["bytes"] for fault in may_be_meant(replace(run, copies=halves), known)] == [32, 32]


@pytest.mark.parametrize(("copies", "lines"), [("k . j . i .", []), ("k . j i .", [3]), ("k j .", [])])
def test_results_in_a_variable_of_the_device_are_stored_over_as_those_in_arrays_are(
    copies: str, lines: list[int]
) -> None:
    run, known = one_array(*copies.split())
    of_file = {name: replace(k, parameters=(replace(k.parameters[0], is_global=True),)) for name, k in known.items()}
    named = tuple(replace(copy, array="y", bytes=64) for copy in run.copies)
    launches = tuple(msgspec.structs.replace(launch, arguments=()) for launch in run.launches)
    order = tuple(replace(step, buffers=()) for step in run.order)
    run = replace(run, copies=named, launches=launches, order=order)
    assert [fault.line for fault in flow_faults(run, of_file, {}, (), {"k", "j", "i"})] == lines


@pytest.mark.parametrize(
    ("size", "n", "lines"),
    [
        # As many elements as its launch has sizes for, of an array that is made for more.
        (1000, 4, []),
        # The array is as long as the launch's sizes say.
        (64, 4, [2]),
        # Nothing tells why there are so many.
        (64, 3, [2]),
    ],
)
def test_an_array_that_is_made_for_larger_sizes_is_not_copied_whole(size: int, n: int, lines: list[int]) -> None:
    run, known = one_array("k", ".")
    argument = replace(known["k"].parameters[0], name="n", is_pointer=False)
    known["k"] = replace(known["k"], parameters=(*known["k"].parameters, argument))
    number = SeenArgument("n", "int", n)
    launch = msgspec.structs.replace(run.launches[0], arguments=(*run.launches[0].arguments, number))
    run = replace(run, launches=(launch,), order=(SeenStep(0, (7, 0)),), copies=(replace(run.copies[0], of=size),))
    assert [f.line for f in may_be_meant(run, known) if f.message.id.endswith("copied_short")] == lines


@pytest.mark.parametrize(
    ("text", "type_text", "lines"),
    [
        ("double *h;\ncudaMemcpy(d, h, n, cudaMemcpyHostToDevice);", "float const*", [2]),
        ("std::vector<double> h(n);\ncudaMemcpy(d, h.data(), n, cudaMemcpyHostToDevice);", "float const*", [2]),
        ("double *h;\ncudaMemcpy(d, h, n, cudaMemcpyHostToDevice);", "double*", []),
        ("float *h;\ncudaMemcpy(d, h, n, cudaMemcpyHostToDevice);", "float const*", []),
        # Whose type it is does not stand beside its name.
        ("double *g, *h;\ncudaMemcpy(d, h, n, cudaMemcpyHostToDevice);", "float const*", []),
    ],
)
def test_a_copy_of_numbers_of_another_type_is_told(text: str, type_text: str, lines: list[int]) -> None:
    seen = SeenArgument("x", type_text, buffer="d", buffer_bytes=64, serial=7)
    launch = SeenLaunch("k", (), "a.cu", 4, (1, 1, 1), (32, 1, 1), 0, (seen,))
    copy = SeenCopy("in", "a.cu", 2, "d", 7, 64, is_whole=True)
    run = SeenRun(("a.cu",), (launch,), ended=True, copies=(copy,))
    assert [fault.line for fault in of_other_type(run, "k", {"a.cu": text})] == lines


@pytest.mark.parametrize(
    ("text", "dtype", "lines"),
    [
        ("\nint d = abs(got[i] - want[i]);", "float32", [2]),
        ("if (abs((int)(got[i] - want[i])) > 0) bad++;", "float32", [1]),
        ("double d = fabs(got[i] - want[i]);", "float32", []),
        ("\nint d = abs(got[i] - want[i]);", "int32", []),
        ("int len = start[i + 1] - start[i];", "float32", []),
        ("std::vector<int> a; const int *b; int d = abs(a[i] - b[i]);", "float32", []),
    ],
)
def test_a_difference_that_is_cut_to_an_integer_is_told(text: str, dtype: str, lines: list[int]) -> None:
    parameter = KernelParameter("y", "float *", is_pointer=True, is_const=False, dtype=dtype, is_read=False)
    kernel = Kernel("k", "a.cu", 1, 2, (parameter,), (), (), is_empty=False)
    assert [fault.line for fault in cut_differences(kernel, {"a.cu": text})] == lines


def test_columns_of_a_matrix_are_copied_back_side_by_side() -> None:
    run, known = one_array("k", ".", ".")
    halves = tuple(replace(copy, offset=8 * n, bytes=32) for n, copy in enumerate(run.copies))
    assert may_be_meant(replace(run, copies=halves), known) == []


@pytest.mark.parametrize(
    ("between", "told"),
    [("", [7]), ("check(out);", []), ("out[0] = 1;", [7])],
    ids=["nothing", "a read", "a write"],
)
def test_a_copy_over_results_that_nothing_has_read(between: str, told: list[int]) -> None:
    launch = "k<<<1, 32>>>(d);"
    run, texts = program("float out[64];", launch, BACK, between, launch, BACK, "check(out);")
    first, second = run.launches
    run = replace(run, launches=(first, msgspec.structs.replace(second, kernel="m")))
    assert [fault.line for fault in fetched_over([run], "m", texts, {"k", "m"})] == told
    assert not list(fetched_over([run], "m", texts, {"m"}))
    assert not list(fetched_over([run], "k", texts, {"k", "m"}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("if (got[i] - want[i] > 1e-3f) bad++;", [(1, "signed_smaller")]),
        ("if (got[i].x - want[i].x > 1e-3f) bad++;", [(1, "signed_smaller")]),
        # How far bodies, or neighbours, are from each other.
        ("float dx = p[j].x - p[i].x;\nbad += got[i] > w;", [(9, "not_noticed_smaller")]),
        # It writes results into a file and says "success".
        ('fwrite(got, 4, n, f);\nputs("success");', []),
    ],
)
def test_what_a_check_does_not_notice_is_told_where_results_are_compared(
    text: str, told: list[tuple[int, str]]
) -> None:
    run, _texts = program("k<<<1, 32>>>(d);")
    run = replace(run, unnoticed=(SeenBlind("k", "a.cu", 9, "smaller"),))
    faults = not_noticed([run], "k", {"a.cu": text})
    assert [(fault.line, fault.message.id.rpartition(".")[2]) for fault in faults] == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nif (fabsf(got[i] - want[i]) > 1e-3f) bad++;", (2, "not_noticed_nan")),
        ("\nworst = std::fmax(worst, std::fabs(got[i] - want[i]));", (2, "not_noticed_nan_by_max")),
        ("\nworst = std::max(worst, std::abs(got[i] - want[i]));", (2, "not_noticed_nan_by_max")),
        ("float d = got[i] - want[i];\nif (d * d > 1e-3f) bad++;", (9, "not_noticed_nan")),
    ],
)
def test_what_keeps_a_check_from_seeing_nan(text: str, told: tuple[int, str]) -> None:
    run, _texts = program("k<<<1, 32>>>(d);")
    run = replace(run, unnoticed=(SeenBlind("k", "a.cu", 9, "nan"),))
    (fault,) = not_noticed([run], "k", {"a.cu": text})
    assert (fault.line, fault.message.id.rpartition(".")[2]) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bad = errors(gold, gold, n);", [(1, "compared_with_itself", "gold")]),
        ("\nif (std::equal(a.begin(), a.end(), a.begin())) ok();", [(2, "compared_with_itself", "a")]),
        ("bad += fabsf(got[i] - got[i]) > 1e-3f;", [(1, "compared_with_itself", "got")]),
        ("bad = errors(gold, got, n);", [(9, "not_noticed_all", None)]),
        # Which of two is meant nobody knows.
        ("errors(a, a, n);\nerrors(b, b, n);", [(9, "not_noticed_all", None)]),
    ],
)
def test_what_is_compared_with_itself_is_told_there(text: str, told: list[tuple[int, str, str | None]]) -> None:
    run, _texts = program("k<<<1, 32>>>(d);")
    run = replace(run, unnoticed=(SeenBlind("k", "a.cu", 9, "all"),))
    faults = not_noticed([run], "k", {"a.cu": text})
    found = [(f.line, f.message.id.rpartition(".")[2], f.message.data.get("array")) for f in faults]
    assert found == told


INSIDE = "bool same(const float *a, const float *b) {\n    return a[0] == b[0];\n}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("vector<float> want;\nbool ok = results.front() == want;", 2),
        ("\nif (std::equal(a.begin(), a.end(), want.begin())) puts(ok);", 2),
        ("\n\nif (memcmp(out[0], want, bytes)) bad++;", 3),
        (f"{INSIDE}void f() {{\n    printf(text, same(a, want));\n}}", 5),
        # Which of two is meant nobody knows.
        (f"{INSIDE}void f() {{\n    ok = same(a, want);\n    ok = same(a, want);\n}}", 9),
        ("struct M {\n    bool operator==(const M &o) {\n        return px[i] == o.px[i];\n    }\n};", 9),
    ],
)
def test_whose_results_are_compared_is_asked_where_they_are(text: str, line: int) -> None:
    run, _texts = program("k<<<1, 32>>>(d);")
    run = replace(run, unnoticed=(SeenBlind("k", "a.cu", 9, "alone"),))
    (fault,) = not_noticed([run], "k", {"a.cu": text})
    assert (fault.line, fault.message.id) == (line, "checks.host_code.not_noticed_alone")


@pytest.mark.parametrize(
    ("before", "origins", "lines"),
    [
        ("zeros", ("copied",), [3]),
        ("data", ("copied",), []),
        # What a memset has cleared is meant to be 0.
        ("zeros", ("zeroed",), []),
    ],
)
def test_an_input_of_zeros_alone_is_told_where_it_is_copied(
    before: Contents, origins: tuple[str, ...], lines: list[int]
) -> None:
    seen = SeenArgument("x", "float const*", buffer="d", buffer_bytes=64, before=before, origins=origins, serial=7)
    launch = SeenLaunch("k", (), "a.cu", 4, (1, 1, 1), (32, 1, 1), 0, (seen,))
    copy = SeenCopy("in", "a.cu", 3, "d", 7, 64, is_whole=True)
    run = SeenRun(("a.cu",), (launch,), ended=True, copies=(copy,))
    kernel = Kernel("k", "a.cu", 1, 2, (), (), (), is_empty=False)
    assert [fault.line for fault in zeros_copied([run], kernel)] == lines
    # Another launch of it reads numbers.
    other = msgspec.structs.replace(launch, arguments=(msgspec.structs.replace(seen, before="data", serial=8),))
    assert not list(zeros_copied([replace(run, launches=(launch, other))], kernel))


@pytest.mark.parametrize(
    ("content", "is_right", "lines"), [(bytes(20), False, [3]), (bytes(20), True, []), (b"\1" * 20, False, [])]
)
def test_constants_of_zeros_alone_are_told_of_results_that_are_called_wrong(
    content: bytes, is_right: bool, lines: list[int]
) -> None:
    launch = SeenLaunch("k", (), "a.cu", 4, (1, 1, 1), (32, 1, 1), 0, (), filled=(("weights", content),))
    copy = SeenCopy("in", "a.cu", 3, "weights", 7, 20, is_whole=True)
    run = SeenRun(("a.cu",), (launch,), ended=True, copies=(copy,), said=(SeenWord("k: …", is_right, "k", 4),))
    assert [fault.line for fault in zero_constants([run], "k", {"weights"})] == lines
    assert not list(zero_constants([run], "k", {"other"}))


@pytest.mark.parametrize("macro", ["#define CHECK() (out[3] == 1)", "#define CHECK() \\\n    (out[3] == 1)"])
def test_results_may_be_read_in_a_macro(macro: str) -> None:
    run, texts = program("float out[64];", "k<<<1, 32>>>(d);", BACK, "CHECK();")
    assert never_read(run, "k", texts)
    (name,) = texts
    assert not never_read(run, "k", {name: texts[name] + "\n" + macro})


@pytest.mark.parametrize(
    ("before", "back"),
    [("auto check = [&] { return out[3] == 1; };", BACK), ("", BACK + " check(out);")],
    ids=["in a lambda", "in the line of the copy"],
)
def test_results_may_be_read_elsewhere_before_others_are_stored_over_them(before: str, back: str) -> None:
    launch = "k<<<1, 32>>>(d);"
    run, texts = program("float out[64];", before, launch, back, "check();", launch, back, "check();")
    first, second = run.launches
    run = replace(run, launches=(first, msgspec.structs.replace(second, kernel="m")))
    assert not list(fetched_over([run], "m", texts, {"k", "m"}))
