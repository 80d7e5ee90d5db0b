"""What `nvidia-smi` says, from its output as it was seen on an H200, and from what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gpu.process import ListedGpu, inventory

pytestmark = pytest.mark.started


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, to be written."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "nvidia-smi"


def says(program: Path, text: str, code: int = 0) -> None:
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
    program.chmod(0o755)


def test_gpus_are_read(smi: Path) -> None:
    says(
        smi,
        "NVIDIA H200, 143771 MiB, 580.159.04, GPU-3904918e-d192-5616-6b46-b30908912707, Disabled\n"
        "NVIDIA H200, 143771 MiB, 580.159.04, GPU-3860b93c-ebaf-e6b4-7dbf-216caacf5849, Enabled\n"
        "NVIDIA GeForce RTX 3060, 12288 MiB, 580.159.04, GPU-1, [N/A]",
    )
    assert inventory() == [
        ListedGpu("NVIDIA H200", "143771 MiB", "580.159.04", "GPU-3904918e-d192-5616-6b46-b30908912707", False),
        ListedGpu("NVIDIA H200", "143771 MiB", "580.159.04", "GPU-3860b93c-ebaf-e6b4-7dbf-216caacf5849", True),
        ListedGpu("NVIDIA GeForce RTX 3060", "12288 MiB", "580.159.04", "GPU-1", False),
    ]


@pytest.mark.parametrize(("text", "code"), [("No devices were found", 6), ("something else", 0)])
def test_what_is_no_list_is_none(smi: Path, text: str, code: int) -> None:
    says(smi, text, code)
    assert inventory() is None


def test_without_the_program_nobody_can_tell(smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(smi.parent))
    assert inventory() is None
