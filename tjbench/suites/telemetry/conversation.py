"""A recorded prompt or answer, in whatever shape a client left it, as chat messages and text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import from_json

from tjbench.suites.task import Message

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "tool": "user",
    "function": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
}
_PLAIN = frozenset({"system", "user", "assistant"})
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""What a model told itself, which is no part of what it was asked or answered."""
_TOOL_USE = frozenset({"tool_use", "tool_call", "function_call", "server_tool_use"})
_TOOL_RESULT = frozenset({"tool_result", "tool_call_response", "function_response"})


class NotText(ValueError):
    """A part that no text stands for: an image, a file, sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Chat messages; ``has_tools`` where tool calls or their results stand in them as text."""

    messages: tuple[Message, ...]
    has_tools: bool = False


def conversation_of(prompt: object) -> Conversation:
    """The messages of a recorded prompt: a list of messages, JSON text of one, plain text, or a list of texts.

    Text blocks are joined; tool calls and results become text in place. Raises ``NotText`` where a part is none or
    nothing is asked.
    """
    listed = _listed(prompt)
    if listed is None:
        text = text_of(prompt)
        messages, has_tools, is_asked = [Message(role="user", content=text)], False, bool(text.strip())
    else:
        messages, has_tools, is_asked = [], False, False
        for item in listed:
            message, is_tool = _message(item)
            has_tools = has_tools or is_tool
            if message.content.strip():
                messages.append(message)
                is_asked = is_asked or message.role == "user"
    if not is_asked:
        raise NotText("nothing is asked")
    return Conversation(messages=tuple(messages), has_tools=has_tools)


def text_of(value: object) -> str:
    """A recorded content as text: a string, or blocks whose texts are joined. Raises ``NotText``."""
    return _content(value)[0]


def _listed(prompt: object) -> list[Any] | None:
    """The messages of a list of them, of JSON text of one, or of a request that holds one; ``None`` for other text."""
    if isinstance(prompt, str):
        if prompt.lstrip()[:1] not in ("[", "{"):
            return None
        try:
            prompt = _parsed(prompt)
        except (ValueError, RecursionError):
            return None
    if isinstance(prompt, dict) and isinstance(prompt.get("messages"), list):
        system = [{"role": "system", "content": prompt["system"]}] if prompt.get("system") else []
        prompt = system + prompt["messages"]
    return prompt if isinstance(prompt, list) and prompt and _is_message(prompt[0]) else None


def _parsed(text: str) -> object:
    """As ``json.loads``, which alone takes half a character, but much faster."""
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def _is_message(item: object) -> bool:
    return (
        isinstance(item, dict)
        and item.get("role") in _ROLES
        and ("content" in item or "parts" in item or "tool_calls" in item)
    )


def _message(item: dict[str, Any]) -> tuple[Message, bool]:
    if not _is_message(item):
        raise NotText("no message")
    role, content = item["role"], item.get("content")
    if type(content) is str and role in _PLAIN and "tool_calls" not in item:
        return Message(role=role, content=_whole(content)), False
    if content is None:
        content = item.get("parts")
    text, tools = _content(content) if content is not None else ("", False)
    if role in ("tool", "function"):
        text, tools = f"[tool result] {text}", True
    calls = item.get("tool_calls")
    if isinstance(calls, list):
        for call in calls:
            text, tools = _whole("\n".join(filter(None, (text, _tool_call(call))))), True
    return Message(role=_ROLES[role], content=text), tools


def _content(value: object) -> tuple[str, bool]:
    """Text, and whether any of it stands for a tool call or its result."""
    if isinstance(value, str):
        return _whole(value), False
    blocks: Sequence[object] = value if isinstance(value, list) else [value]
    texts, tools = [], False
    for block in blocks:
        text, is_tool = (block, False) if isinstance(block, str) else _block(block)
        tools = tools or is_tool
        if text:
            texts.append(text)
    return _whole("\n".join(texts)), tools


def _block(block: object) -> tuple[str, bool]:
    if not isinstance(block, dict):
        raise NotText(type(block).__name__)
    kind = block.get("type", "text")
    if kind in _THOUGHTS:
        return "", False
    if kind in _TOOL_USE or "functionCall" in block:
        return _tool_call(block), True
    if kind in _TOOL_RESULT:
        held = block.get("content", block.get("response", block.get("result")))
        return f"[tool result] {_plain(held)}", True
    for name in ("text", "content"):
        if isinstance(block.get(name), str):
            return str(block[name]), False
    raise NotText(str(kind))


def _tool_call(call: object) -> str:
    if not isinstance(call, Mapping):
        raise NotText("tool call")
    inner = call.get("function", call.get("functionCall", call))
    inner = inner if isinstance(inner, Mapping) else call
    given = inner.get("input", inner.get("arguments", inner.get("args", {})))
    return f"[tool call] {inner.get('name', '')}({_plain(given)})"


def _plain(value: object) -> str:
    """A tool's input or result: its text, else its JSON."""
    if isinstance(value, list):
        return _content(value)[0]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _whole(text: str) -> str:
    """Without half characters (lone surrogates), which no provider takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
