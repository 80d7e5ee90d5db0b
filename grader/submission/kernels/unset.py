"""Variables of a kernel that are added to before anything was assigned to them, as its text reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.submission.kernels.records import Kernel

# `int i, sum;` and `BASE_TYPE sum;`, not `return sum;`; of pointers and arrays nothing is said.
_DECLARED = re.compile(
    r"(?<![\w.>])(?!(?:return|else|goto|case|delete|throw|typedef|using|extern|static|__shared__)\b)"
    r"(?:(?:unsigned|signed|long|short|register|volatile)\s+){0,3}[A-Za-z_]\w*\s+(?P<names>\w[^;(){}<>\[\]*&]{0,400});"
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_MAX_VARIABLES = 200


def unset_variables(kernel: Kernel, text: str) -> list[tuple[str, int]]:
    """Names with the lines where they are used first: `s += x`, `s++` or `s = s + x`, before `s` had a value.

    text: of the kernel's file, without comments, its lines kept.
    """
    lines = text.split("\n")
    body = "\n".join(lines[kernel.line - 1 : kernel.end_line])
    found = []
    for name, end in list(_declared(body))[:_MAX_VARIABLES]:
        used = re.compile(rf"(?<![\w.>]){name}\b").search(body, end)
        if used is not None and _adds(body, name, used):
            found.append((name, kernel.line + body.count("\n", 0, used.start())))
    return found


def _declared(body: str) -> Iterator[tuple[str, int]]:
    """Variables declared without a value, and where their declarations end."""
    for match in _DECLARED.finditer(body):
        if body[: match.start()].rstrip().endswith(("__shared__", "static", "extern")):
            # Of these another thread, or nobody, sets the value.
            continue
        for part in match["names"].split(","):
            name = _NAME.fullmatch(part)
            if name is not None:
                yield name[1], match.end()


def _adds(body: str, name: str, used: re.Match[str]) -> bool:
    """Whether what a variable holds goes into the value that it is given where it is mentioned."""
    before, after = body[: used.start()].rstrip(), body[used.end() : used.end() + 400].lstrip()
    if before.endswith(("++", "--")) or after.startswith(("++", "--")) or re.match(r"(?:[-+*/%&|^]|<<|>>)=", after):
        return True
    value = re.match(r"=(?!=)([^;]*);", after)
    return value is not None and re.search(rf"(?<![\w.>&]){name}\b(?!\s*=[^=])", value[1]) is not None
