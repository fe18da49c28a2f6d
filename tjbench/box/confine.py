"""Confining the current process for good: limits, an unprivileged user, no capabilities, Landlock, seccomp.

Everything is prepared once, in the warm process, and applied in each forked child.
Kernel interfaces: landlock(7), seccomp(2), capabilities(7).
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FIRST_UID = 65000  # of the range that distributions leave unused
_PROCESSES = 64
OPEN_FILES = 1024  # of the warm process: two a program and some; bounds what a child has to close
_OWN_FILES = 64

_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 8, 22, 38
_SECCOMP_MODE_FILTER = 2
_CAP_DAC_READ_SEARCH, _CAPABILITY_VERSION = 2, 0x20080522
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_SIGKILL = 9


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_libc = ctypes.CDLL(None, use_errno=True)
LINUX = sys.platform == "linux"


class Confinement:
    """What can be applied here, prepared so that a fork has little left to do: every page it touches is copied.

    ``landlock`` is the ABI in use (0: none), ``ruleset`` its file descriptor; ``own_user`` says whether each child gets
    a user of its own.
    """

    def __init__(self, filter_: bytes, *, newest_landlock: int, memory: int) -> None:
        root = LINUX and os.geteuid() == 0
        reads_as_root = root and not _readable_by_all(Path(os.__file__))
        self.landlock = min(_landlock_abi(), newest_landlock)
        self.ruleset = _ruleset(self.landlock) if self.landlock else -1
        self.filtered = bool(filter_)
        self.own_user = root and _can_become_another()
        self.unprivileged = self.own_user or not root
        self._capabilities = _capabilities(1 << _CAP_DAC_READ_SEARCH if reads_as_root and self.own_user else 0)
        self._program = _SockFprog(len(filter_) // 8, filter_)
        self._drops = root
        self._inherited(memory, keep_reading=reads_as_root)

    def _inherited(self, memory: int, *, keep_reading: bool) -> None:
        """What this process takes upon itself so that every fork has it from the start."""
        _limit(memory, own_user=self.own_user)
        if not LINUX:
            return
        # The score that makes the kernel end these processes before any other when memory runs out.
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
        _checked("prctl", _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if self.own_user:
            os.setgroups([])
            os.setresgid(_FIRST_UID, _FIRST_UID, _FIRST_UID)
            if keep_reading:
                _checked("prctl", _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))

    def apply(self, ruleset: int, cpu_s: int, slot: int) -> None:
        """Confine this process as the ``slot``-th one; raises ``OSError`` when a layer that was prepared fails."""
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OWN_FILES, _OWN_FILES))
        if not LINUX:
            return
        if self.own_user:
            os.setresuid(_FIRST_UID + slot, _FIRST_UID + slot, _FIRST_UID + slot)
        if self._drops:
            _checked("capset", _libc.capset(*self._capabilities))
        _checked("prctl", _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))
        if self.landlock:
            _checked("landlock_restrict_self", _libc.syscall(_RESTRICT_SELF, ruleset, 0))
            os.close(ruleset)
        if self.filtered:
            _checked("seccomp", _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program), 0, 0))


def readable() -> Iterator[Path]:
    """Files and directories that a program may read: the standard library without installed packages (one may hold a
    suite's solutions), shared libraries, time zones and harmless devices."""
    library = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    for directory in library:
        for entry in directory.iterdir():
            if entry.name not in {"site-packages", "dist-packages", "test"}:
                yield entry
        yield from directory.parent.glob("*.so*")
    for name in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
        for pattern in ("*-linux-gnu*", "*.so*", "locale"):
            yield from Path(name).glob(pattern)
    for name in ("/usr/share/zoneinfo", "/etc/localtime", "/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom"):
        yield Path(name)


def _limit(memory: int, *, own_user: bool) -> None:
    wanted = [
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ]
    if LINUX:
        wanted += [(resource.RLIMIT_AS, memory), (resource.RLIMIT_MSGQUEUE, 0)]
    if own_user:
        wanted.append((resource.RLIMIT_NPROC, _PROCESSES))
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def _capabilities(kept: int) -> tuple[object, object]:
    """The arguments of ``capset`` that leave ``kept`` alone: none, or that of reading where the interpreter lies in
    root's own home."""
    header = _CapHeader(_CAPABILITY_VERSION, 0)
    data = (_CapData * 2)(_CapData(kept, kept, 0), _CapData(0, 0, 0))
    return ctypes.byref(header), ctypes.byref(data)


def _can_become_another() -> bool:
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(_FIRST_UID, _FIRST_UID, _FIRST_UID)
            os.setresuid(_FIRST_UID, _FIRST_UID, _FIRST_UID)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _readable_by_all(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o004) and all(part.stat().st_mode & 0o001 for part in path.parents)


def _landlock_abi() -> int:
    if not LINUX:
        return 0
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def _ruleset(abi: int) -> int:
    file_rights = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5)
    attributes = _RulesetAttr((1 << file_rights) - 1, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _checked(
        "landlock_create_ruleset",
        _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0),
    )
    for path in readable():
        _allow(ruleset, path, _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE)
    # Imports list the directory of the standard library itself.
    _allow(ruleset, Path(sysconfig.get_path("stdlib")), _READ_DIR)
    return ruleset


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathBeneath(access, opened)
        _checked("landlock_add_rule", _libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0))
    finally:
        os.close(opened)


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
