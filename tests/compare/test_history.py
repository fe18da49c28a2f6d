"""Stored measurements as lines: found, filtered, ordered; what is expected is written out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import EarlyStopRecord, Flag, ReplayRecord
from tjbench.compare.history import Entry, Filter, entry_of, find, instant, newest_first, trends
from tjbench.errors import UsageError


def line(digest: str = "0123456789abcdef", file: str = "tjbench_a.json", **made: object) -> Entry:
    return entry_of(measurement("ppff", "ppfp", **made), digest, file)  # type: ignore[arg-type]


def day(number: int) -> datetime:
    return datetime(2026, 3, number, 12, tzinfo=UTC)


def test_a_line_holds_what_the_artifact_measured() -> None:
    entry = line(prices=(10.0, 2.0), outputs=(50, 100))
    assert (entry.id, entry.n_scored, entry.original_pass, entry.candidate_pass) == ("0123456789ab", 4, 2, 3)
    assert entry.delta_pp == 25
    # Four tasks of 100 tokens in and 50 or 100 out, at $10 and $2 per million.
    assert entry.original_cost_usd == pytest.approx(4 * 150 * 10 / 1e6)
    assert entry.candidate_cost_usd == pytest.approx(4 * 200 * 2 / 1e6)
    assert not entry.mock
    assert not entry.default_rates


def test_scripted_models_and_placeholder_prices_are_marked() -> None:
    entry = line(flags=(Flag.MOCK, Flag.DEFAULT_RATES))
    assert entry.mock
    assert entry.default_rates


def test_what_stopped_early_has_no_p_value() -> None:
    record = EarlyStopRecord(e_value=56.8, n_used=4, n_planned=90, e_needed=40)
    found = measurement("pppp", "ffff")
    assert entry_of(found, "0" * 64, "a.json").p_value == 0.125  # 2 / 2^4
    entry = entry_of(found.model_copy(update={"early_stop": record}), "0" * 64, "a.json")
    assert (entry.stopped, entry.p_value, entry.delta_pp) == (True, None, -100)


def test_a_replay_without_a_control_has_no_change_and_no_p_value() -> None:
    found = measurement("pppp", "pfff")
    replays = (found.model_copy(update={"replay": ReplayRecord(control=c, judged_by="overlap")}) for c in (True, False))
    with_control, without = (entry_of(replay, "0" * 64, "a.json") for replay in replays)
    assert (with_control.uncontrolled, with_control.delta_pp, with_control.p_value) == (False, -75, 0.25)  # 2 / 2^3
    assert (without.uncontrolled, without.delta_pp, without.p_value) == (True, None, None)


def test_a_cost_nobody_knows_is_none_and_not_0() -> None:
    entry = line(source="unknown", prices=(0, 0))
    assert (entry.original_cost_usd, entry.candidate_cost_usd, entry.cost_delta_pct) == (None, None, None)


def test_a_trend_follows_versions_as_numbers_and_then_time() -> None:
    made = [("0.10.0", day(1)), ("0.9.1", day(3)), ("0.9.1", day(2)), ("0.10.0rc1", day(4)), ("checkout", day(5))]
    (steps,) = trends([line(version=version, created_at=at) for version, at in made]).values()
    assert [(step.tokenjam_version, step.created_at) for step in steps] == [
        ("checkout", day(5)),
        ("0.9.1", day(2)),
        ("0.9.1", day(3)),
        ("0.10.0rc1", day(4)),
        ("0.10.0", day(1)),
    ]


def test_a_pinned_pair_has_a_trend_of_its_own() -> None:
    assert len(trends([line(), line(slot=CANDIDATE), line(suite="other")])) == 3


@pytest.mark.parametrize(
    ("wanted", "files"),
    [
        (Filter(), ["c", "b", "a"]),
        (Filter(limit=2), ["c", "b"]),
        (Filter(suite="other"), ["b"]),
        (Filter(model="openai:gpt-4o"), ["c"]),
        (Filter(model="gpt-4o"), ["c"]),
        (Filter(model=CANDIDATE), ["b", "a"]),
        (Filter(model="gpt"), []),
        (Filter(version="0.7"), ["b"]),
        (Filter(since=day(2)), ["c", "b"]),
        (Filter(until=day(2)), ["b", "a"]),
    ],
)
def test_a_filter_keeps_what_it_names_newest_first(wanted: Filter, files: list[str]) -> None:
    entries = [
        line(file="b", created_at=day(2), suite="other", version="0.7.0"),
        line(file="c", created_at=day(3), models=("openai:gpt-4o", "openai:gpt-4o-mini")),
        line(file="a", created_at=day(1)),
    ]
    assert [entry.file for entry in newest_first(entries, wanted)] == files


def test_an_id_a_file_name_or_the_beginning_of_either_names_a_measurement() -> None:
    entries = [line("aa11bb22cc33dd", "tjbench_x.json"), line("aa99bb22cc33dd", "tjbench_xy.json")]
    for name, index in [("aa11bb22cc33", 0), ("AA9", 1), ("tjbench_x.json", 0), ("tjbench_xy", 1)]:
        assert find(entries, name) is entries[index]


def test_a_name_of_several_is_refused_with_their_names() -> None:
    entries = [line("aa11bb22cc33", "tjbench_x.json"), line("aa99bb22cc33", "tjbench_y.json")]
    for name in ("aa", "tjbench_"):
        with pytest.raises(UsageError, match="several") as caught:
            find(entries, name)
        assert "aa11bb22cc33 (tjbench_x.json), aa99bb22cc33 (tjbench_y.json)" in str(caught.value)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="near: aa11bb22cc33"):
        find([line("aa11bb22cc33")], "aa11bb22cc34")


@pytest.mark.parametrize(
    ("text", "end", "at"),
    [
        ("2026-11-29", False, datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29", True, datetime(2026, 11, 29, 23, 59, 59, 999_999, UTC)),
        ("2026-11-29T14:59", True, datetime(2026, 11, 29, 14, 59, tzinfo=UTC)),
        ("2026-11-29T14:59+02:00", False, datetime(2026, 11, 29, 12, 59, tzinfo=UTC)),
    ],
)
def test_a_date_is_its_whole_day_and_a_time_is_utc_unless_it_says(text: str, end: bool, at: datetime) -> None:
    assert instant(text, end=end) == at


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "", "0001-01-01T00:00+14:00"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no date"):
        instant(text, end=False)


def test_both_models_are_those_of_the_artifact() -> None:
    assert (line().original_model, line().candidate_model) == (ORIGINAL, CANDIDATE)
