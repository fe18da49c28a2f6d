"""Reads address zero."""

# ends: crashed
import ctypes


def double(x):
    return ctypes.string_at(0)
