"""What every test starts from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader import i18n


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Texts are asserted in English; a test that speaks another language must not hand it on to the next."""
    i18n.use("en")
    yield
    i18n.use("en")
