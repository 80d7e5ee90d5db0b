"""Why a submission's program was not run, and what that means for its result."""

from __future__ import annotations

from grader.i18n import _
from grader.words.programs import changed
from grader.words.texts import N_, Texts


def read(why: str, line: int, in_file: str = "") -> str:
    """A program that was not run, with the reason as a part of the sentence."""
    return _("The program was not run: {why}. Its launches were read from its text.").format(
        why=_at(why, line, in_file)
    )


def read_file(file: str, why: str, line: int, in_file: str = "") -> str:
    """The same of one file of several."""
    text = _("{file} was not run as a program: {why}. Its launches were read from its text.")
    return text.format(file=file, why=_at(why, line, in_file))


def cut(why: str, line: int, in_file: str = "") -> str:
    """A program whose own code never ends, as far as can be told, though its launches are known."""
    return _("The program, run without its kernels, was stopped: {why}.").format(why=_at(why, line, in_file))


def not_graded(why: str) -> str:
    """The machine's failure, not the program's, where others can run it."""
    text = _("Not graded: this machine could not run the program ({why}). `grade doctor` says what is missing.")
    return text.format(why=_part(why))


def absent(why: str) -> str:
    """The machine's failure, not the program's."""
    text = _(
        "This machine could not run the program ({why}). Its launches were read from its text, so the result may "
        "differ from that of other machines; `grade doctor` says what is missing."
    )
    return text.format(why=_part(why))


def smaller(name: str, before: str, after: str) -> str:
    """A program that was run with one of its numbers made smaller."""
    text = _("The program was run with {after} in place of {before}: it is too large to run as it is.")
    return text.format(after=after, before=changed(before, name))


def _at(why: str, line: int, in_file: str) -> str:
    """A reason, with the line that the program had come to, and its file where that is another than the program's."""
    if line and in_file:
        return _("{why} ({file}, line {line})").format(why=_part(why), file=in_file, line=line)
    return _("{why} (line {line})").format(why=_part(why), line=line) if line else _part(why)


def _part(sentence: str) -> str:
    """A sentence as a part of another: no full stop, and no capital but in a name."""
    first, rest = sentence[:1], sentence[1:].rstrip(".")
    return (first.lower() if rest[:1].islower() or rest[:1] == " " else first) + rest


TEXTS: Texts = {
    "no_main": N_("there is no main() in it"),
    "no_launch": N_("it ended without launching a kernel"),
    "read": read,
    "read_file": read_file,
    "cut": cut,
    "not_graded": not_graded,
    "absent": absent,
    "smaller": smaller,
    "uncommented": N_(
        "{file}, line {line}: {kernel} is launched in a comment only; it was graded as if that launch were there."
    ),
}
