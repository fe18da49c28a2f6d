"""Who answers where: the known providers, their base URLs and keys, and the door that opens a model."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from tjbench.config import ModelSpec
from tjbench.errors import UsageError
from tjbench.misconfig import suggestion
from tjbench.models.cached import CachedModel, Journal
from tjbench.models.failures import secrets_in
from tjbench.models.model import Model
from tjbench.models.watched import WatchedModel

if TYPE_CHECKING:
    from tjbench.models.anthropic import AnthropicModel
    from tjbench.models.openai import OpenAIModel

Gateways = Mapping[str, tuple[str, str | None]]
"""``[providers.NAME]`` of the configuration: name to (base URL, name of the variable that holds the key)."""

Shape = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class _Row:
    base_url: str
    prefix: str
    shape: Shape = "openai"
    keyless: bool = False


# A row reads <prefix>_BASE_URL and <prefix>_API_KEY.
_KNOWN = {
    "anthropic": _Row("https://api.anthropic.com", "ANTHROPIC", shape="anthropic"),
    "deepseek": _Row("https://api.deepseek.com", "DEEPSEEK"),
    "google": _Row("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI"),
    "groq": _Row("https://api.groq.com/openai/v1", "GROQ"),
    "mistral": _Row("https://api.mistral.ai/v1", "MISTRAL"),
    "ollama": _Row("http://127.0.0.1:11434/v1", "OLLAMA", keyless=True),
    "openai": _Row("https://api.openai.com/v1", "OPENAI"),
    "openrouter": _Row("https://openrouter.ai/api/v1", "OPENROUTER"),
    "xai": _Row("https://api.x.ai/v1", "XAI"),
}
_CLOUDS = {"azure": "Azure OpenAI", "bedrock": "Amazon Bedrock", "vertex_ai": "Google Vertex AI"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a provider's models answer. ``key_env`` names the variable with the key; ``None``: none is needed."""

    provider: str
    base_url: str
    key_env: str | None
    shape: Shape


