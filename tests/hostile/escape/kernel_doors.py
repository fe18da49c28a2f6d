"""Tries system calls that have been ways out: io_uring, bpf, perf, keys, user faults, namespaces, mounts."""

import ctypes

X86_64 = {
    "io_uring_setup": (425, 1, ctypes.create_string_buffer(120)),
    "bpf": (321, 0, ctypes.create_string_buffer(72), 72),
    "perf_event_open": (298, ctypes.create_string_buffer(112), 0, -1, -1, 0),
    "add_key": (248, b"user", b"hostile", b"x", 1, -3),
    "keyctl": (250, 0, -3, 1),
    "userfaultfd": (323, 0),
    "unshare": (272, 0x10000000),
    "setns": (308, 0, 0),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, None),
    "chroot": (161, b"/"),
    "pivot_root": (155, b"/", b"/"),
    "memfd_create": (319, b"x", 0),
    "shmget": (29, 0, 4096, 0o1600),
    "semget": (64, 0, 1, 0o1600),
    "msgget": (68, 0, 0o1600),
    "mq_open": (240, b"hostile", 0o102, 0o600, None),
    "fsopen": (430, b"tmpfs", 0),
    "init_module": (175, b"", 0, b""),
    "kexec_load": (246, 0, 0, None, 0),
    "reboot": (169, 0),
    "swapon": (167, b"/x", 0),
    "acct": (163, None),
    "quotactl": (179, 0, None, 0, None),
    "syslog": (103, 10, None, 0),
    "personality": (135, 0x0040000),
    "seccomp": (317, 2, 0, None),
    "landlock_create_ruleset": (444, None, 0, 1),
    "pidfd_open": (434, 1, 0),
    "fanotify_init": (300, 0, 0),
    "inotify_init1": (294, 0),
    "name_to_handle_at": (303, -100, b"/", ctypes.create_string_buffer(128), ctypes.create_string_buffer(8), 0),
    "clone for a process": (56, 17, 0, 0, 0, 0),
    "x32 getpid": (0x40000000 | 39,),
}


def attempt():
    import platform

    if platform.machine() != "x86_64":
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    got = []
    for name, arguments in X86_64.items():
        if name.startswith("x32"):
            continue
        if libc.syscall(*arguments) >= 0:
            got.append(name)
    return got
