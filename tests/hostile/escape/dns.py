"""Asks for a name: a lookup carries data out."""

import socket


def attempt():
    got = []
    for name in ("secret.example.com", "localhost.localdomain"):
        try:
            got.append(str(socket.getaddrinfo(name, 80)))
        except OSError:
            pass
    return got
