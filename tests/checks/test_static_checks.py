"""present, compiles, launch: what can be told without running anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.compiler.diagnostics import Diagnostic
from grader.message import verbatim
from grader.running.evidence import Compilation, HostCode, Instead
from grader.submission.records import Missing
from tests.checks.evidence_factory import check, evidence, site


def test_present_names_the_kernel() -> None:
    row = check(evidence(), "present")
    assert (row.status, row.line, row.message) == ("pass", 6, "Found: kernel tiled.")


@pytest.mark.parametrize(
    ("missing", "message", "hint"),
    [
        (Missing("padded", "no_candidate"), "No kernel for this variant", "labs: {transpose: {variants: {padded: "),
        (
            Missing("padded", "no_candidate", {"launched": "tiled<0>", "lines": "60, 61"}),
            "tiled<0>",
            "If one of these lines is meant for it, launch its kernel there",
        ),
        (
            Missing("padded", "unbindable", {"kernel": "k", "line": 4}),
            "parameters of the kernel k",
            "in, out, rows, cols",
        ),
        (
            Missing("padded", "unbindable", {"kernel": "k", "line": 4, "detail": "in_place", "own": "m"}),
            "stores its results in m, which it reads. In this task they have an array of their own (in, out).",
            "Take the output as one more array.",
        ),
        (Missing("padded", "empty", {"kernel": "k", "line": 4}), "k has an empty body", "Write the body of the kernel"),
    ],
)
def test_present_says_why_not(missing: Missing, message: str, hint: str) -> None:
    row = check(evidence(binding=missing), "present")
    assert row.status == "fail"
    assert message in row.message
    assert hint in row.hint
    assert row.line == missing.data.get("line")


def test_compiles_says_the_first_error_and_the_first_of_the_kernel() -> None:
    """What comes later may come of it: a macro of line 3 that spoils line 9."""
    places = (3, 9, 10)
    errors = tuple(Diagnostic("transpose.cu", line, "error", f"error {line}") for line in places)
    row = check(evidence(compilation=Compilation("errors", errors)), "compiles")
    assert (row.status, row.line) == ("fail", 3)
    assert row.message == "error 3. In this kernel, line 9: error 9 (and 1 more error)"
    assert "outside this kernel" in row.hint
    row = check(evidence(compilation=Compilation("errors", errors[1:])), "compiles")
    assert (row.line, row.message) == (9, "error 9 (and 1 more error)")
    assert "outside this kernel" not in row.hint


def test_compiles_names_the_line_of_the_cause_too() -> None:
    error = Diagnostic("transpose.cu", 9, "error", 'expected a ";"', verbatim("Look at line 8."), 8)
    row = check(evidence(compilation=Compilation("errors", (error,), (("matrix.h", "transpose.cu", 1),))), "compiles")
    assert (row.line, row.data["cause"]) == (9, 8)
    # What has a cause of its own is not blamed on a header.
    assert row.hint.startswith("Look at line 8. A compiler error stops") and "matrix.h" not in row.hint


def test_compiles_tells_what_a_message_means_to_a_beginner() -> None:
    error = Diagnostic("transpose.cu", 9, "error", 'identifier "cout" is undefined', verbatim("cout is for host code."))
    row = check(evidence(compilation=Compilation("errors", (error,))), "compiles")
    assert row.hint.startswith("cout is for host code. A compiler error stops the whole program")


@pytest.mark.parametrize(
    ("above", "name"),
    [
        ("#ifndef LEN", "LEN"),
        ("#if !defined(LEN)", "LEN"),
        ("#if LEN < 4", ""),
        ("#ifndef __CUDACC_EXTENDED_LAMBDA__", ""),
        ("#ifndef _OPENMP", ""),
        ("#ifndef CUDART_VERSION", ""),
        ("#ifndef GRID_H_", ""),
    ],
)
def test_compiles_says_what_only_a_command_line_defines(above: str, name: str) -> None:
    error = Diagnostic("transpose.cu", 2, "error", "#error directive: LEN is not defined")
    source = {"transpose.cu": f"{above}\n#error LEN is not defined\n#endif\n"}
    row = check(evidence(compilation=Compilation("errors", (error,)), source=source), "compiles")
    assert row.hint.startswith("LEN is expected from" if name else "A compiler error stops")


def test_compiles_names_an_error_elsewhere() -> None:
    row = check(
        evidence(compilation=Compilation("errors", (Diagnostic("transpose.cu", 30, "error", "bad"),))), "compiles"
    )
    assert (row.line, row.message) == (30, "bad")
    assert "outside this kernel" in row.hint
    header = Diagnostic("tile.h", 3, "error", 'expected a ";"')
    row = check(evidence(compilation=Compilation("errors", (header,))), "compiles")
    assert (row.line, row.message) == (None, 'tile.h, line 3: expected a ";"')


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("timeout", "took too long"),
        ("crashed", "ran out of memory"),
        ("missing_entry", "tiled is not in the result"),
        ("errors", "without saying why"),
    ],
)
def test_compiles_other_ends(failure: str, words: str) -> None:
    row = check(evidence(compilation=Compilation(failure)), "compiles")
    assert row.status == "fail"
    assert words in row.message


def test_compiles_names_a_header_that_was_not_handed_in() -> None:
    missing = (("matrix.h", "transpose.cu", 2),)
    failed = Compilation(
        "errors", (Diagnostic("transpose.cu", 9, "error", 'identifier "Matrix" is undefined'),), missing
    )
    row = check(evidence(compilation=failed), "compiles")
    assert "includes matrix.h, which was not submitted" in row.hint
    # It is the header that is to be mended.
    assert row.line == 2
    assert row.message.startswith("The header matrix.h, included in line 2 of transpose.cu, was not submitted: identif")
    other = Compilation("errors", (Diagnostic("transpose.cu", 9, "error", 'expected a ")"'),), missing)
    assert check(evidence(compilation=other), "compiles").line == 9
    # A template of which nothing was made, as what it uses is in that header.
    row = check(evidence(compilation=Compilation("missing_entry", (), missing)), "compiles")
    assert (row.line, "the header matrix.h, included in line 2" in row.message) == (2, True)


def test_launch_names_the_cause_and_its_line() -> None:
    swapped = check(evidence(requested=replace(site((32, 8, 1)), swapped=("threads", "blocks"))), "launch")
    assert (swapped.status, swapped.line) == ("fail", 60)
    assert "has threads as its grid and blocks as its block" in swapped.message
    host = HostCode(is_there=True, never_launches=True, launched_instead=Instead("transpose.cu", 70, "shared", 60))
    instead = check(evidence(host=host), "launch")
    assert (instead.status, instead.line) == ("fail", 70)
    assert "never launches tiled: line 70 launches shared, which line 60 launches, too" in instead.message


def test_launch_of_too_many_threads_says_that_nothing_ran() -> None:
    row = check(evidence(requested=site((128, 128, 1))), "launch")
    assert (row.status, row.line, row.data) == ("fail", 60, {"threads": 16384})
    assert "128×128 = 16384 threads" in row.message
    assert "never runs" in row.message
    assert "time of a failed launch" in row.message
    assert "cudaGetLastError()" in row.hint
    assert "32×32 is 1024" in row.hint


@pytest.mark.parametrize(
    ("block", "shared_bytes", "status", "words"),
    [
        ((32, 32, 1), 0, "pass", "32×32 threads (1024 threads)"),
        ((16, 8, 8), 0, "pass", "16×8×8"),
        ((1, 1, 65), 0, "fail", "at most 1024×1024×64"),
        ((32, 0, 1), 0, "fail", "at least 1"),
        ((32, 32, 1), 48 * 1024, "pass", "1024 threads"),
        ((32, 32, 1), 48 * 1024 + 1, "fail", "49153 bytes"),
        ((32, 32, 1), None, "pass", "1024 threads"),
    ],
)
def test_launch_limits(block: tuple[int, int, int], shared_bytes: int | None, status: str, words: str) -> None:
    row = check(evidence(requested=site(block, shared_bytes)), "launch")
    assert row.status == status
    assert words in row.message


@pytest.mark.parametrize("requested", [None, site(None)])
def test_launch_that_cannot_be_read_does_not_count(requested: object) -> None:
    row = check(evidence(requested=requested), "launch")
    assert (row.skip_reason, row.possible) == ("not_applicable", 0)


@pytest.mark.parametrize(
    ("grid", "block", "status", "words"),
    [
        ((1, 1, 1), (1, 1, 1), "fail", "one block of one thread"),
        ((2, 1, 1), (1, 1, 1), "pass", "1×1 threads"),
        ((1, 1, 1), (2, 1, 1), "pass", "2×1 threads"),
        ((1, 65535, 1), (1, 1, 1), "pass", "1×1 threads"),
        ((1, 65536, 1), (1, 1, 1), "fail", "1×65536"),
        ((0, 1, 1), (32, 1, 1), "fail", "0×1"),
    ],
)
def test_the_grid_that_a_program_was_seen_to_launch(
    grid: tuple[int, int, int], block: tuple[int, int, int], status: str, words: str
) -> None:
    seen = replace(site(block), observed=True, grid=grid)
    row = check(evidence(requested=seen), "launch")
    assert (row.status, row.line) == (status, 60)
    assert words in row.message
    # What the text alone says of a grid is said of one size.
    assert check(evidence(requested=replace(seen, observed=False)), "launch").status == "pass"


def test_a_block_that_is_too_large_is_held_against_the_one_that_was_run() -> None:
    given = evidence(requested=site((128, 128, 1)), block=(16, 8, 1))
    assert "16×8 is 128" in check(given, "launch").hint
    # Nothing ran: the lab's own block is allowed.
    assert "32×32 is 1024" in check(replace(given, interpretation=None), "launch").hint
