"""What is said of archives and exports that works come in."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "too_much": N_("{name}: the archive is larger than allowed"),
    "broken": N_("{name}: cannot be unpacked: {reason}"),
    "link": N_("{name}: a link, skipped"),
    "encrypted": N_("{name}: needs a password, skipped"),
    "outside": N_("{name}: leads out of its folder, skipped"),
    "large": N_("{name}: larger than {limit} MiB, skipped"),
    "unread": N_("{name}: archives of this kind are not read; zip and tar are"),
    "no_archive": N_("{path}: {reason}"),
    "renamed": N_("{name}: read as {meant}"),
    "doubled": N_("{name}: the archive holds two files of this name; the later one counts"),
    "name_taken": N_("{name}: another file or folder has this name, skipped"),
    "nobodys": N_("{name}: lies in no student's folder, skipped"),
    "nobody": N_("{path}: no submissions in it"),
    "problem": N_("{student}: {what}"),
    "twice": N_("submitted several times ({archives}), and it is not known which was last: name only one archive"),
    "earlier": N_("{student}: submitted several times; the last one counts, from {archive}"),
    "nothing": N_("nothing was submitted"),
}
