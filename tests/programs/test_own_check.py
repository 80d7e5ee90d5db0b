"""What a program says of its results: which lines call them right, which wrong, and which say nothing of that."""

from __future__ import annotations

import pytest

from grader.programs.own_check import compares, verdict_of


@pytest.mark.parametrize(
    "line",
    [
        "Test PASSED",
        "v0  0.0087 ms  не совпало: 0",
        "Неверных элементов: 0",
        "Расхождений: 0",
        "ошибок нет",
        "no mismatches",
        "błędów: 0",
        "0 of 4096 differ",
        "errors=0 OK",
        "failed: 0",
        "shared: неверных элементов 0",
        "неверных элементов: 0 из 25000",
        "ошибок 0",
        "найдено ошибок - 0",
        "ошибок найдено 0",
        "mismatches = 0",
        "Number of wrong elements: 0",
        "block: 0 wrong",
        "naive n=64 errors 0",
        "v2 errors 0, 3.4 ms",
        "0 mismatches 3 ms",
    ],
)
def test_lines_that_call_results_right(line: str) -> None:
    assert verdict_of(line) is True


@pytest.mark.parametrize(
    "line",
    [
        "FAILED at 3",
        "не совпало: 12",
        "Неверных элементов: 7",
        "N=4096 naive: 0.1 ms, wrong: 16777216",
        "Bledy: 3",
        "wyniki NIEZGODNE",
        "naive: 0 errors, shared: 3 errors",
        "12 mismatches",
        "incorrect: 5",
        "неверных: 3",
        "неверных элементов 40915",
        "shared: неверных элементов: 7 из 25000",
        "Error at i = 0",
        "mismatch at index: 0",
        "row 0 is wrong",
        "block: 3 wrong",
        "test 0 failed",
        "ошибка в элементе 0",
        "неверный элемент 0",
        "результаты не совпадают",
        "N = 2: max difference 8, BAD",
    ],
)
def test_lines_that_call_results_wrong(line: str) -> None:
    assert verdict_of(line) is False


@pytest.mark.parametrize(
    "line",
    [
        "max error 1e-06",
        "max error: naive 0 shared 0",
        "погрешность: 0.000003",
        "3: 0.008 мс, ускорение 1465.9, расхождение 2.28882e-05",
        "max discrepancy 3.1e-05, różnica 1e-5",
        "cudaMalloc failed",
        "no error",
        "error in line 129: invalid resource handle",
        "Results:",
        "correct: 0",
        "time 12 ms",
    ],
)
def test_lines_that_say_nothing_of_results(line: str) -> None:
    assert verdict_of(line) is None


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("max error 1e-06", True),
        ("naive  0.008 мс  216.6 GFLOP/s  ошибка 0.0002", True),
        ("Maximal difference: 12.5", False),
        ("naive  0.008 мс  216.6 GFLOP/s  ошибка 9.7735", False),
        ("max error 1e-06, FAILED", False),
        ("max error 0.5", None),
        ("mean error 30.0", None),
        ("sum of differences 40.0", None),
        ("relative error 12.5", None),
        ("difference in time: 12.5", None),
        ("różnica 12.5 ms", None),
        ("difference 12.5 %", None),
        ("GPU time 12.5", None),
        # Numbers behind the word that are no error of the results.
        ("naive error check passed. Bandwidth = 45.67 GB/s", None),
        ("No difference found, GFLOPS = 45.67", None),
        ("Difference naive - tiled: 15.20 GB/s", None),
        ("CPU-GPU difference: 12.53 milliseconds", None),
        ("diff(12.50, 12.50) = 0.0", None),
        ("Standard deviation: 28.86", None),
        ("L2 error: 17.25", None),
        ("Error (percent): 7.50", None),
        ("Residual: 12.5", None),
        ("max error 12.5, PASSED", None),
        ("max error (shared) 12.5", False),
        ("max |diff| = 12.5", False),
        ("max diff(cpu, gpu): 12.5", False),
        ("Error: |12.50 - 12.50| = 0.00", None),
    ],
)
def test_errors_as_numbers_are_small_or_large_beside_the_results(line: str, verdict: bool | None) -> None:
    assert verdict_of(line, 100.0) is verdict


@pytest.mark.parametrize(
    "code",
    [
        "if (fabs(a[0] - b) > 1e-5) bad++;",
        "double d = *p - *q; worst = worst > fabs(d) ? worst : fabs(d);",
        "float d = got.at(i) - want.at(i); sum += fabsf(d);",
        "if (abs(delta) > 1) return 1;",
        "if (1e-3 < fabs(delta)) return 1;",
        "err = fmax(err, fabs(x - y));",
        "matrixtest(c, want, n);",
        "if (!isEqual(c, want)) return 1;",
        "checkResult(c, want);",
        "std::equal(a, a + n, b);",
        "latestTest(c, want);",
    ],
)
def test_what_compares_results(code: str) -> None:
    assert compares(f"int main() {{ {code} }}")


@pytest.mark.parametrize(
    "code",
    [
        "h[0] = fabs(sin(0.5));",
        "best = fmaxf(best, x);",
        "latest(c); contest(c); fastest(c);",
        "std::equal_range(v.begin(), v.end(), 3);",
        "cublasCheck(cublasCreate(&handle));",
        'throw std::runtime_error("no file");',
        'perror("file");',
        "double s = difftime(end, start);",
    ],
)
def test_what_compares_nothing(code: str) -> None:
    assert not compares(f"int main() {{ {code} }}")
