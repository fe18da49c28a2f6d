"""The system calls that an answer may make, as a seccomp filter.

Everything a Python program needs to compute, and nothing that opens a socket, starts or signals a process, changes a
file or looks at another process. What is not listed fails with EPERM.
"""

from __future__ import annotations

import errno
import os
import tempfile

_PLAIN = """
read write readv writev pread64 close lseek fstat stat lstat newfstatat statx access faccessat faccessat2 readlink
readlinkat getcwd getdents64 dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait
epoll_pwait eventfd2 recvfrom shutdown getsockname getpeername getsockopt
mmap mprotect munmap mremap brk madvise membarrier
futex set_robust_list get_robust_list rseq set_tid_address arch_prctl sched_yield sched_getaffinity
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack pause alarm setitimer getitimer
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times restart_syscall
getpid getppid gettid getpgrp getpgid getsid getuid geteuid getgid getegid getresuid getresgid getgroups
getrlimit setrlimit getrusage sysinfo uname getrandom exit exit_group
"""

_FCNTL = (0, 1, 2, 3, 4, 1030, 1032)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_CLONE_THREAD = 0x00010000
_CLONE_NEW = 0x7E020080  # every namespace flag
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE = 1, 1, 0xF


def allowed() -> bytes | None:
    """The filter as BPF instructions of this machine's architecture, or ``None`` where seccomp or libseccomp is
    absent."""
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError, OSError, AttributeError):
        return None
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    rules.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)

    def rule(action: int, name: str, *arguments: object) -> None:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
        if number >= 0:
            rules.add_rule(action, number, *arguments)

    def allow(name: str, *arguments: object) -> None:
        rule(seccomp.ALLOW, name, *arguments)

    def masked(position: int, mask: int, value: int) -> object:
        return seccomp.Arg(position, seccomp.MASKED_EQ, mask, value)

    def equal(position: int, value: int) -> object:
        return seccomp.Arg(position, seccomp.EQ, value)

    for name in _PLAIN.split():
        allow(name)
    writing = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
    allow("open", masked(1, writing, os.O_RDONLY))
    allow("openat", masked(2, writing, os.O_RDONLY))
    allow("clone", masked(0, _CLONE_THREAD | _CLONE_NEW, _CLONE_THREAD))
    # glibc falls back from these when told that they do not exist.
    for name in ("clone3", "openat2", "close_range"):
        rule(seccomp.ERRNO(errno.ENOSYS), name)
    for command in _FCNTL:
        allow("fcntl", equal(1, command))
    for command in _IOCTL:
        allow("ioctl", equal(1, command))
    allow("prlimit64", equal(0, 0))
    # A connected pair of one's own is what an event loop wakes itself with; it leads nowhere else.
    allow("socketpair", equal(0, _AF_UNIX), masked(1, _SOCK_TYPE, _SOCK_STREAM))
    allow("sendto", equal(4, 0))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
