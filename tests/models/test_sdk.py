"""The real SDKs against a provider on loopback, both shapes."""

from __future__ import annotations

import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Barrier, Thread

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tjbench.config import ModelSpec
from tjbench.models.anthropic import AnthropicModel
from tjbench.models.model import Finish, Model, ModelError, Request, Response, Sampling, Trouble
from tjbench.models.openai import OpenAIModel
from tjbench.pricing import Usage

CANARY = "sk-canary-5f0c9a7e1b"
SHAPES = ("openai", "anthropic")


@contextmanager
def opened(shape: str, url: str, *, timeout_s: float = 5.0) -> Iterator[Model]:
    model: Model
    if shape == "openai":
        spec = ModelSpec("openai", "gpt-test")
        model = OpenAIModel(spec, base_url=f"{url}/v1", key=CANARY, timeout_s=timeout_s)
    else:
        spec = ModelSpec("anthropic", "claude-test")
        model = AnthropicModel(spec, base_url=url, key=CANARY, timeout_s=timeout_s)
    with closing(model):
        yield model


def request(text: str = "2+2?", sampling: Sampling | None = None) -> Request:
    messages = ({"role": "system", "content": "Be terse."}, {"role": "user", "content": text})
    return Request(task_id="t", sample=0, messages=messages, sampling=sampling or Sampling(max_tokens=64))


def ask(shape: str, script: Callable[[Ask], Reply], **options: float) -> Response:
    with FakeProvider(script) as provider, opened(shape, provider.anthropic_url, **options) as model:
        return model.answer(request())


def refusal(shape: str, reply: Reply, **options: float) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(shape, lambda _: reply, **options)
    assert caught.value.__context__ is None, "the SDK's exception holds the request with its headers"
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("shape", SHAPES)
def test_answer_comes_with_text_usage_finish_latency_and_request_id(shape: str) -> None:
    response = ask(shape, lambda _: Reply(text="four", delay_s=0.05))
    assert response.text == "four"
    assert response.finish is Finish.STOP
    assert response.usage == Usage(input=-(-len("Be terse.2+2?") // 4), output=1)
    assert response.latency_s is not None
    assert 0.05 <= response.latency_s < 5
    assert response.request_id == "req_1"
    assert response.sent == {"max_tokens": 64}
    assert response.reused_from is None


@pytest.mark.parametrize("shape", SHAPES)
def test_request_goes_out_as_asked_and_carries_the_key(shape: str) -> None:
    with FakeProvider(lambda _: Reply(text="ok")) as provider, opened(shape, provider.anthropic_url) as model:
        model.answer(request("hello", Sampling(max_tokens=7, temperature=0.5, seed=3)))
    (seen,) = provider.asks
    assert CANARY in {seen.headers.get("x-api-key"), seen.headers.get("authorization", "").removeprefix("Bearer ")}
    assert (seen.shape, seen.system, seen.user) == (shape, "Be terse.", "hello")
    assert seen.body["max_tokens"] == 7
    assert seen.body["temperature"] == 0.5
    if shape == "openai":
        assert seen.body["seed"] == 3
    else:
        assert "seed" not in seen.body
        assert [message["role"] for message in seen.body["messages"]] == ["user"]


@pytest.mark.parametrize("shape", SHAPES)
def test_unset_parameters_are_not_sent(shape: str) -> None:
    with FakeProvider(lambda _: Reply(text="ok")) as provider, opened(shape, provider.anthropic_url) as model:
        model.answer(request())
    assert not {"temperature", "seed", "top_p"} & set(provider.asks[0].body)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("sent", "finish"),
    [("stop", Finish.STOP), ("length", Finish.LENGTH), ("content_filter", Finish.FILTERED), ("novel", Finish.OTHER)],
)
def test_finish_reason_is_kept(shape: str, sent: str, finish: Finish) -> None:
    assert ask(shape, lambda _: Reply(text="x", finish=sent)).finish is finish


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        (Reply(status=401, message=f"Incorrect API key provided: {CANARY}."), Trouble.AUTHENTICATION),
        (Reply(status=403, message="not allowed in your country"), Trouble.AUTHENTICATION),
        (Reply(status=402, message="Insufficient Balance"), Trouble.QUOTA),
        (Reply(status=404, message="model: claude-test"), Trouble.NOT_FOUND),
        (Reply(status=400, message="prompt is too long"), Trouble.BAD_REQUEST),
        (Reply(status=400, message="Your credit balance is too low to access the API."), Trouble.QUOTA),
        (Reply(status=400, message="API key not valid. Please pass a valid API key."), Trouble.AUTHENTICATION),
        (Reply(status=429, message="You exceeded your current quota", code="insufficient_quota"), Trouble.QUOTA),
        (Reply(status=429, message="Rate limit reached, add credit at /billing"), Trouble.RATE_LIMIT),
        (Reply(status=500), Trouble.UNAVAILABLE),
        (Reply(status=503), Trouble.UNAVAILABLE),
        (Reply(status=504), Trouble.TIMEOUT),
        (Reply(status=529, message="Overloaded"), Trouble.UNAVAILABLE),
        (Reply(status=302, headers={"Location": "/elsewhere"}), Trouble.BAD_REQUEST),
        (Reply(raw='{"id": "x", "choi'), Trouble.MALFORMED),
        (Reply(raw="{}"), Trouble.MALFORMED),
        (Reply(raw="[1, 2]"), Trouble.MALFORMED),
        (Reply(raw="<html><body>Bad gateway</body></html>", content_type="text/html"), Trouble.MALFORMED),
        (Reply(raw="<h1>Oops</h1>", content_type="text/html", status=502), Trouble.UNAVAILABLE),
        (Reply(hang_up=True), Trouble.UNAVAILABLE),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, Trouble) else None,
)
def test_failure_is_named_and_holds_no_key(shape: str, reply: Reply, trouble: Trouble) -> None:
    error = refusal(shape, reply)
    assert error.trouble is trouble
    assert str(error).startswith(("openai:gpt-test: ", "anthropic:claude-test: "))
    assert "\n" not in str(error)
    assert "<" not in str(error)


