"""Writes into the standard library, its caches and site-packages, for the next program to import."""

import os
import sys
import sysconfig


def attempt():
    got = []
    places = {*sys.path, *sysconfig.get_paths().values(), sys.prefix, sys.exec_prefix, os.path.dirname(sys.executable)}
    for place in list(places):
        for name in ("sitecustomize.py", "tjbench-hostile.pth", "__pycache__/heapq.cpython-311.pyc"):
            try:
                with open(os.path.join(place, name), "wb") as file:
                    file.write(b"")
                got.append(os.path.join(place, name))
            except OSError:
                pass
    return got
