"""Hangs up in the middle of a test and lives on."""

import os
import time


def double(x):
    os.closerange(0, 1024)
    time.sleep(60)
