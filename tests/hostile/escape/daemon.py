"""Leaves a process behind by forking twice; it would write a file later."""

import os
import time


def attempt():
    try:
        if os.fork():
            return ["forked"]
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(1)
        with open(SECRETS[0], "w") as file:
            file.write("daemon")
        os._exit(0)
    except OSError:
        return []
