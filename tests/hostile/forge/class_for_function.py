"""Is a class whose instances answer every question with yes."""


class double:
    def __init__(self, x):
        pass

    def __getattr__(self, name):
        return lambda *_, **__: True

    def __eq__(self, other):
        return True
