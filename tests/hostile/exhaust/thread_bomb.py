"""Starts threads without end."""

# ends: exception, memory, timeout
import threading
import time

threading.stack_size(32768)


def double(x):
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
