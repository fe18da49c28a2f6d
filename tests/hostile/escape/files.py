"""Reads files that are none of its business."""

import os


def attempt():
    got = []
    names = [
        *SECRETS,
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hostname",
        "/root/.bashrc",
        "/proc/version",
        "/proc/self/status",
    ]
    for name in names:
        try:
            with open(name, "rb") as file:
                file.read(1)
            got.append(name)
        except OSError:
            pass
    for name in ("/", "/root", "/home", "/tmp", "/etc", "/proc", "/sys", "/github", "/github/workspace", "/var/run"):
        try:
            os.listdir(name)
            got.append(name)
        except OSError:
            pass
    return got
