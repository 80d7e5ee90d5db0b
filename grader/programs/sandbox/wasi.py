"""Files, clocks, arguments of a program: WASI served from memory, with limits; nothing of the machine is seen.

The library is built for 64 bits, so pointers and sizes are eight bytes wide in every record (see `toolchain.library`).
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.programs.runtime.state import ProgramEnded
from grader.programs.sandbox.guest import RANDOM_BYTE_INSTRUCTIONS, Guest, Meter

_MASK = (1 << 64) - 1
_SEED = 0x9E3779B97F4A7C15


class PseudoRandom:
    """A stream of bytes: xorshift64 with the shifts 13, 7, 17 (Marsaglia, "Xorshift RNGs", 2003), little-endian."""

    def __init__(self) -> None:
        self._state = _SEED

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; what is left of the last number's eight is not used again."""
        out = bytearray()
        while len(out) < size:
            x = self._state
            x ^= x << 13 & _MASK
            x ^= x >> 7
            x ^= x << 17 & _MASK
            self._state = x
            out += struct.pack("<Q", x)
        return bytes(out[:size])


MAX_OUTPUT_BYTES = 16 << 20
MAX_DISK_BYTES = 64 << 20
MAX_OPEN_FILES = 256
MAX_VECTORS = 1024
MAX_RANDOM_BYTES = 1 << 20

_BAD_FILE, _EXISTS, _INVALID, _NO_ENTRY, _NO_SPACE, _TOO_MANY, _NOT_SUPPORTED = 8, 20, 28, 44, 51, 33, 58
_IS_FOLDER, _NO_FOLDER, _NOT_EMPTY = 31, 54, 55
_CHARACTER_DEVICE, _DIRECTORY, _REGULAR = 2, 3, 4
_CREATE, _AS_FOLDER, _EXCLUSIVE, _TRUNCATE, _APPEND = 1, 2, 4, 8, 1
_ENTRY = struct.Struct("<QQIBxxx")
"""An entry of a folder's list: where the next one begins, a number, the name's length, what it is
(wasi_snapshot_preview1)."""
_ALL_RIGHTS = (1 << 30) - 1


SECOND_NS = 1_000_000_000
_READ_BY_CLOCK = (1, 0)


@dataclass
class OpenFile:
    """A file that the program has open; `content` is shared by all who have it open.

    folder: its name where it is one, "" that of the program's own.
    """

    content: bytearray
    position: int = 0
    append: bool = False
    folder: str | None = None


_FOLDERS = {3: b".", 4: b"/dev"}
"""Descriptors that are there at the beginning."""
_DEVICE_BYTES = 1 << 16
"""What of `/dev/urandom` can be read."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a program is started with: arguments, standard input, contents of files by name."""

    arguments: Sequence[bytes]
    stdin: bytes
    files: Mapping[str, bytes]


