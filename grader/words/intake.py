"""What is said of archives and exports that works come in."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "too_much": N_("{name}: the archive holds more than is read of one"),
    "broken": N_("{name}: cannot be unpacked: {reason}"),
    "link": N_("{name}: a link, left out"),
    "encrypted": N_("{name}: needs a password, left out"),
    "outside": N_("{name}: leads out of its folder, left out"),
    "large": N_("{name}: larger than {limit} MiB, left out"),
    "unread": N_("{name}: archives of this kind are not read; zip and tar are"),
    "no_archive": N_("{path}: {reason}"),
    "problem": N_("{student}: {what}"),
    "twice": N_("handed in several times ({archives}), and it is not known which was last: name one archive only"),
    "earlier": N_("{student}: handed in several times; the last of them counts, that in {archive}"),
    "nothing": N_("nothing was handed in"),
}
