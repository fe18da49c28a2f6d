"""Connects to sockets in the file system and in the abstract name space: docker's, and a server of the harness."""

import socket


def attempt():
    got = []
    for address in ("/var/run/docker.sock", "/run/docker.sock", SOCKET, ABSTRACT, "/run/systemd/private", "/dev/log"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                socket.socket(socket.AF_UNIX, kind).connect(address)
                got.append(repr(address))
            except OSError:
                pass
    return got
