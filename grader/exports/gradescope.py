"""One student's result as Gradescope's `results.json`.

https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from grader.i18n import _
from grader.report.decisions import decision_lines
from grader.report.labels import check_status, result_status
from grader.report.numbers import Numbers
from grader.report.summary import code_at, unjudged_lines, where
from grader.report.visible import clipped, visible
from grader.result import Check, Result, is_unjudged
from grader.words import check_title


def results(result: Result, language: str, seconds: float | None = None) -> bytes:
    """The file: a test for each check with its points, the verdict above them, a leaderboard of memory traffic.

    seconds: what the grading took.  Pending points are not given; the text says that they are pending.
    """
    numbers = Numbers(language)
    lines = {source.file: source.text.split("\n") for source in result.sources}
    checks = [c for c in result.checks if c.skip_reason != "not_applicable" and (c.possible or c.status != "pass")]
    decided = "".join(f"<p>{_text(line)}</p>" for line in decision_lines(result, language))
    record: dict[str, Any] = {
        "score": result.score.earned,
        "output": _verdict(result, language) + decided,
        "output_format": "html",
        "test_output_format": "html",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(check, result, lines, numbers) for check in checks],
        "extra_data": {"lab": result.lab, "status": result.status, "pending": result.score.pending},
    }
    if seconds is not None:
        record["execution_time"] = round(seconds, 2)
    board = _leaderboard(result)
    if board:
        record["leaderboard"] = board
    return json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n"


def failure(output: str) -> bytes:
    """The file where nothing could be graded: no points given, none lost; output: why, in words."""
    record = {"score": 0, "output": _text(output), "output_format": "html", "visibility": "visible", "tests": []}
    return json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n"


def _verdict(result: Result, language: str) -> str:
    numbers = Numbers(language)
    status = result_status(result.status)
    score = result.score
    mark = numbers.mark(score.earned, score.possible)
    parts = [f"<p><strong>{status.symbol} {_text(status.word)}: {_text(mark)}</strong></p>"]
    parts += [f"<p>{_text(line)}</p>" for line in unjudged_lines(result, language)]
    if score.pending:
        pending = _("{points} points pending").format(points=numbers.points(score.pending))
        told = result.status == "not_judged"
        reasons = dict.fromkeys(
            c.message
            for c in result.checks
            if c.pending and c.skip_reason == "not_measured" and not (told and is_unjudged(c))
        )
        parts.append(f"<p>{_text(': '.join([pending, ' '.join(reasons)]) if reasons else pending)}</p>")
    parts += [f"<p>{_text(remark)}</p>" for remark in result.remarks]
    return "".join(parts)


def _test(check: Check, result: Result, lines: dict[str, list[str]], numbers: Numbers) -> dict[str, Any]:
    file = result.file_of(check)
    status = check_status(check.status, check.skip_reason)
    parts = []
    if check.line:
        code = code_at(lines, file, check.line)
        parts.append(f"<p><code>{_text(where(result, file, check.line))}</code></p>")
        parts += [f"<pre>{_text(code)}</pre>"] if code else []
    parts.append(f"<p>{status.symbol} {_text(check.message)}</p>")
    if check.hint:
        parts.append(f"<p>→ {_text(check.hint)}</p>")
    if check.pending:
        pending = _("{points} points pending").format(points=numbers.points(check.pending))
        parts.append(f"<p>{_text(pending)}</p>")
    test: dict[str, Any] = {
        "name": f"{check.variant} · {check_title(check.check)}",
        "score": check.earned,
        "max_score": check.possible,
        "output": "".join(parts),
        "output_format": "html",
        "visibility": "visible",
        "tags": [check.check, check.variant],
    }
    # Neither where nothing was judged.
    if check.status in ("pass", "fail"):
        test["status"] = "passed" if check.status == "pass" else "failed"
    return test


def _leaderboard(result: Result) -> list[dict[str, Any]]:
    """Points, sectors of global memory and wavefronts of shared memory; the latter of right kernels only.

    A kernel that is wrong, or is not there, moves less.
    """
    board: list[dict[str, Any]] = [{"name": _("Points"), "value": result.score.earned}]
    counted = [variant.counters for variant in result.variants.values() if variant.counters]
    wrong = any(c.check in ("present", "compiles", "correct") and c.status != "pass" for c in result.checks)
    if wrong or len(counted) != len(result.variants) or not counted:
        return board
    rows = [row for counters in counted for row in counters.by_line]
    sectors = sum(row.sectors for row in rows if row.space == "global")
    wavefronts = sum(row.wavefronts for row in rows if row.space == "shared")
    return [
        *board,
        {"name": _("Sectors of global memory"), "value": sectors, "order": "asc"},
        {"name": _("Wavefronts of shared memory"), "value": wavefronts, "order": "asc"},
    ]


def _text(text: str) -> str:
    """Text that HTML shows as it is."""
    return escape(visible(clipped(text))).replace("\n", "<br>")
