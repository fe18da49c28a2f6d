"""Catches its own memory errors and goes on."""


# ends: memory, timeout, crashed
def double(x):
    kept = []
    while True:
        try:
            kept.append(bytearray(1 << 24))
        except MemoryError:
            pass