class Wasi:
    """State of one program's files, and the functions that the C library imports: each public method is one.

    files: contents by name, as the program has left them.  A folder is there where it was made, or anything lies in it.
    opened: what was done with each file first, see `Observation`.
    """

    def __init__(
        self,
        guest: Callable[[], Guest],
        started_with: Surroundings,
        emit: Callable[[int, bytes], None],
        now_ns: Callable[[], int],
        timed_ns: Callable[[], int],
        meter: Meter,
    ) -> None:
        self._guest = guest
        self._arguments = list(started_with.arguments)
        self.files = {name: bytearray(content) for name, content in started_with.files.items()}
        self._folders: set[str] = set()
        self._emit = emit
        self._now_ns, self._timed_ns = now_ns, timed_ns
        self._meter = meter
        self._stdin = OpenFile(bytearray(started_with.stdin))
        self._open: dict[int, OpenFile] = {0: self._stdin}
        self.opened: dict[str, str] = {}
        self._printed = 0
        self._began = False
        self._numbers = PseudoRandom()

    # -- program ----------------------------------------------------------------------------

    def args_sizes_get(self, count: int, size: int) -> int:
        guest = self._guest()
        guest.pack("Q", count, len(self._arguments))
        guest.pack("Q", size, sum(len(a) + 1 for a in self._arguments))
        return 0

    def args_get(self, pointers: int, texts: int) -> int:
        guest = self._guest()
        for index, argument in enumerate(self._arguments):
            guest.pack("Q", pointers + 8 * index, texts)
            guest.write(texts, argument + b"\0")
            texts += len(argument) + 1
        return 0

    def environ_sizes_get(self, count: int, size: int) -> int:
        self._guest().pack("Q", count, 0)
        self._guest().pack("Q", size, 0)
        return 0

    def environ_get(self, _pointers: int, _texts: int) -> int:
        return 0

    def proc_exit(self, code: int) -> int:
        raise ProgramEnded(None, code & 255)

    def clock_time_get(self, which: int, precision: int, time: int) -> int:
        # `time()` asks for whole seconds: it seeds generators, and times no kernel.  What `clock()` counts from is read
        # before the program begins.
        is_start = (which, precision) == _READ_BY_CLOCK and not self._began
        self._began |= is_start
        read_ns = self._timed_ns if precision < SECOND_NS and not is_start else self._now_ns
        self._guest().pack("Q", time, read_ns())
        return 0

    def clock_res_get(self, _which: int, resolution: int) -> int:
        self._guest().pack("Q", resolution, 1)
        return 0

    def random_get(self, address: int, size: int) -> int:
        if not 0 <= size <= MAX_RANDOM_BYTES:
            return _INVALID
        self._meter.spend(size * RANDOM_BYTE_INSTRUCTIONS)
        self._guest().write(address, self._numbers.take(size))
        return 0

    def sched_yield(self) -> int:
        return 0

    def poll_oneoff(self, subscriptions: int, events: int, count: int, got: int) -> int:
        """Sleeping costs no time here."""
        if not 1 <= count <= 64:
            return _INVALID
        for index in range(count):
            userdata, kind = self._guest().unpack("QB", subscriptions + 48 * index)
            self._guest().write(events + 32 * index, struct.pack("<QHB", userdata, 0, kind) + bytes(21))
        self._guest().pack("Q", got, count)
        return 0

    # -- files -------------------------------------------------------------------------------

    def fd_write(self, fd: int, vectors: int, count: int, written: int) -> int:
        if not 0 <= count <= MAX_VECTORS:
            return _INVALID
        guest, total = self._guest(), 0
        self._meter.charge(rows=count)
        for index in range(count):
            address, size = guest.unpack("QQ", vectors + 16 * index)
            if not size:
                continue
            error = self._put(fd, address, size)
            if error:
                return error
            total += size
        guest.pack("Q", written, total)
        return 0

    @property
    def is_cut(self) -> bool:
        """Whether the program printed more than is kept."""
        return self._printed > MAX_OUTPUT_BYTES

    def _put(self, fd: int, address: int, size: int) -> int:
        """Write what lies in the program's memory to a file, as far as there is room; all of it counts."""
        guest = self._guest()
        if fd in (1, 2):
            room = max(0, MAX_OUTPUT_BYTES - self._printed)
            guest.view(address, size)
            self._printed += size
            if room:
                self._emit(fd, guest.read(address, min(size, room)))
            return 0
        file = self._open.get(fd)
        if file is None or file is self._stdin or file.folder is not None:
            return _BAD_FILE
        if file.append:
            file.position = len(file.content)
        grown = max(0, file.position + size - len(file.content))
        if grown and self._disk_bytes() + grown > MAX_DISK_BYTES:
            return _NO_SPACE
        self._meter.charge(grown)
        if file.position > len(file.content):
            file.content.extend(bytes(file.position - len(file.content)))
        file.content[file.position : file.position + size] = guest.read(address, size)
        file.position += size
        return 0

    def _disk_bytes(self) -> int:
        """Return the size of all files, those that are only open still included."""
        opened = (file.content for file in self._open.values() if file is not self._stdin)
        return sum({id(content): len(content) for content in (*self.files.values(), *opened)}.values())

    def fd_read(self, fd: int, vectors: int, count: int, read: int) -> int:
        file = self._open.get(fd)
        if file is None:
            return _BAD_FILE
        if not 0 <= count <= MAX_VECTORS:
            return _INVALID
        if file is self._stdin:
            self.opened["/dev/stdin"] = "read"
        guest, total = self._guest(), 0
        self._meter.charge(rows=count)
        for index in range(count):
            address, size = guest.unpack("QQ", vectors + 16 * index)
            there = max(0, min(size, len(file.content) - file.position))
            if there:
                piece = np.frombuffer(file.content, np.uint8, there, file.position)
                guest.view(address, there)[:] = piece
                # A file cannot grow or shrink while anybody looks at it.
                del piece
            file.position += there
            total += there
            if there < size:
                break
        guest.pack("Q", read, total)
        return 0

    def fd_pread(self, fd: int, vectors: int, count: int, offset: int, read: int) -> int:
        return _NOT_SUPPORTED

    def fd_pwrite(self, fd: int, vectors: int, count: int, offset: int, written: int) -> int:
        return _NOT_SUPPORTED

    def fd_seek(self, fd: int, offset: int, whence: int, result: int) -> int:
        file = self._open.get(fd)
        if file is None:
            return _BAD_FILE if fd not in (1, 2) else 70
        start = {0: 0, 1: file.position, 2: len(file.content)}.get(whence)
        if start is None or not 0 <= start + offset <= MAX_DISK_BYTES:
            return _INVALID
        file.position = start + offset
        self._guest().pack("Q", result, file.position)
        return 0

    def fd_tell(self, fd: int, result: int) -> int:
        return self.fd_seek(fd, 0, 1, result)

    def fd_close(self, fd: int) -> int:
        return 0 if self._open.pop(fd, None) is not None or fd in (1, 2) else _BAD_FILE

    def fd_fdstat_get(self, fd: int, result: int) -> int:
        if fd not in self._open and fd not in (1, 2, *_FOLDERS):
            return _BAD_FILE
        kind = _CHARACTER_DEVICE if fd < 3 else self._kind(fd)
        # A pipe, so far as the program can see: what it prints is not looked at character by character.
        self._guest().write(
            result, struct.pack("<BxHxxxxQQ", _REGULAR if kind == 2 else kind, 0, _ALL_RIGHTS, _ALL_RIGHTS)
        )
        return 0

    def fd_fdstat_set_flags(self, fd: int, flags: int) -> int:
        return 0

    def fd_filestat_get(self, fd: int, result: int) -> int:
        file = self._open.get(fd)
        if file is None and fd not in (1, 2, 3):
            return _BAD_FILE
        self._stat(result, self._kind(fd), len(file.content) if file else 0)
        return 0

    def _kind(self, fd: int) -> int:
        opened = self._open.get(fd)
        is_folder = fd in _FOLDERS or (opened is not None and opened.folder is not None)
        return _DIRECTORY if is_folder else _REGULAR

    def _stat(self, result: int, kind: int, size: int) -> None:
        now = self._timed_ns()
        self._guest().write(result, struct.pack("<QQBxxxxxxxQQQQQ", 1, 1, kind, 1, size, now, now, now))

    def fd_filestat_set_size(self, fd: int, size: int) -> int:
        file = self._open.get(fd)
        if file is None:
            return _BAD_FILE
        if not 0 <= size <= len(file.content):
            return _INVALID
        del file.content[size:]
        return 0

    def fd_sync(self, fd: int) -> int:
        return 0

    def fd_advise(self, fd: int, offset: int, size: int, advice: int) -> int:
        return 0

    def fd_allocate(self, fd: int, offset: int, size: int) -> int:
        return _NOT_SUPPORTED

    def fd_renumber(self, fd: int, to: int) -> int:
        file = self._open.pop(fd, None)
        if file is None:
            return _BAD_FILE
        self._open[to] = file
        return 0

    def fd_prestat_get(self, fd: int, result: int) -> int:
        if fd not in _FOLDERS:
            return _BAD_FILE
        self._guest().pack("QQ", result, 0, len(_FOLDERS[fd]))
        return 0

    def fd_prestat_dir_name(self, fd: int, text: int, size: int) -> int:
        if fd not in _FOLDERS or size < len(_FOLDERS[fd]):
            return _BAD_FILE
        self._guest().write(text, _FOLDERS[fd])
        return 0

    def _name(self, fd: int, text: int, size: int) -> str | None:
        """Return the name that a path in an open folder stands for; "" for the program's own folder."""
        opened = self._open.get(fd)
        folder = "" if fd in _FOLDERS else opened.folder if opened is not None else None
        if folder is None or not 0 <= size <= 512:
            return None
        path = self._guest().read(text, size).decode("utf-8", errors="replace")
        name = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        return "" if name == "." else name

    def _is_folder(self, name: str) -> bool:
        return not name or name in self._folders or any(self._inside(name))

    def _inside(self, folder: str) -> Iterator[str]:
        self._meter.charge(rows=len(self.files) + len(self._folders))
        start = f"{folder}/" if folder else ""
        return (name for name in (*self.files, *self._folders) if name.startswith(start) and name != folder)

    def _forget(self, name: str) -> None:
        """Remove a file or folder, but not the one that it lay in."""
        self.files.pop(name, None)
        self._folders.discard(name)
        self._folders |= {posixpath.dirname(name)} - {""}

    def path_open(
        self,
        fd: int,
        _follow: int,
        text: int,
        size: int,
        flags: int,
        rights: int,
        _inherited: int,
        mode: int,
        result: int,
    ) -> int:
        name = self._name(fd, text, size)
        if name is None:
            return _NO_ENTRY
        if fd == 4:
            # The only files of the system's that course programs read: they seed random numbers.
            if name not in ("random", "urandom"):
                return _NO_ENTRY
            name = f"/dev/{name}"
            self.files.setdefault(name, bytearray(self._numbers.take(_DEVICE_BYTES)))
        if len(self._open) >= MAX_OPEN_FILES:
            return _TOO_MANY
        if self._is_folder(name):
            return (
                _IS_FOLDER
                if flags & (_CREATE | _TRUNCATE)
                else self._opened(OpenFile(bytearray(), folder=name), result)
            )
        content = self.files.get(name)
        if len(self.opened) < MAX_OPEN_FILES:
            does_write = flags & (_CREATE | _TRUNCATE)
            self.opened.setdefault(name, "written" if does_write else "missing" if content is None else "read")
        if flags & _AS_FOLDER:
            return _NO_ENTRY if content is None else _NO_FOLDER
        if content is None:
            if not flags & _CREATE or len(self.files) >= MAX_OPEN_FILES:
                return _NO_ENTRY
            content = self.files[name] = bytearray()
        elif flags & _EXCLUSIVE:
            return _EXISTS
        if flags & _TRUNCATE:
            content.clear()
        return self._opened(OpenFile(content, append=bool(mode & _APPEND)), result)

    def _opened(self, file: OpenFile, result: int) -> int:
        number = next(n for n in range(5, MAX_OPEN_FILES + 9) if n not in self._open)
        self._open[number] = file
        self._guest().pack("I", result, number)
        return 0

    def path_filestat_get(self, fd: int, _flags: int, text: int, size: int, result: int) -> int:
        name = self._name(fd, text, size)
        if name in self.files:
            self._stat(result, _REGULAR, len(self.files[name]))
        elif name is not None and self._is_folder(name):
            self._stat(result, _DIRECTORY, 0)
        else:
            return _NO_ENTRY
        return 0

    def path_readlink(self, fd: int, text: int, size: int, _buffer: int, _room: int, _used: int) -> int:
        """There are no links."""
        name = self._name(fd, text, size)
        return _INVALID if name is not None and (name in self.files or self._is_folder(name)) else _NO_ENTRY

    def path_unlink_file(self, fd: int, text: int, size: int) -> int:
        name = self._name(fd, text, size)
        if name is None or name not in self.files:
            return _IS_FOLDER if name is not None and self._is_folder(name) else _NO_ENTRY
        self._forget(name)
        return 0

    def path_create_directory(self, fd: int, text: int, size: int) -> int:
        name = self._name(fd, text, size)
        if name is None or not self._is_folder(posixpath.dirname(name)):
            return _NO_ENTRY
        if name in self.files or self._is_folder(name):
            return _EXISTS
        if len(self._folders) >= MAX_OPEN_FILES:
            return _NO_SPACE
        self._folders.add(name)
        return 0

    def path_remove_directory(self, fd: int, text: int, size: int) -> int:
        name = self._name(fd, text, size)
        if not name or not self._is_folder(name):
            return _NO_FOLDER if name in self.files else _NO_ENTRY
        if any(self._inside(name)):
            return _NOT_EMPTY
        self._forget(name)
        return 0

    def path_rename(self, fd: int, text: int, size: int, to_fd: int, to_text: int, to_size: int) -> int:
        name, to = self._name(fd, text, size), self._name(to_fd, to_text, to_size)
        if not name or not to or not (name in self.files or self._is_folder(name)):
            return _NO_ENTRY
        if name not in self.files and self._is_folder(to):
            return _EXISTS
        for old in [name, *self._inside(name)]:
            if old in self.files:
                self.files[to + old[len(name) :]] = self.files[old]
            elif old in self._folders:
                self._folders.add(to + old[len(name) :])
            self._forget(old)
        self._folders = {folder for folder in self._folders if not f"{folder}/".startswith(f"{name}/")}
        return 0

    def fd_readdir(self, fd: int, buffer: int, size: int, cookie: int, used: int) -> int:
        opened = self._open.get(fd)
        folder = "" if fd == 3 else opened.folder if opened is not None else None
        if folder is None:
            return _BAD_FILE
        start = len(folder) + 1 if folder else 0
        names = sorted(
            {name[start:].partition("/")[0] for name in self._inside(folder) if not name.startswith(("/", ".."))}
        )
        listed = bytearray()
        for number, name in enumerate([".", "..", *names]):
            if number >= cookie and len(listed) < size:
                whole, raw = f"{folder}/{name}" if folder else name, name.encode()
                kind = _REGULAR if whole in self.files else _DIRECTORY
                listed += _ENTRY.pack(number + 1, number + 1, len(raw), kind) + raw
        self._guest().write(buffer, bytes(listed[:size]))
        self._guest().pack("Q", used, min(len(listed), size))
        return 0


HANDLERS = {name: function for name, function in vars(Wasi).items() if callable(function) and not name.startswith("_")}
MISSING = 52
"""What a call that nothing serves returns: not implemented."""
