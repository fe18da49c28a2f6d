"""`tjbench.toml` and model specs: what is read, what is refused with its line, what a pull request cannot change."""

from __future__ import annotations

from datetime import date

import pytest

from tjbench.config import DEFAULT_FAIL_ON, Config, ModelSpec, Policy, Proof, config_of, parse_config
from tjbench.errors import ExitCode, UsageError
from tjbench.misconfig import line_of

NAME = "tjbench.toml"


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_config(text, NAME)
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value)


def config(text: str) -> Config:
    return parse_config(text, NAME)


# Models


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("bedrock:anthropic.claude-3-haiku-20240307-v1:0", "bedrock", "anthropic.claude-3-haiku-20240307-v1:0"),
        ("  ollama:llama3.2:3b \n", "ollama", "llama3.2:3b"),
        ("a::b", "a", ":b"),
    ],
)
def test_a_model_splits_at_its_first_colon(text: str, provider: str, model: str) -> None:
    spec = ModelSpec.parse(text)
    assert (spec.provider, spec.model) == (provider, model)
    assert str(spec) == text.strip()


@pytest.mark.parametrize("text", ["gpt-4o", "", ":", "openai:", ":gpt-4o", " : "])
def test_what_is_no_model_says_how_one_is_written(text: str) -> None:
    with pytest.raises(UsageError, match="is not a model") as caught:
        ModelSpec.parse(text)
    assert "provider:model" in str(caught.value)


# What is read


def test_an_empty_file_is_the_embedded_default() -> None:
    empty = config("")
    assert empty == Config()
    (proof,) = empty.proof
    assert proof.combinations() == [("samples", ModelSpec("anthropic", "claude-opus-4-7"))]
    assert proof.candidate is None
    assert (proof.samples, proof.temperature, proof.max_tokens, proof.required) == (1, None, 2048, True)
    assert empty.gate.fail_on == DEFAULT_FAIL_ON == (Policy.REGRESSION, Policy.UNSAFE, Policy.INCOMPLETE)
    assert (empty.gate.alpha, empty.gate.margin_pp, empty.gate.unscored_tolerance_pct) == (0.05, 10, 5)
    assert (empty.run.concurrency, empty.run.max_cost_usd, empty.run.mock) == (16, None, "auto")


def test_lists_make_every_combination() -> None:
    (proof,) = config('[[proof]]\nsuite = ["a", "b"]\noriginal = ["x:1", "y:2"]').proof
    assert proof.combinations() == [
        ("a", ModelSpec("x", "1")),
        ("a", ModelSpec("y", "2")),
        ("b", ModelSpec("x", "1")),
        ("b", ModelSpec("y", "2")),
    ]


def test_a_single_value_is_a_list_of_one() -> None:
    read = config('[[proof]]\nfail_on = "downsize"\n[gate]\nfail_on = "never"\n[baseline]\nbranches = "release/1"')
    assert read.proof[0].fail_on == (Policy.DOWNSIZE,)
    assert (read.gate.fail_on, read.baseline.branches) == ((Policy.NEVER,), ("release/1",))


@pytest.mark.parametrize("value", ["true", "false", '"auto"'])
def test_mock_is_a_switch_or_auto(value: str) -> None:
    read = config(f"[run]\nmock = {value}").run.mock
    assert read == {"true": True, "false": False, '"auto"': "auto"}[value]


def test_the_same_row_with_another_candidate_is_another_row() -> None:
    assert len(config('[[proof]]\n[[proof]]\ncandidate = "a:b"\n[[proof]]\ncandidate = "a:c"').proof) == 3