def endpoint(spec: ModelSpec, gateways: Gateways | None = None, environ: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint for ``spec``: the user's own ``[providers.NAME]`` first, then the table with its base-URL variable.

    Raises ``UsageError`` for a provider that is not known, or one that is reached over a gateway only.
    """
    environ = os.environ if environ is None else environ
    row = _KNOWN.get(spec.provider)
    own = (gateways or {}).get(spec.provider)
    key_env: str | None
    if own is not None:
        base_url, key_env = own
    elif row is not None:
        base_url = environ.get(f"{row.prefix}_BASE_URL") or row.base_url
        key_env = None if row.keyless else f"{row.prefix}_API_KEY"
    else:
        raise _unreachable(spec, gateways or {})
    base_url = base_url.strip().rstrip("/")
    if spec.provider == "ollama" and not base_url.endswith("/v1"):
        base_url += "/v1"  # Ollama's own variables name the server's root.
    return Endpoint(
        provider=spec.provider,
        base_url=_checked(base_url, spec.provider),
        key_env=None if is_loopback(base_url) else key_env,
        shape=row.shape if row else "openai",
    )


def require_known(spec: ModelSpec, gateways: Gateways) -> None:
    """Raises ``UsageError`` for a provider that nobody knows; one behind a gateway only may still be scripted."""
    if spec.provider not in {*_KNOWN, *_CLOUDS, *gateways}:
        raise _unreachable(spec, gateways)


def needed_key(
    spec: ModelSpec, gateways: Gateways | None = None, environ: Mapping[str, str] | None = None
) -> str | None:
    """The name of the variable that must hold a key for ``spec``, set or not; ``None`` when none is needed."""
    return endpoint(spec, gateways, environ).key_env


def missing_key(
    spec: ModelSpec, gateways: Gateways | None = None, environ: Mapping[str, str] | None = None
) -> str | None:
    """The name of the needed variable when it is unset or blank."""
    environ = os.environ if environ is None else environ
    name = needed_key(spec, gateways, environ)
    return name if name and not environ.get(name, "").strip() else None


def open_model(
    spec: ModelSpec,
    gateways: Gateways | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    journal: Journal | None = None,
    called: Callable[[ModelSpec], None] | None = None,
    timeout_s: float = 300.0,
) -> Model:
    """A model that answers over the network, kept in ``journal`` when one is given. Close it after use.

    ``called`` hears of every call that is made, repeated ones too, before it is. A call takes ``timeout_s`` at most.

    Loads the provider's SDK, which takes seconds: call it beside other work. Raises ``UsageError`` for an unknown
    provider, a missing key or a missing SDK.
    """
    environ = os.environ if environ is None else environ
    where = endpoint(spec, gateways, environ)
    key = _key(spec, where, gateways, environ)
    secrets = secrets_in(environ)
    try:
        kind = _shaped(where.shape)
    except ModuleNotFoundError as error:
        if error.name not in {"anthropic", "openai"}:
            raise
        raise UsageError(
            f"the {error.name} package is not installed",
            why=f"{spec} is asked over it",
            fix='run: pip install "tokenjam-bench[providers]"',
        ) from None
    model: Model = kind(
        spec, model_id=_api_id(spec), base_url=where.base_url, key=key, secrets=secrets, timeout_s=timeout_s
    )
    if called is not None:
        model = WatchedModel(model, called)
    return model if journal is None else CachedModel(model, journal, endpoint=where.base_url)


def _shaped(shape: Shape) -> type[AnthropicModel | OpenAIModel]:
    if shape == "anthropic":
        from tjbench.models.anthropic import AnthropicModel

        return AnthropicModel
    from tjbench.models.openai import OpenAIModel

    return OpenAIModel


def is_loopback(base_url: str) -> bool:
    """Whether the URL's host is this machine by name or address; nothing is resolved."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key(spec: ModelSpec, where: Endpoint, gateways: Gateways | None, environ: Mapping[str, str]) -> str:
    if missing := missing_key(spec, gateways, environ):
        raise UsageError(
            f"{missing} is not set",
            why=f"{spec} is asked at {urlsplit(where.base_url).hostname} and needs a key",
            fix=f"export {missing}, or run with --mock",
        )
    row = _KNOWN.get(spec.provider)
    own = (gateways or {}).get(spec.provider)
    # A key that is there goes along to a loopback address too: a local gateway may want it.
    name = own[1] if own else f"{row.prefix}_API_KEY" if row else None
    key = environ.get(name or "", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"{name} holds characters that no key has", why="a header cannot carry them", fix=f"set {name} again"
        )
    return key or "none-needed"


def _api_id(spec: ModelSpec) -> str:
    """The model's name at the API.

    TokenJam writes ``gemini-2-5-flash`` for ``gemini-2.5-flash``; its records also hold the provider once more
    (``anthropic/claude-opus-4-8``) and Claude Code's mark of the context's size (``claude-opus-4-8[1m]``).
    """
    if spec.provider in ("anthropic", "google", "openai"):
        name = re.sub(r"\[\w+\]$", "", spec.model.removeprefix(f"{spec.provider}/"))
        return re.sub(r"^gemini-(\d+)-(\d)(?=-|$)", r"gemini-\1.\2", name) if spec.provider == "google" else name
    return spec.model


def _checked(base_url: str, provider: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme in {"http", "https"} and parts.hostname:
        return base_url
    raise UsageError(
        f"the base URL of {provider} is not a URL",
        why="it must start with http:// or https:// and name a host",
        fix="correct [providers] in tjbench.toml or the provider's _BASE_URL variable",
    )


def _unreachable(spec: ModelSpec, gateways: Gateways) -> UsageError:
    way = f"name an OpenAI-compatible gateway under [providers.{spec.provider}] in tjbench.toml (base_url, api_key_env)"
    if spec.provider in _CLOUDS:
        return UsageError(
            f"{spec} cannot be asked directly",
            why=f"{_CLOUDS[spec.provider]} signs its requests with cloud credentials, which are never read here",
            fix=f"use openrouter:MODEL, or {way}",
        )
    known = sorted({*_KNOWN, *gateways})
    hint = suggestion(spec.provider, [*known, *_CLOUDS])
    return UsageError(
        f"{spec.provider!r} is not a known provider{hint}",
        why=f"{spec} is asked for, and known are {', '.join(known)}",
        fix=f"correct the name, or {way}",
    )
