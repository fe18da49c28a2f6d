"""Returns a small object that is exponential when written out."""


# ends: exception, timeout
def double(x):
    value = []
    for _ in range(100):
        value = [value, value]
    return value
