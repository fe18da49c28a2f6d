"""Our number check against the labels that GSM8K's authors gave to real model answers; prints docs/gsm8k-agreement.md.

python -m tests.benchmarks.gsm8k_agreement test.jsonl model_solutions_6b.jsonl > docs/gsm8k-agreement.md
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tjbench.scoring.match import score_number
from tjbench.suites import load_suite
from tjbench.suites.task import NumberCheck

PAGE = """\
# GSM8K: do our scores agree with its authors?

The authors of GSM8K published answers of two 6B models with a label each: right or wrong. The number check scores the
same answers anew, from their text alone. The answers end in `A: 70,000` and the like, and hold the models' own
calculations.

{agreement}

{disagreements}

For comparison, two rules that are often used instead:

{others}

Printed by `python -m tests.benchmarks.gsm8k_agreement test.jsonl model_solutions_6b.jsonl`, on the test split and the
example solutions of the repository openai/grade-school-math (MIT). The test of the same name holds this page to it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One real answer, the authors' label, and the task's gold number."""

    task_id: str
    model: str
    text: str
    right: bool
    gold: str


def labelled(rows: Path, solutions: Path) -> list[Labelled]:
    """Every labelled answer, in the order of its file."""
    tasks = load_suite("gsm8k", workspace=Path(), data=rows.resolve()).tasks
    golds = {task.id: task.check.expected for task in tasks if isinstance(task.check, NumberCheck)}

    def read() -> Iterator[Labelled]:
        with solutions.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield Labelled(
                    task_id=row["task_id"],
                    model=row["model"],
                    text=row["completion"],
                    right=row["is_correct"],
                    gold=golds[row["task_id"]],
                )

    return list(read())


def passes(answer: Labelled) -> bool:
    """Our verdict."""
    return score_number(answer.text, NumberCheck(expected=answer.gold)).passed is True


def last_digits(answer: Labelled) -> bool:
    """The last run of digits is the answer: 70,000 is 0."""
    runs: list[str] = re.findall(r"-?\d+", answer.text)
    return bool(runs) and runs[-1] == answer.gold


def ends_alike(answer: Labelled) -> bool:
    """The text ends in the gold number, commas dropped: 711 passes for 11."""
    return answer.text.replace(",", "").rstrip(" .").endswith(answer.gold)


def page(answers: list[Labelled]) -> str:
    """The document."""
    rules = {"the last run of digits": last_digits, "the text ends in the gold number": ends_alike}
    return PAGE.format(
        agreement=_agreement(answers), disagreements=_disagreements(answers), others=_others(answers, rules)
    )


def _agreement(answers: list[Labelled]) -> str:
    lines = [
        "| model | answers | right, and pass | wrong, and fail | right, but fail | wrong, but pass |",
        "|---|---|---|---|---|---|",
    ]
    for model in dict.fromkeys(answer.model for answer in answers):
        own = [(answer.right, passes(answer)) for answer in answers if answer.model == model]
        counts = [own.count(kind) for kind in ((True, True), (False, False), (True, False), (False, True))]
        lines.append(f"| {model} | {' | '.join(map(str, (len(own), *counts)))} |")
    return "\n".join(lines)


def _disagreements(answers: list[Labelled]) -> str:
    wrong = [answer for answer in answers if passes(answer) is not answer.right]
    if not wrong:
        return f"All {len(answers):,} labels agree, so there is no disagreement to explain."
    lines = ["| answer | gold | its end | label |", "|---|---|---|---|"]
    for answer in wrong:
        label = "right" if answer.right else "wrong"
        lines.append(f"| `{answer.task_id}`, {answer.model} | {answer.gold} | `{_end(answer.text)}` | {label} |")
    return "\n".join(lines)


def _others(answers: list[Labelled], rules: Mapping[str, Callable[[Labelled], bool]]) -> str:
    lines = ["| rule | labels it contradicts | for example |", "|---|---|---|"]
    for name, rule in rules.items():
        wrong = [answer for answer in answers if rule(answer) is not answer.right]
        example = f"`{_end(wrong[0].text)}` for {wrong[0].gold} ({wrong[0].task_id})" if wrong else "none"
        lines.append(f"| {name} | {len(wrong)} | {example} |")
    return "\n".join(lines)


def _end(text: str) -> str:
    return " ".join(text.strip().rsplit("\n", 1)[-1].split())[-40:].replace("|", "\\|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("solutions", type=Path)
    given = parser.parse_args()
    print(page(labelled(given.rows, given.solutions)), end="")
