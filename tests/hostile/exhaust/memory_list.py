"""Allocates without end, in small pieces."""


# ends: memory, timeout
def double(x):
    kept = []
    while True:
        kept.append(bytearray(1 << 16))
