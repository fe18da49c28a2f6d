"""Opens devices."""

import os


def attempt():
    got = []
    for name in (
        "/dev/mem",
        "/dev/kmsg",
        "/dev/kvm",
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/vda",
        "/dev/sda",
        "/dev/random",
    ):
        try:
            os.open(name, os.O_RDONLY)
            got.append(name)
        except OSError:
            pass
    return got
