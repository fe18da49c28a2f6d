"""Flags and inputs over the file: what wins, what lists become, and how a wrong value is named."""

from __future__ import annotations

import pytest

from tjbench.config import DEFAULT_FAIL_ON, Config, Policy, parse_config
from tjbench.errors import UsageError
from tjbench.settings import gate_config, overridden, split_list

FILE = parse_config(
    """
[[proof]]
suite = ["humaneval", "samples"]
original = ["a:1", "a:2"]
limit = 80
samples = 2
margin_pp = 2
fail_on = "downsize"
[gate]
fail_on = ["regression", "dropped"]
alpha = 0.01
margin_pp = 5
[run]
concurrency = 4
max_cost_usd = 3
mock = true
[baseline]
dir = "baselines"
[providers.gateway]
base_url = "https://llm.example.com"
[mock.accuracy]
"a:1" = 0.5
""",
    "tjbench.toml",
)
TWO = parse_config('[[proof]]\nsuite = "x"\nrequired = false\n[[proof]]\nsuite = "y"\nlimit = 3', "tjbench.toml")


def proofs(config: Config) -> list[tuple[tuple[str, ...], tuple[str, ...], str | None]]:
    return [(proof.suite, proof.original, proof.candidate) for proof in config.proof]


@pytest.mark.parametrize("config", [Config(), FILE, TWO])
def test_nothing_given_changes_nothing(config: Config) -> None:
    nothing = dict.fromkeys(
        ("mock", "max_cost_usd", "concurrency", "fail_on", "alpha", "margin_pp", "limit", "samples", "data"), None
    )
    assert overridden(config, nothing, "--") == config
    assert overridden(config, {}, "input ") == config


def test_what_is_given_wins_and_the_rest_is_the_files() -> None:
    config = overridden(
        FILE, {"max_cost_usd": "7.5", "concurrency": 8, "mock": False, "alpha": "0.1", "limit": "10"}, "--"
    )
    assert (config.run.max_cost_usd, config.run.concurrency, config.run.mock) == (7.5, 8, False)
    assert (config.gate.alpha, config.gate.margin_pp) == (0.1, 5)
    assert (config.proof[0].limit, config.proof[0].samples) == (10, 2)
    assert (config.baseline, config.providers, config.mock) == (FILE.baseline, FILE.providers, FILE.mock)


def test_zero_is_a_value() -> None:
    assert overridden(FILE, {"max_cost_usd": 0}, "--").run.max_cost_usd == 0


def test_what_holds_for_all_proofs_is_given_to_each() -> None:
    config = overridden(TWO, {"limit": 9, "samples": 4, "data": "rows.jsonl"}, "--")
    assert [(proof.limit, proof.samples, proof.data) for proof in config.proof] == [(9, 4, "rows.jsonl")] * 2
    assert [proof.required for proof in config.proof] == [False, True]


def test_a_given_margin_holds_for_every_proof() -> None:
    config = overridden(FILE, {"margin_pp": 7}, "--")
    assert (config.gate.margin_pp, config.proof[0].margin_pp) == (7, None)


@pytest.mark.parametrize("given", ["never", "regression, downsize", "regression\ndownsize\n", "incomplete"])
def test_given_policies_hold_for_every_proof(given: str) -> None:
    config = overridden(FILE, {"fail_on": given}, "input ")
    assert [str(policy) for policy in config.gate.fail_on] == split_list(given)
    assert config.proof[0].fail_on is None


def test_policies_that_are_not_given_stay_the_files() -> None:
    config = overridden(FILE, {"alpha": 0.1}, "--")
    assert config.gate.fail_on == (Policy.REGRESSION, Policy.DROPPED)
    assert config.proof[0].fail_on == (Policy.DOWNSIZE,)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b ,, ", ["a", "b"]),
        ("a\nb\r\n\nc", ["a", "b", "c"]),
        ("", []),
        (" ,\n", []),
    ],
)
def test_lists_are_by_comma_or_line(text: str, items: list[str]) -> None:
    assert split_list(text) == items


# Rows in place of the file's


