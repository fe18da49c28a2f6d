"""The answer's side: runs what the model wrote and answers calls. Nothing it says is believed but plain values."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, cast

from tjbench.box.values import NotPlain, decode, encode, read_frame, write_frame


def serve(program: int, calls: int, replies: int) -> None:
    """Read ``(source, entry point)`` from ``program``, load it, then answer every call until the tests hang up.

    Replies are ``("ready",)``, ``("return", value, arguments | None)`` with the arguments when the call changed them,
    ``("raise", builtin class, arguments, text)``, ``("syntax", text)``, ``("missing",)`` or ``("opaque", text)``.
    """
    frame = read_frame(program)
    os.close(program)
    source, entry_point = cast("tuple[str, str]", decode(frame or b""))
    reply, function = load(source, entry_point)
    write_frame(replies, encode(reply))
    while function is not None and (call := read_frame(calls)) is not None:
        write_frame(replies, answer(function, call))


def load(source: str, entry_point: str) -> tuple[tuple[object, ...], Callable[..., object] | None]:
    module = ModuleType("answer")
    sys.modules["answer"] = module
    try:
        code = compile(source, "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError) as error:
        return ("syntax", _text(error)), None
    except BaseException as error:
        return _raised(error), None
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        return _raised(error), None
    function = module.__dict__.get(entry_point)
    return (("ready",), function) if callable(function) else (("missing",), None)


def answer(function: Callable[..., object], call: bytes) -> bytes:
    args, kwargs = cast("tuple[tuple[Any, ...], Mapping[str, Any]]", decode(call))
    try:
        value = function(*args, **kwargs)
        after = encode((args, kwargs))
        return encode(("return", value, None if after == call else (args, kwargs)))
    except NotPlain as error:
        return encode(("opaque", _text(error)))
    except BaseException as error:
        return encode(_raised(error))


def _raised(error: BaseException) -> tuple[object, ...]:
    known = next(kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)
    try:
        encode(error.args)
        args = error.args
    except BaseException:
        args = ()
    return ("raise", known, args, _text(error))


def _text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:2000]
    except BaseException:
        return type(error).__name__
