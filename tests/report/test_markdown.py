"""What people read about a decision, a measurement and a series."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest
from markdown_it import MarkdownIt

from tests.fakes.artifacts import AT, CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag, RowKey
from tjbench.compare.decision import Acceptance, BaselineLabel, Decision, DecisionRow, RowStatus, Status, VsBaseline
from tjbench.compare.gate import GatePolicy, RowPolicy, decide
from tjbench.compare.history import entry_of
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.compare.series import build_series
from tjbench.errors import ExitCode
from tjbench.report.escape import display_width
from tjbench.report.html import render_artifact_html, render_html
from tjbench.report.markdown import render_artifact, render_decision, render_history_list, render_series

MINUS = "\u2212"
OLD = "anthropic:claude-3-5-haiku-20241022"
BASELINE = BaselineLabel(
    ref="release/1.0", sha="0123456789abcdef0123456789abcdef01234567", notes=("release/1.1 holds no artifacts",)
)
RUN = "https://github.com/acme/app/actions/runs/7"
HOSTILE = (
    "a|b`c @octocat #12 <img src=x onerror=alert(1)> &#64;me https://evil.example/x [x](http://y)\n</details>\u202e"
)


def decided(heads: Iterable[Artifact], baselines: Iterable[Artifact] = (), label: BaselineLabel = BASELINE) -> Decision:
    return decide(build_matrix(heads, baselines, Rule()), GatePolicy(), baseline=label)


def regressed() -> Decision:
    """30 of humaneval's 164 tasks broke and 2 recovered; samples stayed as they were."""
    before = measurement("p" * 164, "p" * 150 + "f" * 14, version="0.6.0", models=(ORIGINAL, OLD))
    after = measurement("p" * 164, "f" * 30 + "p" * 122 + "f" * 12)
    calm = measurement("p" * 60, "p" * 59 + "f", suite="samples", version="0.6.0")
    return decided([measurement("p" * 60, "p" * 59 + "f", suite="samples"), after], [before, calm])


def many(rows: int, tasks: int = 40) -> Decision:
    """That many suites, all of whose tasks broke."""
    names = [f"suite-{i:03}" for i in range(rows)]
    heads = [measurement("p" * tasks, "f" * tasks, suite=name) for name in names]
    return decided(heads, [measurement("p" * tasks, "p" * tasks, suite=name, version="0.6.0") for name in names])


def table_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def row_of(text: str, suite: str) -> dict[str, str]:
    header, _, *rows = map(cells, table_of(text))
    return next(dict(zip(header, row, strict=True)) for row in rows if f"`{suite}`" in row[0])


def test_the_heading_says_the_status_and_the_next_line_says_why() -> None:
    heading, _, why = render_decision(regressed()).splitlines()[:3]
    assert heading == "### ❌ TokenJam Bench: regression"
    assert "humaneval" in why
    assert "30 tasks broke, 2 recovered out of 164" in why


def test_an_alarm_that_no_single_row_raises_is_said_in_the_first_line() -> None:
    suites = ["a", "b", "c", "d"]
    heads = [measurement("p" * 60, "fff" + "p" * 57, suite=suite) for suite in suites]
    decision = decided(heads, [measurement("p" * 60, "p" * 60, suite=suite, version="0.6.0") for suite in suites])
    assert decision.status is Status.REGRESSION
    first = render_decision(decision).splitlines()[2]
    assert "over all rows together" in first
    assert "12 tasks broke" in first
    assert "no single row shows it" in first


def test_rows_tested_together_are_counted_as_they_were_tested() -> None:
    marks = "p" * 60, "fff" + "p" * 57
    heads = [measurement(*marks, suite=suite) for suite in ("a", "b", "c")]
    heads += [measurement(*marks, suite="c", models=("openai:o3", CANDIDATE))]
    bases = [
        measurement("p" * 60, "p" * 60, suite=h.suite.name, models=(h.original_model, CANDIDATE), version="0.6.0")
        for h in heads
    ]
    shared = "All 4 compared rows together, a run that rows share counted once: 9 broke, 0 recovered"
    assert shared in render_decision(decided(heads, bases))
    advisory = GatePolicy(rows={head.key: RowPolicy(required=False) for head in heads[2:]})
    found = decide(build_matrix(heads, bases, Rule()), advisory, baseline=BaselineLabel())
    assert "2 of 4 compared rows together (the others are tested apart): 6 broke, 0 recovered" in render_decision(found)


