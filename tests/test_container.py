"""The Containerfile: what it copies and installs is what the package needs, and its image grades."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.autograders import DATA_FOLDERS
from grader.report.pdf import DEBIAN_PACKAGES

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_it_copies_what_there_is_and_all_that_the_wheel_is_built_from() -> None:
    copied = [name for line in re.findall(r"^COPY (?!--)(.*) \S+$", TEXT, re.M) for name in line.split()]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    named = {PROJECT["readme"], *PROJECT["license-files"]}
    assert {"pyproject.toml", "setup.py", "requirements.lock", "grader", *named, *DATA_FOLDERS} <= set(copied)


def test_it_has_pango_and_a_python_that_is_supported() -> None:
    (installed,) = re.findall(r"apt-get install -y --no-install-recommends ([^&]*)&&", TEXT)
    assert tuple(installed.split()) == DEBIAN_PACKAGES
    (version,) = set(re.findall(r"^FROM \S+/python:([\d.]+)-slim-\w+", TEXT, re.M))
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert set(re.findall(r"lib/python([\d.]+)/", TEXT)) == {version}


def test_the_lock_file_satisfies_what_the_package_asks_for() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:", lock, re.M))
    needs = [Requirement(text) for text in PROJECT["dependencies"]]
    unmet = [str(n) for n in needs if not n.specifier.contains(locked.get(canonicalize_name(n.name), "0"))]
    assert unmet == []


@pytest.mark.slow
def test_the_image_is_built_and_grades() -> None:
    """With podman; it downloads 400 MB, so that it is asked for: CHECK_CONTAINER holds podman's options of building."""
    options = os.environ.get("CHECK_CONTAINER")
    if options is None:
        pytest.skip("CHECK_CONTAINER is not set")
    command: list[str | Path] = [ROOT / "scripts" / "check-container", *options.split()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if run.returncode == 77:
        pytest.skip(run.stderr.strip())
    assert run.returncode == 0, run.stderr
    print(run.stdout)
