"""The action from event to exit code, with a real repository, and GitHub, models and a tokenjam of our making."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.fakes.gitdir import git
from tests.fakes.github_answers import Identity
from tests.fakes.github_openapi import description_path
from tests.fakes.github_repo import GitRepo
from tests.fakes.github_server import GithubServer
from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.shop import CONFIG, FILES, KEY, NAME, TASKS, Outcome, Shop, found_shop
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.tokenjam import BIG, PRICES, SMALL, VERSION, make_checkout, make_tokenjam
from tjbench.action_inputs import open_action, read_config
from tjbench.config import ModelSpec
from tjbench.container import plan, prepare
from tjbench.errors import ExitCode
from tjbench.store.artifacts import load_path
from tjbench.upgrade import Upgrade, find_installer

OUTPUTS = {
    "status",
    "verdicts",
    "regressions",
    "tokenjam-version",
    "baseline-ref",
    "report-md",
    "report-html",
    "results-dir",
    "junit",
    "comment-url",
    "cost-usd",
}
PASSED, REGRESSION, USAGE, INCOMPLETE = ExitCode.PASSED, ExitCode.REGRESSION, ExitCode.USAGE, ExitCode.INCOMPLETE
KEYS = {"OPENAI_API_KEY": KEY}
TWELVE = range(12)


class Models:
    """What the provider's models get wrong; `refuse` answers everything with an error."""

    def __init__(self) -> None:
        self.wrong: Container[int] = ()
        self.refuse: Reply | None = None

    def __call__(self, ask: Ask) -> Reply:
        if self.refuse:
            return self.refuse
        careless = "Guess" in ask.system
        return Reply(text=add(ask.user, wrong=TWELVE if careless else self.wrong if ask.model == "small" else ()))


@pytest.fixture
def models() -> Models:
    return Models()


@contextmanager
def open_shop(directory: Path, models: Models) -> Iterator[Shop]:
    if not description_path().exists():
        pytest.skip(f"{description_path()} is absent")
    found_shop(directory / "origin")
    with (
        FakeProvider(models) as provider,
        GithubServer(GitRepo(directory / "origin"), full_name=NAME) as github,
    ):
        github.tokens["read-only"] = Identity(read_only=True)
        yield Shop(
            origin=directory / "origin",
            scratch=directory,
            github=github,
            provider=provider,
            tokenjam=make_tokenjam(directory / "tokenjam"),
        )
    assert github.violations == []


@pytest.fixture
def shop(tmp_path: Path, models: Models) -> Iterator[Shop]:
    """A shop that has no release yet."""
    with open_shop(tmp_path, models) as opened:
        yield opened


