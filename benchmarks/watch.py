"""What a save costs while a file is watched: `python benchmarks/watch.py [--against CHECKOUT] [--saves 4] [--every 1]`.

Real programs of all labs are copied and watched, and saved with one change at a time: from the save to the printed
verdict, wall seconds; and processor seconds of the whole tree of processes.  Prints the median and the worst of each
kind of change, the worst memory (proportional set size), and beside another version, which takes turns with this one
save by save, the median ratio of the two.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTLED_S = 0.3
"""After a verdict: what is done beside it comes to its end."""
PROGRAMS = {
    "transpose": ("submissions/ivanov", "tests/programs/transpose_lecture", "tests/programs/transpose_bench"),
    "matmul": ("submissions/ivanov", "tests/programs/matmul_menu", "tests/programs/matmul_course_report"),
    "box-blur": ("submissions/ivanov", "tests/programs/blur_c_macros", "tests/programs/blur_pipeline_raii"),
    "batch-square": ("submissions/ivanov", "tests/programs/batch_table", "tests/programs/batch_unified"),
}
KERNEL = re.compile(r"__global__[^;{]*\{")
MAIN = re.compile(r"\bint\s+main\s*\([^)]*\)\s*\{")


def _inside(text: str, head: re.Pattern[str], statement: str) -> str:
    found = head.search(text)
    assert found is not None
    return f"{text[: found.end()]}{statement}{text[found.end() :]}"


EDITS: dict[str, Callable[[str, int], str]] = {
    "first change of main": lambda text, n: _inside(text, MAIN, f"\n    volatile int edited = {n}; (void)edited;"),
    "main": lambda text, n: _inside(text, MAIN, f"\n    volatile int edited = {n}; (void)edited;"),
    "a comment above": lambda text, n: f"// edit {n}\n{text}",
    "a kernel": lambda text, n: _inside(text, KERNEL, f" if (blockDim.x == {2000 + n}u) return;"),
    "an include": lambda text, n: f"#include <{('set', 'list', 'deque', 'bitset', 'complex', 'map')[n % 6]}>\n{text}",
    "main does not compile": lambda text, n: _inside(text, MAIN, f"\n    int edited{n} = ;"),
    "a kernel does not compile": lambda text, n: _inside(text, KERNEL, f" int edited{n} = ;"),
}


class Watch:
    """`grade watch` of one version, on a copy of its own."""

    def __init__(self, checkout: Path, lab: str, file: Path, folder: Path) -> None:
        shutil.copytree(file.parent, folder / "work", ignore=lambda _folder, names: {n for n in names if ".yaml" in n})
        self.file = folder / "work" / file.name
        self.text = self.file.read_text("utf-8", "surrogateescape")
        # What is built once for a machine is there, and nothing of any program.
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "cuda-lab-grader"
        (folder / "cuda-lab-grader").mkdir()
        for name in ("nvrtc", "programs"):
            if (own / name).is_dir():
                (folder / "cuda-lab-grader" / name).symlink_to(own / name)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", str(self.file), "--lab", lab],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(folder)},
            cwd=folder,
            start_new_session=True,
        )
        self._round()

    def save(self, text: str) -> tuple[float, float]:
        """Wall and processor seconds from a save to its verdict."""
        used, began = self._used(), time.perf_counter()
        self.file.write_text(text, "utf-8", "surrogateescape")
        self._round()
        wall = time.perf_counter() - began
        time.sleep(SETTLED_S)
        return wall, self._used() - used

    def megabytes(self) -> float:
        """Proportional set size of all its processes."""
        total = 0
        for pid in self._tree():
            with suppress(OSError):
                rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
        return total / 1024

    def end(self) -> None:
        """As the user does."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def _round(self) -> None:
        assert self._process.stdout is not None
        said = b""
        while not re.search(rb"^\xe2\x96\xa0.*\n\Z", said, re.M):
            select.select([self._process.stdout], [], [])
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                sys.exit(f"grade watch has ended: {said.decode()}")
            said += more

    def _used(self) -> float:
        ticks = 0
        for pid in self._tree():
            with suppress(OSError):
                ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _tree(self) -> Iterator[int]:
        todo = [self._process.pid]
        while todo:
            yield (pid := todo.pop())
            with suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    todo += map(int, (thread / "children").read_text().split())


def _files(every: int) -> Iterator[tuple[str, Path]]:
    found = [(lab, ROOT / place) for lab, places in PROGRAMS.items() for place in places]
    for lab, place in found[::every]:
        yield lab, place / f"{lab}.cu" if (place / f"{lab}.cu").is_file() else next(iter(sorted(place.glob("*.cu"))))


def main() -> None:
    """Watch, save, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="a checkout of another version")
    parser.add_argument("--saves", type=int, default=4, help="of each kind and program")
    parser.add_argument("--every", type=int, default=1, help="every n-th program only")
    asked = parser.parse_args()
    checkouts = [ROOT, *([asked.against.resolve()] if asked.against else [])]
    took: dict[str, list[tuple[float, float, str]]] = {}
    ratios: dict[str, list[float]] = {}
    most = (0.0, "")
    for lab, file in _files(asked.every):
        name = f"{lab} {file.parent.name}"
        print(name, flush=True)
        with ExitStack() as stack:
            folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _version in checkouts]
            pairs = zip(checkouts, folders, strict=True)
            watches = [Watch(checkout, lab, file, folder) for checkout, folder in pairs]
            time.sleep(2)
            for number, (kind, edit) in enumerate(EDITS.items()):
                for save in range(1 if kind.startswith("first") else asked.saves):
                    text = edit(watches[0].text, 100 * number + save)
                    costs = [watch.save(text) for watch in watches]
                    took.setdefault(kind, []).append((*costs[0], name))
                    ratios.setdefault(kind, []).append(costs[-1][0] / costs[0][0])
                    most = max(most, (watches[0].megabytes(), name))
            for watch in watches:
                watch.end()
    print(f"\n{'':28}{'wall, s':>15}{'processor, s':>15}{'times as fast':>15}\n{'':28}{'median   worst':>15}")
    for kind, rows in took.items():
        wall, used = [row[0] for row in rows], [row[1] for row in rows]
        beside = f"{statistics.median(ratios[kind]):15.2f}" if asked.against else ""
        print(
            f"{kind:28}{statistics.median(wall):7.2f}{max(wall):8.2f}{statistics.median(used):7.2f}{max(used):8.2f}"
            f"{beside}  {max(rows)[2]}"
        )
    print(f"memory {most[0]:.0f} MB  {most[1]}")


if __name__ == "__main__":
    main()
