"""A recorded prompt becomes the messages that were sent, whatever shape the client left it in."""

from __future__ import annotations

import json

import pytest

from tjbench.suites.telemetry.conversation import NotText, conversation_of, text_of

IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGk="}}


def said(prompt: object) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in conversation_of(prompt).messages]


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ("What is 2 + 2?", [("user", "What is 2 + 2?")]),
        ('["a", "b"]', [("user", '["a", "b"]')]),
        ("[not json", [("user", "[not json")]),
        ('{"role": "user"}', [("user", '{"role": "user"}')]),
        (["part one", "part two"], [("user", "part one\npart two")]),
        (
            json.dumps([{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hi"}]),
            [("system", "Be terse."), ("user", "Hi")],
        ),
        ([{"role": "developer", "content": "D"}, {"role": "user", "content": "U"}], [("system", "D"), ("user", "U")]),
        (
            [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
            [("user", "one\ntwo")],
        ),
        ({"system": "S", "messages": [{"role": "user", "content": "U"}]}, [("system", "S"), ("user", "U")]),
        ([{"role": "user", "parts": [{"type": "text", "content": "otel"}]}], [("user", "otel")]),
        ([{"role": "user", "parts": [{"text": "gemini"}]}, {"role": "model", "parts": [{"text": "ok"}]}],
         [("user", "gemini"), ("assistant", "ok")]),
        (
            [{"role": "user", "content": "Q"}, {"role": "ai", "content": [{"type": "thinking", "thinking": "hm"}]}],
            [("user", "Q")],
        ),
    ],
)  # fmt: skip
def test_a_prompt_is_read_as_the_messages_that_it_is(prompt: object, messages: list[tuple[str, str]]) -> None:
    assert said(prompt) == messages
    assert not conversation_of(prompt).has_tools


def test_tool_calls_and_results_of_anthropic_stand_as_text_in_their_places() -> None:
    prompt = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {"id": 7}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "shipped"}]},
    ]
    assert said(prompt) == [
        ("user", "Where is it?"),
        ("assistant", '[tool call] find({"id": 7})'),
        ("user", "[tool result] shipped"),
    ]
    assert conversation_of(prompt).has_tools


def test_tool_calls_and_results_of_openai_stand_as_text_in_their_places() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}
    prompt = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "shipped"},
    ]
    assert said(prompt)[1:] == [("assistant", '[tool call] find({"id": 7})'), ("user", "[tool result] shipped")]


@pytest.mark.parametrize(
    "prompt",
    [[{"role": "user", "content": [IMAGE]}], [{"role": "user", "content": ["look", IMAGE]}], "", 7, [{"a": 1}]],
)
def test_what_no_text_stands_for_is_refused(prompt: object) -> None:
    with pytest.raises(NotText):
        conversation_of(prompt)


def test_half_a_character_is_mended_since_no_provider_takes_it() -> None:
    assert said("a\ud800b") == [("user", "a?b")]
    assert said('[{"role": "user", "content": "a\\ud800b"}]') == [("user", "a?b")]


def test_an_answer_of_blocks_is_their_text() -> None:
    assert text_of([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]) == "4\n2"
