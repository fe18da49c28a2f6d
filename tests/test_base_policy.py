"""A pull request changes what is measured, never how it is judged."""

from __future__ import annotations

from tjbench.base_policy import judged_by_base
from tjbench.config import Config, Policy, parse_config


def config(text: str) -> Config:
    return parse_config(text, "tjbench.toml")


BASE = """
[[proof]]
suite = ["humaneval", "samples"]
original = "a:b"
fail_on = ["regression", "downsize", "incomplete"]
margin_pp = 2
[[proof]]
suite = "advice"
original = "a:b"
required = false
[gate]
alpha = 0.01
[run]
max_cost_usd = 3
mock = false
[baseline]
branches = "release/1.0"
[providers.gateway]
base_url = "https://llm.example.com"
api_key_env = "GATEWAY_API_KEY"
[mock]
default = 0.9
"""
HOSTILE = """
[[proof]]
suite = ["humaneval", "samples"]
original = "a:b"
required = false
fail_on = "never"
margin_pp = 50
[[proof]]
suite = "advice"
original = "a:b"
[gate]
fail_on = "never"
alpha = 0.000001
margin_pp = 99
unscored_tolerance_pct = 100
[run]
max_cost_usd = 100000
mock = true
concurrency = 2
[baseline]
branches = "mine"
dir = "forged"
[providers.gateway]
base_url = "https://evil.example.com"
api_key_env = "OPENAI_API_KEY"
[mock]
default = 1.0
"""


def rows(read: Config) -> dict[tuple[str, str], tuple[bool, float | None, tuple[Policy, ...] | None]]:
    return {
        (suite, str(original)): (proof.required, proof.margin_pp, proof.fail_on)
        for proof in read.proof
        for suite, original in proof.combinations()
    }


def test_a_hostile_pull_request_weakens_nothing() -> None:
    base = config(BASE)
    judged, notes = judged_by_base(config(HOSTILE), base)
    assert (judged.gate, judged.baseline, judged.providers, judged.mock) == (
        base.gate,
        base.baseline,
        base.providers,
        base.mock,
    )
    assert (judged.run.max_cost_usd, judged.run.mock, judged.run.concurrency) == (3, False, 2)
    assert rows(judged) == rows(base)
    assert notes == [
        "[gate]",
        "[providers]",
        "[baseline]",
        "[run] max_cost_usd, deadline_minutes, allow_unpriced, mock, reuse, max_age_days",
        "[mock]",
        "[[proof]] required, margin_pp, fail_on",
    ]


def test_what_a_pull_request_leaves_alone_is_not_mentioned() -> None:
    base = config(BASE)
    judged, notes = judged_by_base(base, base)
    assert (judged, notes) == (base, [])


def test_what_is_measured_is_the_pull_requests() -> None:
    changed = BASE.replace('["humaneval", "samples"]', '"humaneval"').replace(
        "margin_pp = 2", "margin_pp = 2\nlimit = 5"
    )
    judged, notes = judged_by_base(config(changed), config(BASE))
    assert (judged.proof[0].suite, judged.proof[0].limit) == (("humaneval",), 5)
    assert [(row.suite, row.original, row.margin_pp) for row in judged.dropped] == [(("samples",), ("a:b",), 2)]
    assert notes == ["removal of the proof samples, a:b"]


def test_a_row_added_to_a_strict_proof_does_not_loosen_the_others() -> None:
    more = BASE.replace('["humaneval", "samples"]', '["humaneval", "samples", "new"]')
    judged, notes = judged_by_base(config(more), config(BASE))
    strict = (True, 2, (Policy.REGRESSION, Policy.DOWNSIZE, Policy.INCOMPLETE))
    assert rows(judged) == {
        ("humaneval", "a:b"): strict,
        ("samples", "a:b"): strict,
        ("new", "a:b"): (True, None, None),  # the gate's own policy, until the base says otherwise
        ("advice", "a:b"): (False, None, None),
    }
    assert notes == ["[[proof]] required, margin_pp, fail_on"]


def test_policies_that_swap_places_are_put_back_and_said() -> None:
    base = config('[[proof]]\nsuite = "a"\nrequired = false\n[[proof]]\nsuite = "b"')
    swapped = config('[[proof]]\nsuite = "a"\n[[proof]]\nsuite = "b"\nrequired = false')
    judged, notes = judged_by_base(swapped, base)
    assert rows(judged) == rows(base)
    assert notes == ["[[proof]] required, margin_pp, fail_on"]


def test_a_new_row_cannot_make_itself_advisory() -> None:
    judged, notes = judged_by_base(config('[[proof]]\nsuite = "new"\nrequired = false\nfail_on = "never"'), Config())
    assert rows(judged) == {("new", "anthropic:claude-opus-4-7"): (True, None, None)}
    assert notes == ["[[proof]] required, margin_pp, fail_on"]


def test_a_row_keeps_its_policy_when_its_candidate_changes() -> None:
    base = '[[proof]]\ncandidate = "x:1"\nmargin_pp = 2'
    judged, notes = judged_by_base(config(base.replace("x:1", "x:2")), config(base))
    assert (judged.proof[0].margin_pp, judged.proof[0].candidate) == (2, "x:2")
    assert notes == ["removal of the proof samples, anthropic:claude-opus-4-7 → x:1"]


def test_candidates_of_one_original_keep_policies_of_their_own() -> None:
    base = config('[[proof]]\ncandidate = "x:1"\nmargin_pp = 2\n[[proof]]\ncandidate = "x:2"\nrequired = false')
    assert judged_by_base(base, base) == (base, [])
    third = config('[[proof]]\ncandidate = "x:3"\nrequired = false')
    assert judged_by_base(third, base)[0].proof[0].required


def test_the_first_configuration_of_a_repository_is_judged_by_the_default() -> None:
    judged, notes = judged_by_base(config(HOSTILE), Config())
    assert (judged.gate, judged.providers, judged.run.max_cost_usd) == (Config().gate, {}, None)
    assert set(rows(judged).values()) == {(True, None, None)}
    assert notes


def test_a_pull_request_accepts_no_regression_of_its_own() -> None:
    accept = '[[accept]]\nsuite = "humaneval"\noriginal = "a:b"\nuntil = 2030-01-01\nreason = "mine"\n'
    judged, notes = judged_by_base(config(BASE + accept), config(BASE))
    assert (judged.accept, notes) == ((), ["[[accept]]"])
    base = config(BASE + accept)
    judged, notes = judged_by_base(config(BASE), base)
    assert (judged.accept, notes) == (base.accept, ["[[accept]]"])
