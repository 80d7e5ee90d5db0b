"""What tests of whole programs share: compiled host code, kept from one run of the tests to the next."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def host_cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with compiled host code by its hash; an empty one where pytest keeps nothing."""
    kept: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    return kept.mkdir("programs") if kept is not None else tmp_path_factory.mktemp("programs")
