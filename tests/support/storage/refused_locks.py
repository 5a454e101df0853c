"""A kernel that refuses locks of files, as a network file system without a lock service does."""

from __future__ import annotations

import ctypes
import errno
import platform
import sys

_FCNTL = {"x86_64": 72, "aarch64": 25}  # by machine: the number of the system call
_SETLK, _SETLKW = 6, 7
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # instructions of a filter
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_COMMAND = 24  # where the second argument of a call stands
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2

CAN_REFUSE = sys.platform == "linux" and platform.machine() in _FCNTL


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def refuse_locks() -> None:
    """Have the kernel refuse every lock of a part of a file to this process and its children, for good."""
    steps = [
        _Instruction(_LOAD, 0, 0, 0),
        _Instruction(_EQUAL, 0, 4, _FCNTL[platform.machine()]),
        _Instruction(_LOAD, 0, 0, _COMMAND),
        _Instruction(_EQUAL, 1, 0, _SETLK),
        _Instruction(_EQUAL, 0, 1, _SETLKW),
        _Instruction(_RETURN, 0, 0, _FAIL | errno.ENOLCK),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    ]
    program = _Program(len(steps), (_Instruction * len(steps))(*steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        _SECCOMP, _FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
