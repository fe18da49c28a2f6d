"""Opens sockets of every other family: raw, packet, netlink, vsock, crypto."""

import socket


def attempt():
    got = []
    for family in range(1, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
                got.append(f"{family}/{kind}")
            except OSError:
                pass
    return got