@pytest.mark.parametrize("shape", SHAPES)
def test_provider_words_are_shown(shape: str) -> None:
    error = refusal(shape, Reply(status=404, message="no such model here"))
    assert "HTTP 404: no such model here" in str(error)


@pytest.mark.parametrize("shape", SHAPES)
def test_slow_answer_is_a_timeout(shape: str) -> None:
    assert refusal(shape, Reply(text="late", delay_s=1.0), timeout_s=0.2).trouble is Trouble.TIMEOUT


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reset_after_the_request_went_out_is_told_from_no_connection(shape: str) -> None:
    reset = refusal(shape, Reply(hang_up=True))
    assert (reset.trouble, reset.lost, reset.unreached) == (Trouble.UNAVAILABLE, True, False)
    assert "the connection was lost" in str(reset)
    refused = refusal(shape, Reply(status=503))
    assert (refused.lost, refused.unreached) == (False, False)
    late = refusal(shape, Reply(text="late", delay_s=1.0), timeout_s=0.2)
    assert (late.lost, late.unreached) == (False, False)


@pytest.mark.parametrize("shape", SHAPES)
def test_refused_connection_is_unavailable(shape: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with opened(shape, f"http://127.0.0.1:{unused.getsockname()[1]}") as model, pytest.raises(ModelError) as caught:
            model.answer(request())
    assert caught.value.trouble is Trouble.UNAVAILABLE
    assert "refused" in str(caught.value)
    assert (caught.value.unreached, caught.value.lost) == (True, False)


@pytest.mark.parametrize("shape", SHAPES)
def test_prompt_that_is_not_unicode_is_a_bad_request(shape: str) -> None:
    with (
        FakeProvider(lambda _: Reply(text="ok")) as provider,
        opened(shape, provider.anthropic_url) as model,
        pytest.raises(ModelError) as caught,
    ):
        model.answer(request("\ud800"))
    assert caught.value.trouble is Trouble.BAD_REQUEST
    assert provider.asks == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("status", [429, 503])
def test_a_failure_is_told_after_one_asking_with_the_wait_the_provider_wants(shape: str, status: int) -> None:
    with (
        FakeProvider(lambda _: Reply(status=status, headers={"Retry-After-Ms": "1500"})) as provider,
        opened(shape, provider.anthropic_url) as model,
        pytest.raises(ModelError) as caught,
    ):
        model.answer(request())
    assert caught.value.trouble is (Trouble.RATE_LIMIT if status == 429 else Trouble.UNAVAILABLE)
    assert caught.value.retry_after_s == 1.5
    assert len(provider.asks) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_refused_temperature_is_learnt_once_and_what_was_sent_is_told(shape: str) -> None:
    def script(ask: Ask) -> Reply:
        if "temperature" in ask.body:
            words = "Unsupported value: 'temperature' does not support 0 with this model."
            return Reply(status=400, message=words, param="temperature", code="unsupported_value")
        return Reply(text="ok")

    cold = request(sampling=Sampling(max_tokens=64, temperature=0.0))
    with FakeProvider(script) as provider, opened(shape, provider.anthropic_url) as model:
        first, second = model.answer(cold), model.answer(cold)
    assert first.sent == second.sent == {"max_tokens": 64}
    assert len(provider.asks) == 3


@pytest.mark.parametrize("shape", SHAPES)
def test_temperature_out_of_range_stays_an_error(shape: str) -> None:
    def script(_: Ask) -> Reply:
        words = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."
        return Reply(status=400, message=words, param="temperature", code="decimal_above_max_value")

    with (
        FakeProvider(script) as provider,
        opened(shape, provider.anthropic_url) as model,
        pytest.raises(ModelError, match="above maximum"),
    ):
        model.answer(request(sampling=Sampling(temperature=3.0)))
    assert len(provider.asks) == 1


def test_openai_reasoning_models_get_max_completion_tokens() -> None:
    def script(ask: Ask) -> Reply:
        if "max_tokens" in ask.body:
            words = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            )
            return Reply(status=400, message=words, param="max_tokens", code="unsupported_parameter")
        return Reply(text="ok")

    with FakeProvider(script) as provider, opened("openai", provider.anthropic_url) as model:
        assert model.answer(request()).sent == {"max_completion_tokens": 64}
        assert model.answer(request()).sent == {"max_completion_tokens": 64}
    assert [sorted({"max_tokens", "max_completion_tokens"} & set(ask.body)) for ask in provider.asks] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_error_inside_a_successful_response_is_an_error() -> None:
    # OpenRouter answers 200 and puts the upstream's failure into the body.
    body = '{"error": {"message": "Provider returned error", "code": 502}, "user_id": "u"}'
    assert refusal("openai", Reply(raw=body)).trouble is Trouble.UNAVAILABLE
    body = '{"error": {"message": "Rate limit exceeded", "code": 429}}'
    assert refusal("openai", Reply(raw=body)).trouble is Trouble.RATE_LIMIT


