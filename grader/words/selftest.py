"""What `grade selftest` says of a lab's own kernels."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "no_folder": N_("no such folder: {path}"),
    "no_verdict": N_("{name} is in the folder, but has no verdict here"),
    "no_kernel": N_("no such kernel: {path}"),
    "unknown_variant": N_("unknown variant {variant!r}; {allowed}"),
    "unknown_check": N_("unknown check {check!r}; {allowed}"),
    "good_and_bad": N_("a bad kernel fails something, a good one nothing"),
    "failed": N_("the grader failed: {reason}"),
    "binding": N_("found as {got} instead of {expected}"),
    "nothing": N_("nothing"),
    "fails": N_("{check} fails: {message}"),
    "why": N_("{check}: {message}"),
    "passes": N_("{check} does not fail"),
    "line": N_("{check} fails at line {got} instead of {expected}"),
    "lab_without": N_("{lab}: the lab file sets no `selftest` folder of kernels"),
    "kernel": N_("Kernel"),
    "must_fail": N_("Must fail"),
    "verdict": N_("Verdict"),
    "count": Plural(
        "{n} of {total} kernels got the expected verdict.",
        "{n} of {total} kernels got the expected verdict.",
    ),
    "place": N_("{check} (line {line})"),
}