def test_a_row_shows_passes_change_cost_verdict_and_the_comparison() -> None:
    row = row_of(render_decision(regressed()), "humaneval")
    assert row["original → candidate"] == f"`{ORIGINAL}` → `{CANDIDATE}`"
    assert row["original pass"] == "164/164 (100.0 %)"
    assert row["candidate pass"] == f"122/164 ({100 * 122 / 164:.1f} %)"
    assert row["Δ (95 % CI)"].startswith(f"{MINUS}{100 * 42 / 164:.1f} pp ({MINUS}")
    # 150 tokens at 10 against 200 tokens at 2 dollars per million; 80 % is what the rates claim.
    assert row["cost Δ"] == f"{MINUS}{100 * (1 - 200 * 2 / (150 * 10)):.0f} % (claimed {MINUS}80 %)"
    assert row["verdict"] == "significant_regression"
    assert "regression: 30 broke, 2 recovered, p < 0.001" in row["vs. baseline"]


def test_a_changed_recommendation_is_shown_from_old_to_new() -> None:
    assert f"`{OLD}` → `{CANDIDATE}`" in row_of(render_decision(regressed()), "humaneval")["vs. baseline"]
    assert "recommendation" not in row_of(render_decision(regressed()), "samples")["vs. baseline"]


def test_the_row_that_needs_action_comes_first() -> None:
    rows = [cells(line)[0] for line in table_of(render_decision(regressed()))[2:]]
    assert rows == ["`humaneval`", "`samples`"]


def test_twenty_broken_tasks_are_named_and_the_others_counted() -> None:
    line = next(line for line in render_decision(regressed()).splitlines() if "Broke against the baseline" in line)
    assert "(30)" in line
    assert re.findall(r"`humaneval/(\d+)`", line) == [str(i) for i in range(20)]
    assert line.endswith(" and 10 more")


def test_it_says_what_was_compared_and_what_it_cost_and_what_it_is_not() -> None:
    text = render_decision(regressed().model_copy(update={"cost_usd": 1.5, "notes": ("a note",)}), run_url=RUN)
    assert "`release/1.0` at `0123456789ab`" in text
    assert "release/1.1 holds no artifacts." in text
    assert "tokenjam `0.6.1`" in text
    assert "`tokenjam 0.6.1 lookup_downgrade`" in text
    assert "Spent by this run: $1.50." in text
    assert "a note." in text
    assert RUN in text
    assert "not a runtime safety certification" in text


def test_nothing_is_ever_called_safe() -> None:
    everything = [render_decision(d) for d in (regressed(), many(1), decided([measurement("p" * 60, "p" * 60)]))]
    assert not re.search(r"\bsafe\b", "".join(everything), re.IGNORECASE)


def test_each_flag_is_said_in_words() -> None:
    head = measurement("p" * 60, "p" * 59 + "f", flags=tuple(Flag), source="default")
    text = render_decision(decided([head]))
    for words in (
        "MOCK RUN",
        "nothing below is a measurement of any model",
        "Placeholder prices",
        "judge model",
        "suspect the scorer",
        "reused",
        "local override",
    ):
        assert words in text
    assert text.splitlines()[0].endswith("(MOCK RUN)")


def test_no_table_shows_a_saving_that_a_placeholder_price_made() -> None:
    """Dollars at a guess fall by 73 % here: 200 tokens at 2 against 150 at 10."""
    head = measurement("p" * 60, "p" * 60, flags=(Flag.DEFAULT_RATES,), source="default", claimed=None)
    assert head.cost_delta_pct == pytest.approx(100 * (400 / 1500 - 1), abs=1e-3)
    decision = decided([head], [measurement("p" * 60, "p" * 60, version="0.6.0")])
    assert decision.rows[0].cost_delta_pct is None
    entry = entry_of(head, "a" * 12, "a.json")
    texts = (
        render_decision(decision),
        render_artifact(head),
        render_series(build_series([head], Rule())),
        render_history_list([entry], 1),
        render_html(decision),
        render_artifact_html(head),
    )
    for text in texts:
        assert "73" not in text.replace(head.created_at.isoformat(), "")
        assert "(placeholder prices)" in text


def test_dollars_that_another_tool_stated_are_shown_whatever_the_price() -> None:
    head = measurement("p" * 60, "p" * 60, flags=(Flag.DEFAULT_RATES,), source="default")
    stated = [replace(task.original, stated_cost_usd=0.01) for task in head.tasks]
    tasks = tuple(t.model_copy(update={"original": o}) for t, o in zip(head.tasks, stated, strict=True))
    assert head.model_copy(update={"tasks": tasks}).measured_cost_delta_pct == head.cost_delta_pct


