"""Returns keys that all hash alike, for the other side to sort out."""


# ends: timeout, assertion, exception
def double(x):
    return {index * ((1 << 61) - 1): None for index in range(1, 20_000)} if x == 2 else None
