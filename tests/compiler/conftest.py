"""Compiler processes for tests: as they are used, and without Landlock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("headers") / "nvrtc"


@pytest.fixture(scope="module")
def compiler(headers: Path) -> Iterator[CompilerProcess]:
    with CompilerProcess(headers=headers) as process:
        yield process


@pytest.fixture(scope="module")
def filtered(headers: Path) -> Iterator[CompilerProcess]:
    with CompilerProcess(headers=headers, use_landlock=False) as process:
        yield process
