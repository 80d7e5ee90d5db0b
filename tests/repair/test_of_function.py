"""Functions and programs that come out wrong: what is tried of their device code and of their host code, and when; and
whole gradings of such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.checks import HostCodeSettings
from grader.lab.labs import find
from grader.lab.records import CheckSpec
from grader.message import msg
from grader.repair import of_function
from grader.repair.of_function import function_repairs
from grader.result import Check
from grader.running.calls import is_one_launch, living_on, one_block, suspects, uncombined_blocks
from grader.running.evidence import HostCode, HostFault
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

TEXT = """__global__ void add(float *out, const float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += sums[blockIdx.x];
}
void solve(float *out, const float *sums, int n) {
    add<<<n / 8, 8>>>(out, sums, n);
}
"""
SIZES = ({"n": 8}, {"n": 9})


@dataclass
class Evidence:
    """What is known of a function, as far as a search asks for it."""

    runs: Any
    variant: Any
    host: Any
    diagnoses: dict[str, Any]
    uncombined_blocks: int
    one_block: Any


class Runs:
    """Runs of programs that are texts: right at a size where `needed` is in the text."""

    def __init__(self, needed: str, elsewhere: str = "") -> None:
        self.needed, self.elsewhere = needed, elsewhere
        self.is_right_at_named = False
        self.suspects = frozenset({"add"})
        self.lab = SimpleNamespace(files={})
        self.observations = [SimpleNamespace(text=TEXT) for _case in self.named()]

    def named(self) -> list[Any]:
        return [SimpleNamespace(kind="correct", sizes=sizes, data=((),), drawn=False) for sizes in SIZES]

    def drawn_cases(self, _evidence: Any) -> list[Any]:
        return [SimpleNamespace(kind="correct", sizes={"n": 900}, data=((),), drawn=True)]

    def begun(self, case: Any, limits: Any) -> tuple[Any, Any]:
        return case, limits

    def judged(self, case: Any, observation: Any) -> Any:
        is_right = self.needed in observation.text and (case.sizes["n"] == 8 or self.elsewhere in observation.text)
        is_right = is_right or (self.is_right_at_named and not case.drawn)
        outcome = SimpleNamespace(status="ok", hazards=(), reason="")
        return SimpleNamespace(outcome=outcome, is_right=is_right, kind=case.kind, sizes=case.sizes, drawn=case.drawn)


class Watched:
    """In place of the process that runs programs: how often each way was run is counted."""

    of_device = of_host = 0

    def __init__(self, program: Any) -> None:
        self.program = program

    def run(self, _start: Any, _limits: Any) -> Any:
        Watched.of_host += 1
        launch = SimpleNamespace(thread_instructions=10, grid=(2, 1, 1), block=(8, 1, 1), kernel="add")
        return SimpleNamespace(text=self.program.text, calls=[SimpleNamespace(launches=[launch])])

    def run_with(self, program: Any, _start: Any, _limits: Any) -> Any:
        Watched.of_device += 1
        return SimpleNamespace(text=program.text, calls=[])

    def close(self) -> None: ...


MAIN = """int main() {
    float *a, *b, *c;
CALLS}
""".replace(
    "CALLS",
    "".join(
        f"    cudaMalloc(&{name}, {name}_h.size() * sizeof(float));\n"
        f"    cudaMemcpy({name}, {name}_h.data(), {name}_h.size() * sizeof(float), cudaMemcpyHostToDevice);\n"
        f"    solve({name}, {name}, 9);\n    cudaFree({name});\n"
        for name in "abc"
    ),
)


def program(_file: str, text: str) -> Any:
    text = text.partition("int main")[0]
    start, end = text.index("{"), text.index("void solve")
    blank = "\n" * text[start:end].count("\n")
    return SimpleNamespace(text=text, host={"k.cu": text[:start] + blank + text[end:]})


class Graded(tuple[Any, str]):
    """A change that passes every check, with the text that it makes."""

    __slots__ = ()
    is_complete = True


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Any:
    Watched.of_device = Watched.of_host = 0
    monkeypatch.setattr(of_function, "CompiledProgram", Watched)
    monkeypatch.setattr(
        of_function, "_graded", lambda _called, parsed, change, program, *_rest: [Graded((change, program.text))]
    )

    def search(runs: Runs, check: str = "correct", more: str = "", **host: Any) -> Any:
        parsed = parse(SourceText(Path("k.cu"), TEXT + more, "utf-8"))
        own = program("", TEXT)
        called: Any = SimpleNamespace(runs=runs, program=own, compiled=Watched(own), files=[parsed], changed=program)
        evidence: Any = Evidence(
            runs=[runs.judged(case, SimpleNamespace(text=TEXT)) for case in (*runs.named(), *runs.drawn_cases(None))],
            variant=SimpleNamespace(checks=[CheckSpec("host_code", 5, HostCodeSettings(of="data"))]),
            host=HostCode(is_there=True, **host),
            diagnoses={},
            uncombined_blocks=0,
            one_block=None,
        )
        failed: Any = SimpleNamespace(check=check, variant="solve", status="fail", line=5, data={})
        return function_repairs(called, {"solve": evidence}, [failed])

    return search


def test_what_a_drawn_case_alone_shows_is_looked_for_in_host_code_first(searched: Any) -> None:
    rounded = "(n + 8 - 1) / 8"
    runs = Runs(rounded, rounded)
    runs.is_right_at_named = True
    ((change, _text),) = searched(runs)
    assert (change.kind, change.line, Watched.of_device) == ("launch", 6, 0)


def test_a_change_of_a_kernel_is_run_with_the_host_code_as_it_is(searched: Any) -> None:
    ((change, text),) = searched(Runs("sums[blockIdx.x - 1]"))
    assert (change.kind, change.line) == ("index", 3)
    assert text == TEXT.replace("sums[blockIdx.x]", "sums[blockIdx.x - 1]")
    # The program as it is, and nothing of the host besides.
    assert Watched.of_host == 1 and 1 < Watched.of_device <= of_function.MAX_DEVICE + len(SIZES)


def test_lines_that_a_kernel_gets_more_make_no_other_host_code(searched: Any) -> None:
    ((change, text),) = searched(Runs("threadIdx.x;\n    if (i >= n) return;"))
    assert (change.kind, change.detail) == ("guard", "missing") and text.count("\n") == TEXT.count("\n") + 1
    assert Watched.of_host == 1


def test_host_code_comes_next_and_is_compiled_for_each_change(searched: Any) -> None:
    ((change, text),) = searched(Runs("(n + 8 - 1) / 8"))
    assert (change.kind, change.line) == ("launch", 6)
    assert text == TEXT.replace("n / 8", "(n + 8 - 1) / 8")
    assert Watched.of_device > 50 and Watched.of_host <= 1 + 2 * of_function.MAX_HOST


def test_a_main_that_the_grader_s_own_stands_in_for_is_left_alone(searched: Any) -> None:
    tried = []
    for more in ("", MAIN):
        Watched.of_host = 0
        assert searched(Runs("nowhere"), check="launch", more=more) == []
        tried.append(Watched.of_host)
    assert tried[0] == tried[1] > 1


def test_where_a_launch_is_at_fault_host_code_comes_first(searched: Any) -> None:
    assert searched(Runs("(n + 8 - 1) / 8"), check="launch")
    assert Watched.of_device == 0


def test_what_mends_one_size_alone_is_no_repair(searched: Any) -> None:
    assert searched(Runs("sums[blockIdx.x - 1]", elsewhere="nowhere")) == []


def test_a_function_that_is_right_where_it_is_run_alone_is_left_as_it_is(searched: Any) -> None:
    assert searched(Runs("out[i]")) == []
    assert (Watched.of_host, Watched.of_device) == (0, 0)


def test_a_fault_of_host_code_beside_right_results_is_mended_where_it_is_gone(
    searched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = HostFault("copy", "k.cu", 6, msg("programs.copy_reads_past"))
    # What costs no points may stay.
    unchecked = HostFault("unchecked", "k.cu", 6, msg("checks.host_code.unchecked", kernel="add"))

    def of_call(seen: Any, _files: Any) -> Any:
        is_gone = "(n + 8 - 1) / 8" in seen[0][1].text
        return HostCode(is_there=True, faults=(unchecked,) if is_gone else (fault, unchecked))

    monkeypatch.setattr(of_function, "of_call", of_call)
    ((change, _text),) = searched(Runs("out[i]"), check="host_code", faults=(fault, unchecked))
    assert (change.kind, change.line) == ("launch", 6) and Watched.of_device == 0


@pytest.mark.parametrize(
    ("runs", "named"),
    [
        ([(True, "scan"), (False, "scan add<4>")], {"add"}),
        ([(False, "scan"), (False, "scan add")], {"scan"}),
        ([(True, "scan add"), (False, "scan add")], {"scan", "add"}),
        ([(True, "scan")], set()),
        ([(True, "scan scan"), (False, "scan")], {"scan"}),
    ],
)
def test_kernels_that_right_runs_launch_too_are_no_suspects(runs: list[tuple[bool, str]], named: set[str]) -> None:
    shown: Any = []
    for is_right, kernels in runs:
        launches = [SimpleNamespace(kernel=name) for name in kernels.split()]
        run = SimpleNamespace(outcome=SimpleNamespace(status="ok"), is_right=is_right)
        shown.append((run, SimpleNamespace(calls=[SimpleNamespace(launches=launches, has_returned=True)])))
    assert suspects(shown) == named
    wrong = [kernels.split() for is_right, kernels in runs if not is_right]
    assert is_one_launch(shown) == (bool(wrong) and all(len(names) == 1 for names in wrong))


@pytest.mark.parametrize(
    ("blocks", "text", "right"),
    [
        ([(True, 1), (False, 8)], "", 8),
        ([(True, 1), (False, 8)], "atomicMax(out, v);", 0),
        ([(True, 1), (True, 4), (False, 8)], "", 0),
        ([(False, 8)], "", 0),
        ([(True, 1), (False, 1)], "", 0),
    ],
)
def test_blocks_whose_results_nothing_combines(blocks: list[tuple[bool, int]], text: str, right: int) -> None:
    shown: Any = []
    for is_right, grid in blocks:
        launches = [SimpleNamespace(grid=(grid, 1, 1), hazards=[])]
        difference = None if is_right else SimpleNamespace(total=1)
        run = SimpleNamespace(outcome=SimpleNamespace(status="ok"), is_right=is_right, difference=difference)
        shown.append((run, SimpleNamespace(calls=[SimpleNamespace(launches=launches)])))
    assert uncombined_blocks(shown, text) == right


@pytest.mark.parametrize(
    ("runs", "value"),
    [
        ([(True, 8), (False, 40), (False, 50)], 40),
        # Right with more as well, never with less, wrong with less.
        ([(True, 8), (True, 40), (False, 50)], 0),
        ([(False, 40)], 0),
        ([(True, 8), (False, 40), (False, 9)], 0),
    ],
)
@pytest.mark.parametrize("grid", [1, 2])
def test_one_block_that_gets_more_than_it_has_threads(runs: list[tuple[bool, int]], value: int, grid: int) -> None:
    shown: Any = []
    for is_right, count in runs:
        given = [SimpleNamespace(name="a", value=None), SimpleNamespace(name="count", value=count)]
        launch = SimpleNamespace(kernel="scan", file="", line=7, grid=(grid, 1, 1), block=(32, 1, 1), arguments=given)
        run = SimpleNamespace(outcome=SimpleNamespace(status="ok", hazards=()), is_right=is_right)
        shown.append((run, SimpleNamespace(launches=[launch])))
    found = one_block(shown)
    assert (found.value if found else 0) == (value if grid == 1 else 0)
    assert found is None or (found.kernel, found.line, found.name, found.threads) == ("scan", 7, "count", 32)
    # What nothing stored is read as it was; a race has a cause of its own.
    for kind, stays in (("uninitialized", True), ("race", False)):
        shown[-1][0].outcome.hazards = (SimpleNamespace(kind=kind),)
        assert one_block(shown) == (found if stays else None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__device__ float total;\n__constant__ float w[9];\n", ["total"]),
        ("static bool is_ready = false, *p;\nconst int N = 4;\n", ["is_ready", "p"]),
        ("void solve() { static int calls = 0; static const int n = 4; int i; }\n", ["calls"]),
        ("int main() { static int calls = 0; }\n__global__ void k() { __shared__ float s[4]; }\nvoid f();\n", []),
    ],
)
def test_what_keeps_its_value_from_call_to_call(text: str, names: list[str]) -> None:
    assert [(name, line) for name, _file, line in living_on({"k.cu": text})] == [(name, 1) for name in names]


SAXPY = """__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" void solve(float a, const float *x, float *y, int n) {
    saxpy<<<(n + 255) / 256, 256>>>(a, x, y, n);
}
"""
WEIGHED = "0.299f * pixel[0]"


def failed(tmp_path: Path, text: str, lab: str = "saxpy", repairs: str = "student") -> list[Check]:
    file = tmp_path / f"{lab}.cu"
    file.write_text(text, "utf-8")
    result = grade(file, replace(find(lab), repairs=repairs, sweeps=()), GradeOptions(backend="emulator"))
    checks = [check for check in result.checks if check.status == "fail"]
    assert checks
    return checks


def test_a_kernel_that_a_function_launches_is_mended(tmp_path: Path) -> None:
    for check in failed(tmp_path, SAXPY.replace("i < n", "i <= n")):
        assert check.repair is not None and (check.repair.kind, check.repair.line) == ("comparison", 3)
        assert "+    if (i < n) y[i] = a * x[i] + y[i];" in check.repair.diff
        assert check.hint.startswith(
            "A comparison in line 3 is wrong. There i <= n must not hold where both sides are equal. "
            "One change there makes every check pass"
        )


@pytest.mark.slow
def test_a_launch_that_is_refused_is_changed_and_shown_to_whom_the_lab_says(tmp_path: Path) -> None:
    text = SAXPY.replace("(n + 255) / 256, 256", "n / 256, 256")
    shown = failed(tmp_path, text)[0].repair
    assert shown is not None and (shown.kind, shown.line) == ("launch", 6)
    assert "+    saxpy<<<(n + 256 - 1) / 256, 256>>>(a, x, y, n);" in shown.diff
    kept = failed(tmp_path, text, repairs="teacher")[0].repair
    assert kept is not None and (kept.line, kept.diff) == (6, [])
    assert all(check.repair is None for check in failed(tmp_path, text, repairs="off"))


@pytest.mark.slow
def test_a_kernel_of_a_program_is_mended(tmp_path: Path) -> None:
    text = find("image-blur").variants[0].reference.file.read_text("utf-8")
    (line,) = [number for number, row in enumerate(text.split("\n"), start=1) if WEIGHED in row]
    check = failed(tmp_path, text.replace(WEIGHED, "299 / 1000 * pixel[0]"), "image-blur")[0]
    assert check.repair is not None and check.repair.line == line


@pytest.mark.slow
def test_a_copy_to_the_host_that_leaves_out_what_is_lacking_is_named_at_its_line(tmp_path: Path) -> None:
    text = find("convolution-2d").variants[0].reference.file.read_text("utf-8")
    back = "cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost)"
    (line,) = [number for number, row in enumerate(text.split("\n"), start=1) if back in row]
    checks = failed(tmp_path, text.replace(back, back.replace("bytes", "bytes - 4")), "convolution-2d")
    of_host, wrong = (next(c for c in checks if c.check == name) for name in ("host_code", "correct"))
    assert of_host.line == line and "bring back" in of_host.message
    assert "no thread" not in wrong.message and "nothing was stored or copied there" in wrong.message
    assert wrong.repair is not None and (wrong.repair.kind, wrong.line) == ("host", line)


@pytest.mark.slow
def test_axes_of_a_grid_in_each_other_s_place_are_no_fault_of_the_kernel(tmp_path: Path) -> None:
    """With x and y exchanged in the kernel it would be right as well, and no longer coalesced."""
    text = Path("tests/kernels/convolution-2d/good/direct.cu").read_text("utf-8")
    grid = "grid((cols + BX - 1) / BX, (rows + BY - 1) / BY)"
    (line,) = [number for number, row in enumerate(text.split("\n"), start=1) if grid in row]
    wrong = text.replace(grid, "grid((rows + BX - 1) / BX, (cols + BY - 1) / BY)").replace("BY = 8", "BY = 16")
    check = failed(tmp_path, wrong, "convolution-2d")[0]
    assert check.repair is not None and (check.repair.kind, check.repair.line) == ("launch", line)
