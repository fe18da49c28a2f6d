"""A recorded prompt or answer, in whatever shape a client left it, as chat messages and text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
    value = _unpacked(prompt)
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        system = [{"role": "system", "content": value["system"]}] if value.get("system") else []
        value = [*system, *value["messages"]]
    if isinstance(value, list) and value and all(_is_message(item) for item in value):
        messages, tools = zip(*(_message(item) for item in value), strict=True)
        kept = tuple(message for message in messages if message.content.strip())
        found = Conversation(messages=kept, has_tools=any(tools))
    else:
        found = Conversation(messages=(Message(role="user", content=text_of(value)),))
    if not any(message.role == "user" and message.content.strip() for message in found.messages):
        raise NotText("nothing is asked")
    return found


def text_of(value: object) -> str:
    """A recorded content as text: a string, or blocks whose texts are joined. Raises ``NotText``."""
    return _content(value)[0]


def _unpacked(prompt: object) -> object:
    """JSON text of a list of messages as that list; every other text is itself."""
    if not (isinstance(prompt, str) and prompt.lstrip()[:1] in ("[", "{")):
        return prompt
    try:
        value = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    listed = value.get("messages") if isinstance(value, dict) else value
    return value if isinstance(listed, list) and listed and all(_is_message(item) for item in listed) else prompt


def _is_message(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        and item.get("role") in _ROLES
        and bool({"content", "parts", "tool_calls"} & item.keys())
    )


def _message(item: Mapping[str, Any]) -> tuple[Message, bool]:
    content = item.get("content", item.get("parts"))
    text, tools = _content(content) if content is not None else ("", False)
    if item["role"] in ("tool", "function"):
        text, tools = f"[tool result] {text}", True
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        text, tools = "\n".join(filter(None, (text, _tool_call(call)))), True
    return Message(role=_ROLES[item["role"]], content=_whole(text)), tools


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
    if not isinstance(block, Mapping):
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
    return text.encode("utf-8", "replace").decode()
