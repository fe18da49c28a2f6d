"""The action in a workflow, in its own image, on pull requests of a shop: what a person sees of each kind of run."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.e2e.act import Job
from tests.e2e.shop import (
    HUMANEVAL_TASKS,
    ORDERS,
    READ_ONLY_TOKEN,
    STEPWISE,
    Answers,
    Founder,
    Shop,
    orders,
    orders_suite,
    owned_by_root,
)

BROKEN = tuple(f"HumanEval/{number}" for number in range(3, 39, 3))
"""Twelve of the tasks that the shop asks: with none mended, chance alone does this once in 4,096 times."""


def test_a_first_run_has_no_baseline_and_is_green(first_run: Job, comments_after_first_run: list[str]) -> None:
    assert first_run.green
    assert first_run.exit_code == 0
    assert first_run.outputs["status"] == "no_baseline"
    assert first_run.outputs["baseline-ref"] == ""
    assert len(comments_after_first_run) == 1
    assert "no baseline" in comments_after_first_run[0].lower()


def test_every_task_is_asked_and_scored_in_the_container(first_run: Job) -> None:
    verdicts = first_run.verdicts()
    assert verdicts["humaneval"]["n_scored"] == HUMANEVAL_TASKS
    assert verdicts["humaneval"]["candidate_pass"] == HUMANEVAL_TASKS
    assert first_run.artifacts()["humaneval"]["sandbox_level"] in {"confined", "full"}
    assert verdicts[ORDERS]["n_scored"] == len(orders())
    assert verdicts[ORDERS]["candidate_pass"] == len(orders())


def test_the_candidates_are_those_that_tokenjam_recommends(first_run: Job) -> None:
    pairs = {suite: (row["original_model"], row["candidate_model"]) for suite, row in first_run.verdicts().items()}
    assert pairs["humaneval"] == ("openai:gpt-4o", "openai:gpt-4o-mini")
    assert pairs[ORDERS] == ("anthropic:claude-opus-4-7", "anthropic:claude-haiku-4-5")
    for artifact in first_run.artifacts().values():
        assert artifact["recommended_by"].startswith(f"tokenjam {first_run.outputs['tokenjam-version']}")
        assert artifact["mock"] is False


def test_the_comment_and_the_summary_say_the_same(first_run: Job, comments_after_first_run: list[str]) -> None:
    marker, _, text = comments_after_first_run[0].partition("\n")
    assert marker.startswith("<!-- tjbench:")
    assert text.strip() == first_run.summary.strip()


def test_what_the_container_writes_belongs_to_the_runner(first_run: Job) -> None:
    assert first_run.artifact_paths()
    assert owned_by_root(first_run.workspace) == []


def test_a_second_run_edits_the_comment(
    shop: Shop, comments_after_first_run: list[str], first_run: Job, second_run: Job
) -> None:
    assert second_run.green
    (edited,) = shop.comments(1)
    assert edited != comments_after_first_run[0]
    assert second_run.outputs["comment-url"] == first_run.outputs["comment-url"]


def test_an_unchanged_candidate_passes_against_the_release(released: Shop) -> None:
    job = released.pull_request(2)
    assert (job.green, job.exit_code, job.outputs["status"]) == (True, 0, "pass")
    assert job.outputs["baseline-ref"] == "release/1.0"
    assert released.sha("release/1.0")[:7] in job.summary


def test_a_candidate_that_got_worse_turns_the_job_red(released: Shop) -> None:
    job = released.pull_request(3, answers=Answers(humaneval_wrong=BROKEN))
    assert not job.green
    assert job.exit_code == 1
    assert job.outputs["status"] == "regression"
    assert job.outputs["regressions"] == "1"
    row = job.verdicts()["humaneval"]
    assert (row["vs_baseline"]["b"], row["vs_baseline"]["c"]) == (len(BROKEN), 0)
    assert row["vs_baseline"]["p_value"] == pytest.approx(0.5 ** len(BROKEN), rel=1e-6)
    assert job.verdicts()[ORDERS]["vs_baseline"]["status"] == "no_regression"
    (comment,) = released.comments(3)
    assert [task for task in BROKEN if task not in comment] == []
    assert any(level == "error" for level, _ in job.annotations)


def test_a_prompt_that_makes_answers_worse_turns_the_job_red(released: Shop) -> None:
    asked = tuple(orders())[:20]
    job = released.pull_request(
        4,
        {ORDERS: orders_suite("Answer at once with the number alone.")},
        answers=Answers(need_steps=asked),
    )
    assert (job.green, job.exit_code, job.outputs["status"]) == (False, 1, "regression")
    row = job.verdicts()[ORDERS]["vs_baseline"]
    assert (row["status"], row["b"], row["c"]) == ("regression", len(asked), 0)
    assert "order-0" in released.comments(4)[0]
    assert "prompt" in released.comments(4)[0].lower()


def test_the_same_models_pass_where_the_prompt_stays(released: Shop) -> None:
    assert "step by step" in STEPWISE.lower()
    job = released.pull_request(5, answers=Answers(need_steps=tuple(orders())[:20]))
    assert (job.green, job.outputs["status"]) == (True, "pass")


def test_a_token_that_may_only_read_changes_nothing_but_the_comment(released: Shop) -> None:
    job = released.pull_request(6, token=READ_ONLY_TOKEN)
    assert (job.green, job.exit_code, job.outputs["status"]) == (True, 0, "pass")
    assert released.comments(6) == []
    assert job.outputs["comment-url"] == ""
    assert "pull-requests: write" in job.log
    report = (job.workspace / job.outputs["report-md"]).read_text(encoding="utf-8")
    assert report.strip() == job.summary.strip() != ""


def test_a_token_that_may_only_read_hides_no_regression(released: Shop) -> None:
    job = released.pull_request(7, token=READ_ONLY_TOKEN, answers=Answers(humaneval_wrong=BROKEN))
    assert (job.exit_code, job.outputs["status"]) == (1, "regression")


def test_a_provider_that_cannot_be_reached_is_incomplete_and_no_regression(released: Shop) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    nobody = f"http://127.0.0.1:{port}"
    job = released.pull_request(8, endpoints={"OPENAI_BASE_URL": f"{nobody}/v1", "ANTHROPIC_BASE_URL": nobody})
    assert not job.green
    assert job.exit_code == 3
    assert job.outputs["status"] == "incomplete"
    assert len(released.comments(8)) == 1


@pytest.fixture(scope="module")
def second_shop(found_shop: Founder) -> Shop:
    """A shop that keeps the action in a directory, so that the workspace's own pyproject.toml is the shop's."""
    return found_shop("./.github/actions/bench")


def test_settings_in_the_workspace_reach_neither_the_installer_nor_the_prices(second_shop: Shop) -> None:
    clean = second_shop.pull_request(1)
    with _index() as (url, asked):
        hostile = second_shop.pull_request(2, _hostile(url))
    assert asked == []
    assert (hostile.green, hostile.outputs["status"]) == (True, "no_baseline")
    assert hostile.outputs["tokenjam-version"] == clean.outputs["tokenjam-version"]
    assert "could not be installed" not in hostile.log
    for suite, artifact in hostile.artifacts().items():
        before = clean.artifacts()[suite]
        assert _prices(artifact) == _prices(before)
        assert "overrides" not in artifact["flags"]
    assert ".tj/config.toml" in second_shop.comments(2)[0]
    assert "pip.conf" not in second_shop.comments(2)[0]


def _prices(artifact: dict[str, dict[str, dict[str, object]]]) -> dict[str, dict[str, object]]:
    return {
        model: {name: value for name, value in rates.items() if name != "at"}
        for model, rates in artifact["rates"].items()
    }


def _hostile(index: str) -> dict[str, str]:
    """What a pull request may bring in the hope that an installer or TokenJam reads it from the working directory."""
    pip = f"[global]\nindex-url = {index}\nno-binary = :all:\n"
    return {
        "pip.conf": pip,
        "pip/pip.conf": pip,
        ".config/pip/pip.conf": pip,
        ".pip/pip.conf": pip,
        "uv.toml": f'index-url = "{index}"\nno-binary = true\n',
        "pyproject.toml": f'[project]\nname = "shop"\nversion = "1"\n[tool.uv]\nindex-url = "{index}"\n',
        ".env": f"UV_DEFAULT_INDEX={index}\nPIP_INDEX_URL={index}\n",
        "tokenjam.py": "raise SystemExit('the workspace was imported')\n",
        "sitecustomize.py": "raise SystemExit('the workspace was imported')\n",
        ".tj/config.toml": "".join(
            f'[pricing.{provider}."{model}"]\ninput_per_mtok = 0.000001\noutput_per_mtok = 0.000001\n'
            for provider, model in (("openai", "gpt-4o-mini"), ("anthropic", "claude-haiku-4-5"))
        ),
    }


@contextmanager
def _index() -> Iterator[tuple[str, list[str]]]:
    """A package index that nobody should ask, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple", asked
        finally:
            server.shutdown()
            thread.join()


def test_the_verdicts_are_one_line_of_json(first_run: Job) -> None:
    assert "\n" not in first_run.outputs["verdicts"]
    rows = json.loads(first_run.outputs["verdicts"])
    names = {
        "suite",
        "original_model",
        "candidate_model",
        "n_scored",
        "original_pass",
        "candidate_pass",
        "accuracy_delta_pp",
        "delta_ci_pp",
        "p_value",
        "cost_delta_pct",
        "verdict",
        "vs_baseline",
    }
    assert [set(row) for row in rows] == [names, names]
    assert {row["vs_baseline"]["status"] for row in rows} == {"no_baseline"}