def test_suites_given_replace_the_files_and_keep_the_rest_of_its_only_proof() -> None:
    (proof,) = overridden(FILE, {"benchmarks": "gsm8k, mine.jsonl"}, "input ").proof
    assert (proof.suite, proof.original) == (("gsm8k", "mine.jsonl"), ("a:1", "a:2"))
    assert (proof.limit, proof.samples, proof.margin_pp, proof.fail_on) == (80, 2, 2, (Policy.DOWNSIZE,))


def test_rows_given_replace_all_of_several_proofs() -> None:
    config = overridden(TWO, {"benchmarks": "z"}, "input ")
    assert proofs(config) == [(("z",), ("anthropic:claude-opus-4-7",), None)]
    assert config.proof[0].required
    assert config.proof[0].limit is None


def test_as_many_candidates_as_originals_go_in_pairs() -> None:
    config = overridden(FILE, {"original": "a:1\na:2", "candidate": "b:1, b:2"}, "input ")
    suites = ("humaneval", "samples")
    assert proofs(config) == [(suites, ("a:1",), "b:1"), (suites, ("a:2",), "b:2")]


def test_one_candidate_is_for_every_original() -> None:
    assert proofs(overridden(FILE, {"candidate": "b:1"}, "--")) == [(("humaneval", "samples"), ("a:1", "a:2"), "b:1")]


def test_other_numbers_of_candidates_make_every_combination() -> None:
    config = overridden(Config(), {"original": "a:1, a:2", "candidate": "b:1, b:2, b:3"}, "input ")
    assert [candidate for _, _, candidate in proofs(config)] == ["b:1", "b:2", "b:3"]
    assert {original for _, original, _ in proofs(config)} == {("a:1", "a:2")}


# What is wrong


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": "ten"}, "limit: must be a whole number"),
        ({"limit": "0"}, "limit: must be greater than or equal to 1"),
        ({"samples": "1000"}, "samples: must be less than or equal to 100"),
        ({"concurrency": "-3"}, "concurrency: must be greater than or equal to 1"),
        ({"max_cost_usd": "cheap"}, "max-cost-usd: must be a number"),
        ({"alpha": "1"}, "alpha: must be less than 1"),
        ({"margin_pp": "nan"}, "margin-pp: must be a finite number"),
        ({"fail_on": "regression, sometimes"}, "fail-on: must be 'regression'"),
        ({"fail_on": "never,regression"}, "fail-on: 'never' stands alone"),
        ({"fail_on": " , "}, "fail-on: names no policy"),
        ({"original": "gpt-4o"}, "original: 'gpt-4o' is not a model"),
        ({"candidate": "b:1, gpt"}, "candidate: 'gpt' is not a model"),
    ],
)
def test_a_wrong_value_is_named_as_it_was_given(given: dict[str, object], said: str) -> None:
    for prefix in ("--", "input "):
        with pytest.raises(UsageError) as caught:
            overridden(Config(), given, prefix)
        assert str(caught.value).startswith(prefix + said)


def test_an_empty_list_of_suites_is_named_as_each_spells_it() -> None:
    for prefix, name in (("--", "benchmark"), ("input ", "benchmarks")):
        with pytest.raises(UsageError, match=f"^{prefix}{name}: must not be empty"):
            overridden(Config(), {"benchmarks": ","}, prefix)


def test_a_row_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="stands in two proofs"):
        overridden(Config(), {"original": "a:1", "candidate": "b:1, b:1"}, "--")


# The flags of `tjb gate`


def test_gate_flags_over_the_default() -> None:
    assert gate_config(fail_on=None, alpha=None, margin_pp=None) == Config()
    config = gate_config(fail_on="downsize", alpha=0.2, margin_pp=3)
    assert (config.gate.fail_on, config.gate.alpha, config.gate.margin_pp) == ((Policy.DOWNSIZE,), 0.2, 3)
    assert config.gate.unscored_tolerance_pct == 5
    assert gate_config(fail_on=None, alpha=0.2, margin_pp=None).gate.fail_on == DEFAULT_FAIL_ON
