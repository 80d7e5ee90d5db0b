"""What is said of the files by which a teacher runs a course."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "no_time": N_("{text}: not a time; write 2026-09-05 18:14"),
    "no_zone": N_("{zone}: not a time zone; write Europe/Moscow"),
    "no_check": N_("{check}: no check of this lab; there are {allowed}"),
    "too_many": N_("{got} points; at most {most}"),
    "two_files": N_("there are {one} and {other}; keep one of them"),
    "asks_time": N_("{student}: nobody says when the work was handed in; write it into the roster or {file}"),
    "no_days": N_("{text}: not a number of days"),
    "roster_kind": N_("{path}: a roster is a .csv or .xlsx file"),
    "roster_unread": N_("{path}: cannot be read: {reason}"),
    "roster_columns": N_("{path}: no column tells who a student is; name one id, name, e-mail or number"),
    "roster_line": N_("{path}, line {line}: {what}"),
    "roster_twice": N_("{path}, line {line}: {student} is there twice"),
    "not_in_roster": N_("{student}: not in the roster"),
}