@pytest.fixture(scope="session")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a shop measures today, as files of a release."""
    with open_shop(tmp_path_factory.mktemp("measured"), Models()) as opened:
        return {f"results/{path.name}": path.read_bytes() for path in opened.run().artifacts()}


@pytest.fixture
def released(shop: Shop, measured_once: dict[str, bytes]) -> Shop:
    """The shop with what it measures today on release/1.0."""
    shop.commit("release/1.0", measured_once, start="main")
    return shop


def comment_text(body: str) -> str:
    """A comment without its marker."""
    return body.partition("\n")[2]


# --- the ordinary life of a pull request


def test_a_first_run_is_green_without_a_baseline_and_comments(shop: Shop) -> None:
    got = shop.pull_request()
    assert (got.code, got.outputs["status"], got.outputs["baseline-ref"]) == (PASSED, "no_baseline", "")
    (body,) = shop.comments()
    assert comment_text(body) == got.summary
    assert got.outputs["comment-url"].endswith("/pull/1#issuecomment-1001")
    assert len(shop.provider.asks) == 2 * TASKS


def test_a_second_run_edits_its_comment(shop: Shop) -> None:
    shop.pull_request()
    again = shop.pull_request()
    (body,) = shop.comments()
    assert comment_text(body) == again.summary


def test_an_unchanged_candidate_passes_against_the_release(released: Shop) -> None:
    got = released.pull_request()
    assert (got.code, got.outputs["status"], got.outputs["baseline-ref"]) == (PASSED, "pass", "release/1.0")
    assert f"baseline: release/1.0 at {released.sha('release/1.0')}" in got.log


def test_a_candidate_that_got_worse_fails_and_the_comment_names_the_tasks(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    got = released.pull_request()
    assert (got.code, got.outputs["status"], got.outputs["regressions"]) == (REGRESSION, "regression", "1")
    (row,) = json.loads(got.outputs["verdicts"])
    versus = row["vs_baseline"]
    assert (versus["b"], versus["c"], versus["status"]) == (12, 0, "regression")
    assert versus["p_value"] == pytest.approx(2**-12)
    assert (row["n_scored"], row["original_pass"], row["candidate_pass"]) == (TASKS, TASKS, TASKS - 12)
    (body,) = released.comments()
    assert all(f"`sum-{n}`" in body for n in TWELVE)
    assert any("12 tasks broke" in reason for reason in got.annotations("error"))


def test_a_prompt_that_makes_answers_worse_fails(released: Shop) -> None:
    got = released.pull_request({"bench/sums.jsonl": sums_jsonl(TASKS, system="Guess.").encode()})
    assert (got.code, got.outputs["status"]) == (REGRESSION, "regression")


def test_every_output_is_there_and_can_be_read(shop: Shop) -> None:
    got = shop.pull_request()
    assert set(got.outputs) == OUTPUTS
    assert (got.outputs["tokenjam-version"], got.outputs["regressions"]) == ("9.1.0", "0")
    assert float(got.outputs["cost-usd"]) > 0
    assert (got.workspace / got.outputs["report-md"]).read_text() == got.summary
    assert (got.workspace / got.outputs["report-html"]).read_text().startswith("<!doctype html>")
    ElementTree.parse(got.workspace / got.outputs["junit"])
    (written,) = load_path(got.workspace / got.outputs["results-dir"]).artifacts.values()
    assert written.suite.name == "bench/sums.jsonl"
    assert set(got.decision.model_dump()) >= {"status", "rows", "reasons"}


def test_the_measured_commit_is_the_pull_requests_head_and_not_githubs_merge(shop: Shop) -> None:
    got = shop.pull_request({"README": b"x"}, merge=True)
    (path,) = got.artifacts()
    head = git(got.workspace, "rev-parse", "HEAD^2")
    assert json.loads(path.read_text())["commit"] == head


def test_without_a_comment_the_rest_is_the_same(shop: Shop) -> None:
    got = shop.pull_request(comment="off")
    assert (got.code, got.outputs["comment-url"], shop.comments()) == (PASSED, "", [])
    assert got.summary


def test_gates_with_ids_of_their_own_keep_their_comments_apart(shop: Shop) -> None:
    shop.pull_request(comment_id="nightly")
    shop.pull_request(comment_id="quick")
    assert len(shop.comments()) == 2


# --- what GitHub refuses


@pytest.mark.parametrize("wrong", [(), TWELVE], ids=["pass", "regression"])
def test_a_token_that_may_only_read_changes_nothing_but_the_comment(
    released: Shop, models: Models, wrong: Container[int]
) -> None:
    models.wrong = wrong
    got = released.pull_request(token="read-only")
    assert got.code == (REGRESSION if wrong else PASSED)
    assert (got.outputs["comment-url"], released.comments()) == ("", [])
    assert got.summary
    (notice,) = got.annotations("notice")
    assert "pull-requests: write" in notice
    assert "results/tjbench-report.md" in notice


def test_an_outage_of_comments_fails_nothing(released: Shop) -> None:
    released.github.fail(500, path="/comments", times=99)
    got = released.pull_request()
    assert (got.code, got.outputs["status"]) == (PASSED, "pass")
    assert "500" in got.annotations("notice")[0]


def test_a_repository_that_cannot_be_read_is_incomplete(released: Shop) -> None:
    released.github.fail(502, path="/branches", times=99)
    got = released.pull_request()
    assert (got.code, got.outputs["status"]) == (INCOMPLETE, "incomplete")
    assert "did not let us read its branches" in got.annotations("error")[0]
    assert released.provider.asks == []


def test_without_a_token_the_clone_is_read(released: Shop) -> None:
    got = released.pull_request(token="")
    assert (got.code, got.outputs["baseline-ref"]) == (PASSED, "release/1.0")
    assert released.comments() == []


# --- providers


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=402, message="you have no available credits"), INCOMPLETE),
        (Reply(status=401, message="invalid key"), USAGE),
        (Reply(status=404, message="model_not_found"), USAGE),
    ],
    ids=["quota", "key", "model"],
)
def test_a_provider_that_refuses_is_no_regression(released: Shop, models: Models, reply: Reply, code: ExitCode) -> None:
    models.refuse = reply
    got = released.pull_request(concurrency="1")
    assert (got.code, got.outputs["status"]) == (code, "incomplete")
    assert len(released.provider.asks) == 1
    assert any(reply.message in reason for reason in got.decision.reasons)


def test_an_outage_fails_only_where_the_policy_says_so(released: Shop, models: Models) -> None:
    models.refuse = Reply(status=402, message="no available credits")
    got = released.pull_request(fail_on="regression")
    assert (got.code, got.outputs["status"]) == (PASSED, "incomplete")
    assert got.annotations("warning")


def test_a_cap_that_is_hit_is_incomplete_and_no_regression(released: Shop) -> None:
    # one answer of 2048 tokens at 30 dollars a million may cost 0.0614, and an answer does cost about 0.0001
    got = released.pull_request(max_cost_usd="0.0625", reuse="never")
    assert (got.code, got.outputs["status"]) == (INCOMPLETE, "incomplete")
    assert 0 < float(got.outputs["cost-usd"]) <= 0.0625


def test_the_action_has_a_cap_where_nobody_sets_one(shop: Shop) -> None:
    dear = FILES["tjbench.toml"] + b"max_tokens = 1000000\n"  # a call could cost 30 dollars
    got = shop.pull_request({"tjbench.toml": dear})
    assert got.code == INCOMPLETE
    assert shop.provider.counts()["by_model"].get("big", 0) == 0


def test_a_cap_that_cannot_be_held_is_refused_before_any_call_with_what_to_write(shop: Shop) -> None:
    own = (CONFIG + "[run]\nallow_unpriced = true\n").encode()  # a pull request's own leave counts for nothing
    got = shop.pull_request({"tjbench.toml": own}, candidate="openai:other")
    assert (got.code, shop.provider.asks) == (ExitCode.USAGE, [])
    assert "openai:other has no known price" in got.log
    assert 'under with: allow-unpriced: "true"' in got.log


def test_keys_that_a_live_run_needs_must_be_there(shop: Shop) -> None:
    got = shop.pull_request(live=False)
    assert got.code == USAGE
    assert "missing key: OPENAI_API_KEY" in got.annotations("error")[0]
    assert "missing key: OPENAI_API_KEY" in got.summary
    assert shop.provider.asks == []


def test_a_mock_run_is_asked_for_and_said(shop: Shop) -> None:
    got = shop.pull_request(live=False, mock="true")
    assert (got.code, got.decision.mock, float(got.outputs["cost-usd"])) == (PASSED, True, 0)
    assert "MOCK RUN" in shop.comments()[0]
    assert shop.provider.asks == []


# --- a new tokenjam

TINY = ModelSpec("openai", "tiny")


def newer(shop: Shop, recommends: ModelSpec = SMALL, version: str = "9.2.0") -> dict[str, str]:
    """An environment with a newer tokenjam that asks more for small, beside which the baseline's is kept."""
    cache = shop.scratch / "cache"
    kept = cache / "tjbench" / f"tokenjam-py{sys.version_info.major}{sys.version_info.minor}" / VERSION
    make_tokenjam(kept)
    prices = {**PRICES, SMALL: (2.0, 3.0), TINY: (0.5, 1.0)}
    python = make_tokenjam(shop.scratch / version, version=version, recommended={BIG: recommends}, prices=prices)
    return {"XDG_CACHE_HOME": str(cache), "TJBENCH_TOKENJAM_PYTHON": str(python)}


