"""Agreement by shared words: 2 x shared tokens / all tokens of both, worked out by hand here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.scoring.overlap import score_overlap, token_f1
from tjbench.scoring.score import Cause
from tjbench.suites.task import OverlapCheck


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("Paris", "paris.", 1),
        ("the cat sat", "the dog sat", 2 * 2 / 6),
        ("a a b", "a b b", 2 * 2 / 6),
        ("The answer is 42.", "42", 2 * 1 / 5),
        ("1,024", "1024", 1),
        ("1,2", "12", 0),
        ("3.14", "3.15", 0),
        ("東京 (Tokyo)", "Tokyo 東京", 1),
        ("東京都", "東京", 2 * 2 / 5),
        ("straße", "STRASSE", 1),
        ("e\u0301t\u00e9", "\u00e9te\u0301", 1),
        ("", "", 1),
        ("", "x", 0),
        ("✓", " ✓ ", 1),
        ("✓", "✗", 0),
    ],
)
def test_the_share_of_words_is_what_is_counted_by_hand(text: str, reference: str, expected: float) -> None:
    assert token_f1(text, reference) == pytest.approx(expected)


@given(st.text(), st.text())
def test_it_is_a_proportion_and_the_same_both_ways(text: str, reference: str) -> None:
    assert 0 <= token_f1(text, reference) <= 1
    assert token_f1(text, reference) == token_f1(reference, text)
    assert token_f1(text, text) == 1


def test_the_threshold_decides_and_the_detail_quotes_nothing() -> None:
    assert score_overlap("red green blue", OverlapCheck(reference="red green pink", threshold=2 / 3)).passed
    score = score_overlap("secret", OverlapCheck(reference="hidden"))
    assert (score.passed, score.cause, score.detail) == (False, Cause.WRONG_ANSWER, "overlap 0.00, 0.5 needed")
