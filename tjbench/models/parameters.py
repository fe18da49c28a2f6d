"""Which sampling parameters a model takes, learnt from what its API refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tjbench.models.model import Sampling

Parameters = dict[str, float | int]
_REFUSED = re.compile(
    r"(?i)not support|unsupported|deprecated|not (be )?(permitted|allowed)|forbidden|unknown|unrecognized|unexpected"
)


class Accepted:
    """The parameters one model takes; grows wiser with each refusal and never forgets. Safe to share by threads."""

    def __init__(self, *optional: str) -> None:
        self._optional = frozenset(optional)
        self._limit = "max_tokens"
        self._sent: dict[tuple[tuple[str, float | int], ...], Parameters] = {}

    def of(self, sampling: Sampling) -> Parameters:
        """What to send for ``sampling``; a parameter that is unset or refused is left out."""
        sent: Parameters = {self._limit: sampling.max_tokens}
        if sampling.temperature is not None and "temperature" in self._optional:
            sent["temperature"] = sampling.temperature
        if sampling.seed is not None and "seed" in self._optional:
            sent["seed"] = sampling.seed
        return self._sent.setdefault(tuple(sent.items()), sent)  # every answer of a run keeps its own for the artifact

    def learn(self, sent: Mapping[str, object], words: str) -> bool:
        """Whether the refusal in ``words`` is about a parameter of ``sent``, so that asking again can help.

        A value out of range is not such a refusal: the caller's wish is never dropped silently for it.
        """
        if "max_tokens" in sent and "max_completion_tokens" in words:
            self._limit = "max_completion_tokens"
            return True
        if not _REFUSED.search(words):
            return False
        refused = {name for name in ("temperature", "seed") if name in sent and re.search(rf"\b{name}\b", words)}
        self._optional -= refused
        return bool(refused)
