"""GSM8K: 1,319 grade-school word problems (Cobbe et al. 2021, MIT), the test split."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from tjbench.errors import UsageError
from tjbench.suites.checks import Text
from tjbench.suites.hub import Source, rows
from tjbench.suites.task import Canned, Message, NumberCheck, Suite, Task

SOURCE = Source(
    repository="openai/gsm8k",
    configuration="main",
    split="test",
    revision="740312add88f781978c0658806c59bc2815b9866",
)
_INSTRUCTION = (
    "Work it out step by step. Then write the final answer, a number without a unit, on a line of its own after ####, "
    "for example: #### 12"
)
_GOLD = re.compile(r"-?\d{1,3}(?:,\d{3})+|-?\d{1,100}(?:\.\d{1,100})?", re.ASCII)


def _solved(answer: str) -> str:
    if not _GOLD.fullmatch(answer.rpartition("####")[2].strip()) or "####" not in answer:
        raise ValueError('must end with the number after ####, as in "#### 1,450"')
    return answer


class Row(BaseModel):
    """A row of the dataset: a question, and a worked answer that ends with its number after ``####``."""

    model_config = ConfigDict(strict=True, frozen=True)

    question: Text
    answer: Annotated[Text, AfterValidator(_solved)]

    @property
    def gold(self) -> str:
        return self.answer.rpartition("####")[2].strip().replace(",", "")


def load(data: Path | None = None) -> Suite:
    """All tasks in the dataset's order, from ``data`` or the hub. Raises ``UsageError`` naming a bad row's line."""
    tasks = tuple(_task(number, entry.read_as(Row)) for number, entry in enumerate(rows("gsm8k", SOURCE, data)))
    if not tasks:
        raise UsageError(f"{data or SOURCE} holds no row", fix='write rows as {"question": "…", "answer": "… #### 42"}')
    return Suite(
        name="gsm8k",
        tasks=tasks,
        packaged=False,
        n_available=len(tasks),
        description="grade-school word problems, decided by the final number",
        source=str(data or SOURCE),
    )


def _task(number: int, row: Row) -> Task:
    return Task(
        id=f"gsm8k/{number}",
        messages=(Message(role="user", content=f"{row.question.strip()}\n\n{_INSTRUCTION}"),),
        check=NumberCheck(expected=row.gold),
        canned=Canned(right=row.answer, wrong=f"#### {Decimal(row.gold) + 1}"),
    )
