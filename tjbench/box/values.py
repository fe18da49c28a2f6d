"""Plain data as bytes: the only thing that crosses between an answer and its tests.

None, bool, int, float, str, bytes, list, tuple, dict, set and frozenset; a subclass crosses as its plain parent.
Neither side can send anything else, so an object with a convenient ``__eq__`` stays where it was made.
"""

from __future__ import annotations

import os
import struct

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 150

_LENGTH = struct.Struct("<I")
_FLOAT = struct.Struct("<d")
_SEQUENCES = {b"l": list, b"t": tuple, b"S": set, b"z": frozenset}


class NotPlain(TypeError):
    """A value that cannot cross: not plain data, nested too deeply, or too large."""


class Malformed(ValueError):
    """Bytes that are no encoded value."""


def encode(value: object) -> bytes:
    """``value`` as bytes, at most ``MAX_BYTES``. Raises ``NotPlain``."""
    out = bytearray()
    _write(value, out, 0)
    return bytes(out)


def decode(data: bytes) -> object:
    """The value that ``encode`` wrote. Trusts nothing: every length is checked before it is used. Raises
    ``Malformed``."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise Malformed("bytes left over")
    return value


def write_frame(fd: int, payload: bytes) -> None:
    """One length-prefixed message, written whole."""
    view = memoryview(_LENGTH.pack(len(payload)) + payload)
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> bytes | None:
    """The next message, or ``None`` when the other side is gone or says something too long."""
    head = _read(fd, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    return None if length > MAX_BYTES else _read(fd, length)


def _read(fd: int, length: int) -> bytes | None:
    got = bytearray()
    while len(got) < length:
        chunk = os.read(fd, min(length - len(got), 1 << 16))
        if not chunk:
            return None
        got += chunk
    return bytes(got)


def _write(value: object, out: bytearray, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise NotPlain(f"nested more than {MAX_DEPTH} deep")
    if value is None or value is True or value is False:
        out += b"N" if value is None else b"T" if value else b"F"
    elif isinstance(value, int):
        number = int.__index__(value)
        _blob(b"i", number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True), out)
    elif isinstance(value, float):
        out += b"f" + _FLOAT.pack(float.__float__(value))
    elif isinstance(value, str):
        _blob(b"s", str.encode(value, "utf-8", "surrogatepass"), out)
    elif isinstance(value, bytes):
        _blob(b"b", bytes.__getitem__(value, slice(None)), out)
    else:
        _write_container(value, out, depth)
    if len(out) > MAX_BYTES:
        raise NotPlain(f"larger than {MAX_BYTES} bytes")


def _write_container(value: object, out: bytearray, depth: int) -> None:
    if isinstance(value, dict):
        out += b"d" + _LENGTH.pack(dict.__len__(value))
        for key, item in dict.items(value):
            _write(key, out, depth + 1)
            _write(item, out, depth + 1)
        return
    for tag, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            out += tag + _LENGTH.pack(kind.__len__(value))
            for item in kind.__iter__(value):
                _write(item, out, depth + 1)
            return
    raise NotPlain(f"{type(value).__name__!r} is not plain data")


def _blob(tag: bytes, data: bytes, out: bytearray) -> None:
    if len(data) > MAX_BYTES:
        raise NotPlain(f"larger than {MAX_BYTES} bytes")
    out += tag + _LENGTH.pack(len(data)) + data


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise Malformed("cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def count(self) -> int:
        (count,) = _LENGTH.unpack(self.take(_LENGTH.size))
        if count > len(self.data) - self.at:
            raise Malformed("a length beyond the message")
        return int(count)

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise Malformed("nested too deeply")
        tag = self.take(1)
        if tag in b"NTF":
            return {b"N": None, b"T": True, b"F": False}[tag]
        if tag == b"f":
            return _FLOAT.unpack(self.take(_FLOAT.size))[0]
        if tag in b"isb":
            return self.blob(tag, self.take(self.count()))
        return self.container(tag, depth + 1)

    def blob(self, tag: bytes, data: bytes) -> object:
        if tag == b"i":
            return int.from_bytes(data, "little", signed=True)
        if tag == b"b":
            return data
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise Malformed("text that is not UTF-8") from error

    def container(self, tag: bytes, depth: int) -> object:
        try:
            if tag == b"d":
                return {self.value(depth): self.value(depth) for _ in range(self.count())}
            if tag in _SEQUENCES:
                return _SEQUENCES[tag]([self.value(depth) for _ in range(self.count())])
        except TypeError as error:
            raise Malformed("an unhashable key") from error
        raise Malformed(f"unknown tag {tag!r}")
