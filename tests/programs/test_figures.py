"""Figures of time that a program prints, and what is told of those that are not what the words beside them say."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from grader.programs.figures import wrong_figures
from grader.programs.printed import numbers_in
from grader.programs.records import ClockRead, Observation, TimedSpan, Times
from grader.submission.kernels.records import SeenArgument, SeenCopy, SeenLaunch

BYTES = 1 << 22
"""Of each array: 1024 × 1024 numbers."""
NAIVE, SHARED, CPU = 41.23457, 67.65432, 812.34567
"""Milliseconds."""
CALL, ASKED = 9, 40


def launch(kernel: str, line: int, stream: int = 0) -> SeenLaunch:
    arrays = [
        SeenArgument(name, "float *", buffer=name, buffer_bytes=BYTES, serial=at) for at, name in enumerate("abc", 1)
    ]
    return SeenLaunch(kernel, (), "a.cu", line, (1, 1, 1), (1, 1, 1), 0, tuple(arrays), display=kernel, stream=stream)


def run(
    output: str, times: Times, kernels: Sequence[str] = ("mulNaive", "mulShared"), copies: Sequence[SeenCopy] = ()
) -> Observation:
    launches = [launch(kernel, 20 + (kernel == "mulShared")) for kernel in kernels]
    return Observation(0, launches, [], stdout=output.encode(), times=times, copies=list(copies))


def by_events(*spans: tuple[float, tuple[int, int]], copies: tuple[int, int] = (0, 0)) -> Times:
    return Times([TimedSpan(ms * 1e6, part, copies, "a.cu", ASKED + at, 30) for at, (ms, part) in enumerate(spans)])


def told(observation: Observation, call: str) -> list[tuple[int, str]]:
    """Line and id of what is told of a program that prints by this call, in line 9."""
    text = "\n" * (CALL - 1) + call
    faults = wrong_figures([observation], {"a.cu": text})
    return [(fault.line, fault.message.id.partition(".")[2]) for fault in faults]


ROWS = by_events((NAIVE, (0, 1)), (SHARED, (1, 2)))
OF_ROWS = 'printf("%-8s {}\\n", name, {});'


def of_rows(form: str, argument: str, *values: str) -> list[tuple[int, str]]:
    """What is told of two rows, one a kernel, with these numbers."""
    lines = [f"{name:8} {form.replace('%', value)}\n" for name, value in zip(("naive", "shared"), values, strict=True)]
    call = OF_ROWS.format(form.replace("%", "%.4f"), argument)
    return told(run("".join(lines), ROWS), call)


@pytest.mark.parametrize(
    ("form", "scale", "expected"),
    [
        ("% ms", 1, []),
        ("% s", 1e-3, []),
        ("%", 1, []),
        ("time, us: %", 1e3, []),
        ("% мс", 1, []),
        ("% мкс", 1e3, []),
        ("% s", 1, [(CALL, "unit")]),
        ("% us", 1, [(CALL, "unit")]),
        ("% ms", 1e3, [(CALL, "unit")]),
        ("time (s): %", 1, [(CALL, "unit")]),
        ("% с", 1, [(CALL, "unit")]),
        # Other numbers than times, and another time than any that was taken.
        ("% m/s", 1, []),
        ("% s", 0.7, []),
    ],
)
def test_units_of_times(form: str, scale: float, expected: list[tuple[int, str]]) -> None:
    assert of_rows(form, "t", f"{NAIVE * scale:.5f}", f"{SHARED * scale:.5f}") == expected


def test_what_a_macro_prints_and_what_a_stream_prints_is_known_too() -> None:
    output = f"naive {NAIVE} s\nshared {SHARED} s\n"
    macro = '#define ROW(name) \\\n printf("%s %f s\\n", name, \\\n  ms)'
    assert told(run(output, ROWS), macro) == [(CALL + 2, "unit")]
    assert told(run(output, ROWS), 'std::cout << name << " "\n << std::setw(9) << ms << " s" << std::endl;') == [
        (CALL + 1, "unit")
    ]
    assert told(run(output, ROWS), '// printf("%s %f s\\n", name, ms)') == []


@pytest.mark.parametrize(
    ("first", "second", "code", "expected"),
    [
        (NAIVE, SHARED, "t", []),
        (SHARED, NAIVE, "t", [(CALL, "of_other")]),
        (NAIVE, NAIVE, "tNaive", [(CALL, "of_other")]),
    ],
)
def test_the_time_of_one_kernel_in_the_row_of_another(
    first: float, second: float, code: str, expected: list[tuple[int, str]]
) -> None:
    assert of_rows("% ms", code, f"{first:.5f}", f"{second:.5f}") == expected


@pytest.mark.parametrize(
    ("naive", "shared", "expected"),
    [
        ((0, 1), (1, 2), []),
        # Three events of two kernels.
        ((0, 1), (0, 2), [(ASKED + 1, "of_both")]),
        ((0, 2), (1, 2), [(ASKED, "of_both")]),
        ((1, 2), (0, 1), [(ASKED, "of_other"), (ASKED + 1, "of_other")]),
    ],
)
def test_times_between_three_events(
    naive: tuple[int, int], shared: tuple[int, int], expected: list[tuple[int, str]]
) -> None:
    length = {(0, 1): NAIVE, (1, 2): SHARED, (0, 2): NAIVE + SHARED}
    times = by_events((length[naive], naive), (length[shared], shared))
    calls = 'printf("naive: %f ms, ", msNaive); printf("shared: %f ms\\n", msShared);'
    assert told(run(f"naive: {length[naive]:f} ms, shared: {length[shared]:f} ms\n", times), calls) == expected


@pytest.mark.parametrize(
    ("launches", "divisor", "form", "expected"),
    [
        (20, 20, "% ms", []),
        (20, 1, "20 launches: % ms", []),
        (20, 1, "total % ms", []),
        (21, 20, "% ms", [(30, "with_warm_up")]),
        (20, 400, "% ms", [(CALL, "divided_twice")]),
        (20, 1, "% ms", [(CALL, "of_all")]),
        (20, 7, "% ms", []),
    ],
)
def test_times_of_repeated_launches(launches: int, divisor: int, form: str, expected: list[tuple[int, str]]) -> None:
    times = by_events((launches * NAIVE, (0, launches)), (launches * SHARED, (launches, 2 * launches)))
    kernels = ["mulNaive"] * launches + ["mulShared"] * launches
    lines = [form.replace("%", f"{launches * one / divisor:.6f}") for one in (NAIVE, SHARED)]
    output = f"naive {lines[0]}\nshared {lines[1]}\n"
    assert told(run(output, times, kernels), f'printf("%s {form.replace("%", "%f")}\\n", name, t);') == expected


def test_a_time_that_begins_anew_before_each_launch_is_of_the_last() -> None:
    times = by_events((NAIVE, (19, 20)), (SHARED, (39, 40)))
    kernels = ["mulNaive"] * 20 + ["mulShared"] * 20
    output = f"naive {NAIVE / 20:f} ms\nshared {SHARED / 20:f} ms\n"
    assert told(run(output, times, kernels), 'printf("%s %f ms\\n", name, t / 20);') == [(30, "of_one")]


def copy(way: str, line: int, launches: int) -> SeenCopy:
    return SeenCopy(way, "a.cu", line, "a", 1, BYTES, True, launches=launches)


@pytest.mark.parametrize(
    ("form", "copied", "expected"),
    [
        ("kernel % ms", 1, [(33, "with_copy")]),
        ("% ms", 1, [(33, "with_copy")]),
        ("ядро: % мс", 1, [(33, "with_copy")]),
        ("total % ms", 1, []),
        ("GPU % ms", 1, []),
        ("with copies % ms", 1, []),
        ("ядро с пересылкой данных: % мс", 1, []),
        ("kernel, z kopiowaniem % ms", 1, []),
        ("H2D+kernel+D2H % ms", 1, []),
        ("kernel % ms (copy included)", 1, []),
        ("kernel % ms", 0, []),
    ],
)
def test_copies_in_the_time_of_a_kernel(form: str, copied: int, expected: list[tuple[int, str]]) -> None:
    times = by_events((NAIVE, (0, 1)), (SHARED, (1, 2)), copies=(0, copied))
    values = [form.replace("%", f"{one:.5f}") for one in (NAIVE, SHARED)]
    observed = run(f"naive {values[0]}\nshared {values[1]}\n", times, copies=[copy("in", 33, 0)])
    assert told(observed, f'printf("%s {form.replace("%", "%f")}\\n", name, t);') == expected


@pytest.mark.parametrize(
    ("head", "expected"), [("kernel", [(CALL, "of_copy")]), ("copied", []), ("copy before kernel", [])]
)
def test_the_time_of_a_copy_as_a_kernels(head: str, expected: list[tuple[int, str]]) -> None:
    spans = [TimedSpan(ms * 1e6, (at, at), (at, at + 1), "a.cu", ASKED, 30) for at, ms in enumerate((NAIVE, SHARED))]
    copies = [copy("in", 33, 0), copy("in", 33, 1)]
    output = f"naive: {head} {NAIVE:f} ms\nshared: {head} {SHARED:f} ms\n"
    assert told(run(output, Times(spans), copies=copies), f'printf("%s: {head} %f ms\\n", name, t);') == expected


def test_columns_are_what_heads_them() -> None:
    lines = ["variant;time, s;speedup", f"naive;{NAIVE:f};1.0000", f"shared;{SHARED:f};{SHARED / NAIVE:f}"]
    call = 'printf("%s;%f;%f\\n", name, t, first / t);'
    assert (CALL, "unit") in told(run("\n".join(lines), ROWS), call)
    for mark in ";|\t":
        rows = [line.replace("time, s", "time, ms").replace(";", mark) for line in lines]
        assert told(run("\n".join(rows), ROWS), call.replace(";", mark, 2)) == [(CALL, "upside_down")]
    rows = [" ".join(f"{cell:<12}" for cell in line.replace("time, s", "time, ms").split(";")) for line in lines]
    assert told(run("\n".join(rows), ROWS), 'printf("%-12s %-12f %-12f\\n", name, t, first / t);') == [
        (CALL, "upside_down")
    ]


def test_a_rate_is_over_any_of_the_times_in_its_line() -> None:
    least, middle, most = NAIVE, 1.01 * NAIVE, 1.03 * NAIVE
    times = by_events((least, (0, 1)), (middle, (1, 2)), (most, (2, 3)))
    for factor, expected in ((1, []), (0.5, [(CALL, "bytes_once")])):
        rate = 3 * BYTES * factor / middle / 1e6
        line = f"min {least:f} ms, median {middle:f} ms, max {most:f} ms, {rate:f} GB/s\n"
        call = 'printf("min %f ms, median %f ms, max %f ms, %f GB/s\\n", a, b, c, d);'
        assert told(run(line, times, ["mulNaive"] * 3), call) == expected


@pytest.mark.parametrize(
    ("of", "factor", "expected"),
    [
        ("GB/s", 1, []),
        ("GB/s", 1e9 / 2**30, []),
        ("GB/s", 1 / 2, [(CALL, "bytes_once")]),
        ("GB/s", 1 / 4, [(CALL, "bytes_elements")]),
        ("ГБ/с", 1e-3, [(CALL, "rate_small")]),
        ("GB/s", 1e3, [(CALL, "rate_large")]),
        # What is counted otherwise need not be wrong.
        ("GB/s", 2 / 3, []),
        ("GFLOP/s", 1, []),
        ("GFLOP/s", 1 / 2, [(CALL, "operations_once")]),
        ("GFLOPS", 1 / 1024, [(CALL, "operations_square")]),
        ("Гфлопс", 1e-3, [(CALL, "rate_small")]),
        ("MFLOPS", 1e3, []),
    ],
)
def test_rates_beside_a_time(of: str, factor: float, expected: list[tuple[int, str]]) -> None:
    work = (3 * BYTES if of in ("GB/s", "ГБ/с") else 2 * 1024**3) * factor / 1e6
    output = "".join(
        f"{name} {time:.5f} ms, {work / time:.7f} {of}\n" for name, time in (("naive", NAIVE), ("shared", SHARED))
    )
    assert told(run(output, ROWS), f'printf("%s %f ms, %f {of}\\n", name, t, work / t);') == expected


def test_a_rate_that_grows_with_the_time() -> None:
    output = "".join(
        f"{name} {t:.5f} ms, {2.147483648 * t:.5f} GFLOP/s\n" for name, t in (("naive", NAIVE), ("shared", SHARED))
    )
    assert told(run(output, ROWS), 'printf("%s %f ms, %f GFLOP/s\\n", name, t, work * t);') == [(CALL, "rate_grows")]


@pytest.mark.parametrize(
    ("quotient", "expected"),
    [
        (lambda t: CPU / t, []),
        (lambda t: t / CPU, [(CALL, "upside_down")]),
        (lambda t: CPU / t * 1000, [(CALL, "speedup_large")]),
        (lambda t: CPU / t / 1000, [(CALL, "speedup_small")]),
        (lambda t: 3.3 * CPU / t, []),
    ],
)
def test_speedups(quotient, expected: list[tuple[int, str]]) -> None:  # type: ignore[no-untyped-def]
    times = Times(ROWS.spans, [ClockRead(0, 0, 0, 0), ClockRead(int(CPU * 1e6), 0, 0, 0)])
    rows = [("naive", NAIVE), ("shared", SHARED)]
    output = f"CPU {CPU:.5f} ms\n" + "".join(f"{name} {t:.5f} ms, speedup {quotient(t):.6f}\n" for name, t in rows)
    calls = 'printf("CPU %f ms\\n", cpu); printf("%s %f ms, speedup %f\\n", name, t, f(t));'
    assert told(run(output, times), calls) == expected


@pytest.mark.parametrize(
    ("speedup", "expected"),
    [(NAIVE / SHARED, []), (SHARED / NAIVE, [(CALL, "upside_down")]), (1.0, [(CALL, "always_one")])],
)
def test_speedups_of_two_kernels_in_a_line(speedup: float, expected: list[tuple[int, str]]) -> None:
    output = f"naive {NAIVE:.5f} ms, shared {SHARED:.5f} ms, speedup {speedup:.5f}\n"
    call = 'printf("naive %f ms, shared %f ms, speedup %f\\n", a, b, c);'
    assert told(run(output, ROWS), call) == expected


@pytest.mark.parametrize(
    ("form", "values", "expected"),
    [
        ("naive, shared: %, % ms", (NAIVE, SHARED), []),
        ("naive, shared: %, % ms", (SHARED, NAIVE), [(CALL, "of_other")]),
        ("shared vs naive: % ms vs % ms", (SHARED, NAIVE), []),
        ("naive/shared %/% ms", (NAIVE, SHARED), []),
        # Behind their numbers, and of another count.
        ("% ms naive, % ms shared", (NAIVE, SHARED), []),
        ("naive and shared, the latter: % ms", (SHARED,), []),
        ("naive % ms, shared % ms", (SHARED, NAIVE), [(CALL, "of_other")]),
        # Of both, as the words say, and not.
        ("naive and shared together: % ms, naive alone % ms", (NAIVE + SHARED, NAIVE), []),
        ("naive % ms, one after another with shared % ms", (NAIVE, NAIVE + SHARED), []),
        ("naive % ms, shared % ms", (NAIVE, NAIVE + SHARED), [(CALL, "of_both")]),
    ],
)
def test_whose_the_times_of_a_line_are(form: str, values: Sequence[float], expected: list[tuple[int, str]]) -> None:
    times = by_events((NAIVE, (0, 1)), (SHARED, (1, 2)), (NAIVE + SHARED, (0, 2)))
    line = form
    for value in values:
        line = line.replace("%", f"{value:.5f}", 1)
    arguments = ", ".join("ab"[: len(values)])
    # Of one number, or of two runs of the program that agree.
    assert told(run(f"{line}\n", times), f'printf("{form.replace("%", "%f")}\\n", {arguments});') == expected


@pytest.mark.parametrize(
    ("form", "values", "speedup", "expected"),
    [
        # What is held against naive is the new one, wherever it stands.
        ("shared % ms against naive % ms: speedup %", (SHARED, NAIVE), NAIVE / SHARED, []),
        ("shared % ms against naive % ms: speedup %", (SHARED, NAIVE), SHARED / NAIVE, [(CALL, "upside_down")]),
        ("naive % ms, shared % ms, naive is faster % times", (NAIVE, SHARED), SHARED / NAIVE, []),
    ],
)
def test_which_of_two_times_is_the_new_one(
    form: str, values: Sequence[float], speedup: float, expected: list[tuple[int, str]]
) -> None:
    line = form
    for value in (*values, speedup):
        line = line.replace("%", f"{value:.5f}", 1)
    assert told(run(f"{line}\n", ROWS), f'printf("{form.replace("%", "%f")}\\n", a, b, c);') == expected


@pytest.mark.parametrize("speedup", [NAIVE / SHARED, SHARED / NAIVE])
def test_of_two_kernels_neither_of_which_is_naive_either_may_be_the_new_one(speedup: float) -> None:
    output = f"padded {NAIVE:.5f} ms, shared {SHARED:.5f} ms, speedup {speedup:.5f}\n"
    call = 'printf("padded %f ms, shared %f ms, speedup %f\\n", a, b, c);'
    assert told(run(output, ROWS, ("mulPadded", "mulShared")), call) == []


@pytest.mark.parametrize(
    ("between", "head", "expected"),
    [
        ("", "| name | H2D, us |", []),
        ("\n", "", []),
        ("|------|----|\n", "", [(CALL, "unit")]),
        ("", "", [(CALL, "unit")]),
    ],
)
def test_a_head_is_that_of_its_own_table(between: str, head: str, expected: list[tuple[int, str]]) -> None:
    rows = "".join(f"| {name} | {time * 1e3:.3f} |\n" for name, time in (("naive", NAIVE), ("shared", SHARED)))
    output = f"| name | time, ms |\n{between}{head}\n{rows}" if head else f"| name | time, ms |\n{between}{rows}"
    assert told(run(output, ROWS), 'printf("| %s | %f |\\n", name, t);') == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bandwidth", [(CALL, "bytes_once")]),
        ("read bandwidth", []),
        ("written", []),
        ("скорость чтения", []),
        ("zapis", []),
    ],
)
def test_a_rate_of_what_is_read_alone(words: str, expected: list[tuple[int, str]]) -> None:
    output = "".join(
        f"{name} {t:.5f} ms, {words} {1.5 * BYTES / 1e6 / t:.7f} GB/s\n"
        for name, t in (("naive", NAIVE), ("shared", SHARED))
    )
    assert told(run(output, ROWS), f'printf("%s %f ms, {words} %f GB/s\\n", name, t, r);') == expected


@pytest.mark.parametrize("kind", ["apart", "together", "by number"])
def test_of_halves_no_rate_is_known(kind: str) -> None:
    """Two launches of each kernel do a half of the work each: the second from the middle on."""
    halves = [launch(kernel, 20) for kernel in ("mulNaive", "mulNaive", "mulShared", "mulShared")]
    for at in (1, 3):
        arguments = halves[at].arguments
        half = [msgspec.structs.replace(one, offset_bytes=BYTES // 2) for one in arguments]
        number = SeenArgument("start", "int", value=512)
        halves[at] = msgspec.structs.replace(
            halves[at], arguments=tuple(half) if kind != "by number" else (*arguments, number)
        )
    own = {"naive": NAIVE, "shared": SHARED}
    parts = [(0, 2), (2, 4)] if kind == "together" else [(0, 1), (2, 3)]
    times = by_events(*zip(own.values(), parts, strict=True))
    share = 3.0 if kind == "together" else 1.5
    rows = [f"{name} {t:.5f} ms, {share * BYTES / 1e6 / t:.7f} GB/s\n" for name, t in own.items()]
    observed = run("".join(rows), times)
    observed.launches = halves
    assert told(observed, 'printf("%s %f ms, %f GB/s\\n", name, t, r);') == []


def test_what_runs_beside_each_other_is_not_looked_at() -> None:
    observation = run(f"naive {NAIVE} s\nshared {SHARED} s\n", ROWS, ["mulNaive", "mulShared"] * 2)
    observation.launches = [launch("mulNaive", 20 + at, stream=at % 2) for at in range(4)]
    assert told(observation, 'printf("%s %f s\\n", name, t);') == []


def test_formats_of_thousands_of_parts_are_searched_in_no_time() -> None:
    text = 'printf("' + "%s" * 300 + '", ' + ", ".join("a" * 300) + ");\n"
    text += 'printf("' + "%f " * 300 + 'x", ' + ", ".join("a" * 300) + ");\n"
    text += "std::cout " + "<< a " * 500 + ';\nstd::cout << "' + "(" * 5000
    assert numbers_in(b"1 2 3 4 5 6 7 8 9 a" * 10 + b"\n", {"a.cu": text * 20}) == []
