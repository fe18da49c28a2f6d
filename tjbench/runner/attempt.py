"""What came of asking one model one task once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tjbench.models.model import Finish, ModelError, Response, Trouble
from tjbench.pricing import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An answer (``text`` is set) or why there is none (``trouble`` is set, and ``error`` says it in words).

    ``sample`` counts from 0. ``usage`` is ``None`` when the provider did not say; ``sent`` holds the sampling
    parameters that really went out.
    """

    task_id: str
    sample: int
    text: str | None = None
    usage: Usage | None = None
    finish: Finish | None = None
    latency_s: float | None = None
    request_id: str | None = None
    sent: Mapping[str, float | int | str] | None = None
    trouble: Trouble | None = None
    error: str = ""
    reused_from: str | None = None

    @classmethod
    def answered(cls, task_id: str, sample: int, response: Response) -> Attempt:
        return cls(
            task_id=task_id,
            sample=sample,
            text=response.text,
            usage=response.usage,
            finish=response.finish,
            latency_s=response.latency_s,
            request_id=response.request_id,
            sent=response.sent,
            reused_from=response.reused_from,
        )

    @classmethod
    def failed(cls, task_id: str, sample: int, error: ModelError) -> Attempt:
        return cls(task_id=task_id, sample=sample, trouble=error.trouble, error=str(error))
