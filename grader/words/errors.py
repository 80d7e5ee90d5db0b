"""What every error has in common: where it is, and what the system refused."""

from __future__ import annotations

from grader.words.texts import N_, Texts


def at(where: str, what: str) -> str:
    """A file, with a line where there is one, and what is wrong there."""
    return f"{where}: {what}"


TEXTS: Texts = {
    "at": at,
    # What Linux calls its errors, by their symbols.
    "eacces": N_("Permission denied"),
    "eaddrinuse": N_("Address already in use"),
    "edquot": N_("Disk quota exceeded"),
    "eexist": N_("File exists"),
    "eisdir": N_("Is a directory"),
    "eloop": N_("Too many levels of symbolic links"),
    "emfile": N_("Too many open files"),
    "enametoolong": N_("File name too long"),
    "enoent": N_("No such file or directory"),
    "enomem": N_("Cannot allocate memory"),
    "enospc": N_("No space left on device"),
    "enotdir": N_("Not a directory"),
    "eperm": N_("Operation not permitted"),
    "erofs": N_("Read-only file system"),
}
