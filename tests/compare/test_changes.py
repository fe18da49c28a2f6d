"""The causes of a change of cost, by the fake's arithmetic: 100 tokens in and the stated output a task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag
from tjbench.compare.changes import Changes, find_changes
from tjbench.compare.decision import BaselineLabel
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix, build_row
from tjbench.compare.pair import Rule
from tjbench.report.markdown import render_decision

N = "p" * 40
OLD = "anthropic:claude-3-5-haiku-20241022"
BEFORE = measurement(N, N, version="0.6.0")  # 150 tokens at 10, 200 at 2: saves 1 - 400/1500


def found(head: Artifact, before: Artifact = BEFORE) -> Changes:
    got = find_changes(build_row(head.key, head, before, Rule()))
    assert got is not None
    return got


def effects(got: Changes) -> tuple[float, float, float]:
    assert got.saving is not None
    return got.saving.price_effect, got.saving.recommendation_effect, got.saving.token_effect


def test_a_changed_price_is_named_and_is_the_whole_effect() -> None:
    got = found(measurement(N, N, prices=(10.0, 3.0)))
    assert [(p.model, p.field, p.before, p.after) for p in got.prices] == [
        (CANDIDATE, "input", 2, 3),
        (CANDIDATE, "output", 2, 3),
    ]
    assert effects(got) == (-13.33, 0, 0)  # 73.33 -> 60 %
    assert not any(use.changed for use in got.tokens)


def test_more_output_tokens_are_the_token_effect() -> None:
    got = found(measurement(N, N, outputs=(50, 200)))
    assert effects(got) == (0, 0, -13.33)  # 300 tokens at 2: 1 - 600/1500
    assert got.prices == ()
    candidate, original = got.tokens
    assert (candidate.output_before, candidate.output_after, original.changed) == (100, 200, False)


def test_another_recommendation_is_priced_at_the_old_tokens() -> None:
    before = measurement(N, N, version="0.6.0", models=(ORIGINAL, OLD))
    got = found(measurement(N, N, prices=(10.0, 1.0), outputs=(50, 300)), before)
    # 73.33 -> 200 tokens at 1: 86.67 -> 400 tokens at 1: 73.33
    assert effects(got) == (0, 13.34, -13.34)


price = st.floats(0.01, 100)
length = st.integers(1, 5_000)


@given(st.tuples(price, price), st.tuples(price, price), st.tuples(length, length), st.tuples(length, length))
def test_the_three_effects_add_up_to_the_whole_change(
    then: tuple[float, float], now: tuple[float, float], old: tuple[int, int], new: tuple[int, int]
) -> None:
    before = measurement("p" * 3, "p" * 3, prices=then, outputs=old, models=(ORIGINAL, OLD))
    got = found(measurement("p" * 3, "p" * 3, prices=now, outputs=new), before)
    assert got.saving is not None
    assert sum(effects(got)) == pytest.approx(got.saving.after - got.saving.before, abs=1e-6, rel=1e-12)


@pytest.mark.parametrize(
    ("head", "before", "why"),
    [
        (measurement(N, N, flags=(Flag.MOCK,)), measurement(N, N, flags=(Flag.MOCK,)), "scripted models use no tokens"),
        (measurement(N, N, source="default"), BEFORE, f"TokenJam has no price for {ORIGINAL}"),
        (measurement(N, N, source="unknown"), BEFORE, f"TokenJam has no price for {ORIGINAL}"),
        (measurement(N, N, scorer="2"), BEFORE, "scorer version differs: 1 → 2"),
    ],
)
def test_what_has_no_price_gets_a_reason_and_no_number(head: Artifact, before: Artifact, why: str) -> None:
    got = found(head, before)
    assert (got.saving, got.why, got.prices) == (None, why, ())


def test_a_row_without_a_baseline_has_no_changes() -> None:
    assert find_changes(build_row(BEFORE.key, BEFORE, None, Rule())) is None


def test_the_decision_tells_the_causes() -> None:
    head = measurement(N, N, prices=(10.0, 3.0), claimed=70.0)
    decision = decide(build_matrix([head], [BEFORE], Rule()), GatePolicy(), baseline=BaselineLabel(ref="release/1.0"))
    assert decision.model_dump(mode="json")["rows"][0]["changes"]["saving"]["price_effect"] == -13.33
    for text in (render_decision(decision),):
        assert f"`{CANDIDATE}` input $2 → $3" in text
        assert "73.33 % → 60.00 % (\u221213.33 pp): prices \u221213.33, recommendation 0.00, tokens 0.00 pp" in text
        assert "claimed by TokenJam's rates: 80.0 % → 70.0 %" in text
