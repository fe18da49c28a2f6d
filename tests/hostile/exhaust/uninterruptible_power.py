"""One operation that outlasts every deadline and holds the interpreter."""


# ends: timeout, memory
def double(x):
    return 7 ** (7**12)
