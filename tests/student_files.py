"""Folders of students' files, for tests of what is found in them."""

from __future__ import annotations

from pathlib import Path

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"


def make(root: Path, *files: str) -> Path:
    """`root` with `files` in it, a kernel in each."""
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(KERNEL)
    return root
