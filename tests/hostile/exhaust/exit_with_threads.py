"""Ends while threads of its own still run."""

# ends: crashed, exception
import os
import threading
import time

for _ in range(8):
    threading.Thread(target=time.sleep, args=(60,)).start()


def double(x):
    os._exit(1)
