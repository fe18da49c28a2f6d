"""One recorded call of a model: what was asked, what was answered, and what became of every call in a history."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tjbench.pricing import Usage
from tjbench.suites.task import Message

UNNAMED = "unknown"
"""The provider of a call that names none, as TokenJam calls it."""
NAMESPACE = "tjbench replay "
"""What ids are hashed with, so that they are no hash that anything else makes of a record's id."""


class Fate(StrEnum):
    """Why a call can be replayed, or not."""

    REPLAYABLE = "replayable"
    EMPTY_ANSWER = "empty_answer"
    UNREADABLE = "unreadable"
    NO_ANSWER = "no_answer"
    TOOLS_ONLY = "tools_only"
    NO_PROMPT = "no_prompt"
    NO_TEXT = "no_text"
    OTHER_KEYS = "other_keys"
    STREAMED = "streamed"
    ERRORED = "errored"
    DUPLICATE = "duplicate"
    NO_MODEL = "no_model"
    NOT_SELECTED = "not_selected"


EXPLAINED: Mapping[Fate, str] = {
    Fate.REPLAYABLE: "prompt and answer recorded",
    Fate.EMPTY_ANSWER: "prompt recorded, the answer is empty",
    Fate.UNREADABLE: "prompt and answer recorded, but the prompt holds what is no text (an image, a file)",
    Fate.NO_ANSWER: "prompt recorded, no answer",
    Fate.TOOLS_ONLY: "tools were offered and no text was answered: a tool call, most likely",
    Fate.NO_PROMPT: "answer recorded, no prompt",
    Fate.NO_TEXT: "neither prompt nor answer recorded",
    Fate.OTHER_KEYS: "text under keys of another convention, which TokenJam does not read as prompt and answer",
    Fate.STREAMED: "streamed: TokenJam records no answer of these",
    Fate.ERRORED: "the call ended in an error",
    Fate.DUPLICATE: "a second record of the same response (the provider's own span)",
    Fate.NO_MODEL: "no model is named",
    Fate.NOT_SELECTED: "outside --since or --agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One call that can be replayed.

    ``id`` and ``salt`` come from the record's own ids, never from text: the first is shown, the second only hashed.
    ``usage`` and ``cost_usd`` (as TokenJam priced the call at ``at``) are ``None`` where they were not recorded;
    ``has_tools``: tool calls in the conversation stand in ``messages`` as text. ``guessed``: whether TokenJam priced
    the call by its placeholder; ``None`` where the record does not say.
    """

    id: str
    salt: str
    provider: str
    model: str
    messages: tuple[Message, ...]
    answer: str
    usage: Usage | None = None
    cost_usd: float | None = None
    at: datetime | None = None
    latency_s: float | None = None
    has_tools: bool = False
    guessed: bool | None = None

    @property
    def is_partial(self) -> bool:
        """Whether more tokens were sent than the recorded prompt has characters: not all that was sent was recorded."""
        if self.usage is None:
            return False
        sent = self.usage.input + self.usage.cache_read + self.usage.cache_write
        return sent > 100 + sum(len(message.content) for message in self.messages)

    @property
    def original(self) -> str:
        """``provider:model`` as recorded."""
        return f"{self.provider}:{self.model}"


@dataclass(slots=True)
class Census:
    """How many calls met which fate; the counts add up to every call that the history holds. ``replayable`` has those
    that can be replayed by ``provider:model``."""

    fates: Counter[Fate] = field(default_factory=Counter)
    replayable: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.fates.total()

    @property
    def with_text(self) -> int:
        """Calls with a prompt and an answer, an empty one included."""
        return self.fates[Fate.REPLAYABLE] + self.fates[Fate.EMPTY_ANSWER] + self.fates[Fate.UNREADABLE]

    def count(self, fate: Fate, original: str = "", number: int = 1) -> None:
        self.fates[fate] += number
        if fate is Fate.REPLAYABLE:
            self.replayable[original] += number

    def withdraw(self, original: str) -> None:
        """A call that was counted as replayable and cannot be read as text after all."""
        self.fates[Fate.REPLAYABLE] -= 1
        self.fates[Fate.UNREADABLE] += 1
        self.replayable[original] -= 1

    def lines(self) -> Iterator[tuple[int, str]]:
        """Count and explanation, in a fixed order, without what does not occur."""
        return ((self.fates[fate], EXPLAINED[fate]) for fate in Fate if self.fates[fate])


def hashed(identity: str) -> str:
    """A turn's id in results: it names the record to whoever holds the history, and tells nothing to others."""
    return hashlib.sha256((NAMESPACE + identity).encode()).hexdigest()[:16]


def usage_of(read: int | None, written: int | None, cached: int | None, stored: int | None) -> Usage | None:
    """Tokens in disjoint buckets; ``None`` where none were recorded, which is what zero of all kinds means too."""
    if not (read or written or cached or stored):
        return None
    counts = (read or 0, written or 0, cached or 0, stored or 0)
    if min(counts) < 0:
        return usage_of(*(max(0, count) for count in counts))
    return Usage(input=counts[0], output=counts[1], cache_read=counts[2], cache_write=counts[3])