def test_a_model_whose_cached_tokens_have_no_price_is_told_beside_its_price() -> None:
    head = measurement("p" * 60, "p" * 60)
    rates = {model: replace(rate, cache_read_specified=False) for model, rate in head.rates.items()}
    text = render_artifact(head.model_copy(update={"rates": rates}))
    assert text.count("cached tokens unpriced, so free") == 2
    assert "unpriced" not in render_artifact(head)


def test_the_table_says_which_outcomes_are_reused_and_how_old_they_are() -> None:
    source = f"artifact:x.json, {(AT - timedelta(days=12)).isoformat()}"
    made = measurement("p" * 60, "p" * 60, reused=[source] * 20)
    tasks = tuple(
        task.model_copy(update={"original": replace(task.original, reused_from=source)}) for task in made.tasks
    )
    decision = decided([made.model_copy(update={"tasks": tasks})], [measurement("p" * 60, "p" * 60, version="0.6.0")])
    row = row_of(render_decision(decision), "humaneval")
    assert row["original pass"] == "60/60 (100.0 %); reused, 12 days old"
    assert row["candidate pass"] == "60/60 (100.0 %); 20 of 60 reused, up to 12 days old"
    assert "reused, 12 days old" in render_html(decision)
    assert "reused" not in render_decision(decided([measurement("p" * 60, "p" * 60)]))


def test_changed_tasks_are_listed_by_kind() -> None:
    old = measurement("p" * 50, "p" * 50, task_ids=[f"t{i}" for i in range(50)], version="0.6.0")
    new = measurement("p" * 50, "p" * 50, task_ids=[f"t{i}" for i in range(3, 53)], prompts="v2")
    text = render_decision(decided([new], [old]))
    assert "prompt_changed (47), compared all the same: every compared task" in text
    assert "Added since the baseline (3), left out of the comparison: `t50`, `t51`, `t52`" in text
    assert "Removed since the baseline (3): `t0`, `t1`, `t2`" in text


def test_unscored_tasks_and_causes_are_counted() -> None:
    text = render_decision(decided([measurement("p" * 60, "p" * 50 + "f" * 8 + "u" * 2)]))
    assert f"Unscored: 2 of 60 tasks ({100 * 2 / 60:.1f} %)" in text
    assert "8 `wrong_answer`, 2 `provider_error`" in text


def test_a_saving_below_the_claim_names_the_output_tokens() -> None:
    text = render_decision(decided([measurement("p" * 60, "p" * 60, outputs=(100, 330))]))
    assert (
        "the candidate wrote 3.3\N{MULTIPLICATION SIGN} the original's output tokens, which eats into the saving"
        in text
    )


def test_without_a_baseline_it_says_how_to_record_one() -> None:
    text = render_decision(decided([measurement("p" * 60, "p" * 60)], label=BaselineLabel()))
    assert text.startswith("### ⚪ TokenJam Bench: no baseline yet")
    assert "`mode: record`" in text
    assert "`tjb ci --baseline none`" in text
    assert "Compared with: no baseline." in text


def test_a_recorded_run_names_what_to_commit() -> None:
    decision = decided([measurement("p" * 60, "p" * 60)], label=BaselineLabel(declined=True))
    text = render_decision(decision.model_copy(update={"recorded": ("results/tjbench_humaneval_x.json",)}))
    assert "commit to your release branch" in text
    assert "`results/tjbench_humaneval_x.json`" in text
    assert "`mode: record`" not in text


def test_a_skipped_run_says_why_and_what_a_maintainer_can_do() -> None:
    skipped = Decision(status=Status.SKIPPED, exit_code=ExitCode.PASSED, reasons=("no keys",))
    text = render_decision(skipped)
    assert text.startswith("### ⚪ TokenJam Bench: skipped")
    assert "no keys." in text
    assert "GitHub hands no secrets to a pull request from a fork" in text


def test_a_withdrawn_recommendation_is_a_row() -> None:
    gone = DecisionRow(
        suite="samples",
        original_model=ORIGINAL,
        candidate_model=None,
        slot="recommended",
        vs_baseline=VsBaseline(
            status=RowStatus.NOT_RE_MEASURED, reason="tokenjam 0.7 recommends nothing", candidate_model=OLD
        ),
    )
    text = render_decision(
        Decision(status=Status.PASS, exit_code=ExitCode.PASSED, reasons=("nothing regressed",), rows=(gone,))
    )
    assert row_of(text, "samples")["original → candidate"] == f"`{ORIGINAL}` → (no recommendation)"
    assert "tokenjam 0.7 recommends nothing." in text


