"""Returns a container that holds itself."""


def double(x):
    loop = []
    loop.append(loop)
    return loop
