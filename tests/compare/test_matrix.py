"""Artifacts side by side: which one counts, which tasks pair up, and what cannot be compared says why."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.artifacts import AT, CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag, RowKey, SamplingRecord
from tjbench.compare.matrix import (
    Row,
    Standing,
    build_matrix,
    build_row,
    find_overlap,
    incomparable,
    newest_per_key,
    version_order,
)
from tjbench.compare.pair import Rule

SONNET = "anthropic:claude-sonnet-4-6"
RULE = Rule()


def row(head: Artifact | None, baseline: Artifact | None) -> Row:
    found = head or baseline
    assert found is not None
    return build_row(found.key, head, baseline, RULE)


def versions(artifacts: Sequence[Artifact]) -> list[str]:
    return sorted(a.tokenjam_version for a in artifacts)


# Which artifact counts


def test_versions_are_in_the_order_of_pep_440() -> None:
    ordered = ["path-build", "0.5.10", "0.6.0.dev3", "0.6.0a1", "0.6.0rc1", "0.6.0", "0.6.0+local", "0.6.0.post1"]
    ordered += ["0.6.1", "0.10.0", "1!0.1"]
    shuffled = random.Random(7).sample(ordered, len(ordered))
    assert sorted(shuffled, key=version_order) == ordered


def test_the_newest_version_counts_and_the_rest_is_listed() -> None:
    all_of_them = [measurement("p", "p", version=v) for v in ("0.6.0", "0.10.0", "0.6.0rc1", "0.9.0")]
    chosen, rest = newest_per_key(all_of_them)
    assert [a.tokenjam_version for a in chosen.values()] == ["0.10.0"]
    assert versions(rest) == ["0.6.0", "0.6.0rc1", "0.9.0"]


def test_of_one_version_the_latest_counts_and_never_the_best() -> None:
    good = measurement("pp", "pp")
    bad = measurement("pp", "ff", created_at=AT + timedelta(seconds=1))
    for order in ([good, bad], [bad, good]):
        chosen, rest = newest_per_key(order)
        assert list(chosen.values()) == [bad]
        assert rest == (good,)


def test_what_is_newer_than_the_selected_version_is_not_looked_at() -> None:
    all_of_them = [measurement("p", "p", version=v) for v in ("0.6.0rc1", "0.6.0", "0.7.0")]
    for selected, wanted in (("0.6.5", "0.6.0"), ("0.6.0", "0.6.0"), ("0.6.0rc2", "0.6.0rc1"), ("1.0", "0.7.0")):
        chosen, rest = newest_per_key(all_of_them, selected)
        assert [a.tokenjam_version for a in chosen.values()] == [wanted]
        assert len(rest) == 2
    chosen, rest = newest_per_key(all_of_them, "0.5.0")
    assert chosen == {}
    assert len(rest) == 3


def test_a_complete_artifact_counts_before_a_newer_incomplete_one() -> None:
    whole = measurement("pp", "pp", version="0.6.0")
    broken = measurement("pp", "uu", version="0.7.0")
    chosen, rest = newest_per_key([whole, broken])
    assert list(chosen.values()) == [whole]
    assert rest == (broken,)


def test_where_nothing_is_complete_the_newest_stands_for_it() -> None:
    chosen, _ = newest_per_key([measurement("pp", "uu", version=v) for v in ("0.7.0", "0.6.0")])
    assert [a.tokenjam_version for a in chosen.values()] == ["0.7.0"]


def test_suite_original_and_slot_make_rows_of_their_own() -> None:
    heads = [
        measurement("p", "p"),
        measurement("p", "p", suite="samples"),
        measurement("p", "p", models=("openai:o3", CANDIDATE)),
        measurement("p", "p", slot=CANDIDATE),
        measurement("p", "p", models=(ORIGINAL, SONNET)),  # the same slot: recommended
    ]
    matrix = build_matrix(heads, [], RULE)
    assert [r.key for r in matrix.rows] == sorted(
        [
            RowKey("humaneval", ORIGINAL, "recommended"),
            RowKey("samples", ORIGINAL, "recommended"),
            RowKey("humaneval", "openai:o3", "recommended"),
            RowKey("humaneval", ORIGINAL, CANDIDATE),
        ]
    )
    assert len(matrix.superseded) == 1


def test_the_selected_version_binds_the_baseline_alone() -> None:
    head = measurement("p" * 30, "p" * 30, version="0.7.0")
    bases = [measurement("p" * 30, "p" * 30, version=v) for v in ("0.6.0", "0.8.0")]
    matrix = build_matrix([head], bases, RULE, "0.7.0")
    (found,) = matrix.rows
    assert found.head is head
    assert found.baseline is bases[0]
    assert matrix.superseded == (bases[1],)


# Pairing


def test_tasks_pair_by_id_whatever_their_order() -> None:
    before = measurement("ppp", "pfp", task_ids=["a", "b", "c"])
    after = measurement("ppp", "ppf", task_ids=["c", "b", "a"])
    found = row(after, before)
    assert found.change is not None
    assert (found.change.b, found.change.c, found.change.n) == (1, 1, 3)
    assert (found.change.broke, found.change.recovered) == (("a",), ("b",))


def test_equal_pass_rates_of_different_tasks_are_no_evidence_of_sameness() -> None:
    before, after = measurement("p" * 40, "p" * 20 + "f" * 20), measurement("p" * 40, "f" * 20 + "p" * 20)
    change = row(after, before).change
    assert change is not None
    assert (change.delta, change.b, change.c) == (0, 20, 20)


def test_candidate_is_held_against_candidate_and_original_against_original() -> None:
    found = row(measurement("fppp", "ffpp"), measurement("pppp", "pppp"))
    assert found.change is not None
    assert found.original_change is not None
    assert (found.change.b, found.original_change.b) == (2, 1)


def test_added_removed_and_rechecked_tasks_are_left_out_and_listed() -> None:
    before = measurement("pppp", "pppp", task_ids=["a", "b", "c", "gone"], checks=["1", "1", "1", "1"])
    after = measurement("pppp", "ffff", task_ids=["a", "b", "c", "new"], checks=["1", "1", "2", "1"])
    found = row(after, before)
    assert found.change is not None
    assert (found.change.n, found.change.b) == (2, 2)
    overlap = found.overlap
    assert (overlap.added, overlap.removed, overlap.rechecked) == (("new",), ("gone",), ("c",))
    assert found.coverage == 2 / 4


def test_a_changed_prompt_is_compared_and_flagged() -> None:
    before = measurement("ppp", "ppp", prompts=["x", "x", "x"])
    after = measurement("ppp", "fpp", prompts=["y", "x", "x"])
    found = row(after, before)
    assert found.change is not None
    assert (found.change.n, found.change.broke) == (3, ("humaneval/0",))
    assert found.overlap.prompt_changed == ("humaneval/0",)


def test_unscored_tasks_leave_the_pairing_on_both_sides() -> None:
    found = row(measurement("ppppp", "fuppp"), measurement("ppppp", "ppupp", rule=Rule(unscored_tolerance=0.5)))
    assert found.change is not None
    assert (found.change.n, found.change.b, found.overlap.unscored) == (3, 1, 2)
    assert found.coverage == 1  # they were measured again, though to no avail


def test_several_samples_pair_like_one() -> None:
    found = row(measurement("33", "12", samples=3), measurement("33", "32", samples=3))
    assert found.change is not None
    assert (found.change.n, found.change.b, found.change.c, found.change.samples) == (2, 1, 0, 3)


# What cannot be compared


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (measurement("pp", "pp", scorer="2"), "scorer version differs: 1 → 2"),
        (measurement("pp", "pp", flags=(Flag.MOCK,)), "run differs: live → mock"),
        (measurement("22", "22", samples=2), "samples per task differs: 1 → 2"),
        (measurement("pp", "pp", sampling=SamplingRecord(temperature=0.2)), "temperature differs: None → 0.2"),
        (measurement("pp", "pp", sampling=SamplingRecord(max_tokens=99)), "max_tokens differs: 2048 → 99"),
        (measurement("pp", "pp", judge="openai:gpt-4o"), "judge differs: None → openai:gpt-4o"),
    ],
)
def test_differences_that_forbid_a_comparison_are_named(head: Artifact, why: str) -> None:
    baseline = measurement("pp", "pp")
    found = row(head, baseline)
    assert (found.standing, found.why, found.change) == (Standing.NOT_COMPARABLE, why, None)
    assert incomparable(baseline, baseline) == ""


def test_several_differences_are_all_named() -> None:
    head = measurement("pp", "pp", scorer="2", flags=(Flag.MOCK,))
    assert incomparable(head, measurement("pp", "pp")) == "scorer version differs: 1 → 2; run differs: live → mock"


def test_another_seed_tokenjam_or_suite_revision_is_no_obstacle() -> None:
    baseline = measurement("pp", "pp", version="0.1.0")
    suite = baseline.suite.model_copy(update={"prompts_revision": "other", "checks_revision": "other"})
    head = measurement("pp", "pp").model_copy(update={"seed": 7, "suite": suite, "sandbox_level": "process"})
    assert row(head, baseline).standing is Standing.COMPARABLE


def test_a_row_whose_checks_all_changed_says_so_and_lists_them() -> None:
    found = row(measurement("pp", "pp", checks="new"), measurement("pp", "pp", checks="old"))
    assert (found.standing, found.why) == (Standing.NOT_COMPARABLE, "no task has the same id and the same check")
    assert (found.overlap.rechecked, found.coverage) == (("humaneval/0", "humaneval/1"), 0)


def test_a_row_of_other_tasks_lists_both() -> None:
    found = row(measurement("pp", "pp", task_ids=["x", "y"]), measurement("pp", "pp"))
    assert found.standing is Standing.NOT_COMPARABLE
    assert (found.overlap.added, found.overlap.removed) == (("x", "y"), ("humaneval/0", "humaneval/1"))


def test_what_was_measured_again_counts_as_covered_even_where_it_cannot_be_compared() -> None:
    assert row(measurement("pp", "pp", scorer="2"), measurement("pp", "pp")).coverage == 1


def test_rows_with_one_side_only() -> None:
    alone = row(measurement("pp", "pp"), None)
    assert (alone.standing, alone.coverage, alone.repointed) == (Standing.NO_BASELINE, 1, None)
    gone = row(None, measurement("pp", "pp"))
    assert (gone.standing, gone.coverage, gone.repointed) == (Standing.NOT_RE_MEASURED, 0, None)


def test_another_recommendation_is_still_paired() -> None:
    found = row(measurement("p" * 30, "p" * 30, models=(ORIGINAL, SONNET)), measurement("p" * 30, "f" * 30))
    assert found.repointed == (CANDIDATE, SONNET)
    assert found.change is not None
    assert found.change.c == 30


# Reused outcomes


def test_reused_outcomes_are_never_tested() -> None:
    before = measurement("p" * 10, "p" * 10)
    after = measurement("p" * 10, "pppppfffff", reused=["artifact:x"] * 4)
    found = row(after, before)
    assert found.change is not None
    assert (found.change.n, found.change.b) == (6, 5)
    assert found.overlap.reused == tuple(f"humaneval/{i}" for i in range(4))
    assert found.coverage == 1


def test_where_nothing_is_new_nothing_is_re_measured() -> None:
    before = measurement("p" * 10, "p" * 10)
    found = row(measurement("p" * 10, "p" * 10, reused=["artifact:x"] * 10), before)
    assert (found.standing, found.change) == (Standing.NOT_RE_MEASURED, None)
    assert found.why == "every outcome is reused from a stored artifact"


def test_the_originals_outcomes_are_reused_or_new_on_their_own() -> None:
    before = measurement("pppp", "pppp")
    after = measurement("ffpp", "fppp")
    reused = replace(after.tasks[0].original, reused_from="artifact:x")
    first = after.tasks[0].model_copy(update={"original": reused})
    found = row(after.model_copy(update={"tasks": (first, *after.tasks[1:])}), before)
    assert found.change is not None
    assert found.original_change is not None
    assert (found.change.n, found.change.b) == (4, 1)
    assert (found.original_change.n, found.original_change.b) == (3, 1)


def test_an_answer_from_the_journal_was_measured_for_this_run() -> None:
    found = row(measurement("pp", "pp", reused=["journal 2026-01-01"] * 2), measurement("pp", "pp"))
    assert found.standing is Standing.COMPARABLE


def test_the_overlap_of_an_artifact_with_itself_is_whole() -> None:
    artifact = measurement("pfp", "ppf")
    overlap = find_overlap(artifact, artifact)
    assert [pair.change for pair in overlap.candidate] == [0, 0, 0]
    assert (overlap.added, overlap.removed, overlap.rechecked, overlap.prompt_changed) == ((), (), (), ())
