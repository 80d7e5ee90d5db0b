"""Headers of a CUDA toolkit, for an NVRTC that brings none: before 13.3 they lie in other packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

# One file of each package that device headers include: nvidia-cuda-runtime, -crt and -cccl.
_LANDMARKS = ("cooperative_groups.h", "crt/mma.h", "cccl/nv/target")
_VERSION = re.compile(r"^#define\s+CUDA_VERSION\s+(\d{1,9})", re.MULTILINE)


def header_folders(environment: Mapping[str, str], packages: Iterable[str]) -> list[Path]:
    """Where a toolkit's headers may lie, likeliest first; absolute, none of them need exist.

    environment: CUDA_HOME and CUDA_PATH name a toolkit's folder; packages: folders that pip installs to (`sys.path`).
    """
    named = [environment.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    found = [Path(folder) / "include" for folder in named if folder.startswith("/")]
    for folder in packages:
        found += sorted(Path(folder).absolute().glob("nvidia/cu[0-9]*/include"))
    return [*found, Path("/usr/local/cuda/include")]


def matching_folder(folders: Iterable[Path], version: tuple[int, int]) -> Path | None:
    """The folder with the headers for NVRTC `version`: the very same version, else one of the same major version.

    A folder that lacks some of the headers, or that cannot be read, does not count.
    """
    found = [(folder, of_folder) for folder in folders if (of_folder := _version(folder)) is not None]
    same = [folder for folder, of_folder in found if of_folder == version]
    related = [folder for folder, of_folder in found if of_folder[0] == version[0]]
    chosen = next(iter(same + related), None)
    # The real folder: what confines the compiler goes by it.
    return chosen.resolve() if chosen is not None else None


def _version(folder: Path) -> tuple[int, int] | None:
    """Version of the toolkit whose headers lie in `folder`, (13, 0); None where they are not all there."""
    try:
        if not all((folder / landmark).is_file() for landmark in _LANDMARKS):
            return None
        match = _VERSION.search((folder / "cuda.h").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return divmod(int(match[1]) // 10, 100) if match else None
