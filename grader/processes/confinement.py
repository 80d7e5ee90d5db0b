"""What a process may touch, given up for good: Landlock (Linux 5.13) takes away every file but those named, and TCP.

`#include`, `__has_include` and friends make a compiler read files, and its log, its output and its success tell what
is in them; a sandbox that failed would let a program do the same.  So a process that is handed a student's file
confines itself before it sees that file.  Everything here is called inside that process.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Mapping, Sequence

from grader.processes.system import IS_LINUX

# Same numbers on every architecture: the system calls are younger than the unified table.
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_RULE_PATH_BENEATH = 1
READ = 1 << 2 | 1 << 3
"""Reading files and listing folders."""
EXECUTE = 1 << 0
WRITE = 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14
"""Writing, making, truncating and removing plain files."""
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14
_PR_SET_NO_NEW_PRIVS = 38

# Rights on files that each version of the interface knows (linux/landlock.h): 13 in version 1, then refer, truncate,
# and ioctl on devices.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_RIGHTS_FROM, _NET_RIGHTS = 4, 0b11
_SCOPES_FROM, _SCOPES = 6, 0b11


def landlock_version() -> int:
    """Version of the kernel's Landlock interface, 0 where there is none."""
    if not IS_LINUX:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION)))


def confine_files(readable: Sequence[str]) -> bool:
    """Take from this process, for good, every file but what lies in the folders `readable`; False without Landlock.

    To be called before any thread starts: it holds for the calling thread and those it starts.
    """
    return confine(dict.fromkeys(readable, READ))


def confine(rights: Mapping[str, int]) -> bool:
    """The same with rights (`READ`, `EXECUTE`, `WRITE`) by folder or file."""
    version = landlock_version()
    if version < 1:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    files = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("<Q", files)
    if version >= _NET_RIGHTS_FROM:
        attributes += struct.pack("<Q", _NET_RIGHTS)
    if version >= _SCOPES_FROM:
        attributes += struct.pack("<Q", _SCOPES)
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        for place, granted in rights.items():
            descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = struct.pack(
                    "<Qi",
                    granted & files & (-1 if stat.S_ISDIR(os.fstat(descriptor).st_mode) else _FILE_ONLY),
                    descriptor,
                )
                if libc.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_RULE_PATH_BENEATH, rule, 0) != 0:
                    return False
            finally:
                os.close(descriptor)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
