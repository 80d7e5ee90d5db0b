"""A result for GitHub Classroom: what its autograding reporter takes from an earlier step, in Base64.

The reporter adds up the points of the tests: https://github.com/classroom-resources/autograding-grading-reporter
"""

from __future__ import annotations

import base64
import json

from grader.findings.formats import Told
from grader.findings.graded import scale_of, tests
from grader.report.visible import clipped
from grader.result import is_unjudged

_STATUSES = {"pass": "pass", "skip": "pass", "borderline": "pass", "fail": "fail", "error": "error"}
_MOST_BYTES = 64_000
"""Of all messages: the reporter is handed them in a variable of the environment, which Linux bounds to 128 KiB."""
_RESULTS = {"passed": "pass", "failed": "fail", "not_judged": "error", "error": "error"}


def write(told: Told) -> str:
    """One line of Base64."""
    result = told.result
    listed = list(tests(result, told.out_of))
    each = _MOST_BYTES // max(1, len(listed))
    shown = [
        {
            "name": test.name,
            "status": "error" if is_unjudged(test.check) else _STATUSES[test.check.status],
            "score": test.score,
            "message": clipped(" ".join(filter(None, (test.place, test.check.message, test.check.hint))), each),
            "test_code": test.check.id,
            "filename": test.file,
            "line_no": test.line or 0,
            "execution_time": "0s",
        }
        for test in listed
    ]
    record = {
        "version": 1,
        "status": _RESULTS[result.status],
        "max_score": round(result.score.possible * scale_of(result, told.out_of), 2),
        "tests": shown,
    }
    return base64.b64encode(json.dumps(record, ensure_ascii=False).encode()).decode("ascii") + "\n"
