"""Returns something that runs only when it is looked at."""


def double(x):
    yield x * 2
