from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from tests.fakes.shared import shared
from tests.fakes.venv import add_package, make_venv
from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError, UsageError
from tjbench.pricing import Rates, Usage, cost_usd
from tjbench.tokenjam import Snapshot, TokenJam, claimed_saving_pct, open_tokenjam, overrides_in

NOW = datetime(2026, 11, 29, tzinfo=UTC)
BEFORE_SEPTEMBER = datetime(2026, 8, 31, tzinfo=UTC)
INSTALLED = importlib.metadata.version("tokenjam")
DATA = Path(os.environ.get("TJBENCH_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data") / "tokenjam"
OPUS = ModelSpec.parse("anthropic:claude-opus-4-7")
HAIKU = ModelSpec.parse("anthropic:claude-haiku-4-5")
SONNET_5 = ModelSpec.parse("anthropic:claude-sonnet-5")
OPUS_5 = ModelSpec.parse("anthropic:claude-opus-5")

values_of_2026 = pytest.mark.skipif(
    not Version("0.6.2") <= Version(INSTALLED) <= Version("0.7.0"), reason=f"tokenjam {INSTALLED} may say other values"
)


@pytest.fixture
def installed(tmp_path: Path) -> TokenJam:
    """The tokenjam beside us, for a user without price overrides."""
    return open_tokenjam(environ={"HOME": str(tmp_path)}, cwd=tmp_path)


def saving(snapshot: Snapshot, original: ModelSpec) -> float | None:
    candidate = snapshot.candidates[original]
    assert candidate is not None
    return claimed_saving_pct(snapshot.rates[original], snapshot.rates[candidate])


@values_of_2026
def test_one_snapshot_has_candidates_and_the_rates_of_both_sides(installed: TokenJam) -> None:
    snapshot = installed.snapshot([OPUS, HAIKU], trust_overrides=False, at=NOW)
    assert (snapshot.version, snapshot.lookup, snapshot.at) == (INSTALLED, "lookup_downgrade", NOW)
    assert snapshot.candidates == {OPUS: HAIKU, HAIKU: None}
    assert snapshot.rates[OPUS] == Rates(
        input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, source="packaged", at=NOW
    )
    assert saving(snapshot, OPUS) == pytest.approx(80.0)


@values_of_2026
def test_rates_are_those_of_the_instant_they_are_asked_for(installed: TokenJam) -> None:
    after = installed.snapshot([OPUS_5], trust_overrides=False, at=NOW)
    before = installed.snapshot([OPUS_5], trust_overrides=False, at=BEFORE_SEPTEMBER)
    assert (after.rates[SONNET_5].input, after.rates[SONNET_5].output) == (3.0, 15.0)
    assert (before.rates[SONNET_5].input, before.rates[SONNET_5].output) == (2.0, 10.0)
    assert saving(after, OPUS_5) == pytest.approx(40.0)
    assert saving(before, OPUS_5) == pytest.approx(60.0)


@values_of_2026
def test_a_model_that_tokenjam_does_not_know_has_its_placeholder(installed: TokenJam) -> None:
    unknown = ModelSpec.parse("nowhere:nothing")
    snapshot = installed.snapshot([unknown], trust_overrides=False, at=NOW)
    assert snapshot.candidates == {unknown: None}
    assert snapshot.rates[unknown] == Rates(
        input=0.5,
        output=2.0,
        cache_read=0.05,
        cache_write=0.625,
        cache_read_specified=False,
        cache_write_specified=False,
        source="default",
        at=NOW,
    )


@values_of_2026
def test_a_recommendation_that_tokenjam_cannot_price_is_visible(installed: TokenJam) -> None:
    bedrock = ModelSpec.parse("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    snapshot = installed.snapshot([bedrock], trust_overrides=False, at=NOW)
    candidate = snapshot.candidates[bedrock]
    assert candidate == ModelSpec("bedrock", "claude-haiku-4-5")
    assert snapshot.rates[candidate].source == "default"


@values_of_2026
def test_a_cache_rate_that_is_not_stated_is_marked(installed: TokenJam) -> None:
    rates = installed.snapshot([ModelSpec.parse("openai:gpt-4o")], trust_overrides=False, at=NOW).rates
    gpt = rates[ModelSpec.parse("openai:gpt-4o")]
    assert (gpt.cache_read, gpt.cache_read_specified, gpt.cache_write_specified) == (0.0, False, False)


def truth(name: str) -> dict[str, Any]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    versions: dict[str, Any] = json.loads(path.read_text())["versions"]
    if INSTALLED not in versions:
        pytest.skip(f"{path} does not have tokenjam {INSTALLED}")
    found: dict[str, Any] = versions[INSTALLED]
    return found


def test_recommendations_are_those_of_the_truth_table(installed: TokenJam) -> None:
    table = truth("candidates_by_version.json")
    everything = installed.all_recommendations(trust_overrides=False, at=NOW)
    assert everything.candidates == {
        ModelSpec(provider, model): ModelSpec(provider, target)
        for provider, models in table["candidates"].items()
        for model, target in models.items()
    }
    probes = {ModelSpec(*name.split("|", 1)): target for name, target in table["lookup_results"].items()}
    found = installed.snapshot(probes, trust_overrides=False, at=NOW).candidates
    assert {spec: candidate.model if candidate else None for spec, candidate in found.items()} == probes
    assert len(probes) == 40


@pytest.mark.parametrize(("key", "at"), [("default", NOW), ("at=2026-08-31", BEFORE_SEPTEMBER)])
def test_rates_are_those_of_the_truth_table(installed: TokenJam, key: str, at: datetime) -> None:
    table = {
        ModelSpec(*name.split("/", 1)): rows.get(key) for name, rows in truth("rates_by_version.json")["rates"].items()
    }
    found = installed.snapshot(table, trust_overrides=False, at=at).rates
    for spec, row in table.items():
        ours = found[spec]
        if row is None:
            assert ours.source == "default", spec
            continue
        assert ours.source == "packaged", spec
        assert row == {
            "input_per_mtok": ours.input,
            "output_per_mtok": ours.output,
            "cache_read_per_mtok": ours.cache_read,
            "cache_write_per_mtok": ours.cache_write,
            "cache_read_specified": ours.cache_read_specified,
            "cache_write_specified": ours.cache_write_specified,
        }, spec


@pytest.mark.parametrize(
    ("original", "candidate", "expected"),
    [((5, 25), (1, 5), 80.0), ((3, 15), (1, 5), 200 / 3), ((1, 1), (2, 2), -100.0), ((0, 0), (1, 1), None)],
)
def test_the_claimed_saving_weighs_three_inputs_to_one_output(
    original: tuple[float, float], candidate: tuple[float, float], expected: float | None
) -> None:
    before, after = (
        Rates(input=pair[0], output=pair[1], cache_read=0, cache_write=0, source="packaged", at=NOW)
        for pair in (original, candidate)
    )
    assert claimed_saving_pct(before, after) == (None if expected is None else pytest.approx(expected))


# Dollars: the same tokens through tokenjam's own calculate_cost, in a process of its own.

COUNTER = """
import json, sys
from datetime import datetime
from tokenjam.core.cost import calculate_cost
for line in sys.stdin:
    provider, model, at, *tokens = json.loads(line)
    print(calculate_cost(provider, model, *tokens, at=datetime.fromisoformat(at)), flush=True)
"""
PRICED = (
    "anthropic:claude-opus-4-7",
    "anthropic:claude-sonnet-5",
    "openai:gpt-4o-mini",
    "deepseek:deepseek-chat",
    "bedrock:us.amazon.nova-micro-v1:0",
    "x:y",
)


@pytest.fixture(scope="module")
def calculate_cost() -> Iterator[tuple[IO[str], IO[str]]]:
    if Version(INSTALLED) < Version("0.6.2"):
        pytest.skip(f"calculate_cost of tokenjam {INSTALLED} knows no instant")
    with subprocess.Popen(
        [sys.executable, "-I", "-c", COUNTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"HOME": "/nonexistent"},
        cwd="/",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout
        process.stdin.close()


@pytest.fixture(scope="module")
def priced() -> Mapping[ModelSpec, Rates]:
    jam = open_tokenjam(environ={"HOME": "/nonexistent"}, cwd=Path("/"))
    return jam.snapshot(map(ModelSpec.parse, PRICED), trust_overrides=False, at=NOW).rates


few, many = st.integers(0, 60), st.integers(0, 3_000_000)
counts = st.tuples(few, few, few, few) | st.tuples(many, many, many, many)


@settings(max_examples=400, deadline=None)
@given(name=st.sampled_from(PRICED), tokens=counts)
def test_dollars_equal_tokenjams_own(
    calculate_cost: tuple[IO[str], IO[str]],
    priced: Mapping[ModelSpec, Rates],
    name: str,
    tokens: tuple[int, int, int, int],
) -> None:
    spec = ModelSpec.parse(name)
    ask, answer = calculate_cost
    print(json.dumps([spec.provider, spec.model, NOW.isoformat(), *tokens]), file=ask, flush=True)
    usage = Usage(input=tokens[0], output=tokens[1], cache_read=tokens[2], cache_write=tokens[3])
    assert cost_usd(usage, priced[spec]) == float(answer.readline())


@values_of_2026
def test_every_priced_span_of_a_store_costs_what_tokenjam_stored(installed: TokenJam) -> None:
    duckdb = pytest.importorskip("duckdb")
    columns = "provider, model, input_tokens, output_tokens, cache_tokens, cache_write_tokens, start_time, cost_usd"
    query = f"SELECT {columns}, json_extract_string(request_params, '$.speed') FROM spans WHERE cost_usd IS NOT NULL"
    with duckdb.connect(str(shared("telemetry/telemetry_0_7_0.duckdb")), read_only=True) as store:
        store.execute("SET TimeZone = 'UTC'")
        spans = [span for span in store.execute(query).fetchall() if any(span[2:6])]
    assert len(spans) == 75
    days: dict[tuple[datetime, str | None], list[tuple[Any, ...]]] = {}
    for span in spans:
        day = span[6].replace(hour=0, minute=0, second=0, microsecond=0)
        days.setdefault((day, span[8] if span[8] != "standard" else None), []).append(span)
    for (day, variant), held in days.items():
        specs = [ModelSpec(span[0] or "unknown", span[1]) for span in held]
        rates = installed.snapshot(specs, trust_overrides=False, at=day, variant=variant).rates
        for spec, span in zip(specs, held, strict=True):
            tokens = dict(
                zip(("input", "output", "cache_read", "cache_write"), (n or 0 for n in span[2:6]), strict=True)
            )
            assert cost_usd(Usage(**tokens), rates[spec]) == span[7], (spec, span)


# Overrides.

PRICES = "[pricing.anthropic.claude-opus-4-7]\ninput_per_mtok = 100.0\noutput_per_mtok = 500.0\n"
FILE_PRICES = '[anthropic."claude-opus-4-7"]\ninput_per_mtok = 7.0\noutput_per_mtok = 8.0\n'


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


OVERRIDES = {
    "work/.tj/config.toml": (PRICES, 100.0, "./.tj/config.toml [pricing]"),
    "work/tokenjam.toml": (PRICES, 100.0, "./tokenjam.toml [pricing]"),
    "home/.config/tj/config.toml": (PRICES, 100.0, "{0}/home/.config/tj/config.toml [pricing]"),
    "home/.config/tj/pricing.toml": (FILE_PRICES, 7.0, "{0}/home/.config/tj/pricing.toml"),
    "set/prices.toml": (FILE_PRICES, 7.0, "TJ_PRICING_FILE={0}/set/prices.toml"),
    "set/config.toml": (PRICES, 100.0, "{0}/set/config.toml [pricing]"),
}


def with_overrides(root: Path, *places: str) -> TokenJam:
    """The tokenjam beside us, for a user with price overrides in these places."""
    for directory in ("home", "work"):
        (root / directory).mkdir()
    for place in places:
        write(root / place, OVERRIDES[place][0])
    settings = {"TJ_PRICING_FILE": root / "set/prices.toml", "TJ_CONFIG": root / "set/config.toml"}
    set_there = {name: str(path) for name, path in settings.items() if path.exists()}
    return open_tokenjam(environ={"HOME": str(root / "home"), **set_there}, cwd=root / "work")


@pytest.mark.parametrize("place", OVERRIDES)
def test_a_trusted_override_applies_and_is_named(tmp_path: Path, place: str) -> None:
    snapshot = with_overrides(tmp_path, place).snapshot([OPUS], trust_overrides=True, at=NOW)
    _, dollars, name = OVERRIDES[place]
    assert (snapshot.rates[OPUS].input, snapshot.rates[OPUS].source) == (dollars, "override")
    assert snapshot.rates[HAIKU].source == "packaged"
    assert snapshot.overrides == (name.format(tmp_path),)
    assert snapshot.ignored_overrides == ()


def test_overrides_that_are_not_trusted_are_listed_and_do_not_apply(tmp_path: Path) -> None:
    snapshot = with_overrides(tmp_path, *OVERRIDES).snapshot([OPUS], trust_overrides=False, at=NOW)
    assert snapshot.rates[OPUS].source == "packaged"
    assert snapshot.rates[OPUS].input not in {7.0, 100.0}
    assert snapshot.overrides == ()
    assert set(snapshot.ignored_overrides) == {
        f"TJ_CONFIG={tmp_path}/set/config.toml" if place == "set/config.toml" else name.format(tmp_path)
        for place, (_, _, name) in OVERRIDES.items()
    }


def test_only_files_that_set_prices_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "tokenjam.toml", "[capture]\nprompts = true\n")
    assert overrides_in(tmp_path) == []
    write(tmp_path / ".tj" / "config.toml", PRICES)
    assert overrides_in(tmp_path) == ["./.tj/config.toml [pricing]"]
    write(tmp_path / "tokenjam.toml", "not toml = = =")
    assert overrides_in(tmp_path) == ["./tokenjam.toml [pricing]", "./.tj/config.toml [pricing]"]


# Any tokenjam: packages of our making, in an environment of their own.

PRICING = """
from collections import namedtuple
DEFAULT_INPUT_PER_MTOK, DEFAULT_OUTPUT_PER_MTOK = 0.5, 2.0
Row = namedtuple("Row", "input_per_mtok output_per_mtok cache_read_per_mtok cache_write_per_mtok")
def get_rates(provider, model):
    return Row(3.0, 15.0, 0.3, 0.0) if (provider, model) == ("p", "big") else None
"""
MAP = "DOWNGRADE_CANDIDATES = {'p': {'big': 'small'}}\n"
ANALYZER = "tokenjam/core/optimize/analyzers/model_downgrade.py"
BIG, SMALL = ModelSpec("p", "big"), ModelSpec("p", "small")


def fake(
    tmp_path: Path, files: Mapping[str, str], *, version: str = "9.1.0", environ: Mapping[str, str] = {}
) -> TokenJam:
    python = make_venv(tmp_path / "env")
    packages = {"tokenjam/__init__.py": "", "tokenjam/core/__init__.py": "", "tokenjam/core/pricing.py": PRICING}
    add_package(python, {**packages, **files}, version=version)
    return open_tokenjam(python, environ={"HOME": str(tmp_path), **environ}, cwd=tmp_path)


@pytest.mark.parametrize(
    ("files", "lookup", "candidate"),
    [
        ({}, "none", None),
        ({"tokenjam/core/optimize.py": MAP}, "map", SMALL),
        ({"tokenjam/core/optimize.py": MAP + "def _lookup_downgrade(p, m): return 'old'"}, "_lookup_downgrade", "old"),
        ({"tokenjam/core/optimize/__init__.py": MAP, ANALYZER: "def _lookup_downgrade(p, m): return 'old'"},
         "_lookup_downgrade", "old"),
        ({"tokenjam/core/optimize/__init__.py": MAP,
          ANALYZER: "def lookup_downgrade(p, m): return 'new'\ndef _lookup_downgrade(p, m): return 'old'"},
         "lookup_downgrade", "new"),
    ],
)  # fmt: skip
def test_the_look_up_is_the_best_that_the_version_has(
    tmp_path: Path, files: dict[str, str], lookup: str, candidate: ModelSpec | str | None
) -> None:
    snapshot = fake(tmp_path, files).snapshot([BIG], trust_overrides=True)
    expected = ModelSpec("p", candidate) if isinstance(candidate, str) else candidate
    assert (snapshot.lookup, snapshot.candidates[BIG]) == (lookup, expected)


def test_an_old_version_states_rates_without_marks(tmp_path: Path) -> None:
    rates = fake(tmp_path, {"tokenjam/core/optimize.py": MAP}).snapshot([BIG], trust_overrides=True, at=NOW).rates
    assert rates[BIG] == Rates(
        input=3.0, output=15.0, cache_read=0.3, cache_write=0.0, cache_write_specified=False, source="packaged", at=NOW
    )
    assert (rates[SMALL].source, rates[SMALL].cache_read) == ("default", 0.0)


def test_what_tokenjam_prints_does_not_spoil_the_answer(tmp_path: Path) -> None:
    noisy = fake(tmp_path, {"tokenjam/core/__init__.py": "import os; print('hello'); os.write(1, b'raw')"})
    assert noisy.snapshot([BIG], trust_overrides=True).version == "9.1.0"


def test_tokenjam_sees_no_key_and_nothing_of_the_workspace(tmp_path: Path) -> None:
    write(tmp_path / "json.py", "raise SystemExit('workspace code ran')")
    spy = PRICING + "import os\ndef _user_pricing_file(): return '|'.join([os.getcwd(), *os.environ])\n"
    environ = {"ANTHROPIC_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "PYTHONPATH": str(tmp_path), "TJ_PRICING_FILE": "/x"}
    jam = fake(tmp_path, {"tokenjam/core/pricing.py": spy}, environ=environ)
    (seen,) = jam.snapshot([BIG], trust_overrides=False).overrides
    directory, *names = seen.split("|")
    assert not Path(directory).is_relative_to(tmp_path)
    assert set(names) <= {"HOME", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"}


def test_no_tokenjam_is_a_mistake_that_can_be_mended(tmp_path: Path) -> None:
    jam = open_tokenjam(make_venv(tmp_path / "env"), environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    with pytest.raises(UsageError, match=r"not installed[\s\S]*pip install tokenjam"):
        jam.snapshot([BIG], trust_overrides=True)


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    environ = {"TJBENCH_TOKENJAM_PYTHON": str(tmp_path / "nowhere" / "python")}
    with pytest.raises(UsageError, match="nowhere"):
        open_tokenjam(environ=environ, cwd=tmp_path).snapshot([BIG], trust_overrides=True)


@pytest.mark.parametrize(
    ("source", "version", "said"),
    [
        (PRICING + "raise RuntimeError('table is broken')", "9.1.0", "RuntimeError: table is broken"),
        ("import no_such_dependency", "9.1.0", "No module named 'no_such_dependency'"),
        (PRICING.replace("3.0,", "float('nan'),"), "9.1.0", "finite number"),
        (PRICING.replace("3.0,", "-3.0,"), "9.1.0", "greater than or equal to 0"),
        ("import os; os._exit(0)", "9.1.0", "JSON"),
        (PRICING, "../../9", "not a version"),
    ],
)
def test_a_tokenjam_that_fails_leaves_the_run_incomplete(tmp_path: Path, source: str, version: str, said: str) -> None:
    with pytest.raises(IncompleteError) as caught:
        jam = fake(tmp_path, {"tokenjam/core/pricing.py": source})
        if version != "9.1.0":
            metadata = next((tmp_path / "env").glob("lib/*/site-packages/tokenjam-9.1.0.dist-info/METADATA"))
            metadata.write_text(metadata.read_text().replace("9.1.0", version))
        jam.snapshot([BIG], trust_overrides=True)
    assert said in str(caught.value)
