"""What is kept of an earlier run belongs to the code that made it: all of it, wherever in the package it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.files import PACKAGE, data_root
from grader.grading.output.identity import code_hash


def hash_of(checkout: Path) -> str:
    """What the grader in `checkout` says of itself."""
    said = subprocess.run(
        [sys.executable, "-c", "from grader.grading.output import identity; print(identity.code_hash().hex())"],
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(data_root() / "templates", tmp_path / "templates")
    return tmp_path


def test_the_same_code_elsewhere_is_the_same(checkout: Path) -> None:
    assert hash_of(checkout) == code_hash().hex()


@pytest.mark.parametrize(
    "changed",
    [
        "grader/__init__.py",
        "grader/checks/bank_conflicts.py",
        "grader/exports/pages.py",
        "grader/locale/ru/LC_MESSAGES/grader.mo",
        "grader/programs/toolchain/include/thread",
        "grader/ptx/native/runtime.wat",
        "templates/report.html.j2",
    ],
)
def test_code_changed_anywhere_is_other_code(checkout: Path, changed: str) -> None:
    with (checkout / changed).open("ab") as file:
        file.write(b"\n")
    assert hash_of(checkout) != code_hash().hex()
