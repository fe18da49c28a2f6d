from __future__ import annotations

import pytest

from tjbench.report import units

MINUS = "\u2212"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-5.49, f"{MINUS}5.5 pp"), (5.49, "+5.5 pp"), (0.0, "0.0 pp"), (-0.04, "0.0 pp"), (0.04, "0.0 pp")],
)
def test_a_change_has_its_sign_unless_it_rounds_to_zero(value: float, text: str) -> None:
    assert units.signed_pp(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0"),
        (0.00009, "<$0.0001"),
        (0.0001, "$0.0001"),
        (0.01234, "$0.0123"),
        (12.345, "$12.35"),
        (1234.5, "$1,234.50"),
        (-0.5, f"{MINUS}$0.5000"),
    ],
)
def test_dollars_keep_four_digits_below_one_and_cents_above(value: float, text: str) -> None:
    assert units.dollars(value) == text


@pytest.mark.parametrize(("p", "text"), [(0.0123, "p = 0.012"), (0.00099, "p < 0.001"), (1.0, "p = 1.000")])
def test_a_tiny_p_value_is_a_bound(p: float, text: str) -> None:
    assert units.p_value(p) == text


def test_a_pass_rate_shows_counts_and_share() -> None:
    assert units.pass_rate(150, 164) == f"150/164 ({100 * 150 / 164:.1f} %)"
    assert units.pass_rate(150.4, 164) == f"150.4/164 ({100 * 150.4 / 164:.1f} %)"
    assert units.pass_rate(0, 0) == "0/0"


@pytest.mark.parametrize(("count", "text"), [(9_999, "9,999"), (12_345, "12.3k"), (1_204_000, "1.20M"), (0, "0")])
def test_tokens_are_rounded_from_ten_thousand_on(count: int, text: str) -> None:
    assert units.tokens(count) == text


def test_relative_changes_lose_their_decimal_from_ten_percent_on() -> None:
    assert units.signed_percent(-59.4) == f"{MINUS}59 %"
    assert units.signed_percent(3.26) == "+3.3 %"


def test_counts_take_the_plural() -> None:
    assert units.counted(1, "task") == "1 task"
    assert units.counted(1319, "task") == "1,319 tasks"
    assert units.counted(2, "pass", "passes") == "2 passes"


def test_an_interval_names_both_ends_with_their_signs() -> None:
    assert units.interval_pp((-10.04, 1.26)) == f"{MINUS}10.0 to +1.3"
