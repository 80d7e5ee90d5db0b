"""Random bytes of a program: the same at every run, whatever pieces they are asked for in."""

from __future__ import annotations

from grader.programs.sandbox.pseudo_random import PseudoRandom


def test_the_numbers_are_the_same_at_every_run_and_with_every_version() -> None:
    # What programs seed their inputs with: results that are kept rest on it.
    assert PseudoRandom().take(20).hex() == "ad4df30bae771bdc76606e02b9eef064366190e5"


def test_pieces_of_whole_numbers_go_on_where_the_last_ended() -> None:
    stream = PseudoRandom()
    assert stream.take(8) + stream.take(0) + stream.take(16) == PseudoRandom().take(24)


def test_a_number_of_which_a_part_was_taken_is_used_up() -> None:
    stream = PseudoRandom()
    stream.take(3)
    assert stream.take(8) == PseudoRandom().take(16)[8:]


def test_all_values_of_a_byte_come() -> None:
    assert set(PseudoRandom().take(1 << 14)) == set(range(256))