def test_openai_refusal_is_filtered() -> None:
    body = (
        '{"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": "stop", "message": '
        '{"role": "assistant", "content": null, "refusal": "I cannot help."}}]}'
    )
    response = ask("openai", lambda _: Reply(raw=body))
    assert (response.text, response.finish, response.usage) == ("I cannot help.", Finish.FILTERED, None)


def test_only_text_blocks_of_a_message_are_its_text() -> None:
    body = (
        '{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": ['
        '{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "4"}, '
        '{"type": "text", "text": "2"}], "usage": {"input_tokens": 3, "output_tokens": 9}}'
    )
    assert ask("anthropic", lambda _: Reply(raw=body)).text == "42"


@pytest.mark.parametrize("shape", SHAPES)
def test_many_threads_share_one_model(shape: str) -> None:
    barrier = Barrier(8, timeout=10)

    def script(ask: Ask) -> Reply:
        barrier.wait()  # passes only when eight requests are there at once
        return Reply(text=ask.user.upper())

    answers: dict[int, str] = {}
    with FakeProvider(script) as provider, opened(shape, provider.anthropic_url, timeout_s=20) as model:

        def one(number: int) -> None:
            answers[number] = model.answer(request(f"n{number}")).text

        threads = [Thread(target=one, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {number: f"N{number}" for number in range(8)}
    assert provider.most_in_flight == 8


@pytest.mark.parametrize("shape", SHAPES)
def test_no_log_line_holds_the_key(shape: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(shape, lambda _: Reply(text="ok"))
        refusal(shape, Reply(status=401, message="Incorrect API key provided"))
    assert caplog.records
    assert CANARY not in caplog.text


def test_openai_settings_of_the_environment_stay_away_from_other_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway-Token: gate-secret\nAuthorization: Bearer other-secret")
    with FakeProvider(lambda _: Reply(text="ok")) as provider:
        spec = ModelSpec("deepseek", "deepseek-chat")
        with closing(OpenAIModel(spec, base_url=provider.openai_url, key=CANARY)) as model:
            model.answer(request())
    assert "secret" not in str(dict(provider.asks[0].headers))
    assert provider.asks[0].headers["authorization"] == f"Bearer {CANARY}"
