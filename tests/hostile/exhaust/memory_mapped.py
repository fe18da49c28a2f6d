"""Maps memory without end."""

# ends: exception, memory, timeout
import mmap


def double(x):
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 1 << 26))
