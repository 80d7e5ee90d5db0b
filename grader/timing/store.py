"""Measurements kept on disk, so that grading the same work again on the same GPU gives the same mark."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grader.files import write_atomically
from grader.paths import home
from grader.timing.records import Measurement

FORMAT = 1
"""Raised when what is measured, or how, changes: older measurements are then no longer found."""


def key_of(
    sources: Mapping[str, str], launches: str, lab: Mapping[str, bytes], nvrtc: str, device: str, driver: str
) -> str:
    """The SHA-256 of everything that a measurement depends on, in hexadecimal.

    Parameters
    ----------
    sources : device code of the submission by file name.  launches : how its kernels are launched, in any fixed form.
    lab : the lab's own files by name.  nvrtc, driver : versions.  device : the GPU's name.
    """
    parts = [
        str(FORMAT).encode(),
        nvrtc.encode(),
        device.encode(),
        driver.encode(),
        launches.encode(),
        *_flat({name: text.encode() for name, text in sources.items()}),
        b"lab",
        *_flat(lab),
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where measurements are kept: CUDA_LAB_GRADER_STORE, or the user's data folder."""
    variables = os.environ if environment is None else environment
    chosen = variables.get("CUDA_LAB_GRADER_STORE")
    if chosen:
        return Path(chosen)
    data = variables.get("XDG_DATA_HOME")
    base = Path(data) if data else Path(variables.get("HOME") or home()) / ".local" / "share"
    return base / "cuda-lab-grader" / "measurements"


class Store:
    """The measurements in a folder, one file each."""

    def __init__(self, where: Path) -> None:
        self._folder = where

    def get(self, key: str) -> Measurement | None:
        """The measurement under `key`; None when there is none that can be read."""
        try:
            return msgspec.json.decode((self._folder / f"{key}.json").read_bytes(), type=Measurement)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, measurement: Measurement) -> bool:
        """Keep a measurement; False when the folder cannot be written to, which is no reason to stop grading."""
        try:
            write_atomically(self._folder / f"{key}.json", msgspec.json.encode(measurement))
        except OSError:
            return False
        return True


def _flat(parts: Mapping[str, bytes]) -> list[bytes]:
    return [piece for name in sorted(parts) for piece in (name.encode(), parts[name])]
