"""Asks for a terabyte."""


# ends: memory
def double(x):
    return bytearray(1 << 40)
