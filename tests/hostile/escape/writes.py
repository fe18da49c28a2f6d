"""Creates and changes files wherever it may be allowed."""

import os


def attempt():
    got = []
    places = [
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        ".",
        "/",
        os.path.dirname(os.__file__),
        "/run",
        "/github/workspace",
        "/work",
    ]
    places += [os.path.dirname(secret) for secret in SECRETS]
    for place in places:
        try:
            with open(f"{place}/tjbench-hostile", "w") as file:
                file.write("here")
            got.append(place)
        except OSError:
            pass
    for secret in SECRETS:
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
            try:
                os.open(secret, flags)
                got.append(f"{secret} {flags}")
            except OSError:
                pass
    return got
