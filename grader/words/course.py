"""What is said of the files by which a teacher runs a course."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "no_time": N_("{text}: not a time; write 2026-09-05 18:14"),
    "no_zone": N_("{zone}: not a time zone; write Europe/Moscow"),
    "no_check": N_("{check}: no such check in this lab; allowed: {allowed}"),
    "too_many": N_("{got} points; at most {most}"),
    "file_gone": N_(
        "{file}: the decisions that hold for {folder} stood there; put the file back, or into that folder "
        "(an empty one for none)"
    ),
    "file_unknown": N_(
        "{student}: what was decided stood in {file}, and {folder} no longer tells where that is; put the file into "
        "that folder (an empty one for none)"
    ),
    "two_files": N_("there are {one} and {other}; keep one of them"),
    "asks_time": N_("{student}: it is not known when the work was submitted; write it into the roster or {file}"),
    "no_days": N_("{text}: not a number of days"),
    "roster_kind": N_("{path}: a roster is a .csv or .xlsx file"),
    "roster_unread": N_("{path}: cannot be read: {reason}"),
    "no_value": N_(
        "the value of the formula in cell {cell} is not stored; open the file in a spreadsheet program and save it"
    ),
    "error_value": N_("cell {cell} holds the error {value}"),
    "open_quotes": N_("a quotation mark without the one that closes the cell"),
    "roster_columns": N_("{path}: no column identifies a student; name one id, name, e-mail or number"),
    "roster_line": N_("{path}, line {line}: {what}"),
    "roster_twice": N_("{path}, line {line}: {student} is listed twice"),
    "not_in_roster": N_("{student}: not in the roster"),
    "one_line_for_many": N_("{students}: any of them may be {listed} in the roster, so none is taken to be"),
    "unknown_student": N_("{file} speaks of {student}, but nobody here goes by that name"),
    "unknown_student_like": N_("{file} speaks of {student}, but nobody here goes by that name; is it {like}?"),
    "unknown_lab": N_("{file} speaks of the lab {lab}, which is unknown; known labs: {known}"),
}
