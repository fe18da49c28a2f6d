"""Connects to a server on this machine and to one outside."""

import socket


def attempt():
    got = []
    for host, port in (("127.0.0.1", PORT), ("1.1.1.1", 443), ("169.254.169.254", 80)):
        try:
            socket.create_connection((host, port), timeout=1).close()
            got.append(host)
        except OSError:
            pass
    return got
