from __future__ import annotations

import sys

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tjbench.config import ModelSpec
from tjbench.errors import UsageError
from tjbench.models.cached import CachedModel, Journal
from tjbench.models.model import Request, Sampling
from tjbench.models.providers import endpoint, is_loopback, missing_key, needed_key, open_model

REQUEST = Request(task_id="t", sample=0, messages=({"role": "user", "content": "hi"},), sampling=Sampling(max_tokens=5))


def spec(text: str) -> ModelSpec:
    return ModelSpec.parse(text)


@pytest.mark.parametrize(
    ("model", "host", "key"),
    [
        ("openai:gpt-4o", "api.openai.com", "OPENAI_API_KEY"),
        ("anthropic:claude-opus-4-7", "api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("deepseek:deepseek-chat", "api.deepseek.com", "DEEPSEEK_API_KEY"),
        ("google:gemini-2-5-flash", "generativelanguage.googleapis.com", "GEMINI_API_KEY"),
        ("groq:llama", "api.groq.com", "GROQ_API_KEY"),
        ("xai:grok-4", "api.x.ai", "XAI_API_KEY"),
        ("mistral:mistral-large", "api.mistral.ai", "MISTRAL_API_KEY"),
        ("openrouter:anthropic/claude-opus-4.1", "openrouter.ai", "OPENROUTER_API_KEY"),
        ("ollama:llama3:8b", "127.0.0.1", None),
    ],
)
def test_known_provider_has_its_host_and_key(model: str, host: str, key: str | None) -> None:
    assert host in endpoint(spec(model), environ={}).base_url
    assert needed_key(spec(model), environ={}) == key
    assert missing_key(spec(model), environ={}) == key
    assert missing_key(spec(model), environ={key or "": "value"}) is None
    assert missing_key(spec(model), environ={key or "": " "}) == key


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("deepseek", "DEEPSEEK_BASE_URL"),
        ("google", "GEMINI_BASE_URL"),
    ],
)
def test_base_url_variable_leads_elsewhere_and_loopback_needs_no_key(provider: str, variable: str) -> None:
    there = endpoint(spec(f"{provider}:m"), environ={variable: "https://gateway.example/v1/"})
    assert there.base_url == "https://gateway.example/v1"
    assert there.key_env is not None
    assert needed_key(spec(f"{provider}:m"), environ={variable: "http://127.0.0.1:8080/v1"}) is None


def test_ollama_variable_may_name_the_root_or_the_compatible_path() -> None:
    for url in ("http://gpu-box:11434", "http://gpu-box:11434/v1/"):
        there = endpoint(spec("ollama:m"), environ={"OLLAMA_BASE_URL": url})
        assert (there.base_url, there.key_env) == ("http://gpu-box:11434/v1", None)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://127.9.9.9:80", True),
        ("http://[::1]:5000/v1", True),
        ("http://0.0.0.0:80", False),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_loopback_is_this_machine_only(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


def test_own_gateway_wins_over_the_table_and_names_its_key() -> None:
    gateways = {"corp": ("https://llm.corp/v1", "CORP_API_KEY"), "openai": ("https://proxy.corp/v1", "PROXY_API_KEY")}
    environ = {"OPENAI_BASE_URL": "https://not-this-one/v1"}
    assert endpoint(spec("corp:m"), gateways, environ).base_url == "https://llm.corp/v1"
    assert needed_key(spec("corp:m"), gateways, environ) == "CORP_API_KEY"
    assert endpoint(spec("openai:m"), gateways, environ).base_url == "https://proxy.corp/v1"
    assert needed_key(spec("openai:m"), gateways, environ) == "PROXY_API_KEY"


@pytest.mark.parametrize("model", ["bedrock:us.anthropic.claude:1", "vertex_ai:claude", "azure:gpt-4o"])
def test_cloud_providers_name_the_way(model: str) -> None:
    with pytest.raises(UsageError, match="openrouter") as caught:
        endpoint(spec(model), environ={})
    assert f"[providers.{spec(model).provider}]" in str(caught.value)


def test_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        endpoint(spec("opnai:gpt-4o"), {"corp": ("https://llm.corp/v1", None)}, {})
    assert "anthropic, corp, deepseek, google, groq, mistral, ollama, openai, openrouter, xai" in str(caught.value)


@pytest.mark.parametrize("url", ["api.openai.com/v1", "ftp://host/v1", "http:///v1", ""])
def test_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="base URL of corp"):
        endpoint(spec("corp:m"), {"corp": (url, None)}, {})


def test_missing_key_is_named_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY is not set"):
        open_model(spec("anthropic:claude-opus-4-7"), environ={})


def test_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds characters") as caught:
        open_model(spec("openai:gpt-4o"), environ={"OPENAI_API_KEY": "sk-first\nsk-second"})
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(("provider", "package"), [("openai", "openai"), ("anthropic", "anthropic")])
def test_missing_sdk_names_the_extra(provider: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"tjbench.models.{package}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r'pip install "tokenjam-bench\[providers\]"'):
        open_model(spec(f"{provider}:m"), environ={f"{provider.upper()}_API_KEY": "k" * 20})


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("google:gemini-2-5-flash", "gemini-2.5-flash"),
        ("google:gemini-2-0-flash-lite", "gemini-2.0-flash-lite"),
        ("google:gemini-2.5-pro", "gemini-2.5-pro"),
        ("google:gemini-3-pro-preview", "gemini-3-pro-preview"),
        ("google:gemini-1-5-pro-002", "gemini-1.5-pro-002"),
        ("google:gemma-3-27b-it", "gemma-3-27b-it"),
    ],
)
def test_google_is_asked_by_its_own_ids(model: str, asked: str) -> None:
    with FakeProvider(lambda _: Reply(text="ok")) as provider:
        opened = open_model(spec(model), environ={"GEMINI_BASE_URL": provider.openai_url})
        assert str(opened.spec) == model
        opened.answer(REQUEST)
        opened.close()
    assert provider.asks[0].model == asked


@pytest.mark.parametrize(("name", "shape"), [("openai", "openai"), ("deepseek", "openai"), ("anthropic", "anthropic")])
def test_opened_model_asks_loopback_without_a_key_and_keeps_the_answer(
    name: str, shape: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        FakeProvider(lambda _: Reply(text="ok")) as provider,
        Journal(tmp_path_factory.mktemp("journal")) as journal,
    ):
        url = provider.openai_url if shape == "openai" else provider.anthropic_url
        model = open_model(spec(f"{name}:m"), environ={f"{name.upper()}_BASE_URL": url}, journal=journal)
        assert isinstance(model, CachedModel)
        assert (model.answer(REQUEST).text, model.answer(REQUEST).text) == ("ok", "ok")
        model.close()
    assert [ask.shape for ask in provider.asks] == [shape]


def test_loading_the_door_loads_no_sdk() -> None:
    import subprocess

    code = "import sys, tjbench.models.providers; print({'openai', 'anthropic', 'httpx2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
