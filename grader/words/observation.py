"""Why a submission's program was not run, and what that means for its result."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "no_main": N_("there is no main() in it"),
    "no_launch": N_("it ended without launching a kernel"),
    "read": N_("The program was not run: {why}. Its launches were read from its text."),
    "read_file": N_("{file} was not run as a program: {why}. Its launches were read from its text."),
    "failed": N_(
        "This machine could not run the program ({why}). Its launches were read from its text, so that the result may "
        "differ from other machines'; `grade doctor` says what is missing."
    ),
    "smaller": N_("The program was run with {after} in place of {before} ({name}): as it is, it is too large."),
}
