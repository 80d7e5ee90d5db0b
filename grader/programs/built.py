"""A program compiled beforehand, for a machine that lacks the compiler of host code: the file of `grade build`."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader.errors import FileError, UsageError, describe_os_error
from grader.files import NotPlain, TooLarge, read_plain, write_atomically
from grader.message import msg
from grader.programs.sandbox.process import Code
from grader.programs.sources import Program, named_files
from grader.programs.toolchain.compile import HostProgram

SUFFIX = ".grade"
_BEGINNING = b"grade build 1\n"
"""Its number is raised where an earlier version's file would be read as something else."""
MAX_BYTES = 256 << 20
"""Of the file, and of what it holds."""


class Built(msgspec.Struct, frozen=True):
    """A program and its host code; by_clang: by a file's number device code, for what NVRTC cannot be asked for."""

    program: Program
    host: HostProgram
    by_clang: Mapping[int, Code]


def write(built: Built, path: Path) -> None:
    """Raises UsageError where it cannot be written."""
    try:
        write_atomically(path, _BEGINNING + zlib.compress(msgspec.msgpack.encode(built)))
    except OSError as error:
        raise UsageError(msg("programs.not_written", path=str(path), reason=describe_os_error(error))) from error


def read(path: Path, arguments: Sequence[str] = ()) -> Built:
    """The program of a file, with the files beside it that its arguments name.

    Raises
    ------
    UsageError : it cannot be read, or is none that this version of the grader has written.
    """
    try:
        data = read_plain(path, MAX_BYTES)
    except (NotPlain, TooLarge) as error:
        raise FileError(msg("programs.not_built"), path) from error
    except OSError as error:
        raise FileError(describe_os_error(error), path) from error
    if not data.startswith(_BEGINNING):
        raise FileError(msg("programs.not_built"), path)
    try:
        unpacking = zlib.decompressobj()
        packed = unpacking.decompress(data[len(_BEGINNING) :], MAX_BYTES)
        if not unpacking.eof:
            raise FileError(msg("programs.not_built"), path)
        built = msgspec.msgpack.decode(packed, type=Built)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise FileError(msg("programs.not_built"), path) from error
    data_files = {**built.program.data, **named_files(path.resolve().parent, arguments)}
    return msgspec.structs.replace(built, program=dataclasses.replace(built.program, data=data_files))
