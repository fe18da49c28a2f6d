"""The tests' side: runs the suite's own tests, calls the answer by value, and alone says how it ended."""

from __future__ import annotations

import builtins
from _thread import allocate_lock
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, cast

from tjbench.box.values import Malformed, NotPlain, decode, encode, read_frame, write_frame

Verdict = tuple[str, str]


class AnswerEnded(BaseException):
    """The answer cannot go on. No test can turn this into a pass: the first ending is kept."""


class SuiteFault(BaseException):
    """The tests ask for something that cannot be done: not the answer's fault."""


def serve(program: int, calls: int, replies: int) -> None:
    """Read ``(entry point, preamble, tests)`` from ``program``, decide, and write the verdict back as
    ``(ending, error)``."""
    frame = read_frame(program)
    entry_point, preamble, tests = cast("tuple[str, str, str]", decode(frame or b""))
    answer = Answer(calls, replies)
    ending, error = decide(answer, entry_point, preamble, tests)
    write_frame(program, encode((ending, error[:2000])))


class Answer:
    """The answer as the tests see it: something to call. ``ended`` holds the first thing that made it unusable."""

    def __init__(self, calls: int, replies: int) -> None:
        self.calls = calls
        self.replies = replies
        self.ended: Verdict | None = None
        self.fault: Verdict | None = None
        self.raised: tuple[BaseException, str] | None = None
        self.lock = allocate_lock()
        self.function: Callable[..., object] = self.call

    def load(self) -> None:
        match self.receive():
            case ("ready",):
                return
            case ("syntax", str(text)):
                self.end("syntax_error", text)
            case ("missing",):
                self.end("name_error", "the answer does not define the entry point")
            case ("raise", str(kind), tuple(), str(text)):
                self.end(_ending_of(kind), text)
            case _:
                self.end("crashed", "the answer broke the protocol")

    def call(self, *args: Any, **kwargs: Any) -> object:
        with self.lock:
            if self.ended:
                raise AnswerEnded
            try:
                write_frame(self.calls, encode((args, kwargs)))
            except NotPlain as error:
                self.fault = ("harness", f"the tests pass the answer something that cannot cross: {error}")
                raise SuiteFault from None
            except OSError:
                self.end("gone", "")
            reply = self.receive()
        match reply:
            case ("return", value, None):
                return value
            case ("return", value, (tuple() as after, dict() as after_named)):
                update((args, kwargs), (after, after_named))
                return value
            case ("raise", str(kind), tuple() as arguments, str(text)):
                self.throw(kind, arguments, text)
            case ("opaque", str(text)):
                self.end("exception", f"the answer returned something that cannot cross: {text}")
            case _:
                pass
        return self.end("crashed", "the answer broke the protocol")

    def receive(self) -> object:
        try:
            frame = read_frame(self.replies)
            if frame is None:
                self.end("gone", "")
            return decode(frame)
        except Malformed as error:
            self.end("crashed", f"the answer broke the protocol: {error}")

    def throw(self, kind: str, arguments: tuple[object, ...], text: str) -> NoReturn:
        known = getattr(builtins, kind, None)
        # An iterator's end would quietly shorten a loop of the tests.
        ends_iteration = kind in {"StopIteration", "StopAsyncIteration"}
        if ends_iteration or not (isinstance(known, type) and issubclass(known, Exception)):
            self.end("exception", text)
        try:
            error = known(*arguments)
        except Exception:
            error = Exception(text)
        self.raised = (error, text)
        raise error

    def end(self, ending: str, text: str) -> NoReturn:
        self.ended = self.ended or (ending, text)
        raise AnswerEnded


def decide(answer: Answer, entry_point: str, preamble: str, tests: str, space: dict[str, Any] | None = None) -> Verdict:
    """Run ``check(entry point)`` of ``tests`` against the answer, in ``space``; whatever ended the answer outranks what
    the tests made of it."""
    try:
        verdict = _judge(answer, entry_point, preamble, tests, {"__name__": "tests"} if space is None else space)
    except AnswerEnded:
        verdict = ("gone", "")
    except SuiteFault:
        verdict = ("harness", "")
    return answer.ended or answer.fault or verdict


def _judge(answer: Answer, entry_point: str, preamble: str, tests: str, space: dict[str, Any]) -> Verdict:
    answer.load()
    try:
        exec(_compiled(preamble), space)
        # A helper of the tests that calls the entry point by its name reaches the answer, not the prompt's stub.
        space[entry_point] = answer.function
        exec(compile(tests, "<tests>", "exec", dont_inherit=True), space)
        check = cast("Callable[[object], object]", space["check"])
    except Exception as error:
        return ("harness", f"the suite's own code fails: {type(error).__name__}: {error}")
    try:
        check(answer.function)
    except Exception as error:
        return _failure(answer, error, tests)
    return ("passed", "")


def _compiled(preamble: str) -> Any:
    try:
        return compile(preamble, "<preamble>", "exec", dont_inherit=True)
    except SyntaxError:
        # A prompt may end in a signature with no body.
        return compile(preamble.rstrip() + "\n    pass\n", "<preamble>", "exec", dont_inherit=True)


def _failure(answer: Answer, error: Exception, tests: str) -> Verdict:
    inside, line = _place(error.__traceback__)
    lines = tests.splitlines()
    where = f" at `{lines[line - 1].strip()}`" if 0 < line <= len(lines) else ""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if answer.raised and answer.raised[0] is error:
        inside, text = True, answer.raised[1]
    known = next(kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)
    if not inside and isinstance(error, AssertionError):
        return ("assertion", f"{text}{where}")
    if not inside and isinstance(error, NameError):
        return ("harness", f"the suite's own code fails: {text}{where}")
    return (_ending_of(known), f"{text}{where}")


def _ending_of(kind: str) -> str:
    if kind in {"NameError", "UnboundLocalError"}:
        return "name_error"
    return "memory" if kind == "MemoryError" else "exception"


def _place(trace: TracebackType | None) -> tuple[bool, int]:
    """Whether an error came out of the answer, where that is in this interpreter, and the last line of the tests."""
    line, inside = 0, False
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        line = trace.tb_lineno if name == "<tests>" else line
        inside = name == "<answer>" or (inside and name != "<tests>")
        trace = trace.tb_next
    return inside, line


def update(mine: object, after: object) -> None:
    """Make ``mine``, in place, what the call left of it; inner objects that still have a counterpart are kept."""
    if isinstance(mine, list) and isinstance(after, list):
        kept = [_merged(old, new) for old, new in zip(mine, after, strict=False)]
        mine[:] = kept + after[len(kept) :]
    elif isinstance(mine, tuple) and isinstance(after, tuple):
        for old, new in zip(mine, after, strict=False):
            update(old, new)
    elif isinstance(mine, dict) and isinstance(after, dict):
        merged = {key: _merged(mine.get(key), new) for key, new in after.items()}
        mine.clear()
        mine.update(merged)
    elif isinstance(mine, set) and isinstance(after, set):
        mine.clear()
        mine.update(after)


def _merged(old: object, new: object) -> object:
    update(old, new)
    return old if type(old) is type(new) and old == new else new
