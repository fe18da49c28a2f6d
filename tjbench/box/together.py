"""An answer and its tests in one interpreter, for tests that cannot do with plain data.

The answer is loaded before the tests and the secret are read, and the verdict counts only with that secret. An answer
that goes looking for it can still find it: a forged pass is made harder here, not impossible.
"""

from __future__ import annotations

import sys
from typing import cast

from tjbench.box import solver
from tjbench.box.checker import Answer, decide
from tjbench.box.values import decode, encode, read_frame, write_frame


class Neighbour(Answer):
    """The answer in this very interpreter, loaded once."""

    def __init__(self, source: str, entry_point: str) -> None:
        super().__init__(-1, -1)
        reply, function = solver.load(source, entry_point)
        self.function = function or self.function
        self.reply: object = reply

    def receive(self) -> object:
        return self.reply


def serve(program: int) -> None:
    """Read ``(source, entry point)``, load it, then read ``(tests, secret)`` and write
    ``(ending, error, secret)``."""
    source, entry_point = cast("tuple[str, str]", decode(read_frame(program) or b""))
    answer = Neighbour(source, entry_point)
    tests, secret = cast("tuple[str, bytes]", decode(read_frame(program) or b""))
    ending, error = decide(answer, entry_point, "", tests, vars(sys.modules["answer"]))
    write_frame(program, encode((ending, error[:2000], secret)))
