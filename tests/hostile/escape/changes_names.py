"""Makes, moves, links and removes names, and changes what is known of files."""

import os


def attempt():
    got = []
    for secret in SECRETS:
        place = os.path.dirname(secret)
        tries = {
            "mkdir": lambda: os.mkdir(f"{place}/made"),
            "symlink": lambda: os.symlink("/etc/passwd", f"{place}/linked"),
            "link": lambda: os.link(secret, f"{place}/hard"),
            "rename": lambda: os.rename(secret, f"{place}/moved"),
            "unlink": lambda: os.unlink(secret),
            "rmdir": lambda: os.rmdir(place),
            "chmod": lambda: os.chmod(secret, 0o777),
            "chown": lambda: os.chown(secret, os.getuid(), os.getgid()),
            "utime": lambda: os.utime(secret, (0, 0)),
            "truncate": lambda: os.truncate(secret, 0),
            "setxattr": lambda: os.setxattr(secret, "user.x", b"1"),
            "mkfifo": lambda: os.mkfifo(f"{place}/fifo"),
            "mknod": lambda: os.mknod(f"{place}/node"),
        }
        for name, do in tries.items():
            try:
                do()
                got.append(name)
            except OSError:
                pass
    return got
