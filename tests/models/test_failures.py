from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tjbench.models.failures import Redactor, retry_after_s, trouble_of, words_of
from tjbench.models.model import Trouble


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        # What providers say, as their API references and SDK issues show it.
        (
            429,
            '[{"error": {"code": 429, "message": "You exceeded your current quota, please check your plan and billing '
            'details.", "status": "RESOURCE_EXHAUSTED"}}]',
            Trouble.RATE_LIMIT,
        ),
        (
            429,
            '{"error": {"message": "You exceeded your current quota, please check your plan and billing details.", '
            '"type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}',
            Trouble.QUOTA,
        ),
        (400, '{"error": {"message": "Billing hard limit has been reached", "code": null}}', Trouble.QUOTA),
        (403, '{"code": "x", "error": "Your team has used all available credits"}', Trouble.QUOTA),
        (400, '{"code": "Client specified an invalid argument", "error": "Incorrect API key provided: x"}',
         Trouble.AUTHENTICATION),
        (400, '[{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}]',
         Trouble.AUTHENTICATION),
        (400, '{"object": "error", "message": "Invalid model: nope", "type": "invalid_model"}', Trouble.NOT_FOUND),
        (404, '{"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}', Trouble.NOT_FOUND),
        (400, '{"error": {"message": "x", "code": "content_filter"}}', Trouble.FILTERED),
        (400, '{"type": "error", "error": {"type": "invalid_request_error", "message": "Output blocked by content '
         'filtering policy"}}', Trouble.FILTERED),
        (422, '{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}', Trouble.BAD_REQUEST),
        (418, "", Trouble.BAD_REQUEST),
        (599, "", Trouble.UNAVAILABLE),
    ],
)  # fmt: skip
def test_trouble_is_what_the_provider_means(status: int, body: str, trouble: Trouble) -> None:
    assert trouble_of(status, words_of(body)) is trouble


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "no", "type": "t", "code": "c", "param": "p"}}', "no · c · t · p"),
        ('{"error": "plain"}', "plain"),
        ('{"message": "bare"}', "bare"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ("<html><head><title>502</title><style>b{}</style></head><body><h1>Bad\nGateway</h1></body></html>",
         "Bad Gateway"),
        ("", ""),
        ("null", "None"),
    ],
)  # fmt: skip
def test_words_are_the_providers_own(body: str, words: str) -> None:
    assert words_of(body) == words


NOW = datetime(2015, 10, 21, 7, 27, 30, tzinfo=UTC)
GOOGLE = """[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
    {"@type": "type.googleapis.com/google.rpc.Help"},
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "%s"}]}}]"""


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "20"}, "", 20),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"RETRY-AFTER": "0"}, "", 0),
        ({"retry-after-ms": "1500"}, "", 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 0.25),
        # The example of RFC 9110, 10.2.3 and 5.6.7: thirty seconds from NOW, in all three formats of a date.
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 30),
        ({"Retry-After": "Wednesday, 21-Oct-15 07:28:00 GMT"}, "", 30),
        ({"Retry-After": "Wed Oct 21 07:28:00 2015"}, "", 30),
        ({"Retry-After": "Wed, 21 Oct 2015 09:28:00 +0200"}, "", 30),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:00 GMT"}, "", 0),
        ({}, GOOGLE % "43s", 43),
        ({}, GOOGLE % "2.375s", 2.375),
        ({"Retry-After": "7"}, GOOGLE % "43s", 7),
        # What says nothing.
        ({}, "", None),
        ({"Retry-After": "soon"}, "", None),
        ({"Retry-After": ""}, "", None),
        ({"Retry-After": "-1"}, "", None),
        ({"Retry-After": "nan"}, "", None),
        ({"Retry-After": "inf"}, "", None),
        ({"Retry-After": "Wed, 99 Oct 2015 07:28:00 GMT"}, "", None),
        ({}, GOOGLE % "soon", None),
        ({"Retry-After": "soon"}, GOOGLE % "43s", 43),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], body: str, seconds: float | None) -> None:
    assert retry_after_s(headers, body, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: {key}.",
        "header 'Authorization: Bearer {key}'",
        "{key}{key}",
        "sent sk-proj-AbCdEf123456789 to us",
        "sk-ab***********wxyz is masked, still not shown",
        "x-goog-api-key AIzaSyA1234567890abcdef",
        "gsk_abcdefghijkl and xai-abcdefghijkl",
        "http://user:{key}@gateway/v1",
    ],
)
def test_no_key_is_left(text: str) -> None:
    shown = Redactor(["the-canary-value", ""])(text.format(key="the-canary-value"))
    for part in ("canary", "AbCdEf", "wxyz", "AIzaSyA", "abcdefghijkl", "user:"):
        assert part not in shown


def test_text_becomes_one_short_line() -> None:
    shown = Redactor([])("a\nb\x1b[31m\u2028c\x00 " + "d" * 2000)
    assert shown.startswith("a b [31m c d")
    assert len(shown) == 500


def test_ordinary_words_stay() -> None:
    words = "HTTP 404: model gpt-9-turbo-preview not found for task-list; max_tokens at most 4096"
    assert Redactor(["", "short"])(words) == words
