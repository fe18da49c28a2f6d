"""What a series says of each step: who moved, what moved the dollars, which tasks, and what is not recorded."""

from __future__ import annotations

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, EarlyStopRecord
from tjbench.compare.pair import Rule
from tjbench.compare.series import build_series
from tjbench.report.markdown import render_series

FIRST = measurement("p" * 60, "p" * 60, version="0.6.0")


def told(*later: Artifact) -> str:
    return render_series(build_series([FIRST, *later], Rule()))


def section(text: str, versions: str) -> str:
    """The lines under the title of one step."""
    _, title, rest = text.partition(f": tokenjam {versions}**")
    assert title, text
    return rest.partition("\n**")[0]


def test_a_step_says_which_tasks_broke_and_who_moved() -> None:
    lines = section(told(measurement("p" * 60, "f" * 9 + "p" * 51, version="0.7.0")), "0.6.0 → 0.7.0")
    assert "Broke since the step before (9): `humaneval/0`" in lines
    assert "Who moved since the step before: only the candidate moved (candidate p = 0.002" in lines  # 1 / 2^9


def test_a_step_reads_as_the_gate_decides_on_it() -> None:
    # Five of five: one-sided 2^-5 = .031, two-sided .0625; the gate's test is the one-sided one.
    text = told(measurement("p" * 60, "f" * 5 + "p" * 55, version="0.7.0"))
    assert "❌ regression: 5 broke, 0 recovered, p = 0.031" in text


def test_an_incomplete_step_is_tested_against_nothing_and_says_why() -> None:
    text = told(measurement("p" * 60, "u" * 9 + "p" * 51, version="0.7.0"))
    assert "🟠 incomplete" in text
    assert "no regression" not in text
    lines = section(text, "0.6.0 → 0.7.0")
    assert "Against the step before: incomplete: 9 of 60 tasks are unscored" in lines
    assert "Who moved" not in lines


def test_a_step_without_proof_says_what_is_not_ruled_out_and_what_was_not_scored() -> None:
    text = told(measurement("p" * 60, "ufff" + "p" * 56, version="0.7.0"), measurement("p" * 60, "p" * 60, version="1"))
    lines = section(text, "0.6.0 → 0.7.0")
    assert "insufficient evidence: 3 tasks broke, 0 recovered out of 59 (p = 0.125); a drop up to" in lines
    assert "1 paired task left the comparison: unscored on one side." in lines


def test_both_models_falling_together_is_laid_at_the_provider_or_harness() -> None:
    lines = section(told(measurement("f" * 9 + "p" * 51, "f" * 9 + "p" * 51, version="0.7.0")), "0.6.0 → 0.7.0")
    assert "moved together: suspect provider or harness" in lines


def test_a_step_says_what_moved_the_dollars() -> None:
    """100 + 50 tokens at 10 against 100 + 100 at 2: 73.33 % saved; with the candidate at 4, 46.67 %."""
    lines = section(told(measurement("p" * 60, "p" * 60, version="0.7.0", prices=(10.0, 4.0))), "0.6.0 → 0.7.0")
    assert f"`{CANDIDATE}` input $2 → $4" in lines
    assert "73.33 % → 46.67 % (\u221226.66 pp): prices \u221226.66, recommendation 0.00, tokens 0.00 pp" in lines


def test_a_changed_recommendation_is_told_and_still_paired() -> None:
    text = told(measurement("p" * 60, "p" * 60, version="0.7.0", models=(ORIGINAL, "openai:gpt-5-mini")))
    assert f"The recommendation changed: `{CANDIDATE}` → `openai:gpt-5-mini`." in section(text, "0.6.0 → 0.7.0")
    assert "0 broke, 0 recovered" in text


def test_tasks_that_do_not_pair_up_are_listed_at_every_step() -> None:
    second = measurement("p" * 59, "p" * 59, version="0.7.0", task_ids=[f"humaneval/{n}" for n in range(1, 60)])
    third = measurement("p" * 60, "p" * 60, version="0.8.0", prompts="v2")
    text = told(second, third)
    assert "Removed since the step before (1): `humaneval/0`" in section(text, "0.6.0 → 0.7.0")
    last = section(text, "0.7.0 → 0.8.0")
    assert "Added since the step before (1), left out of the comparison: `humaneval/0`" in last
    assert "prompt_changed (59), compared all the same: every compared task." in last


@pytest.mark.parametrize("steps", [1, 2])
def test_a_first_measurement_has_nothing_to_tell(steps: int) -> None:
    text = told(*[measurement("p" * 60, "p" * 60, version="0.7.0")][: steps - 1])
    assert ": tokenjam 0.6.0**" not in text


def test_what_another_tool_did_not_record_is_named() -> None:
    old = measurement("p" * 60, "p" * 60, version="0.5.2", suite="gsm8k")
    unknown = old.suite.model_copy(update={"prompts_revision": "unknown"})
    text = told(old.model_copy(update={"suite": unknown}))
    assert "Not recorded where it was measured: prompts." in section(text, "0.5.2")


def test_a_step_that_stopped_early_has_no_interval_and_none_is_held_against_it() -> None:
    record = EarlyStopRecord(e_value=56.8, n_used=20, n_planned=60, e_needed=40)
    stopped = measurement("p" * 20, "f" * 8 + "p" * 12, version="0.7.0").model_copy(update={"early_stop": record})
    text = told(stopped, measurement("p" * 60, "f" * 9 + "p" * 51, version="0.8.0"))
    (line,) = [line for line in text.splitlines() if "`0.7.0`" in line and line.startswith("|")]
    assert "pp (stopped early)" in line
    assert " to " not in line
    assert "not comparable: this run stopped early" in line
    assert "Broke since the step before (9): " in section(text, "0.6.0 → 0.8.0")
