"""One task of a suite file as the user writes it, and the task that it means."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tjbench.suites.checks import CheckRecord, NumberRecord, Percent, Record, Text, filled
from tjbench.suites.task import Canned, Message, NumberCheck, Task

PLACEHOLDER = "{prompt}"


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must hold printable characters only")
    return text


def _template(text: str) -> str:
    if PLACEHOLDER not in text:
        raise ValueError(f"must hold {PLACEHOLDER}, where each task's prompt goes")
    return text


class Header(Record):
    """What the first line may say for all tasks."""

    system: Text | None = None
    prompt_template: Annotated[str, AfterValidator(_template)] | None = None
    description: str = ""
    percent: Percent | None = None


class MessageRecord(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: Text


class CannedRecord(Record):
    """What the mock model answers."""

    right: Text
    wrong: Text

    def canned(self) -> Canned:
        return Canned(right=self.right, wrong=self.wrong)


class TaskRecord(Record):
    """One task."""

    id: Annotated[str, Field(max_length=200), AfterValidator(filled), AfterValidator(_printable)]
    prompt: Text | None = None
    messages: Annotated[list[MessageRecord], Field(min_length=1)] | None = None
    system: Text | None = None
    check: CheckRecord
    canned: CannedRecord | None = None

    @model_validator(mode="after")
    def _one_conversation(self) -> Self:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("must hold either prompt or messages")
        if self.messages:
            if self.messages[-1].role != "user":
                raise ValueError("messages must end with a message of the user")
            if any(message.role == "system" for message in self.messages[1:]):
                raise ValueError("a system message can only be the first of messages")
            if self.system is not None and self.messages[0].role == "system":
                raise ValueError("must hold either system or a system message")
        return self

    def task(self, header: Header) -> Task:
        """The task, with the header's system text and template where it has none of its own."""
        messages = [Message(role=message.role, content=message.content) for message in self.messages or []]
        if self.prompt is not None:
            template = header.prompt_template or PLACEHOLDER
            messages = [Message(role="user", content=template.replace(PLACEHOLDER, self.prompt))]
        system = self.system or header.system
        if system and messages[0].role != "system":
            messages.insert(0, Message(role="system", content=system))
        check = self.check.check()
        if isinstance(self.check, NumberRecord) and self.check.percent is None and header.percent:
            check = NumberCheck(expected=self.check.number, percent=header.percent)
        canned = self.canned or self.check
        return Task(id=self.id, messages=tuple(messages), check=check, canned=canned.canned())