# What is refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gate]\n\nalfa = 0.1", ":3: unknown key gate.alfa; did you mean 'alpha'?"),
        ("[gates]\nalpha = 0.1", ":1: unknown key gates; did you mean 'gate'?"),
        ("# top\nmargin = 3", ":2: unknown key margin"),
        ("[[proof]]\n[[proof]]\nsuit = 'x'", ":3: unknown key proof.suit; did you mean 'suite'?"),
        ("[run]\nconcurrency = 4\nmax_cost = 1", ":3: unknown key run.max_cost; did you mean 'max_cost_usd'?"),
        ("gate.alfa = 1", ":1: unknown key gate.alfa"),
        ("[providers.x]\nbase_url = 'u'\n[providers.y]\nbase-url = 'v'", ":4: unknown key providers.y.base-url"),
        ("[providers.y]\nurl = 'v'", "allowed here: api_key_env, base_url"),
        ("[gate]\nzzz = 1", "allowed here: alpha, confirm, "),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_what_is_allowed(text: str, said: str) -> None:
    message = refused(text)
    assert f"{NAME}:" in message
    assert said in message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gate\nalpha = 1", 1),
        ("[gate]\nalpha = ", 2),
        ("[gate]\n\nalpha = 0.1\nalpha = 0.2", 4),
        ("[gate]\n[gate]", 2),
        ('a = "x\n', 1),
        ("a = [1,\n2,\n", 2),
        ("a = " + "[" * 100_000, 1),
        ("a = " + "9" * 5000, 1),
        ("\x00", 1),
    ],
)
def test_what_is_not_toml_is_said_with_its_line(text: str, line: int) -> None:
    assert refused(text).startswith(f"{NAME}:{line}: not TOML")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[gate]\nalpha = "high"', ":2: gate.alpha: must be a number"),
        ("[gate]\nalpha = 0", ":2: gate.alpha: must be greater than or equal to 0.000001 (got 0)"),
        ("[gate]\nalpha = 1e-300", ":2: gate.alpha: must be greater than or equal to 0.000001 (got 1e-300)"),
        ("[gate]\nalpha = 1.0", ":2: gate.alpha: must be less than 1"),
        ("[gate]\nalpha = nan", ":2: gate.alpha: must be a finite number"),
        ("[gate]\nmargin_pp = 100", ":2: gate.margin_pp: must be less than 100"),
        ("[gate]\nmargin_pp = 1e-15", ":2: gate.margin_pp: must be greater than or equal to 0.01"),
        ("[gate]\nunscored_tolerance_pct = -1", ":2: gate.unscored_tolerance_pct: must be greater than or equal to 0"),
        ("[[proof]]\nlimit = 2.5", ":2: proof.limit: must be a whole number"),
        ("[[proof]]\nlimit = 0", ":2: proof.limit: must be greater than or equal to 1"),
        ("[[proof]]\nsamples = 101", ":2: proof.samples: must be less than or equal to 100"),
        ("[[proof]]\ntemperature = 3", ":2: proof.temperature: must be less than or equal to 2"),
        ("[[proof]]\nsuite = 5", ":2: proof.suite: must be one value or a list (got 5)"),
        ("[[proof]]\nsuite = []", ":2: proof.suite: must not be empty"),
        ('[[proof]]\nsuite = ["a", 5]', ":2: proof.suite: must be text in quotes (got 5)"),
        ('[[proof]]\noriginal = "gpt-4o"', ":2: proof.original: 'gpt-4o' is not a model"),
        ('[[proof]]\n\ncandidate = "gpt-4o"', ":3: proof.candidate: 'gpt-4o' is not a model"),
        ('[proof]\nsuite = "a"', ":1: proof: is a list of tables: write [[proof]]"),
        ("gate = 5", ":1: gate: must be a table (got 5)"),
        ('[run]\nmock = "maybe"', ":2: run.mock: must be 'auto' or true or false"),
        ("[run]\nconcurrency = 0", ":2: run.concurrency: must be greater than or equal to 1"),
        ("[run]\nmax_cost_usd = -1", ":2: run.max_cost_usd: must be greater than or equal to 0"),
        ("[gate]\nfail_on = ['regresion']", "did you mean 'regression'?"),
        ("[gate]\nfail_on = ['nevr']", "did you mean 'never'?"),
        ("[gate]\nfail_on = []", ":2: gate.fail_on: names no policy; write 'never' for none"),
        ("[gate]\nfail_on = ['never', 'regression']", ":2: gate.fail_on: 'never' stands alone"),
        ("[[proof]]\nfail_on = ['regression', 'never']", ":2: proof.fail_on: 'never' stands alone"),
        ("[providers.x]\napi_key_env = 'X_API_KEY'", ":1: providers.x.base_url: is missing"),
        (
            "[providers.x]\nbase_url = 'u'\n[providers.y]\nbase_url = 'v'\napi_key_env = 'GITHUB_TOKEN'",
            ":5: providers.y.api_key_env: ",
        ),
        ("[mock.accuracy]\n'a:b' = 2", ":2: mock.accuracy.a:b: must be less than or equal to 1"),
        ("[mock]\naccuracy = { haiku = 0.5 }", ":2: mock.accuracy.haiku: 'haiku' is not a model"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_what_is_allowed(text: str, said: str) -> None:
    message = refused(text)
    assert message.startswith(f"{NAME}:")
    assert said in message


def test_a_row_that_stands_twice_is_named_with_its_line() -> None:
    twice = '[[proof]]\nsuite = ["a", "b"]\n\n[[proof]]\nsuite = "b"\n'
    assert f"{NAME}:4: proof: suite 'b' with original anthropic:claude-opus-4-7 stands in two proofs" in refused(twice)
    assert "stands there twice" in refused('[[proof]]\noriginal = ["a:b", " a:b"]')
    assert "stands in two proofs" in refused('[[proof]]\ncandidate = "a:b"\n[[proof]]\ncandidate = "a:b"\nlimit = 3')


@pytest.mark.parametrize(
    ("prefix", "tables", "said"),
    [
        ("--", {"proof": [{"limit": "ten"}]}, "--limit: must be a whole number"),
        ("input ", {"proof": [{"limit": "ten"}]}, "input limit: must be a whole number"),
        ("--", {"run": {"max_cost_usd": "-1"}}, "--max-cost-usd: must be greater than or equal to 0 (got '-1')"),
        ("input ", {"run": {"max_cost_usd": "much"}}, "input max-cost-usd: must be a number"),
        ("--", {"gate": {"fail_on": ["regresion"]}}, "--fail-on: must be 'regression'"),
        ("input ", {"run": {"mock": "maybe"}}, "input mock: must be 'auto' or true or false"),
        ("input ", {"proof": [{"suite": []}]}, "input benchmarks: must not be empty"),
        ("--", {"proof": [{"suite": []}]}, "--benchmark: must not be empty"),
        ("--", {"proof": [{"original": ["gpt-4o"]}]}, "--original: 'gpt-4o' is not a model"),
    ],
)
def test_a_wrong_flag_or_input_is_named_as_it_is_spelled(prefix: str, tables: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        config_of(tables, prefix)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("", ("gate", "alpha"), 1),
        ("[gate]\nalpha = 1", ("gate", "alpha"), 2),
        ("[run]\nalpha = 1\n[gate]\nalpha = 1", ("gate", "alpha"), 4),
        ("[gate]\nx = 1\n[run]\nalpha = 1", ("gate", "alpha"), 1),
        ("gate = { alpha = 1 }", ("gate", "alpha"), 1),
        ('\n"gate" . alpha = 1', ("gate", "alpha"), 2),
        ("[[proof]]\n[[proof]]\nlimit = 1\n[[proof]]\nlimit = 2", ("proof", 2, "limit"), 5),
        ("[[proof]]\n[[proof]]", ("proof", 1, "limit"), 2),
        ("[mock]\n[mock.accuracy] # note\n'a:b' = 1", ("mock", "accuracy", "a:b"), 3),
    ],
)
def test_the_line_of_a_key_is_its_own_or_its_tables(text: str, path: tuple[int | str, ...], line: int) -> None:
    assert line_of(text, path) == line


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Proof().limit = 3


