from __future__ import annotations

import math
import os
import struct
from collections import Counter, OrderedDict
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.box.values import MAX_BYTES, MAX_DEPTH, Malformed, NotPlain, decode, encode, read_frame, write_frame

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=8,
)
plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=16,
)


@given(plain)
def test_plain_data_comes_back_with_its_types(value: object) -> None:
    back = decode(encode(value))
    assert back == value
    assert repr(type(back)) == repr(type(value))


@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoder(data: bytes) -> None:
    with suppress(Malformed):
        decode(data)


def test_numbers_keep_what_json_would_lose() -> None:
    assert math.isnan(decode(encode(math.nan)))  # type: ignore[arg-type]
    assert math.copysign(1, decode(encode(-0.0))) == -1  # type: ignore[arg-type]
    assert decode(encode(-(10**400))) == -(10**400)
    assert decode(encode([True, 1, 1.0])) == [True, 1, 1.0]
    assert [type(item) for item in decode(encode([True, 1, 1.0]))] == [bool, int, float]  # type: ignore[attr-defined]


class Point(NamedTuple):
    x: int
    y: int


class Colour(IntEnum):
    RED = 3


class Sly(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __index__(self) -> int:
        return 99

    __hash__ = int.__hash__


class Shouting(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        return b"changed"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (Point(1, 2), (1, 2)),
        (Colour.RED, 3),
        (Sly(7), 7),
        (Shouting("quiet"), "quiet"),
    ],
)
def test_a_subclass_crosses_as_the_data_it_holds(value: object, expected: object) -> None:
    back = decode(encode(value))
    assert type(back) is type(expected)
    assert expected == back


@pytest.mark.parametrize("value", [object(), lambda: None, iter([]), 1j, range(3), [object()], {1: object}])
def test_what_is_not_plain_does_not_cross(value: object) -> None:
    with pytest.raises(NotPlain):
        encode(value)


def test_depth_and_size_are_bounded() -> None:
    value: list[object] = []
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(NotPlain, match="deep"):
        encode(value)
    with pytest.raises(NotPlain, match="larger"):
        encode("x" * (MAX_BYTES + 1))
    with pytest.raises(NotPlain, match="larger"):
        encode([["x" * 1024] * 1024] * 64)


def test_a_loop_does_not_cross() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(NotPlain):
        encode(loop)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"X",
        b"NN",
        b"i\x05\x00\x00\x00\x01",
        b"l\xff\xff\xff\xff",
        b"s\x01\x00\x00\x00\xff",
        b"d\x01\x00\x00\x00l\x00\x00\x00\x00N",
        b"S\x01\x00\x00\x00l\x00\x00\x00\x00",
        b"l\x01\x00\x00\x00" * 1000 + b"N",
    ],
)
def test_a_forged_message_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(data)


def test_a_frame_claiming_too_much_is_refused_before_it_is_read() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, struct.pack("<I", 1_800_000_000))
        assert read_frame(reader) is None
        write_frame(writer, b"next")
        assert read_frame(reader) == b"next"
        os.close(writer)
        writer = -1
        assert read_frame(reader) is None
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
