"""Predicted times as they stand in a result."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from grader.lab.records import Sizes
from grader.prediction.instructions import Processor
from grader.prediction.model import Prediction, ratio_interval
from grader.result import LineTime, PredictedTime, Ratio

MOST_LINES = 12
LEAST_SHARE = 0.005
"""Of the time that a line takes, to be told."""


def record_of(made: Prediction, sizes: Sizes, processor: Processor) -> PredictedTime:
    """A prediction as a record, without ratios."""
    shares = {number: sum(taken.values()) for number, taken in made.by_line.items() if number}
    lines = sorted((n for n, share in shares.items() if share >= LEAST_SHARE), key=lambda n: (-shares[n], n))
    low, high = made.interval_us
    return PredictedTime(
        device=processor.name,
        size=dict(sizes),
        predicted_us=figures(made.time_us),
        predicted_low_us=figures(low),
        predicted_high_us=figures(high),
        is_checked=processor.measured,
        shares={unit: round(share, 4) for unit, share in made.shares.items() if share >= LEAST_SHARE},
        limiter=made.limiter,
        predicted_without_us={cause: figures(less_us) for cause, less_us in made.without_us.items()},
        by_line=[
            LineTime(
                line=number,
                share=round(shares[number], 4),
                predicted_us=figures(shares[number] * made.time_us),
                shares={unit: round(share, 4) for unit, share in made.by_line[number].items() if share >= LEAST_SHARE},
            )
            for number in lines[:MOST_LINES]
        ],
    )


def with_ratios(
    found: Mapping[str, PredictedTime],
    baseline: str,
    measures: Mapping[str, tuple[str, PredictedTime]],
    processor: Processor,
) -> dict[str, PredictedTime]:
    """The same with how many times as fast each is as the variant `baseline`, and as what it is measured by.

    measures: of a variant the one whose reference kernel its check measures by, and the time of that.
    """
    nothing = "", None

    def over(slower: PredictedTime | None, own: PredictedTime) -> Ratio | None:
        if slower is None:
            return None
        ratio = slower.predicted_us / own.predicted_us
        low, high = ratio_interval(ratio, processor)
        return Ratio(value=round(ratio, 3), low=round(low, 3), high=round(high, 3))

    return {
        name: structs.replace(
            own,
            predicted_over_baseline=over(found.get(baseline), own) if name != baseline else None,
            predicted_speedup=over(measures.get(name, nothing)[1], own),
            against=measures.get(name, nothing)[0],
        )
        for name, own in found.items()
    }


def figures(value: float) -> float:
    """Three significant digits: more are not known."""
    return float(f"{value:.3g}")
