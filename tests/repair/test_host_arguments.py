"""What copies and allocations may be given in place of what they are: arrays, directions, pitches, sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import Change, changed
from grader.repair.host_arguments import (
    Host,
    direction_changes,
    directions_at,
    end_changes,
    host_of,
    other_ends,
    pitch_changes,
    size_changes,
)
from grader.repair.host_slips import handed_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

TEXT = """__constant__ float weights[9];
__device__ float total;
void other(float *h_else) {
    float *d_else;
    cudaMalloc(&d_else, 8);
}
void run(float *h_in, float *h_out, int n, int rows) {
    float *d_in, *d_out, h_own[9];
    std::vector<float> v(n), w(n);
    cudaMalloc((void **)&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    COPY
    cudaMemcpy(h_out, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpyToSymbol(total, h_own, sizeof(total));
    int later[9];
}
"""
LINE = 12


def host(copy: str, text: str = TEXT) -> Host:
    return host_of(parse(SourceText(Path("k.cu"), text.replace("COPY", copy), "utf-8")))


def made(copy: str, of: str, arrays: tuple[str, ...] = ()) -> dict[str, tuple[str, float]]:
    """The line of a copy as it becomes, with what is said of the change and what it costs."""
    one = host(copy)
    call = next(c for c in one.calls if c.line == LINE)
    ways = {
        "ends": lambda: end_changes(one, call, arrays),
        "direction": lambda: direction_changes(call),
        "size": lambda: size_changes(one, call, arrays),
    }
    rows = [(changed(one.parsed.source.text, change).split("\n")[LINE - 1].strip(), change) for change in ways[of]()]
    found: dict[str, tuple[str, float]] = {}
    for text, change in rows:
        if change.line == LINE:
            found.setdefault(text, (change.detail, round(change.cost, 2)))
    return found


def copy(target: str, source: str, size: str = "n * sizeof(float)", kind: str = "HostToDevice") -> str:
    return f"cudaMemcpy({target}, {source}, {size}, cudaMemcpy{kind});"


def test_the_ends_of_a_copy_are_others_of_the_same_side() -> None:
    found = made(copy("d_out", "h_in"), "ends", ("d_in",))
    assert found == {
        # An array that something was told of comes first.
        copy("d_in", "h_in"): ("target", 1.6),
        copy("d_out", "h_out"): ("source", 2.0),
        copy("d_out", "h_own"): ("source", 2.0),
        copy("h_in", "d_out"): ("ends", 2.2),
    }
    assert made(copy("d_out", "h_in"), "ends", ("d_out",))[copy("d_in", "h_in")] == ("target", 1.4)


def test_a_copy_from_the_device_has_its_ends_the_other_way_round() -> None:
    found = made(copy("h_in", "d_out", kind="DeviceToHost"), "ends")
    assert {text for text, (detail, _cost) in found.items() if detail == "source"} == {
        copy("h_in", "d_in", kind="DeviceToHost")
    }
    between = made(copy("d_out", "d_in", kind="DeviceToDevice"), "ends")
    assert copy("d_out", "d_out", kind="DeviceToDevice") in between and not [t for t in between if "h_" in t]


def test_a_vector_stands_for_a_vector() -> None:
    found = made(copy("d_in", "v.data()"), "ends")
    assert copy("d_in", "w.data()") in found and copy("d_in", "h_own") not in found


def test_a_symbol_is_one_of_the_file_s_or_of_the_other_calls() -> None:
    to = "cudaMemcpyToSymbol({}, h_in, sizeof(weights));".format
    found = made(to("weights"), "ends")
    assert {t for t, (detail, _cost) in found.items() if detail == "target"} == {to("total")}
    assert not [t for t, (detail, _cost) in found.items() if detail == "ends"]
    back = "cudaMemcpyFromSymbol(h_out, {}, 4);".format
    assert back("weights") in made(back("total"), "ends")


def test_a_symbol_is_any_of_one_declaration() -> None:
    text = "__device__ float A[4][4], B[4][4];\nvoid f() {\ncudaMemcpyToSymbol(A, h, sizeof(h));\n}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    assert other_ends(host, host.calls[0], 0) == ["B"]


def test_a_copy_may_go_another_way() -> None:
    found = made(copy("d_in", "h_in", kind="DeviceToHost"), "direction")
    assert set(found) == {copy("d_in", "h_in", kind=way) for way in ("HostToDevice", "DeviceToDevice")}


@pytest.mark.parametrize(
    ("call", "after", "fields"),
    [
        (copy("d_in", "h_in", "n"), copy("d_in", "h_in", "n * sizeof(float)"), ("bytes", 1.2)),
        (copy("d_in", "h_in", "n - 1"), copy("d_in", "h_in", "(n - 1) * sizeof(float)"), ("bytes", 1.2)),
        (copy("d_in", "h_in", "sizeof(h_in)"), copy("d_in", "h_in", "sizeof(float)"), ("size", 0.9)),
        (copy("d_in", "h_in", "rows / 2 * sizeof(int)"), copy("d_in", "h_in", "rows * sizeof(int)"), ("size", 1.8)),
        (copy("d_in", "h_in", "(rows - 1)"), copy("d_in", "h_in", "(rows - 1) * sizeof(float)"), ("bytes", 1.2)),
        (copy("d_in", "h_in", "(n - 1)"), copy("d_in", "h_in", "n * sizeof(float)"), ("size", 1.7)),
        (copy("d_in", "h_in", "n * sizeof(float)"), copy("d_in", "h_in", "n * rows * sizeof(float)"), ("size", 2.0)),
        (copy("d_in", "h_in", "n * sizeof(float)"), copy("d_in", "h_in", "n * n * sizeof(float)"), ("size", 2.1)),
        (copy("d_in", "h_in", "sizeof(float)"), copy("d_in", "h_in", "sizeof(float) * n"), ("size", 2.0)),
        (
            "cudaMemcpyToSymbol(weights, h_in, 9);",
            "cudaMemcpyToSymbol(weights, h_in, sizeof(weights));",
            ("size", 1.1),
        ),
        (copy("d_in", "h_in", "n * sizeof(float)"), copy("d_in", "h_in", "n * sizeof(float) * sizeof(float)"), None),
    ],
)
def test_the_size_of_a_copy(call: str, after: str, fields: tuple[str, float] | None) -> None:
    assert made(call, "size").get(after) == fields


def test_what_something_leaves_is_made_larger_sooner() -> None:
    allocation = "cudaMalloc(&d_in, n);"
    (of_bytes,) = {cost for detail, cost in made(allocation, "size").values() if detail == "bytes"}
    (sooner,) = {cost for detail, cost in made(allocation, "size", ("d_in",)).values() if detail == "bytes"}
    assert of_bytes - sooner == pytest.approx(1.4)


def test_a_side_of_what_has_two_is_taken_twice_the_smallest_first() -> None:
    sides = "const int MANY = 1000, SIDE = 10, ONE = 1;\n"
    one = host_of(
        parse(
            SourceText(
                Path("a.cu"),
                sides + "void run() {\n    float *d;\n    cudaMalloc(&d, sizeof(float) * MANY * SIDE * ONE);\n}\n",
                "utf-8",
            )
        )
    )
    edits = [c.edits[0].text for c in size_changes(one, one.calls[0]) if c.detail == "size"]
    assert edits == [" * SIDE", " * MANY"]


def test_a_size_that_has_a_name_is_changed_where_that_is_made_or_where_it_is_used() -> None:
    one = host("size_t bytes = n;\n    " + copy("d_in", "h_in", "bytes"))
    call = next(c for c in one.calls if c.line == LINE + 1)
    lines = {c.line: c.cost for c in size_changes(one, call) if c.detail == "bytes"}
    assert lines == {LINE: 1.4, LINE + 1: 1.2}


CALLED = """void up(float *d, const float *h, size_t bytes) { cudaMemcpy(d, h, BYTES, cudaMemcpyHostToDevice); }
void run(const float *h, int n) {
    float *d;
    up(d, h, GIVEN);
}
"""


@pytest.mark.parametrize(
    ("inside", "given", "after"),
    [
        ("bytes", "n", {"n * sizeof(float)", "n * n"}),
        ("bytes", "n - 1", {"(n - 1) * sizeof(float)", "n"}),
        ("bytes * sizeof(float)", "n * sizeof(float)", {"n", "n * n * sizeof(float)"}),
        ("bytes * sizeof(float)", "n", {"n * n"}),
        ("4", "n", set()),
    ],
)
def test_a_function_that_copies_may_be_given_another_size(inside: str, given: str, after: set[str]) -> None:
    one = host("", CALLED.replace("BYTES", inside).replace("GIVEN", given))
    found = {c.edits[0] for c in size_changes(one, one.calls[0]) if c.line == 4}
    text = one.parsed.source.text
    lines = {(text[: e.start] + e.text + text[e.end :]).split("\n")[3].strip() for e in found}
    assert lines == {f"up(d, h, {one});" for one in after}


def test_rows_have_the_pitch_that_their_array_was_allocated_with() -> None:
    text = """void other(float *a) {
    size_t q;
    cudaMallocPitch(&a, &q, 8, 8);
}
void run(float *h) {
    float *a, *b;
    size_t p;
    cudaMallocPitch(&a, &p, 8, 8);
    cudaMemcpy2D(a, 8, h, 8, 8, 8, cudaMemcpyHostToDevice);
    cudaMemcpy2D(a, p, h, 8, 8, 8, cudaMemcpyHostToDevice);
    cudaMemcpy2D(h, 8, a, 8, 8, 8, cudaMemcpyDeviceToHost);
}
"""
    found = {(c.line, c.edits[0].text) for c in pitch_changes(host("", text))}
    assert found == {(9, "p"), (11, "p")}


@pytest.mark.parametrize(("set_size", "is_sooner"), [("n * 4", True), ("n * 2", False), ("n * 3", True)])
def test_an_allocation_that_other_calls_agree_with_is_changed_no_sooner(set_size: str, is_sooner: bool) -> None:
    """Of an array that something leaves a larger size is sought, unless the copy alone says so."""
    text = f"""void run(float *h, int n) {{
    float *d;
    cudaMalloc(&d, n * 2);
    cudaMemset(d, 0, {set_size});
    cudaMemcpy(h, d, n * 4, cudaMemcpyDeviceToHost);
}}
"""
    one = host("", text)
    costs = [min(change.cost for change in size_changes(one, one.calls[0], of)) for of in ((), ("d",))]
    assert (costs[1] < costs[0]) is is_sooner


@pytest.mark.parametrize(("lines", "found"), [({3, 5}, {"DeviceToDevice"}), ({3}, set()), ({4}, set())])
def test_all_copies_that_are_spoken_of_get_another_direction_at_once(lines: set[int], found: set[str]) -> None:
    text = """__global__ void k(float *a);
int main() {
cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice);
k<<<1, 32>>>(d);
cudaMemcpy(h, d, 64, cudaMemcpyDeviceToHost);
}
"""
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    changes = [change for change in directions_at(host, lines) if len(change.edits) == 2]
    assert {name for c in changes for name in ("DeviceToDevice",) if changed(text, c).count(name) == 2} == found
    assert all((c.line, c.to_line, c.detail) == (3, 5, "directions") for c in changes)


HELPER = "template <typename T>\nvoid put(T *d, const T *h, size_t n) {{\n"
HELPER += "cudaMemcpy(d, h, {}, cudaMemcpyHostToDevice);\n}}\nint main() {{ put(a, b, {}); }}\n"
MADE = "float *make(int rows, int cols) {{\nfloat *d;\nint size = {};\ncudaMalloc(&d, size);\nreturn d;\n}}\n"


def sizes(text: str) -> dict[str, Change]:
    """What becomes of a file where a size is changed."""
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    found: dict[str, Change] = {}
    for call in host.calls:
        for change in size_changes(host, call):
            found.setdefault(changed(text, change), change)
    return found


@pytest.mark.parametrize(
    ("wrong", "right", "line", "detail"),
    [
        (("n", "count"), ("n * sizeof(T)", "count"), 3, "bytes"),
        (("n * sizeof(h)", "count"), ("n * sizeof(T)", "count"), 3, "size"),
        # What the caller hands over is wrong, and the helper is right.
        (("n * sizeof(T)", "count / 2"), ("n * sizeof(T)", "count"), 5, "size"),
        (("n * sizeof(T)", "count * sizeof(int)"), ("n * sizeof(T)", "count"), 5, "size"),
        (("n", "count"), ("n", "count * sizeof(T)"), 5, "bytes"),
        (("n / 2 * sizeof(T)", "count"), ("n * sizeof(T)", "count"), 3, "size"),
    ],
)
def test_a_copy_in_a_helper(wrong: tuple[str, str], right: tuple[str, str], line: int, detail: str) -> None:
    found = sizes(HELPER.format(*wrong))
    change = found[HELPER.format(*right)]
    assert (change.kind, change.line, change.detail) == ("host", line, detail)


def test_what_is_given_in_bytes_is_not_multiplied_by_a_width_again() -> None:
    found = sizes(HELPER.format("n", "count * sizeof(int)"))
    assert not any("sizeof(int) * sizeof" in text for text in found)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("rows * sizeof(float)", "rows * cols * sizeof(float)"),
        ("sizeof(float) * rows", "sizeof(float) * rows * cols"),
        ("rows", "rows * cols"),
        ("rows * sizeof(float)", "rows * rows * sizeof(float)"),
        ("(rows - 1) * sizeof(float)", "(rows - 1) * cols * sizeof(float)"),
    ],
)
def test_a_factor_that_is_lost(wrong: str, right: str) -> None:
    found = sizes(MADE.format(wrong))
    assert found[MADE.format(right)].line == 3
    # Where one is lacking, one is not taken for another's bytes.
    assert found[MADE.format(right)].detail == "size"


def test_what_a_function_that_copies_is_handed_may_be_another_variable_of_that_type() -> None:
    text = """struct Matrix {
    float *p;
    void upload(const std::vector<float> &h) { cudaMemcpy(p, h.data(), 64, cudaMemcpyHostToDevice); }
};
int main() {
    std::vector<float> a(16), b(16), c(16);
    std::vector<int> other(16);
    Matrix A, B;
    A.upload(a);
    B.upload(a);
}
"""
    made = {
        (c.line, c.edits[0].text): c.cost
        for c in handed_changes(host_of(parse(SourceText(Path("p.cu"), text, "utf-8"))))
    }
    assert set(made) == {(line, name) for line in (9, 10) for name in ("b", "c")}
