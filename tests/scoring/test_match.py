"""Answers in the forms that models give them, with the value a reader would take from each."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.scoring.match import REGEX_SECONDS, parse_choice, parse_number, score_number, score_text
from tjbench.scoring.score import Cause
from tjbench.suites.task import NumberCheck, TextCheck

Kind = Literal["exact", "contains", "regex", "choice"]

NUMBERS = {
    # plain
    "42": "42",
    "70.": "70",
    "The answer is 70.": "70",
    "A: 26": "26",
    "A:26": "26",
    "29.00": "29",
    ".5": "0.5",
    "0.5.": "0.5",
    "+7": "7",
    "It takes 3 hours": "3",
    "15kg": "15",
    "on the 15th": "15",
    "(42)": "42",
    "_42_": "42",
    '"42"': "42",
    # thousands
    "70,000": "70000",
    "1,450,000.": "1450000",
    "1,00,000 rupees": "100000",
    "70_000": "70000",
    "70'000": "70000",
    "1\u202f234\u202f567": "1234567",
    "1\u00a0234": "1234",
    "1 234 567": "1234567",
    "1 234 dollars": "1234",
    r"70{,}000": "70000",
    r"70\,000": "70000",
    r"70,\!000": "70000",
    "1.234.567,89": "1234567.89",
    "2,50 €": "2.50",
    "1,2,3": "3",
    "1, 2, 3": "3",
    "in 2 100 metre races": "100",
    # currency
    "$29.00": "29",
    "$1,234.50.": "1234.50",
    r"\$70": "70",
    "US$70": "70",
    "USD 70": "70",
    "USD70": "70",
    "Rs.70": "70",
    "€ 70": "70",
    "70 €": "70",
    "£3.20": "3.20",
    "$70k": "70000",
    "$1.5M": "1500000",
    "70k": "70",
    # percent
    "60%": "60",
    "60 %": "60",
    r"60\%": "60",
    "60 percent": "60",
    # signs
    "-5": "-5",
    "\u22125": "-5",
    "\u20135": "-5",
    "-$5.50": "-5.50",
    "$-5.50": "-5.50",
    "x = - 5": "-5",
    "negative 5": "-5",
    "(-5)": "-5",
    "**-5**": "-5",
    "- 5 apples": "5",
    "16-3": "3",
    "from 3\u20135": "5",
    "the answer--5": "5",
    # fractions and mixed numbers
    "1/2": "0.5",
    "-3/4": "-0.75",
    "7 1/2": "7.5",
    "-7 1/2": "-7.5",
    "7 and 1/2 hours": "7.5",
    "7½": "7.5",
    "½ cup": "0.5",
    "3\u20444": "0.75",
    r"\frac{1}{2}": "0.5",
    r"$7\frac{1}{2}$": "7.5",
    r"-\dfrac{3}{4}": "-0.75",
    "10 / 4": "2.5",
    "due 12/25/2020": "2020",
    # bold, boxes, markup
    "**70**": "70",
    "**$70.00**": "70",
    "`70`": "70",
    "$70$": "70",
    r"\boxed{70}": "70",
    r"\boxed{\$70{,}000}": "70000",
    r"\boxed{\frac{1}{2}}": "0.5",
    r"\boxed{70\text{ dollars in 3 days}}": "70",
    r"\boxed{x = 5}": "5",
    r"so \boxed{41}, no: \boxed{42}. Checked 2 times.": "42",
    # powers and units
    "25 cm^2": "25",
    "25 cm²": "25",
    r"25\text{ cm}^{2}": "25",
    "10⁶": "1000000",
    "2^10": "1024",
    "1.5e3": "1500",
    "1.5 \u00d7 10^3": "1500",
    r"1.5 \times 10^{-3}": "0.0015",
    "1.5 million": "1500000",
    "2 thousand": "2000",
    # digits of other scripts
    "٤٢": "42",
    "\uff14\uff12": "42",
    # the marker wins
    "#### 42\nChecked in 2 ways": "42",
    "####42": "42",
    "#### 70,000 dollars": "70000",
    "#### $29.00": "29",
    "#### **42**": "42",
    "**#### 42**": "42",
    r"#### \boxed{42}": "42",
    "#### Answer: 42 of 50": "42",
    "####\n42\nin 7 days": "42",
    "#### 6 \u00d7 7 = 42 eggs": "42",
    "#### 1 234 567": "1234567",
    "#### -3": "-3",
    "#### - 3": "-3",
    "#### 41\nWait.\n#### 42": "42",
    r"\boxed{41} #### 42": "42",
    "#### 42. So 43 is wrong": "42",
    "I write it after ####.\nIt is 42": "42",
    # headings are not markers
    "#### Step 1: add\n5\n#### Step 2: double 10\nThe answer is 20": "20",
    "#### 1. Add\n#### 2. Double 10\nThe answer is 20": "20",
    "##### 5\nThe answer is 20": "20",
    # a calculator's annotations
    "16 - 3 = <<16-3=13>>13 eggs": "13",
}
NOT_NUMBERS = ["", "no idea", "twelve", "x1", "cm2", "H2O", "####", r"\boxed{}", "-", "$", "%", "1/0", "²"]


@pytest.mark.parametrize("answer", NUMBERS)
def test_final_number_is_the_one_a_reader_takes(answer: str) -> None:
    assert parse_number(answer) == Decimal(NUMBERS[answer])


@pytest.mark.parametrize("answer", NOT_NUMBERS)
def test_what_holds_no_number_gives_none(answer: str) -> None:
    assert parse_number(answer) is None


@pytest.mark.parametrize("answer", ["60%", "60 %", r"60\%", "60 percent", "0.6", "3/5", "#### 60%"])
def test_percent_may_count_as_a_fraction(answer: str) -> None:
    assert parse_number(answer, percent="as_fraction") == Decimal("0.6")


@given(st.integers(-(10**15), 10**15))
def test_any_integer_is_read_with_separators_currency_and_marker(number: int) -> None:
    for form in ("{:d}", "{:,d}", "#### {:,d} dollars in 3 days", "so **{:,d}**.", "\\boxed{{{:d}}}", "It is {:_d}"):
        assert parse_number(form.format(number)) == number


@given(st.integers(0, 999), st.integers(1, 999), st.integers(1, 999))
def test_mixed_numbers_are_exact(whole: int, over: int, extra: int) -> None:
    under = over + extra
    number = parse_number(f"{whole} {over}/{under} cups")
    assert number is not None
    assert abs(Fraction(number) - (whole + Fraction(over, under))) < Fraction(1, 10**50)
    assert number == parse_number(f"#### {whole * under + over}/{under}")


@given(st.text(max_size=400))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    parse_number(text)
    parse_number(f"#### {text}")
    parse_choice(text, ("A", "B"))


HOSTILE = {
    "long number": "9" * 10**6,
    "huge exponent": "1e999999999",
    "exponent past any int": "1e" + "9" * 100_000,
    "tower": "9" * 200 + "^" + "9" * 200,
    "power": "9" * 290 + "^300",
    "grouped": "1,111" * 10**5,
    "indian": "1,11" * 10**5,
    "continental": "1.111" * 10**5,
    "minus": "-" * 10**6,
    "markers": "#### " * 10**5,
    "empty lines": "####\n" + "\n" * 10**6,
    "boxes": r"\boxed{" * 10**5,
    "fractions": r"\frac{1}{" * 10**5,
    "spaces": " " * 10**6,
    "slashes": "1/" * 10**5,
    "carets": "1^" * 10**5,
    "vulgar": "½" * 10**5,
    "superscripts": "²" * 10**5,
    "surrogates": "\ud800" * 10**5,
    "NUL": "\0" * 10**5,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers_are_read_in_bounded_time(kind: str) -> None:
    start = time.process_time()
    number = parse_number(HOSTILE[kind])
    assert time.process_time() - start < 5
    assert number is None or abs(number.adjusted()) <= 400


def test_a_number_too_large_to_read_is_no_answer() -> None:
    assert parse_number("1e999999999") is None
    assert score_number("1" * 5000, NumberCheck(expected="1")).cause is Cause.NO_ANSWER


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("711", "11"), ("11", "711"), ("1.10", "10"), ("-5", "5"), ("70", "70000"), ("0.333", "1/3"), ("42.01", "42")],
)
def test_equality_and_never_a_suffix(answer: str, expected: str) -> None:
    score = score_number(answer, NumberCheck(expected=expected))
    assert (score.passed, score.cause) == (False, Cause.WRONG_ANSWER)


@pytest.mark.parametrize(
    ("answer", "expected"), [("42.00", "42"), ("2/6", "1/3"), ("1 1/3", "4/3"), ("$70,000", "70000"), ("-0", "0")]
)
def test_equal_values_pass_however_they_are_written(answer: str, expected: str) -> None:
    assert score_number(answer, NumberCheck(expected=expected)).passed is True


def test_no_number_is_a_failure_that_says_so() -> None:
    score = score_number("I cannot tell.", NumberCheck(expected="42"))
    assert (score.passed, score.cause) == (False, Cause.NO_ANSWER)
    assert "42" in score.detail


def test_a_wrong_number_names_both() -> None:
    assert score_number("41", NumberCheck(expected="42")).detail == "expected 42, got 41"


def test_an_expected_value_that_is_no_number_is_a_bug_of_the_suite() -> None:
    with pytest.raises(ValueError, match="is not a number"):
        score_number("41", NumberCheck(expected="many"))


TEXTS: list[tuple[Kind, str, str, bool]] = [
    ("exact", "Paris", "paris\n", True),
    ("exact", "Paris", "Paris, France", False),
    ("exact", "a\nb", "a\r\nb", True),
    ("exact", "caf\u00e9", "cafe\u0301", True),
    ("contains", "paris", "It is Paris.", True),
    ("contains", "Rome", "It is Paris.", False),
    ("regex", r"\b4\d\b", "about 42 of them", True),
    ("regex", r"^4\d$", "about 42 of them", False),
    ("regex", "PARIS", "paris", True),
]


@pytest.mark.parametrize(("kind", "expected", "answer", "passed"), TEXTS)
def test_texts_are_compared_without_case_or_outer_space(kind: Kind, expected: str, answer: str, passed: bool) -> None:
    assert score_text(answer, text_check(kind, expected)).passed is passed


@pytest.mark.parametrize("kind", ["exact", "contains", "regex"])
def test_case_counts_when_asked(kind: Kind) -> None:
    assert score_text("Paris", text_check(kind, "Paris", case_sensitive=True)).passed is True
    assert score_text("paris", text_check(kind, "Paris", case_sensitive=True)).passed is False


@pytest.mark.parametrize("kind", ["exact", "contains", "regex", "choice"])
def test_an_empty_answer_is_no_answer(kind: Kind) -> None:
    score = score_text(" \n", text_check(kind, "A"))
    assert (score.passed, score.cause) == (False, Cause.NO_ANSWER)


def test_a_pattern_that_runs_away_is_stopped_and_unscored() -> None:
    start = time.monotonic()
    score = score_text("a" * 60 + "!", text_check("regex", r"^(a|aa)+\d$"))
    assert time.monotonic() - start < 10 * REGEX_SECONDS
    assert (score.passed, score.cause) == (None, Cause.HARNESS)


CHOICES = {
    "B": "B",
    "b": "B",
    "(B)": "B",
    "B.": "B",
    "**B**": "B",
    "B) Paris": "B",
    "**B)** Paris, since it is the capital": "B",
    "The answer is B": "B",
    "The answer is (b).": "B",
    "**Answer:** B": "B",
    "Answer: **B**": "B",
    "The correct option is B because A is too small": "B",
    "A is wrong and C too.\nThe answer is B.": "B",
    "First I thought the answer is A, but the answer is B": "B",
    r"\boxed{B}": "B",
    r"\boxed{\text{B}}": "B",
    "#### B\nnot A": "B",
    "A good guess would be B": "B",
    "The answer is a city in France: B": "B",
    "I would go for B here": "B",
    "A) Rome\nB) Paris\nC) Oslo": None,
    "Either A or B": None,
    "none of them": None,
    "Because": None,
}


@pytest.mark.parametrize("answer", CHOICES)
def test_a_choice_is_read_only_where_one_is_settled_on(answer: str) -> None:
    assert parse_choice(answer, ("A", "B", "C", "D")) == CHOICES[answer]


def test_labels_may_be_words() -> None:
    check = TextCheck(kind="choice", expected="yes", labels=("yes", "no"))
    assert score_text("Yes.", check).passed is True
    assert score_text("The answer is no", check).cause is Cause.WRONG_ANSWER
    assert score_text("perhaps", check).cause is Cause.NO_ANSWER


def text_check(kind: Kind, expected: str, *, case_sensitive: bool = False) -> TextCheck:
    return TextCheck(kind=kind, expected=expected, case_sensitive=case_sensitive)


def gsm8k(name: str) -> Iterator[dict[str, Any]]:
    default = Path(__file__).parents[2].parent / "shared" / "data"
    path = Path(os.environ.get("TJBENCH_SHARED_DATA", default)) / "gsm8k" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def golds() -> list[str]:
    return [row["answer"].rpartition("####")[2].strip().replace(",", "") for row in gsm8k("test.jsonl")]


def test_every_gold_answer_of_gsm8k_parses() -> None:
    parsed = [parse_number(row["answer"]) for row in gsm8k("test.jsonl")]
    assert parsed == [Decimal(gold) for gold in golds()]
    assert len(parsed) == 1319


def test_real_model_answers_are_judged_as_the_authors_of_gsm8k_did() -> None:
    expected = golds()
    rows = list(gsm8k("model_solutions_6b.jsonl"))
    disagreements = []
    for row in rows:
        check = NumberCheck(expected=expected[int(row["task_id"].removeprefix("gsm8k/"))])
        if score_number(row["completion"], check).passed is not row["is_correct"]:
            disagreements.append(row["task_id"])
    assert len(rows) == 1320
    assert disagreements == []