# Terminal


def hostile() -> Decision:
    ids = [f"{HOSTILE}{i}" for i in range(40)]
    name = "".join(char for char in HOSTILE if char.isprintable())  # a model spec holds nothing else
    models = (f"anthropic:{name}", f"openai:{name}")
    old = measurement("p" * 40, "p" * 40, suite=HOSTILE, task_ids=ids, models=models, version="0.6.0")
    new = measurement("p" * 40, "f" * 40, suite=HOSTILE, task_ids=ids, models=models)
    label = BaselineLabel(ref=HOSTILE, sha=HOSTILE, notes=(HOSTILE,))
    return decided([new], [old], label).model_copy(update={"notes": (HOSTILE,)})


def without_code(text: str) -> str:
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


@pytest.mark.parametrize("decision", [regressed(), hostile()], ids=["plain", "hostile"])
def test_the_terminal_gets_no_html(decision: Decision) -> None:
    text = render_decision(decision, folded=False)
    assert not re.search(r"<[A-Za-z/!?]", without_code(text))
    assert "<details>" in render_decision(decision)


def test_no_control_or_bidi_character_reaches_the_terminal() -> None:
    text = render_decision(hostile().model_copy(update={"reasons": ("\x1b[31mred\x07",)}), folded=False)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_columns_line_up_by_display_width() -> None:
    wide = measurement("p" * 60, "p" * 60, suite="日本語🙂")
    text = render_decision(decided([wide, measurement("p" * 60, "p" * 60, suite="x")]), folded=False)
    assert len({display_width(line) for line in table_of(text)}) == 1


def test_a_table_too_wide_for_the_terminal_becomes_one_table_a_row() -> None:
    text = render_decision(regressed(), folded=False, width=80)
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 2
    assert cells(tables[0].splitlines()[0]) == ["suite", "`humaneval`"]
    assert [cells(line)[0] for line in tables[1].splitlines()[2:]] == [
        "original → candidate",
        "vs. baseline",
        "verdict",
        "original pass",
        "candidate pass",
        "Δ (95 % CI)",
        "cost Δ",
    ]


# GitHub


def tokens_of(markdown: str) -> list[tuple[str, str]]:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    flat = []
    for token in parser.parse(markdown):
        flat += [(token.type, token.content), *((child.type, child.content) for child in token.children or ())]
    return flat


def test_hostile_ids_models_and_notes_stay_text() -> None:
    found = tokens_of(render_decision(hostile()))
    kinds = [kind for kind, _ in found]
    assert not {"link_open", "image", "html_inline"} & set(kinds)
    blocks = {content.strip() for kind, content in found if kind == "html_block"}
    assert all(re.fullmatch(r"<details( open)?>|</details>|<summary>[A-Za-z, ]+</summary>", block) for block in blocks)
    assert kinds.count("td_open") == 8
    plain = " ".join(content for kind, content in found if kind == "text")
    assert not re.search(r"@\w|#\d|://", plain)


def test_a_link_to_the_run_that_is_no_plain_address_is_not_made() -> None:
    text = render_decision(regressed(), run_url="https://x.example/) [y](javascript:z)")
    assert "link_open" not in {kind for kind, _ in tokens_of(text)}


# Size


