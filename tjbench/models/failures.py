"""What a provider's refusal means, and words for it that hold no key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tjbench.models.model import Trouble

_LONGEST = 500
_KEY_SHAPES = re.compile(r"(?i)\b(?:bearer\s+\S+|(?:sk|gsk|xai|hf|ghp|gho|ghs)[-_][\w*.…-]{6,}|AIza[\w-]{10,})")
_URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_TAG = re.compile(r"(?s)<(script|style|title)\b.*?</\1>|<[^>]*>")

# Several providers say under a general status what others say with a status of its own. Google words a passing rate
# limit as an exceeded quota, and advice about billing stands in many rate-limit messages: neither means QUOTA.
_BY_WORDS = (
    (
        Trouble.QUOTA,
        r"insufficient[_ ](quota|balance|credit|funds)|credit balance|available credits|billing[_ ]hard[_ ]limit"
        r"|(spending|usage) limits?",
    ),
    (
        Trouble.AUTHENTICATION,
        r"(invalid|incorrect|expired).{0,20}api.?key|api.?key.{0,20}(invalid|not valid|expired)",
    ),
    (Trouble.NOT_FOUND, r"model.{0,80}(not found|(does )?not exist)|model_not_found|invalid model"),
    (Trouble.FILTERED, r"content[_ ](filter|policy|management)|safety (system|filter)|blocked by"),
)
_BY_STATUS = {
    401: Trouble.AUTHENTICATION,
    402: Trouble.QUOTA,
    403: Trouble.AUTHENTICATION,
    404: Trouble.NOT_FOUND,
    408: Trouble.TIMEOUT,
    409: Trouble.UNAVAILABLE,
    429: Trouble.RATE_LIMIT,
    504: Trouble.TIMEOUT,
}


def trouble_of(status: int, words: str) -> Trouble:
    """What an HTTP error ``status`` with the provider's ``words`` (see ``words_of``) means."""
    if status in {400, 403, 422, 429}:
        for trouble, pattern in _BY_WORDS:
            if re.search(pattern, words, re.IGNORECASE):
                return trouble
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Trouble.UNAVAILABLE if status >= 500 else Trouble.BAD_REQUEST


def words_of(body: str) -> str:
    """The provider's own words in an error body: message, code, type and parameter; an HTML page without its tags."""
    try:
        value = json.loads(body)
    except ValueError:
        return " ".join(_TAG.sub(" ", body).split())
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return str(error)
    parts = (error.get(name) for name in ("message", "detail", "code", "type", "status", "param"))
    return " · ".join(str(part) for part in parts if part)


def retry_after_s(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> float | None:
    """How long a provider asks to wait, in seconds: ``retry-after-ms``, ``retry-after`` in seconds or as an HTTP date
    (RFC 9110 §10.2.3), or Google's ``retryDelay`` in the body. Names of ``headers`` are matched without case."""
    by_name = {name.lower(): value for name, value in headers.items()}
    in_body = re.search(r'"retryDelay":\s*"([\d.]+)s"', body)
    for text, unit in (
        (by_name.get("retry-after-ms"), 0.001),
        (by_name.get("retry-after"), 1.0),
        (in_body and in_body[1], 1.0),
    ):
        if not text:
            continue
        try:
            told = float(text) * unit
        except ValueError:
            told = _seconds_until(text, now or datetime.now(UTC))
        if math.isfinite(told) and told >= 0:
            return told
    return None


def _seconds_until(date: str, now: datetime) -> float:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return max(0.0, (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now.timestamp())


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """The values of variables that hold secrets by their names."""
    return [value for name, value in environ.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]


class Redactor:
    """Makes text of others fit to be shown: one short line without any of ``secrets`` or what looks like a key."""

    def __init__(self, secrets: Iterable[str]) -> None:
        whole = {secret.strip() for secret in secrets}
        self._secrets = sorted((secret for secret in whole if len(secret) >= 6), key=len, reverse=True)

    def hide(self, text: str) -> str:
        """The text as it is but for its keys."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return _URL_LOGIN.sub("", _KEY_SHAPES.sub("[key]", text))

    def __call__(self, text: str) -> str:
        text = self.hide(text)
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