def test_a_check_of_an_unchanged_recommendation_costs_nothing_and_shows_what_moved(released: Shop) -> None:
    got = released.pull_request(mode="upgrade-check", environ=newer(released))
    assert (got.code, got.outputs["status"], float(got.outputs["cost-usd"])) == (PASSED, "pass", 0)
    assert released.provider.asks == []
    (body,) = released.comments()
    for said in (
        "every outcome is the baseline's, for $0",
        "tokenjam 9.1.0 → 9.2.0",
        "every recommendation is the same",
        "openai:small input: $1 → $2 per million tokens",
        "repriced: bench/sums.jsonl, openai:big → openai:small",
        "reused, 0 days old",
    ):
        assert said in body.replace("\\", "")


def test_a_check_measures_only_what_is_recommended_anew_and_names_it(released: Shop) -> None:
    got = released.pull_request(mode="upgrade-check", environ=newer(released, TINY))
    assert released.provider.counts()["by_model"] == {"tiny": TASKS}
    assert "changed: openai:big: openai:small → openai:tiny, rates imply" in "\n".join(got.decision.upgrade)
    assert got.decision.rows[0].vs_baseline.candidate_model == "openai:small"


def test_a_check_by_the_baselines_own_version_says_so(released: Shop) -> None:
    got = released.pull_request(mode="upgrade-check")
    assert got.decision.upgrade == ("tokenjam 9.1.0 is the baseline's: its recommendations and prices are the same",)


def test_a_check_that_cannot_have_the_baselines_version_says_so_and_judges_all_the_same(released: Shop) -> None:
    index = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0", "XDG_CACHE_HOME": ""}
    got = released.pull_request(mode="upgrade-check", environ={**newer(released), **index})
    assert (got.code, got.outputs["status"]) == (PASSED, "pass")
    assert got.decision.upgrade[0].startswith("tokenjam 9.2.0 was not held against the baseline's: ")


