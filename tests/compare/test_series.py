"""Every step of a series against the last complete one before it."""

from __future__ import annotations

from datetime import timedelta

from tests.fakes.artifacts import AT, measurement
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.compare.series import build_series

RULE = Rule()


def test_every_step_of_a_series_is_held_against_the_one_before() -> None:
    steps = {
        "0.10.0": measurement("p" * 30, "f" * 9 + "p" * 21, version="0.10.0"),
        "0.6.0": measurement("p" * 30, "p" * 30, version="0.6.0"),
        "0.6.0rc1": measurement("p" * 30, "f" + "p" * 29, version="0.6.0rc1"),
    }
    series = build_series(list(steps.values()), RULE)
    assert [r.head.tokenjam_version for r in series.rows if r.head] == ["0.6.0rc1", "0.6.0", "0.10.0"]
    assert [r.baseline.tokenjam_version if r.baseline else None for r in series.rows] == [None, "0.6.0rc1", "0.6.0"]
    assert [(r.change.b, r.change.c) if r.change else None for r in series.rows] == [None, (0, 1), (9, 0)]


def test_a_series_skips_versions_that_have_no_artifact_of_its_row() -> None:
    artifacts = [
        measurement("pp", "pp", version="0.6.0"),
        measurement("pp", "pp", version="0.7.0", suite="samples"),
        measurement("pp", "pp", version="0.8.0"),
    ]
    last = build_series(artifacts, RULE).rows[1]
    assert last.head is artifacts[2]
    assert last.baseline is artifacts[0]


def test_an_incomplete_step_is_shown_and_held_against_nothing_later() -> None:
    artifacts = [
        measurement("p" * 30, "p" * 30, version="0.6.0"),
        measurement("p" * 30, "u" * 30, version="0.7.0"),
        measurement("p" * 30, "f" * 9 + "p" * 21, version="0.8.0"),
    ]
    series = build_series(artifacts, RULE)
    assert [r.head and r.head.tokenjam_version for r in series.rows] == [a.tokenjam_version for a in artifacts]
    assert series.rows[-1].head == artifacts[-1]
    assert series.rows[2].baseline is artifacts[0]
    assert series.rows[2].change is not None
    assert series.rows[2].change.b == 9


def test_of_one_version_a_series_shows_the_newest() -> None:
    older, newer = measurement("pp", "pp"), measurement("pp", "pf", created_at=AT + timedelta(days=1))
    series = build_series([newer, older], RULE)
    assert [r.head for r in series.rows] == [newer]
    assert series.superseded == (older,)


def test_no_artifacts_make_no_rows() -> None:
    assert build_series([], RULE).rows == build_matrix([], [], RULE).rows == ()