def size(text: str) -> int:
    return max(len(text.encode()), len(text.encode("utf-16-le")) // 2, len(text))


@pytest.mark.parametrize("limit", [200, 1_000, 3_000, 8_000, 20_000, 65_000])
@pytest.mark.parametrize("decision", [many(60), hostile()], ids=["many", "hostile"])
def test_the_text_never_exceeds_the_limit(decision: Decision, limit: int) -> None:
    assert size(render_decision(decision, limit=limit, run_url=RUN)) <= limit


def test_details_go_first_and_every_row_stays() -> None:
    decision = many(60)
    full = render_decision(decision, run_url=RUN)
    text = render_decision(decision, limit=len(full.encode()) // 2, run_url=RUN)
    assert len(table_of(text)) == 62
    assert re.search(r"\*\*Left out for length:\*\* the details of \d+ of 60 rows\.", text)
    assert RUN in text


def test_then_rows_go_whole_and_it_says_how_many() -> None:
    text = render_decision(many(60), limit=16_000, run_url=RUN)
    rows = table_of(text)[2:]
    assert 0 < len(rows) < 60
    assert all(len(cells(row)) == 8 for row in rows)
    assert f"{60 - len(rows)} of 60 rows" in text
    assert RUN in text


def test_details_keep_their_tags_closed_under_any_limit() -> None:
    decision = many(60)
    for limit in range(6_000, 60_000, 12_000):
        text = render_decision(decision, limit=limit, run_url=RUN)
        assert len(re.findall("<details( open)?>", text)) == text.count("</details>")


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert render_decision(regressed(), limit=65_000) == render_decision(regressed())


# Measurement and series


def test_a_measurement_says_its_verdict_numbers_and_prices() -> None:
    text = render_artifact(measurement("p" * 60, "p" * 57 + "fff"))
    assert text.startswith("### ✅ `humaneval`: no_significant_regression\n") or "insufficient_evidence" in text
    assert f"57/60 ({100 * 57 / 60:.1f} %)" in text
    # 60 tasks of 100 tokens in and 50 (100) out at 10 (2) dollars per million.
    assert f"${60 * 150 * 10 / 1e6:.4f} → ${60 * 200 * 2 / 1e6:.4f}" in text
    assert f"`{CANDIDATE}`: $2 in, $2 out per million tokens (TokenJam's own table)" in text
    assert "3 `wrong_answer`" in text
    assert "<" not in without_code(text).replace("p <", "")


def test_a_mock_measurement_is_loudly_no_measurement() -> None:
    text = render_artifact(measurement("p" * 60, "p" * 60, flags=(Flag.MOCK,)))
    assert "(MOCK RUN)" in text.splitlines()[0]
    assert "nothing below is a measurement of any model" in text


def series(*steps: tuple[str, str]) -> Sequence[Artifact]:
    return [measurement("p" * 60, candidate, version=version) for version, candidate in steps]


def test_a_series_runs_by_tokenjam_version_within_each_row() -> None:
    steps = series(("0.6.0", "p" * 60), ("0.6.0rc1", "p" * 60), ("0.10.0", "f" * 20 + "p" * 40))
    text = render_series(build_series(steps, Rule()))
    table = [cells(line) for line in table_of(text)]
    assert [row[0] for row in table[2:]] == ["`0.6.0rc1`", "`0.6.0`", "`0.10.0`"]
    last = dict(zip(table[0], table[-1], strict=True))
    assert last["vs. the step before"] == "❌ regression: 20 broke, 0 recovered, p < 0.001"
    assert dict(zip(table[0], table[2], strict=True))["vs. the step before"] == "first measurement"
    assert RowKey("humaneval", ORIGINAL, "recommended").suite in text


def test_an_empty_series_says_so() -> None:
    assert "No artifacts here." in render_series(build_series([], Rule()))


def test_a_price_that_an_old_file_does_not_hold_is_not_shown_as_zero() -> None:
    text = render_artifact(measurement("p" * 60, "p" * 60, prices=(0.0, 0.0), source="unknown"))
    assert f"Price of `{CANDIDATE}`: not recorded." in text
    assert "$0 in" not in text


def test_an_errors_why_and_fix_stand_on_lines_of_their_own() -> None:
    error = "it broke\n  why: at https://x.example/a 7fba5fd686cd\n  fix: mend it"
    decision = decided([measurement("p" * 60, "p" * 60)]).model_copy(update={"reasons": (error,)})
    text = render_decision(decision)
    assert "\n\nit broke.\n\n- why: at https:\u200b//x.example/a `7fba5fd686cd`.\n- fix: mend it.\n" in text
    plain = render_decision(decision, folded=False)
    assert "- why: at https://x.example/a `7fba5fd686cd`.\n" in plain
    assert "\u200b" not in plain


def test_a_row_of_which_nothing_is_scored_has_no_rates() -> None:
    text = render_decision(decided([measurement("?" * 20, "?" * 20)]))
    assert "0/0" not in text
    assert "p = 1.000" not in text


def test_a_known_regression_is_told_in_its_row_and_in_its_details() -> None:
    decision = regressed()
    known = Acceptance(until=date(2026, 12, 31), reason="ticket 7")
    rows = tuple(row.model_copy(update={"accepted": known}) for row in decision.rows)
    text = render_decision(decision.model_copy(update={"rows": rows}))
    assert (
        row_of(text, "humaneval")["vs. baseline"]
        .split(": ", 1)[1]
        .startswith("30 broke, 2 recovered, p < 0.001; accepted until 2026-12-31: ticket 7")
    )
    assert "This regression fails no job: accepted until 2026-12-31: ticket 7." in text
