"""What people read of stored measurements."""

from __future__ import annotations

from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import EarlyStopRecord, Flag, ReplayRecord
from tjbench.compare.history import entry_of, trends
from tjbench.report.markdown import render_history_list, render_trends

PLAIN = entry_of(measurement("pppp", "ppff", version="0.6.1"), "aaaaaaaaaaaaaa", "a.json")
MARKED = entry_of(measurement("uu", "uu", flags=(Flag.MOCK, Flag.DEFAULT_RATES)), "bbbbbbbbbbbbbb", "b.json")


def test_a_list_shows_ids_passes_changes_and_verdicts() -> None:
    text = render_history_list([PLAIN], 1)
    for said in ("1 stored measurement\n", "`aaaaaaaaaaaa`", "2/4 (50.0 %)", "50.0 pp", "insufficient_evidence"):
        assert said in text
    assert "MOCK" not in text


def test_a_trend_shows_both_passes_and_both_costs() -> None:
    # 4 tasks of 150 and 200 tokens at $10 and $2 per million: $0.0060 and $0.0016.
    text = render_trends(trends([PLAIN]), 3)
    for said in ("1 of 3 stored measurements", "4/4 (100.0 %)", "2/4 (50.0 %)", "$0.0060 → $0.0016", "`0.6.1`"):
        assert said in text


def test_what_is_no_full_measurement_is_marked() -> None:
    for text in (render_history_list([MARKED], 1), render_trends(trends([MARKED]), 1)):
        for said in ("(mock)", "MOCK RUN", "(placeholder prices)", "(incomplete)", "—"):
            assert said in text


def test_a_replay_without_a_control_shows_how_often_the_candidate_agrees_and_no_drop() -> None:
    replay = measurement("pppp", "pfff").model_copy(update={"replay": ReplayRecord(control=False, judged_by="overlap")})
    entry = entry_of(replay, "c" * 12, "c.json")
    for text in (render_history_list([entry], 1), render_trends(trends([entry]), 1)):
        assert "1/4 (25.0 %)" in text
        assert "(no control)" in text
        for misleading in ("4/4", "75.0 pp"):
            assert misleading not in text


def test_nothing_stored_and_nothing_matching_are_told_apart() -> None:
    assert "No artifacts here." in render_history_list([], 0)
    assert "No measurement matches." in render_trends({}, 3)


def test_what_stopped_early_is_marked() -> None:
    record = EarlyStopRecord(e_value=56.8, n_used=4, n_planned=90, e_needed=40)
    entry = entry_of(measurement("pppp", "ffff").model_copy(update={"early_stop": record}), "c" * 14, "c.json")
    text = render_history_list([entry, PLAIN], 2)
    assert text.count("(stopped early)") == 1
    assert "1 measurement stopped early: the change is biased away from zero." in text
