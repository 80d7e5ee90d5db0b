"""`speedup`: how much faster the kernel is than the lab's reference kernel of another variant, on the same GPU."""

from __future__ import annotations

from grader.checks.base import CheckKind, Settings, Verdict, failed, not_measured, passed
from grader.evidence import Evidence
from grader.i18n import _

TOLERANCE = 0.03
"""In the student's favour: what two gradings of one kernel may differ by."""


class SpeedupSettings(Settings, frozen=True):
    """Settings.

    against: the variant whose reference kernel is the measure.
    full: the speedup that earns all points.  minimum: the speedup that earns the first; between them linear.
    """

    against: str
    full: float
    minimum: float = 1.0


def judge(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """Judge by the confidence interval at the largest size that was timed; a straddled threshold is borderline."""
    timed = [t for t in evidence.timing if t.speedup is not None]
    if not timed:
        return not_measured(evidence.unmeasured.get("time", _("The time was not measured.")))
    row = timed[-1]
    speedup = row.speedup or 0.0
    low = row.speedup_low if row.speedup_low is not None else speedup
    high = row.speedup_high if row.speedup_high is not None else speedup
    threshold = settings.full * (1 - TOLERANCE)
    text = _(
        "{speedup:.2f} times as fast as the reference kernel {variant} ({low:.2f} to {high:.2f}); {full:g} is asked."
    )
    message = text.format(speedup=speedup, variant=settings.against, low=low, high=high, full=settings.full)
    data = {"speedup": speedup, "low": low, "high": high, "full": settings.full}
    if low >= threshold:
        return passed(message, data=data)
    ramp = (
        (speedup - settings.minimum) / (settings.full - settings.minimum) if settings.full > settings.minimum else 0.0
    )
    share = min(1.0, max(0.0, ramp))
    if high >= threshold:
        note = _("The measurement does not decide; the teacher does.")
        return Verdict("borderline", f"{message} {note}", share=1.0 if speedup >= threshold else share, data=data)
    hint = _("Look at the counters of this kernel first: sectors and wavefronts above the ideal are time.")
    return failed(message, hint, share=share, data=data)


CHECK = CheckKind("speedup", judge, SpeedupSettings, needs=("correct",))