def test_no_other_mode_asks_a_second_tokenjam(released: Shop) -> None:
    assert released.pull_request(environ=newer(released)).decision.upgrade == ()


def test_a_checkout_in_the_workspace_is_what_is_measured_by(released: Shop) -> None:
    """The container builds what the pull request checked out; the gate then asks that tokenjam."""
    workspace = released.clone("main")
    make_checkout(workspace / "tokenjam", version="9.3.0.dev1", recommended={BIG: TINY})
    python = make_tokenjam(released.scratch / "image")
    launch = plan([], {"INPUT_TOKENJAM-VERSION": "path:tokenjam"})
    environ = {"GITHUB_WORKSPACE": str(workspace), "TJBENCH_TOKENJAM_PYTHON": str(python)}
    prepare(launch, Upgrade(installer=find_installer(python, environ), python=python), environ)
    got = released.run(workspace=workspace, environ=environ, tokenjam_version="path:tokenjam", allow_unpriced="true")
    assert got.outputs["tokenjam-version"] == "9.3.0.dev1"
    assert got.decision.rows[0].candidate_model == str(TINY)


# --- the image's own trouble


def test_a_tokenjam_that_could_not_be_upgraded_is_warned_of(shop: Shop) -> None:
    got = shop.pull_request(environ={"TJBENCH_UPGRADE_WARNING": "the newest tokenjam could not be had"})
    assert got.code == PASSED
    assert got.annotations("warning") == ["the newest tokenjam could not be had"]
    assert "the newest tokenjam could not be had" in shop.comments()[0]


@pytest.mark.parametrize(("fail_on", "code"), [("", INCOMPLETE), ("never", PASSED)])
def test_a_tokenjam_that_could_not_be_installed_is_incomplete(shop: Shop, fail_on: str, code: ExitCode) -> None:
    got = shop.pull_request(environ={"TJBENCH_UPGRADE_FAILURE": "tokenjam 1.1 could not be had"}, fail_on=fail_on)
    assert (got.code, got.outputs["status"]) == (code, "incomplete")
    assert "tokenjam 1.1 could not be had" in shop.comments()[0]
    assert shop.provider.asks == []


# --- forks, and events that carry secrets for anyone


def test_a_fork_without_keys_is_skipped(released: Shop) -> None:
    got = released.pull_request(repository="mallory/shop", live=False, token="read-only")
    assert (got.code, got.outputs["status"]) == (PASSED, "skipped")
    assert "no secrets" in got.summary
    assert released.provider.asks == []


def test_a_fork_with_keys_is_refused(shop: Shop) -> None:
    got = shop.pull_request(repository="mallory/shop", keys=KEYS)
    assert got.code == USAGE
    assert "comes from a fork" in got.annotations("error")[0]
    assert shop.provider.asks == []


def test_pull_request_target_refuses_foreign_code(shop: Shop) -> None:
    got = shop.pull_request({"README": b"x"}, repository="mallory/shop", event="pull_request_target", keys=KEYS)
    assert got.code == USAGE
    assert "pull_request_target" in got.annotations("error")[0]
    assert shop.provider.asks == []
    assert shop.comments() == []


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("schedule", {}),
        ("workflow_dispatch", {}),
        ("push", {"before": "0" * 40}),
        ("merge_group", {"merge_group": {"base_ref": "refs/heads/main"}}),
        ("release", {}),
        ("", {}),
    ],
)
def test_an_event_needs_no_pull_request(released: Shop, event: str, payload: dict[str, object]) -> None:
    got = released.run(event, payload)
    assert (got.code, got.outputs["status"], got.outputs["comment-url"]) == (PASSED, "pass", "")


def test_a_push_to_a_release_is_held_against_the_one_below(released: Shop) -> None:
    released.commit("release/1.1", {}, start="release/1.0")
    got = released.run("push", {}, ref="release/1.1", environ={"GITHUB_REF": "refs/heads/release/1.1"})
    assert got.outputs["baseline-ref"] == "release/1.0"


# --- a pull request that changes how it is judged


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ('[gate]\nfail_on = "never"\n', "[gate]"),
        ("[gate]\nalpha = 0.000001\n", "[gate]"),
        ("required = false\n", "[[proof]]"),
        ('fail_on = "never"\n', "[[proof]]"),
        ('[baseline]\nbranches = ["nowhere"]\n', "[baseline]"),
        ("[run]\nmock = true\n", "[run]"),
    ],
)
def test_a_pull_requests_own_policy_is_said_and_not_applied(
    released: Shop, models: Models, own: str, named: str
) -> None:
    models.wrong = TWELVE
    got = released.pull_request({"tjbench.toml": (CONFIG + own).encode()})
    assert got.code == REGRESSION
    (note,) = (note for note in got.decision.notes if "will count once it is merged" in note)
    assert named in note


