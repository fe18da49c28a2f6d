"""Returns a value beyond any cap."""


# ends: exception, memory
def double(x):
    return "x" * (64 << 20)
