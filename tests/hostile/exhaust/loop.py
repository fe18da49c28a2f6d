"""Never returns."""


# ends: timeout
def double(x):
    while True:
        pass
