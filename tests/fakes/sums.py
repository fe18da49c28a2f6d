"""A suite of sums that anyone can answer, and models that answer them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container

from tests.fakes.provider import Ask, Reply
from tjbench.suites.task import Canned, Message, NumberCheck, Suite, Task


def sums(count: int, *, name: str = "sums", canned: bool = True) -> Suite:
    """``count`` tasks ``sum-0``, ``sum-1``, …; sum-N asks for N + 1."""
    tasks = tuple(
        Task(
            id=f"sum-{n}",
            messages=(Message(role="user", content=f"What is {n} + 1?"),),
            check=NumberCheck(expected=str(n + 1)),
            canned=Canned(right=f"#### {n + 1}", wrong="#### -1") if canned else None,
        )
        for n in range(count)
    )
    return Suite(name=name, tasks=tasks, packaged=False, n_available=count)


def sums_jsonl(count: int, *, system: str = "Add.") -> str:
    """The same suite as a user's file."""
    lines: list[dict[str, object]] = [{"suite": {"system": system}}]
    lines += [{"id": f"sum-{n}", "prompt": f"What is {n} + 1?", "check": {"number": n + 1}} for n in range(count)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def add(text: str, *, wrong: Container[int] = ()) -> str:
    """The answer to a sum; sums of the numbers in ``wrong`` are off."""
    found = re.search(r"(\d+) \+ 1\?", text)
    assert found, text
    number = int(found[1])
    return f"#### {-1 if number in wrong else number + 1}"


def adding(wrong: dict[str, Container[int]] | None = None) -> Callable[[Ask], Reply]:
    """A provider whose models add; ``wrong`` says by model which numbers it gets wrong."""
    return lambda ask: Reply(text=add(ask.user, wrong=(wrong or {}).get(ask.model, ())))
