"""Why something of a run could not be measured, or does not count."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "fails_on_gpu": N_("At {sizes} the kernel fails on the GPU: what was found in it is not a matter of theory."),
}
