"""Is nested deeper than a compiler goes."""

# ends: syntax_error, memory, exception, crashed
value = eval("(" * 100_000 + ")" * 100_000)


def double(x):
    return None
