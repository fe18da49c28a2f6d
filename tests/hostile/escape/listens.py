"""Opens a port for others to come in."""

import socket


def attempt():
    try:
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        server.bind(("127.0.0.1", 0))
        server.listen()
    except OSError:
        return []
    return ["listens"]