ACCEPT = """
[[accept]]
suite = "humaneval"
original = "a:b"
until = 2026-12-31
reason = " known since the last release "
"""


def test_an_acceptance_is_about_what_tokenjam_recommends_unless_it_names_a_model() -> None:
    (accept,) = config(ACCEPT).accept
    assert (accept.candidate, accept.until, accept.reason) == (
        "recommended",
        date(2026, 12, 31),
        "known since the last release",
    )
    (accept,) = config(ACCEPT + 'candidate = "c:d"').accept
    assert accept.candidate == "c:d"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("until = 2026-12-31\n", "", "tjbench.toml:2: accept.until: is missing"),
        ("2026-12-31", '"2026-12-31"', "tjbench.toml:5: accept.until: must be a date without quotes"),
        ("2026-12-31", "2026-12-31T00:00:00Z", "tjbench.toml:5: accept.until: must be a date without quotes"),
        ('" known since the last release "', '" "', "tjbench.toml:6: accept.reason:"),
        ("reason", "reasons", "tjbench.toml:6: unknown key accept.reasons; did you mean 'reason'?"),
        ("a:b", "ab", "tjbench.toml:4: accept.original: 'ab' is not a model"),
        ("[[accept]]", "[accept]", "tjbench.toml:2: accept: is a list of tables: write [[accept]]"),
    ],
)
def test_a_wrong_acceptance_is_named_by_its_line(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        config(ACCEPT.replace(old, new))
    assert str(caught.value).startswith(said)
