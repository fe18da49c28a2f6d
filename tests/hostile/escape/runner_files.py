"""Reads what a workflow's runner mounts: the event, the command files, the checkout's credentials."""

import glob


def attempt():
    got = []
    names = [
        "/github/workflow/event.json",
        "/github/file_commands/set_output",
        "/github/workspace/.git/config",
        "/github/home/.gitconfig",
        "/github/home/.netrc",
        "/home/runner/.credentials",
        "/var/run/docker.sock",
        *glob.glob("/github/**", recursive=True),
        *glob.glob("/home/runner/**"),
    ]
    for name in names:
        try:
            with open(name, "rb"):
                got.append(name)
        except OSError:
            pass
    return got
