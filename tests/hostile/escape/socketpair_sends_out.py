"""Turns the one kind of socket it may have into one that leads out."""

import ctypes
import socket


def attempt():
    got = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            socket.socketpair(socket.AF_UNIX, kind)
            got.append(f"pair of kind {kind}")
        except OSError:
            pass
    try:
        mine, _ = socket.socketpair()
    except OSError:
        return got
    tries = {
        "sendto": lambda: mine.sendto(b"here", SOCKET),
        "connect": lambda: mine.connect(SOCKET),
        "bind": lambda: mine.bind("\0hostile"),
        "sendmsg": lambda: mine.sendmsg([b"here"]),
        "listen": lambda: mine.listen(),
    }
    for name, do in tries.items():
        try:
            do()
            got.append(name)
        except OSError:
            pass
    return got
