"""Builds the C++ library that programs are linked with and packs it: `python scripts/pack_library.py`.

To be run when its sources, its flags or `ziglang` change (a test says so); the package then brings it ready-made, so
that nobody's first grading waits a minute for it.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from grader.programs.toolchain import zig

LICENCES = {
    "zig": "LICENSE",
    "llvm": "lib/libcxx/LICENSE.TXT",
    "musl": "lib/libc/musl/COPYRIGHT",
    "wasi-libc": "lib/libc/wasi/LICENSE",
    "wasi-libc-mit": "lib/libc/wasi/LICENSE-MIT",
    "cloudlibc": "lib/libc/wasi/libc-bottom-half/cloudlibc/LICENSE",
}
"""Of what the library is compiled from, in `ziglang`: whoever hands on the library hands on these."""


def packed(folder: Path) -> bytes:
    """The folder as a compressed archive, the same bytes whoever packs it and when."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                info = tarfile.TarInfo(str(path.relative_to(folder)))
                info.size, info.mode = path.stat().st_size, 0o644
                with path.open("rb") as content:
                    archive.addfile(info, content)
    return raw.getvalue()


def main() -> None:
    """Replace what the package brings."""
    built = zig.build(lambda done, total: print(f"\r{done} of {total}", end="", flush=True))
    zig.SHIPPED.mkdir(exist_ok=True)
    for old in zig.SHIPPED.glob("*.tar.xz"):
        old.unlink()
    target = zig.SHIPPED / f"{zig.key()}.tar.xz"
    target.write_bytes(packed(built.folder))
    for name, source in LICENCES.items():
        (zig.SHIPPED / f"LICENSE-{name}.txt").write_bytes((zig.package_folder() / source).read_bytes())
    print(f"\n{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
