"""Prints without end."""


# ends: timeout
def double(x):
    while True:
        print("flood" * 10_000)
