"""Reaches files through links that the kernel follows by itself."""

import os


def attempt():
    got = []
    for root in (
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/thread-self/root",
        "/dev/fd/0",
        f"/proc/{os.getppid()}/root",
    ):
        for secret in (*SECRETS, "/etc/passwd"):
            try:
                with open(root + secret, "rb") as file:
                    file.read(1)
                got.append(root + secret)
            except OSError:
                pass
    return got
