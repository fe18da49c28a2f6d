"""Fenced code blocks of a chat answer."""

from __future__ import annotations

import re
import textwrap
from itertools import islice

from tjbench.scoring.source import parse

_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$")
_LANGUAGE = re.compile(r"^[\w+#.-]*([ \t{].*)?$")
_MOST = 64
_CLOSINGS = 4


def blocks(text: str) -> list[str]:
    """The blocks in order, without their fences and without the indentation of the fence. A block that is never
    closed runs to the end; one that only parses when a fence inside it (in a docstring) is passed over does so."""
    lines = text.split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines) and len(found) < _MOST:
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        mark = opening["mark"]
        closing = (end for end in range(at + 1, len(lines)) if _closes(lines[end], mark))
        ends = list(islice(closing, _CLOSINGS)) or [len(lines)]
        bodies = [_body(lines[at + 1 : end], opening) for end in ends]
        chosen = next((index for index, body in enumerate(bodies) if parse(body) is not None), 0)
        found.append(bodies[chosen])
        at = ends[chosen] + 1
    return [block for block in found if block.strip()]


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip(" \t>")
    return len(stripped) >= len(mark) and set(stripped) == {mark[0]}


def _body(lines: list[str], opening: re.Match[str]) -> str:
    indent = opening["indent"]
    body = [line.removeprefix(indent) if indent else line for line in lines]
    if not _LANGUAGE.match(opening["info"]):
        body.insert(0, opening["info"])
    text = "\n".join(body)
    return textwrap.dedent(text) if parse(text) is None and parse(textwrap.dedent(text)) is not None else text
