"""Fingerprints: every match that is long enough is found, wherever it stands, with its lines."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from grader.similarity import GRAM, WINDOW, fingerprint

WORDS = ["if", "for", "while", "return", "min", "max", "abs", "exit", "printf", "free", "rand", "exp", "sqrt", "x", "y"]


def words(count: int, seed: int) -> list[str]:
    """Words that are tokens of their own, a line each: no two texts of other seeds have much in common."""
    return random.Random(seed).choices(WORDS, k=count)


@pytest.mark.parametrize("seed", range(20))
def test_a_match_of_a_gram_and_a_window_is_found(seed: int) -> None:
    shared = words(GRAM + WINDOW - 1, seed)
    # What stands round it differs, so that no match is longer.
    one = fingerprint("\n".join([*words(29, 100 + seed), "goto", *shared, "goto", *words(30, 200 + seed)]))
    other = fingerprint("\n".join([*words(6, 300 + seed), "case", *shared, "case", *words(40, 400 + seed)]))
    common = one.hashes.keys() & other.hashes.keys()
    assert common
    for key in common:
        # A gram is a line for each of its tokens here, and lies in what is shared.
        assert all(
            first > 30 and last <= 30 + len(shared) and last - first == GRAM - 1 for first, last in one.hashes[key]
        )
        assert all(first > 7 and last <= 7 + len(shared) for first, last in other.hashes[key])


def test_of_each_window_one_gram_is_kept() -> None:
    found = fingerprint("\n".join(words(200, 1)))
    starts = sorted(first for places in found.hashes.values() for first, _last in places)
    # The first and the last window have one too, and none is kept twice.
    assert starts[0] <= WINDOW and starts[-1] > 200 - GRAM + 1 - WINDOW
    assert all(0 < later - earlier <= WINDOW for earlier, later in pairwise(starts))


def test_what_is_said_again_and_again_has_each_of_its_places() -> None:
    text = "\n".join(words(30, 5) * 3)
    places = fingerprint(text).hashes.values()
    assert max(map(len, places)) == 3
    assert all(list(found) == sorted(found) for found in places)


@pytest.mark.parametrize(("count", "prints"), [(GRAM + WINDOW - 2, 0), (GRAM + WINDOW - 1, 1)])
def test_what_is_shorter_has_none(count: int, prints: int) -> None:
    assert len(fingerprint("\n".join(words(count, 3))).hashes) == prints


def test_rare_choices_are_handed_on() -> None:
    assert fingerprint("a = 4711;").rare == {"number 4711"}