def test_a_merge_queue_is_judged_by_the_base_too(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    weak = (CONFIG + '[gate]\nfail_on = "never"\n[run]\nmock = true\n').encode()
    head = released.commit("queued", {"tjbench.toml": weak}, start="main")
    about = {"head_sha": head, "base_sha": released.sha("main"), "base_ref": "refs/heads/main"}
    got = released.run("merge_group", {"merge_group": about}, ref=head, sha=head)
    assert got.code == REGRESSION
    assert any("[gate]" in note and "will count once it is merged" in note for note in got.decision.notes)


@pytest.mark.parametrize(("policy", "code"), [("", PASSED), ('fail_on = ["regression", "dropped"]\n', REGRESSION)])
def test_a_proof_that_a_pull_request_removes_is_said_and_never_passes(
    released: Shop, policy: str, code: ExitCode
) -> None:
    kept = CONFIG.replace("bench/sums", "bench/more")
    more = released.clone("main").joinpath("bench/sums.jsonl").read_bytes()
    released.commit("main", {"tjbench.toml": (CONFIG + policy + kept).encode(), "bench/more.jsonl": more})
    got = released.pull_request({"tjbench.toml": kept.encode()})
    assert got.code == code
    assert got.outputs["status"] == ("regression" if policy else "inconclusive")
    assert any("removal of the proof" in note for note in got.decision.notes)
    assert any("the baseline has this row and the run has not" in reason for reason in got.decision.reasons)


def test_another_spelling_of_a_suites_path_keeps_the_rows_own_policy(released: Shop) -> None:
    released.commit("main", {"tjbench.toml": (CONFIG + 'fail_on = ["regression", "dropped"]\n').encode()})
    respelt = CONFIG.replace("bench/", "./bench/") + "limit = 5\n"
    assert released.pull_request({"tjbench.toml": respelt.encode()}).code == REGRESSION


def test_a_configuration_that_is_a_link_is_refused(released: Shop) -> None:
    workspace = released.clone("main")
    (workspace / "tjbench.toml").rename(workspace / "real.toml")
    (workspace / "tjbench.toml").symlink_to("real.toml")
    got = released.run(workspace=workspace)
    assert got.code == USAGE
    assert "tjbench.toml is a symbolic link" in got.summary


def test_a_configuration_outside_the_workspace_is_refused(released: Shop) -> None:
    assert released.run(config="../tjbench.toml").code == USAGE


def test_a_version_that_is_not_installed_is_not_measured_with_another(released: Shop) -> None:
    got = released.run(tokenjam_version="9.9.9")
    assert got.code == USAGE
    assert "tokenjam 9.9.9 is asked for" in got.summary


def test_a_model_name_cannot_give_the_runner_an_older_command(released: Shop) -> None:
    config = (CONFIG.replace("openai:big", "openai:##[error]forged") + 'candidate = "openai:small"\n').encode()
    got = released.pull_request({"tjbench.toml": config}, allow_unpriced="true")
    progress = [line for line in got.log.splitlines() if "done, " in line]
    assert progress
    assert all("##[" not in line for line in progress)


def test_the_same_policy_counts_once_it_is_merged(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    released.commit("main", {"tjbench.toml": (CONFIG + '[gate]\nfail_on = "never"\n').encode()})
    assert released.pull_request().code == PASSED


def test_the_workflows_inputs_count_at_once(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    assert released.pull_request(fail_on="never").code == PASSED


def test_a_base_without_a_configuration_has_the_default_policy(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    git(released.origin, "rm", "-q", "tjbench.toml")
    released.commit("main", {})
    got = released.pull_request({"tjbench.toml": (CONFIG + '[gate]\nfail_on = "never"\n').encode()})
    assert got.code == REGRESSION


def test_a_broken_configuration_at_the_base_can_be_mended(released: Shop) -> None:
    released.commit("main", {"tjbench.toml": b"[gate\n"})
    assert released.pull_request().code == USAGE
    got = released.pull_request({"tjbench.toml": CONFIG.encode()})
    assert (got.code, got.outputs["status"]) == (PASSED, "pass")
    assert any("the base commit's cannot be read: tjbench.toml at" in note for note in got.decision.notes)


# --- baselines


def test_a_named_branch_that_is_absent_is_an_error(shop: Shop) -> None:
    got = shop.pull_request(baseline="branch:release/9")
    assert got.code == USAGE
    assert "baseline branch 'release/9' does not exist" in got.annotations("error")[0]


def test_a_baseline_that_is_no_artifact_is_incomplete(released: Shop) -> None:
    released.commit("release/1.0", {"results/tjbench_broken.json": b"{"})
    got = released.pull_request()
    assert (got.code, got.outputs["status"]) == (INCOMPLETE, "incomplete")
    assert any("tjbench_broken.json is not an artifact" in reason for reason in got.decision.reasons)


def test_the_configured_branches_are_the_only_ones(released: Shop) -> None:
    released.commit("stable", {}, start="release/1.0")
    released.commit("main", {"tjbench.toml": (CONFIG + '[baseline]\nbranches = ["lts", "stable"]\n').encode()})
    got = released.pull_request()
    assert (got.outputs["status"], got.outputs["baseline-ref"]) == ("pass", "stable")
    assert got.decision.baseline.notes == ("branch lts does not exist",)


def test_another_directory_on_the_branch(shop: Shop, measured_once: dict[str, bytes]) -> None:
    (content,) = measured_once.values()
    shop.commit("release/1.0", {"evidence/tjbench_x.json": content}, start="main")
    assert shop.pull_request().outputs["status"] == "no_baseline"
    assert shop.pull_request(baseline_dir="evidence").outputs["status"] == "pass"


def test_recording_measures_and_judges_nothing(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    got = released.run(mode="record")
    assert (got.code, got.outputs["baseline-ref"]) == (PASSED, "")
    assert len(got.artifacts()) == 1


# --- inputs


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"benchmark": "samples"}, "did you mean 'benchmarks'?"),
        ({"mode": "report"}, "input mode: 'report' is not one of auto, gate, record"),
        ({"comment": "yes"}, "input comment: 'yes' is not one of auto, off"),
        ({"fail_on": "regressions"}, "input fail-on"),
        ({"alpha": "2"}, "input alpha"),
        ({"max_cost_usd": "ten"}, "input max-cost-usd"),
        ({"limit": "0"}, "input limit"),
        ({"original": "gpt-4o"}, "a model is written provider:model"),
        ({"benchmarks": "no-such-suite"}, "there is no suite 'no-such-suite'"),
        ({"benchmarks": "../outside.jsonl"}, "lies outside the workspace"),
        ({"config": "other.toml"}, "cannot read"),
        ({"results_dir": "../elsewhere"}, "leaves the workspace"),
        ({"report_file": "/etc/report.json"}, "leaves the workspace"),
        ({"confirm": "maybe"}, "input confirm: 'maybe' is not one of true, false"),
        ({"baseline": "newest"}, "baseline 'newest' is not understood"),
        ({"baseline": "path:nowhere"}, "there is no directory"),
        ({"journal_dir": "bench"}, "is tracked by git"),
    ],
)
def test_a_wrong_input_is_one_clear_message(shop: Shop, inputs: dict[str, str], said: str) -> None:
    got = shop.pull_request(None, **inputs)  # type: ignore[arg-type]
    assert got.code == USAGE
    (error,) = got.annotations("error")
    assert said in error
    assert "Traceback" not in got.log
    assert shop.provider.asks == []


@pytest.mark.parametrize(("value", "wanted"), [("true", True), ("false", False)])
def test_confirm_is_an_input(tmp_path: Path, value: str, wanted: bool) -> None:
    (tmp_path / "tjbench.toml").write_text(f"[gate]\nconfirm = {str(not wanted).lower()}\n")
    environ = {"INPUT_CONFIRM": value, "GITHUB_EVENT_NAME": "schedule"}
    config, _ = read_config(open_action(environ, tmp_path, io.StringIO()))
    assert config.gate.confirm is wanted


def test_inputs_replace_the_files_proofs(shop: Shop) -> None:
    got = shop.pull_request(candidate="openai:other", limit="3", samples="2", allow_unpriced="true")
    (row,) = got.decision.rows
    assert (row.candidate_model, row.slot, row.n_tasks) == ("openai:other", "openai:other", 3)
    assert len(shop.provider.asks) == 2 * 3 * 2


def test_auto_as_an_input_wins_over_the_files_mock(shop: Shop) -> None:
    shop.commit("main", {"tjbench.toml": (CONFIG + "[run]\nmock = true\n").encode()})
    assert shop.pull_request().decision.mock
    assert not shop.pull_request(mock="auto").decision.mock


def test_price_files_in_the_workspace_are_listed_and_not_applied(shop: Shop) -> None:
    got = shop.pull_request({".tj/config.toml": b"[pricing.openai.big]\ninput_per_mtok = 0.01\n"})
    (path,) = got.artifacts()
    rates = json.loads(path.read_text())["rates"][str(BIG)]
    assert (rates["input"], rates["source"]) == (10.0, "packaged")
    assert ".tj/config.toml" in shop.comments()[0]


def test_a_journal_behind_a_committed_link_is_refused_before_any_call(shop: Shop) -> None:
    workspace = shop.clone("main")
    (workspace / "plain").mkdir()
    (workspace / "link").symlink_to("plain")
    got = shop.run(workspace=workspace, journal_dir="link")
    assert got.code == USAGE
    assert "journal-dir link passes the symbolic link" in got.annotations("error")[0]
    assert shop.provider.asks == []


def test_a_journal_spares_the_second_run_its_calls(shop: Shop) -> None:
    shop.commit("main", {".gitignore": b"answers/\n"})
    workspace = shop.clone("main")
    shop.run(workspace=workspace, journal_dir="answers")
    asked = len(shop.provider.asks)
    again = shop.run(workspace=workspace, journal_dir="answers")
    assert (asked, len(shop.provider.asks)) == (2 * TASKS, 2 * TASKS)
    assert float(again.outputs["cost-usd"]) == 0
    assert again.outputs["status"] == "no_baseline"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_place_of_results_that_takes_none_is_refused_before_any_call(shop: Shop, kind: str) -> None:
    workspace = shop.clone("main")
    (workspace / "inside").mkdir()
    if kind == "link":
        (workspace / "results").symlink_to("inside")
    else:
        (workspace / "results").touch()
    got = shop.run(workspace=workspace)
    assert got.code == USAGE
    assert "results-dir" in got.annotations("error")[0]
    assert list((workspace / "inside").iterdir()) == []
    assert shop.provider.asks == []


# --- secrets


def test_no_secret_is_written_anywhere_and_all_are_masked_first(released: Shop, models: Models) -> None:
    models.wrong = TWELVE
    secrets = {**KEYS, "ACME_API_KEY": "line-one-a91f\nline-two-77c2", "DB_SECRET": "secret-31f0c4"}
    got = released.pull_request(keys=secrets, token=TOKEN_LIKE)
    hidden = [KEY, "line-one-a91f", "line-two-77c2", "secret-31f0c4", TOKEN_LIKE]
    lines = got.log.splitlines()
    masks = [line.removeprefix("::add-mask::") for line in lines if line.startswith("::add-mask::")]
    assert set(hidden) <= set(masks)
    assert all(line.startswith("::add-mask::") for line in lines[: len(masks)])
    told = "\n".join(lines[len(masks) :]) + got.summary + "".join(released.comments()) + json.dumps(got.outputs)
    for path in got.workspace.rglob("*"):
        if path.is_file() and ".git" not in path.relative_to(got.workspace).parts:
            told += path.read_text(errors="replace")
    assert [secret for secret in hidden if secret in told] == []


TOKEN_LIKE = "ghs_canary4f6e1c"


def test_a_providers_error_that_repeats_the_key_does_not_spread_it(shop: Shop, models: Models) -> None:
    models.refuse = Reply(status=401, message=f"Incorrect API key provided: {KEY}")
    got = shop.pull_request(keys=KEYS)
    assert got.code == USAGE
    told = got.log.replace(f"::add-mask::{KEY}", "") + got.summary + shop.comments()[0] + json.dumps(got.outputs)
    assert KEY not in told
    assert "[key]" in told.replace("\\", "")


def test_outside_github_no_secret_is_printed_to_be_masked(shop: Shop) -> None:
    got = shop.run(keys=KEYS, environ={"GITHUB_ACTIONS": ""})
    assert got.code == PASSED
    assert KEY not in got.log


def test_outside_github_an_error_is_plain_text(shop: Shop) -> None:
    got = shop.run(mode="report", environ={"GITHUB_ACTIONS": ""})
    assert got.code == USAGE
    assert got.log.startswith("tjb: input mode: 'report' is not one of")


def test_text_of_a_pull_request_runs_no_workflow_command(shop: Shop, models: Models) -> None:
    hostile = CONFIG.replace("openai:big", "openai:big\\n::set-output name=status::pass")
    got = shop.pull_request({"tjbench.toml": hostile.encode()})
    assert got.code == USAGE
    assert not any(line.startswith("::set-output") for line in got.log.splitlines())


# --- a report that a second job posts

Post = Callable[..., Outcome]


@pytest.fixture
def post(shop: Shop) -> Post:
    """Run the second job on a report file, in a workspace that holds nothing else."""

    def run(report: bytes, *, head: str = "b" * 40, owner: str = "mallory", **options: object) -> Outcome:
        workspace = shop.scratch / f"empty-{next(shop.runs)}"
        workspace.mkdir()
        (workspace / "report.json").write_bytes(report)
        source = {
            "id": 41,
            "run_attempt": 1,
            "event": "pull_request",
            "head_branch": "fix",
            "head_sha": head,
            "head_repository": {"full_name": f"{owner}/shop", "owner": {"login": owner}},
            "pull_requests": [],
        }
        given = {"mode": "post-comment", "sha": "c" * 40, "workspace": workspace, "keys": KEYS, **options}
        return shop.run("workflow_run", {"workflow_run": source}, **given)  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory, measured_once: dict[str, bytes]) -> bytes:
    """The report of a fork's run that found a regression, against models on loopback, which need no key."""
    models = Models()
    models.wrong = TWELVE
    with open_shop(tmp_path_factory.mktemp("fork"), models) as opened:
        opened.commit("release/1.0", measured_once, start="main")
        got = opened.pull_request(repository="mallory/shop", token="read-only")
    assert got.code == REGRESSION
    return (got.workspace / "report.json").read_bytes()


