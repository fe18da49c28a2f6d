"""Raises an exception whose text, arguments and class all misbehave."""


class Lies(BaseException):
    def __str__(self):
        raise SystemExit(0)

    @property
    def args(self):
        raise SystemExit(0)

    def __reduce__(self):
        raise SystemExit(0)


def double(x):
    raise Lies
