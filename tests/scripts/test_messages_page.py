"""Every message of both catalogues can be read on one page, filled with sample data."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from grader import i18n

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import message_samples
import messages
import messages_page


@pytest.mark.parametrize("language", i18n.languages())
def test_every_message_stands_on_the_page_with_sample_data(language: str) -> None:
    rows = list(messages_page.rows(language))
    shown = [sentence for _id, said in rows for sentence in said]
    assert {id for id, _text in messages_page.areas()} <= {id for id, _said in rows}
    assert all(sentence.strip() for sentence in shown)
    assert not [sentence for sentence in shown if re.search(r"\{[a-z_]+\}", sentence)]
    # What has no id of its own is shown too: texts of pages, of the terminal and of the command line.
    i18n.use(language)
    free = {sentence for id, said in rows if not id for sentence in said}
    assert {i18n._("What to fix"), i18n._("Show this message and exit."), i18n._("passed")} <= free
    assert len(rows) >= len([message for message in messages.template() if message.id])


def test_a_message_without_sample_data_is_a_failure() -> None:
    with pytest.raises(KeyError, match="nobody_gave_this"):
        message_samples.filled("A text with {nobody_gave_this}.")
    with pytest.raises(KeyError, match="nobody_gave_this"):
        message_samples.sentences("checks.races.none", "A text with {nobody_gave_this}.")
