"""What an artifact says is held against its tasks: a changed number is found by name, a true one never is."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag
from tjbench.errors import ExitCode, UsageError
from tjbench.pricing import Rates
from tjbench.store.artifacts import dump, parse_artifact
from tjbench.store.legacy import read_legacy
from tjbench.suites.task import digest
from tjbench.tell import tell_report
from tjbench.verify import verify, verify_legacy

SHARED = Path(os.environ.get("TJBENCH_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")
REAL = SHARED / "legacy-artifacts"
AT = datetime(2026, 1, 2, tzinfo=UTC)


def honest(artifact: Artifact) -> Artifact:
    """With what a run would have written of its prompts, checks and prices."""
    revisions = {
        f"{part}s_revision": digest([[t.task_id, getattr(t, f"{part}_hash")] for t in artifact.tasks])
        for part in ("prompt", "check")
    }
    # 3 in to 1 out: 4 x 10 USD against 4 x 2 USD
    return artifact.model_copy(
        update={"suite": artifact.suite.model_copy(update=revisions), "claimed_saving_pct": 80.0}
    )


GOOD = honest(measurement("p" * 45 + "f" * 5, "p" * 40 + "f" * 8 + "p" * 2))
SEVERAL = honest(measurement("43210" * 8, "42220" * 8, samples=4))


@pytest.mark.parametrize(
    "artifact",
    [
        GOOD,
        SEVERAL,
        honest(measurement("pu" * 20, "p" * 40)),
        honest(measurement("u", "u")),
        honest(measurement("p" * 30, "p" * 30, reused=["artifact:x"] * 3, flags=(Flag.REUSED,))),
        honest(measurement("p", "p", judge="openai:gpt-4o", flags=(Flag.JUDGE_SCORED,))),
        honest(measurement("p", "p", source="override", flags=(Flag.OVERRIDES,))),
    ],
)
def test_what_follows_from_its_tasks_is_right(artifact: Artifact) -> None:
    stored = parse_artifact(dump(artifact).encode(), "x")
    found = verify(stored)
    assert found.mismatches == ()
    assert found.checked >= 30


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_scored", 49),
        ("n_unscored", 1),
        ("original_pass", 46),
        ("candidate_pass", 41),
        ("original_cost_usd", 0.0),
        ("candidate_cost_usd", 0.03),
        ("accuracy_delta_pp", -5.0),
        ("cost_delta_pct", -90.0),
        ("claimed_saving_pct", 90.0),
        ("output_token_inflation", 1.0),
        ("verdict", "no_significant_regression"),
        ("verdict_reason", "all is well"),
        ("priced_with_defaults", True),
        ("flags", ["mock"]),
        ("stats.mcnemar_b", 4),
        ("stats.mcnemar_p_value", 0.5),
        ("stats.mid_p", None),
        ("stats.delta_ci_pp", [-1.0, 1.0]),
        ("stats.delta_ci_score_pp", [-1.0, 1.0]),
        ("stats.delta_ci_method", "bootstrap"),
        ("stats.lower_bound_pp", -1.0),
        ("stats.detectable_drop_pp", 1.0),
        ("suite.prompts_revision", "0" * 16),
        ("suite.checks_revision", "0" * 16),
    ],
)
def test_a_changed_number_is_named_with_what_it_should_be(tmp_path: Path, field: str, value: object) -> None:
    data = json.loads(dump(GOOD))
    place = data
    for part in field.split(".")[:-1]:
        place = place[part]
    name = field.split(".")[-1]
    true, place[name] = place[name], value
    path = tmp_path / "tjbench_x.json"
    path.write_text(json.dumps(data))
    code, document = reported(path)
    assert code is ExitCode.REGRESSION
    assert document["mismatches"] == [{"field": field, "stored": value, "recomputed": true}]
    assert document["verified"] is False


def test_samples_of_a_task_are_recomputed_too() -> None:
    shares = {side: dict(by_k) for side, by_k in (SEVERAL.stats.pass_at_k or {}).items()}
    shares["candidate"]["4"] = 1.0
    changed = SEVERAL.model_copy(update={"stats": SEVERAL.stats.model_copy(update={"pass_at_k": shares})})
    (wrong,) = verify(changed).mismatches
    # four of five tasks pass at least one of four samples
    assert (wrong.field, wrong.stored, wrong.recomputed) == ("stats.pass_at_k.candidate.4", 1.0, 0.8)


def with_trial(change: dict[str, Any]) -> Artifact:
    first = GOOD.tasks[0]
    changed = first.model_copy(update={"original": replace(first.original, **change)})
    return GOOD.model_copy(update={"tasks": (changed, *GOOD.tasks[1:])})


def with_rates(rates: dict[str, Rates]) -> Artifact:
    return GOOD.model_copy(update={"rates": GOOD.rates | rates})


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (with_trial({"passes": 0}), "original_pass"),
        (with_trial({"unscored": 1, "passes": 0}), "n_scored"),
        (with_trial({"usage": replace(GOOD.tasks[0].original.usage, input=10**6)}), "original_cost_usd"),
        (with_trial({"reused_from": "artifact:x"}), "flags"),
        (with_rates({CANDIDATE: replace(GOOD.rates[CANDIDATE], output=9.0)}), "claimed_saving_pct"),
        (with_rates({CANDIDATE: replace(GOOD.rates[CANDIDATE], source="default")}), "priced_with_defaults"),
        (with_rates({CANDIDATE: replace(GOOD.rates[CANDIDATE], source="override")}), "flags"),
        (GOOD.model_copy(update={"rates": {ORIGINAL: GOOD.rates[ORIGINAL]}}), "rates"),
        (GOOD.model_copy(update={"judge": "openai:gpt-4o"}), "flags"),
        (GOOD.model_copy(update={"mock": True}), "flags"),
        (GOOD.model_copy(update={"margin_pp": 30.0}), "verdict"),
    ],
)
def test_a_changed_task_price_or_rule_shows_in_what_follows_from_it(changed: Artifact, field: str) -> None:
    assert field in {mismatch.field for mismatch in verify(changed).mismatches}


def reported(path: Path) -> tuple[ExitCode, dict[str, Any]]:
    stdout = io.StringIO()
    code = tell_report(path, checked=True, as_json=True, html=None, stdout=stdout, stderr=io.StringIO())
    document = json.loads(stdout.getvalue())
    assert isinstance(document, dict)
    return code, document


def test_people_read_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(dump(GOOD).replace('"mcnemar_b": 5', '"mcnemar_b": 3'))
    stdout = io.StringIO()
    code = tell_report(path, checked=True, as_json=False, html=None, stdout=stdout, stderr=io.StringIO())
    assert code is ExitCode.REGRESSION
    first, second = stdout.getvalue().splitlines()
    assert "of its derived numbers 1 of 3" in first
    assert second == "  stats.mcnemar_b: stored 3, recomputed 5"


def test_a_report_is_shown_as_text_json_and_html(tmp_path: Path) -> None:
    path, page = tmp_path / "x.json", tmp_path / "x.html"
    path.write_text(dump(GOOD))

    def shown(*, as_json: bool) -> str:
        stdout = io.StringIO()
        code = tell_report(path, checked=False, as_json=as_json, html=page, stdout=stdout, stderr=io.StringIO())
        assert code is ExitCode.PASSED
        return stdout.getvalue()

    assert "5 tasks broke, 2 recovered" in shown(as_json=False)
    assert parse_artifact(shown(as_json=True).encode(), "x") == GOOD
    assert "5 tasks broke, 2 recovered" in page.read_text()


@pytest.mark.parametrize(
    ("text", "why"), [("{", "not JSON"), ("[]", "not a JSON object"), ('{"schema": "tjbench/2"}', "schema")]
)
def test_what_is_no_artifact_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"x\.json is not an artifact") as caught:
        reported(path)
    assert why in caught.value.why


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        reported(tmp_path / "absent.json")


# --- the older format


def old(change: Callable[[dict[str, Any]], object] = lambda data: None) -> dict[str, Any]:
    """10 of 12 against 8 of 12, rounded as the older tool rounds."""
    marks = [("1", "1")] * 7 + [("1", "0")] * 3 + [("0", "1")] + [("0", "0")]
    data: dict[str, Any] = {
        "tokenjam_version": "0.5.2",
        "benchmark": "gsm8k",
        "original_model": "openai:gpt-4o",
        "candidate_model": "openai:gpt-4o-mini",
        "recommended_by": "explicit --candidate override",
        "n_tasks": 12,
        "original_pass": 10,
        "candidate_pass": 8,
        "original_pass_rate": 0.8333,
        "candidate_pass_rate": 0.6667,
        "accuracy_delta_pp": -16.67,
        "original_cost_usd": 0.12,
        "candidate_cost_usd": 0.012,
        "cost_delta_pct": -90.0,
        "original_output_tokens": 120,
        "candidate_output_tokens": 360,
        "output_token_inflation": 3.0,
        "regressions": 3,
        "mock": False,
        "priced_with_defaults": False,
        "created_at": 1782503878.2,
        # 3 against 1 of 4: 2 (1 + 4) / 2^4
        "stats": {"mcnemar_b": 3, "mcnemar_c": 1, "mcnemar_p_value": 0.625, "verdict": "no_significant_regression"},
        "tasks": [
            {
                "task_id": f"t{i}",
                "samples": 1,
                "original_passes": int(before),
                "candidate_passes": int(after),
                "original_cost_usd": 0.01,
                "candidate_cost_usd": 0.001,
                "original_output_tokens": 10,
                "candidate_output_tokens": 30,
                "original_detail": "",
                "candidate_detail": "",
            }
            for i, (before, after) in enumerate(marks)
        ],
    }
    change(data)
    return data


def test_the_older_format_is_checked_as_far_as_it_goes() -> None:
    data = old()
    found = verify_legacy(data, read_legacy(data))
    assert (found.mismatches, found.checked) == ((), 15)
    assert found.unverifiable["dollars a task"] == "input tokens and rates were not kept"
    assert found.unverifiable["stats.verdict"].endswith("ours says insufficient_evidence")


@pytest.mark.parametrize(
    ("field", "value", "recomputed"),
    [
        ("original_pass", 11, 10),
        ("candidate_pass_rate", 0.75, pytest.approx(8 / 12)),
        ("accuracy_delta_pp", -8.33, pytest.approx(-100 / 6)),
        ("cost_delta_pct", -92.0, pytest.approx(-90)),
        ("candidate_output_tokens", 120, 360),
        ("regressions", 0, 3),
    ],
)
def test_a_changed_number_of_the_older_format_is_named(field: str, value: float, recomputed: object) -> None:
    data = old(lambda data: data.update({field: value}))
    (wrong,) = verify_legacy(data, read_legacy(data)).mismatches
    assert (wrong.field, wrong.stored, wrong.recomputed) == (field, value, recomputed)


def test_the_sum_of_its_dollars_is_checked() -> None:
    data = old(lambda data: data.update({"original_cost_usd": 0.2, "cost_delta_pct": -94.0}))
    (wrong,) = verify_legacy(data, read_legacy(data)).mismatches
    assert (wrong.field, wrong.recomputed) == ("original_cost_usd", pytest.approx(0.12))


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not there")
def test_the_real_files_of_the_older_tool_hold() -> None:
    paths = sorted(REAL.glob("*.json"))
    assert len(paths) == 6
    for path in paths:
        code, document = reported(path)
        assert (code, document["mismatches"], document["n_checked"]) == (ExitCode.PASSED, [], 18)
