"""A DuckDB file that a later DuckDB could have written."""

from __future__ import annotations

import struct
from pathlib import Path


def make_newer(path: Path) -> None:
    """Raises the version of the storage format in the file's main header beyond every DuckDB there is."""
    content = bytearray(path.read_bytes())
    assert struct.unpack_from("<Q", content)[0] == _checksum(bytes(content[8:4096]))
    struct.pack_into("<Q", content, 12, 9_999)
    struct.pack_into("<Q", content, 0, _checksum(bytes(content[8:4096])))
    path.write_bytes(content)


def _checksum(content: bytes) -> int:
    """DuckDB's checksum of a block (src/common/checksum.cpp)."""
    result = 5381
    for (word,) in struct.iter_unpack("<Q", content):
        result ^= word * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return result
