"""A case that nobody can know beforehand: its sizes and data are drawn from the submission and the course's secret.

The lab's sizes and seed are public, so a kernel may carry their answers in a table, or work at these sizes only.  One
more case, and one off the tile where the lab grades such, is drawn anew for every submission: the same in every grading
of the same files, another one once a byte is changed, and another one where a teacher has set a secret.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import gcd
from pathlib import Path
from typing import Literal

import numpy as np

from grader.errors import UsageError
from grader.i18n import _
from grader.lab.records import Cases, Lab, Sizes
from grader.result import CaseKind
from grader.running.cases import fits, rounded
from grader.running.choosing import is_right
from grader.running.evidence import Evidence
from grader.running.explain import explain
from grader.running.runs import TOO_LONG, Runner
from grader.submission.records import Candidate

SECRET = "CUDA_LAB_GRADER_SECRET"
SECRET_FILE = "CUDA_LAB_GRADER_SECRET_FILE"
SHORTEST = 16
"""Characters of a secret: fewer could be tried out."""
SEED_BYTES = 6
"""So that a seed is a whole number in every reader of JSON."""
ATTEMPTS = 20
"""Draws in search of sizes that the lab does not name."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What the drawn case is made from; the seed tells nothing of the secret.

    by: "secret" of the course, or "submission": its files alone, so that who reads this code can know the case.
    """

    seed: int
    by: Literal["secret", "submission"]


def secret() -> str:
    """The secret of the course, "" where none is set.

    Raises
    ------
    UsageError : its file cannot be read, or it is too short.
    """
    found, path = os.environ.get(SECRET, ""), os.environ.get(SECRET_FILE, "")
    if path:
        try:
            found = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or _("no UTF-8 text")
            raise UsageError(f"{SECRET_FILE}: {path}: {reason}") from error
    found = found.strip()
    if (found or path) and len(found) < SHORTEST:
        name = SECRET_FILE if path else SECRET
        raise UsageError(
            _("{name}: the secret has {got} characters, at least {least} are needed").format(
                name=name, got=len(found), least=SHORTEST
            )
        )
    return found


def draw(lab: Lab, files: Mapping[str, str], secret: str) -> Draw:
    """The draw for a submission; files: their texts by name."""
    key = _key(secret, lab.id) if secret else b""
    digest = hashlib.blake2b(digest_size=SEED_BYTES, key=key, person=b"drawn case")
    for text in (lab.id, *(part for name in sorted(files) for part in (name, files[name]))):
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return Draw(int.from_bytes(digest.digest(), "little"), "secret" if secret else "submission")


@cache
def _key(secret: str, lab: str) -> bytes:
    """A key that takes long to try out (RFC 7914, 16 MiB and some 50 ms a try)."""
    return hashlib.scrypt(secret.encode(), salt=lab.encode(), n=1 << 14, r=8, p=1, dklen=64)


def with_drawn_cases(evidence: Evidence, entry: str, runner: Runner, lab: Lab) -> Evidence:
    """`evidence` with the drawn cases, of a kernel that is right at the lab's own exact sizes.

    runner : one for `lab`, whose seed is the drawn one.
    """
    candidate = evidence.candidate
    exact = evidence.runs_of("correct", "observe")
    if candidate is None or not exact or any(run.outcome.status != "ok" for run in evidence.runs):
        return evidence
    if not all(is_right(run) for run in exact):
        return evidence
    runs = []
    for kind, sizes in drawn_cases(evidence, lab):
        run = runner.run_once(evidence.bound, candidate, entry, kind, sizes, observe=False)
        if run.outcome.status != "unsupported" and run.outcome.reason not in TOO_LONG:
            runs.append(replace(run, drawn=True))
    diagnoses = explain(lab, runner.oracle, runner.backend, evidence.bound, candidate, entry, runs)
    return replace(evidence, runs=(*evidence.runs, *runs), diagnoses={**diagnoses, **evidence.diagnoses})


def drawn_cases(evidence: Evidence, lab: Lab) -> Iterator[tuple[CaseKind, Sizes]]:
    """The sizes that `lab.seed` draws within the lab's rules, as the kernel can be asked for them."""
    candidate, cases = evidence.candidate, lab.cases["emulator"]
    assert candidate is not None
    rng = np.random.default_rng([lab.seed, 1])
    known = [run.sizes for run in evidence.runs]
    yield "correct", _new(known, lambda: _exact(rng, lab, cases, candidate, evidence.wired_sizes))
    ragged = evidence.runs_of("ragged")
    graded = any(spec.check == "ragged_sizes" for spec in evidence.variant.checks)
    if graded and ragged and all(is_right(run) for run in ragged):
        yield "ragged", _new(known, lambda: _off_the_tile(rng, lab, cases, candidate))


def _new(known: list[Sizes], attempt: Callable[[], Sizes]) -> Sizes:
    """The first of some draws that is none of the known sizes; the last one where all are."""
    sizes: Sizes = {}
    for _number in range(ATTEMPTS):
        sizes = attempt()
        if sizes not in known:
            break
    return sizes


def _exact(rng: np.random.Generator, lab: Lab, cases: Cases, candidate: Candidate, wired: Sizes | None) -> Sizes:
    """Multiples of what the lab's exact sizes are multiples of; large ones up to half as large again."""
    if wired is not None:
        return wired
    rows = [*cases.correct, cases.observe]
    sizes = {}
    for name in lab.size_names:
        values = [row[name] for row in rows]
        step = gcd(*values)
        high = max(values) * 3 // 2 if max(values) >= 64 else max(values)
        sizes[name] = step * int(rng.integers(-(-min(values) // step), high // step + 1))
    return _as_asked(lab, sizes, candidate, exact=True)


def _off_the_tile(rng: np.random.Generator, lab: Lab, cases: Cases, candidate: Candidate) -> Sizes:
    """Anything between the smallest and the largest of the lab's own such sizes."""
    sizes = {
        name: int(rng.integers(min(r[name] for r in cases.ragged), max(r[name] for r in cases.ragged) + 1))
        for name in lab.size_names
    }
    return _as_asked(lab, sizes, candidate, exact=False)


def _as_asked(lab: Lab, sizes: Sizes, candidate: Candidate, exact: bool) -> Sizes:
    if not fits(lab, sizes, candidate):
        sizes = {**sizes, **dict.fromkeys(lab.equal_sizes, max(sizes[name] for name in lab.equal_sizes))}
    fixed = dict(candidate.fixed)
    bound = [fixed[name] for name in lab.equal_sizes if name in fixed]
    if bound and not fits(lab, {**sizes, **fixed}, candidate):
        sizes = {**sizes, **dict.fromkeys(lab.equal_sizes, bound[0])}
    return {**(rounded(lab, sizes, candidate) if exact else sizes), **fixed}