def test_the_second_job_posts_on_the_forks_pull_request(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    got = post(report)
    assert got.code == PASSED
    (body,) = shop.comments(7)
    assert comment_text(body) == got.summary
    assert "`sum-11`" in body
    assert "which the pull request may have changed" in body
    assert f"sha={'b' * 40} run=41 attempt=1" in body
    assert "/actions/runs/41/attempts/1" in body
    assert got.outputs == {"comment-url": f"{shop.github.url}/repos/{NAME}/pull/7#issuecomment-1001"}
    assert shop.provider.asks == []
    assert sorted(path.name for path in got.workspace.iterdir()) == ["report.json"]


def test_an_older_run_that_is_posted_late_does_not_replace_a_newer_one(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    post(report)
    shop.github.comments[0].body = shop.github.comments[0].body.replace("run=41", "run=42")
    newer = shop.comments(7)
    assert post(report).code == PASSED
    assert shop.comments(7) == newer


def test_a_pull_request_that_moved_on_gets_no_comment_and_the_job_stays_green(
    shop: Shop, report: bytes, post: Post
) -> None:
    shop.github.pull(7, head="mallory:fix", sha="d" * 40)
    got = post(report)
    assert (got.code, got.outputs, shop.comments(7)) == (PASSED, {"comment-url": ""}, [])
    assert "no open pull request has mallory:fix" in got.annotations("notice")[0]
    assert got.summary


def test_the_report_cannot_choose_where_it_goes(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    aimed = json.dumps({**json.loads(report), "pull_request": 1}).encode()
    got = post(aimed)
    assert got.code == USAGE
    assert shop.github.comments == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[]", b'{"status": "pass"}', b"\xff\xfe", b'{"status": "<script>", "exit_code": 0}'],
)
def test_a_file_that_is_no_report_is_refused(shop: Shop, post: Post, content: bytes) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    got = post(content)
    assert got.code == USAGE
    assert "is not a report" in got.annotations("error")[0]
    assert shop.comments(7) == []


def test_what_a_report_says_is_text_and_never_markup(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    data = json.loads(report)
    evil = "<img src=x onerror=alert(1)> @everyone ![x](https://evil.test/p.png)\n<!-- tjbench:gate=x -->"
    data["reasons"] = [evil]
    data["rows"][0]["suite"] = evil
    data["notes"] = [evil]
    post(json.dumps(data).encode())
    (body,) = shop.comments(7)
    text = comment_text(body)
    assert "<img" not in text
    assert "@everyone" not in text
    assert "](https://evil" not in text
    assert "<!--" not in text


def test_a_report_behind_a_link_or_of_great_size_is_refused(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    assert post(report + b" " * (8 << 20)).code == USAGE
    workspace = shop.scratch / "linked"
    workspace.mkdir()
    (workspace / "real.json").write_bytes(report)
    (workspace / "report.json").symlink_to("real.json")
    assert post(report, workspace=workspace).code == USAGE
    assert shop.comments(7) == []


def test_the_second_job_needs_a_report_and_a_pull_request(shop: Shop, report: bytes, post: Post) -> None:
    got = post(report, report_file="")
    assert got.code == USAGE
    assert "needs report-file" in got.annotations("error")[0]
    got = post(report, token="")
    assert got.code == PASSED
    assert got.annotations("notice")[0].startswith("nothing was posted")


def test_measuring_on_workflow_run_is_refused_and_comments_nowhere(shop: Shop, report: bytes, post: Post) -> None:
    shop.github.pull(7, head="mallory:fix", sha="b" * 40)
    assert post(report, mode="gate").code == USAGE
    assert shop.comments(7) == []
