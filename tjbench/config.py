"""What the user wants: model specs and `tjbench.toml`."""

from __future__ import annotations

from dataclasses import dataclass

from tjbench.errors import UsageError


@dataclass(frozen=True, slots=True, order=True)
class ModelSpec:
    """A model as the user writes it, ``provider:model``. Bedrock ids hold more colons, so the first one splits."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        provider, colon, model = text.strip().partition(":")
        if not (colon and provider and model):
            raise UsageError(
                f"{text!r} is not a model",
                why="a model is written provider:model",
                fix="write for example anthropic:claude-opus-4-7",
            )
        return cls(provider, model)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"
