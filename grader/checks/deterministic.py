"""`deterministic`: the same bits come out, whatever the order of the blocks and of the warps in a block."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.diagnosis.text import element
from grader.lab.checks import Settings
from grader.message import msg, sizes_msg
from grader.running.evidence import Evidence


def judge(evidence: Evidence, _settings: Settings) -> Verdict:
    """Tell what came out otherwise, or never, in another order."""
    reordered = evidence.reordered
    if reordered is None:
        return not_measured(msg("checks.deterministic.not_seen"))
    sizes = sizes_msg(reordered.sizes)
    if reordered.differs is None:
        return passed(msg("checks.deterministic.passed", n=reordered.orders, sizes=sizes))
    array, index, usual, other = reordered.differs
    message = msg(
        "checks.deterministic.differs",
        element=element(array, index),
        usual=usual,
        other=other,
        sizes=sizes,
        n=reordered.elements,
    )
    data = {"elements": reordered.elements}
    at = _float_atomics(evidence)
    if at is None:
        return failed(message, msg("checks.deterministic.hint"), data=data)
    file, line = at
    verdict = failed(message, msg("checks.deterministic.hint_atomics", line=line), line, data=data)
    return replace(verdict, file=evidence.file_of(file))


def _float_atomics(evidence: Evidence) -> tuple[str, int] | None:
    """Where floating-point numbers are added atomically, most often; None where that is nowhere."""
    work = evidence.observed_work
    rows = [(file, row) for file, row in (work.by_line() if work is not None else ()) if row.uses.get("float_atomics")]
    if not rows:
        return None
    file, row = max(rows, key=lambda pair: pair[1].uses["float_atomics"])
    return file, row.line
