"""What was seen of a program, beside what its text says: before the text was changed too."""

from __future__ import annotations

from dataclasses import replace

from grader.submission.binding.reconcile import places_read_true, with_observed
from grader.submission.kernels.records import LaunchSite
from grader.submission.observed import Observed, SeenArgument, SeenLaunch, SeenRun

READ = LaunchSite("k", 9, (16, 16, 1), (16, 16), 0, file="a.cu", block_expressions=())
SEEN = SeenLaunch("k", (), "a.cu", 9, (4, 4, 1), (16, 16, 1), 0, (SeenArgument("n", "int", 64),))
OBSERVED = Observed((SeenRun(("a.cu",), (SEEN,), ended=True),))


def test_a_changed_programs_launch_follows_its_text_where_that_was_true() -> None:
    [site] = with_observed([READ], OBSERVED)
    assert (site.block, site.grid, site.observed) == ((16, 16, 1), (4, 4, 1), True)
    smaller = replace(READ, block=(8, 8, 1), tile=(8, 8))
    [site] = with_observed([smaller], OBSERVED, frozenset([("k", "a.cu", 9)]))
    # Its arguments are those that were seen; how many blocks there are follows from the text again.
    assert (site.block, site.grid, site.tile) == ((8, 8, 1), None, (8, 8))
    assert site.seen == SEEN.arguments and site.observed


def test_where_the_text_was_wrong_what_was_seen_holds() -> None:
    wrong = replace(READ, block=(8, 8, 1))
    sites = with_observed([wrong], OBSERVED)
    assert places_read_true(sites) == frozenset()
    [site] = with_observed([wrong], OBSERVED, places_read_true(sites))
    assert (site.block, site.grid) == ((16, 16, 1), (4, 4, 1))


def test_instances_of_a_template_on_one_line_are_not_confused() -> None:
    reads = [replace(READ, block=(8, 8, 1), template_arguments=(text,)) for text in ("8", "9")]
    seen = replace(SEEN, template_arguments=("17",))
    observed = Observed((SeenRun(("a.cu",), (seen,), ended=True),))
    [site] = with_observed(reads, observed, frozenset([("k", "a.cu", 9)]))
    assert (site.block, site.template_arguments) == ((16, 16, 1), ("17",))
