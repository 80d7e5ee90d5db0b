"""A kernel that its program never launches, and the launch of another that stands where it is expected."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from grader.running.evidence import Instead
from grader.submission.kernels.records import Kernel, SeenRun

# Of whoever is called so: what a program is told when it is started, or finds there.
_READS = re.compile(
    r"\bargv\b|\b__arg[cv]\b|\bcin\b|\bstdin\b|\bf?scanf(?:_s)?\s*\(|\bgetchar\s*\(|\bf?gets\s*\(|\bgetline\s*\("
    r"|\bfopen(?:_s)?\s*\(|\bi?fstream\b|\bgetenv\s*\(|\bread\s*\(|\bcudaGetDevice(?:Count|Properties)\s*\("
)
_ASKS_FOR_MANY = re.compile(r"\bargc\s*(?:>=?|==)\s*[1-9]\d{1,8}\b|\b[1-9]\d{1,8}\s*(?:<=?|==)\s*argc\b")


def never_launches(runs: Sequence[SeenRun], kernel: str, graded: set[str], programs: Mapping[str, str]) -> bool:
    """Whether nothing that a program could be started with would have it launch a kernel, one of those `graded`.

    One that launches another of these may be changed by its author to launch them in turn.  Nobody can tell that of one
    which reads what it is to do from arguments, a keyboard or files, unless it asks for more arguments than anybody
    gives.

    runs: of the program, none of which gave up for a fault of its own.
    """
    if not programs or not runs or not all(run.ended for run in runs):
        return False
    launched = {name for run in runs for name in (*run.asked_for, *(launch.kernel for launch in run.launches))}
    texts = programs.values()
    if kernel in launched:
        return False
    if any(_ASKS_FOR_MANY.search(text) for text in texts):
        return True
    return not launched & graded and not any(_READS.search(text) for text in texts)


def launched_instead(runs: Sequence[SeenRun], kernel: Kernel, graded: Collection[Kernel]) -> Instead | None:
    """A launch of one of the other kernels, or of one instance of a template, whose results the host had fetched from
    an earlier launch in another line; of several that of the kernel which is written next to the one that is missing.

    graded: the kernels of the variants.
    """
    order = [k.name for k in sorted(graded, key=lambda k: (k.file != kernel.file, k.line))]
    found: dict[tuple[str, int, int], Instead] = {}
    lines: set[tuple[str, int]] = set()
    for run in runs:
        first: dict[tuple[str, tuple[str, ...]], tuple[int, str, int]] = {}
        fetched = sorted(copy.launches for copy in run.copies if copy.way == "out")
        for number, step in enumerate(run.order if run.ended and not run.probe else ()):
            launch = run.launches[step.launch] if step.launch >= 0 else None
            if launch is None or launch.kernel == kernel.name or launch.kernel not in order:
                continue
            lines.add((launch.file, launch.line))
            key = launch.kernel, launch.template_arguments
            earlier, file, line = first.setdefault(key, (number, launch.file, launch.line))
            is_other = file == launch.file and line != launch.line
            if is_other and bisect_right(fetched, earlier) < bisect_right(fetched, number):
                name = launch.kernel + (f"<{', '.join(key[1])}>" if key[1] else "")
                # What is written first is launched first.
                is_first = order.index(kernel.name) < order.index(launch.kernel)
                wrong, right = (line, launch.line) if is_first else (launch.line, line)
                instead = Instead(file, wrong, name, right)
                found.setdefault((file, line, launch.line), instead)
    if not found or kernel.name not in order:
        return None
    place = order.index(kernel.name)
    nearest = min(found.values(), key=lambda one: abs(order.index(one.kernel.partition("<")[0]) - place))
    return nearest if len(lines) >= len(order) else None
