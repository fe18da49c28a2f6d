"""Uses no CPU and never returns."""

# ends: timeout
import time


def double(x):
    time.sleep(10_000)
