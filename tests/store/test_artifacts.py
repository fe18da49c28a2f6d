"""Artifacts on disk: written whole under a new name, read back equal, refused with a reason where they are broken."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.artifacts import AT, CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import UNKNOWN, Artifact, Flag
from tjbench.errors import ExitCode, IncompleteError, UsageError
from tjbench.store.artifacts import (
    MAX_BYTES,
    dump,
    file_name,
    load_path,
    make_directory,
    parse_artifact,
    parse_files,
    read_claims,
    read_file,
    require_directory,
    write_artifact,
)

SMALL = measurement("pppf", "ppfu", flags=(Flag.REUSED,))
NAME = re.compile(r"tjbench_humaneval_tj0\.6\.1_20260102T030405Z-[0-9a-f]{6}\.json")


def as_data(artifact: Artifact = SMALL) -> dict[str, Any]:
    data = json.loads(dump(artifact))
    assert isinstance(data, dict)
    return data


def as_bytes(data: object) -> bytes:
    return json.dumps(data).encode()


def why_not(content: bytes) -> str:
    with pytest.raises(UsageError) as caught:
        parse_artifact(content, "bad.json")
    assert caught.value.what == "bad.json is not an artifact"
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value.why


def with_task(index: int, change: dict[str, Any], side: str | None = None) -> bytes:
    data = as_data()
    target = data["tasks"][index] if side is None else data["tasks"][index][side]
    target.update(change)
    return as_bytes(data)


def refuse(*_: object, **__: object) -> None:
    """What a file system without links answers."""
    raise PermissionError(1, "Operation not permitted")


# Writing


def test_a_written_artifact_is_read_back_equal(tmp_path: Path) -> None:
    path = write_artifact(SMALL, tmp_path / "new" / "results")
    assert NAME.fullmatch(path.name)
    assert read_file(path) == SMALL
    assert parse_artifact(path.read_bytes(), "x") == SMALL


def test_several_samples_are_read_back_equal(tmp_path: Path) -> None:
    several = measurement("3210", "3u11", samples=3)
    assert read_file(write_artifact(several, tmp_path)) == several


def test_the_file_is_plain_json_with_one_task_a_line(tmp_path: Path) -> None:
    text = write_artifact(SMALL, tmp_path).read_text(encoding="utf-8")
    data = json.loads(text)
    assert data["schema"] == "tjbench/1"
    assert data["created_at"] == "2026-01-02T03:04:05Z"
    assert [line.count('"task_id"') for line in text.splitlines() if "task_id" in line] == [1, 1, 1, 1]
    assert list(data)[-1] == "tasks"


def test_an_artifact_without_tasks_is_json_too() -> None:
    assert parse_artifact(dump(measurement("", "")).encode(), "x") == measurement("", "")


def test_every_write_makes_a_file_of_its_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: write_artifact(SMALL, tmp_path), range(40)))
    assert len(set(paths)) == 40
    assert sorted(tmp_path.iterdir()) == sorted(paths)  # and no temporary file is left
    assert {path.read_text(encoding="utf-8") for path in paths} == {dump(SMALL)}


@pytest.mark.parametrize("links", [True, False])
def test_an_existing_file_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    ids = iter(["aaaaaa", "aaaaaa", "bbbbbb", *["bbbbbb"] * 20])
    monkeypatch.setattr("tjbench.store.artifacts.secrets.token_hex", lambda _: next(ids))
    first = write_artifact(SMALL, tmp_path)
    first.write_text("mine")
    assert write_artifact(SMALL, tmp_path).name == file_name(SMALL, "bbbbbb")
    assert first.read_text() == "mine"
    with pytest.raises(UsageError, match="cannot name a new artifact"):
        write_artifact(SMALL, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse)
    path = write_artifact(SMALL, tmp_path)
    assert list(tmp_path.iterdir()) == [path]
    assert read_file(path) == SMALL


@pytest.mark.parametrize(
    ("suite", "slug"),
    [
        ("humaneval", "humaneval"),
        ("suites/billing qa.jsonl", "suites-billing-qa"),
        ("../../etc/passwd", "etc-passwd"),
        ("Ünïcode", "n-code"),
        ("???", "suite"),
        ("x" * 200, "x" * 80),
        ("a_b", "a-b"),  # an underscore separates the parts of the name
    ],
)
def test_a_suite_gives_a_name_that_is_safe_in_any_directory(suite: str, slug: str) -> None:
    artifact = SMALL.model_copy(update={"suite": SMALL.suite.model_copy(update={"name": suite})})
    assert file_name(artifact, "0a1b2c") == f"tjbench_{slug}_tj0.6.1_20260102T030405Z-0a1b2c.json"


@pytest.mark.parametrize(
    ("version", "slug"),
    [("0.7.0rc1", "0.7.0rc1"), ("1!2.0+local.1", "1!2.0+local.1"), ("../../x", "x"), ("a/b\n", "a-b"), ("", "unknown")],
)
def test_a_version_that_a_foreign_program_made_up_stays_in_the_directory(version: str, slug: str) -> None:
    artifact = SMALL.model_copy(update={"tokenjam_version": version})
    assert file_name(artifact, "0a1b2c") == f"tjbench_humaneval_tj{slug}_20260102T030405Z-0a1b2c.json"


def test_times_are_kept_and_named_in_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    artifact = measurement("p", "p", created_at=datetime(2026, 3, 1, 2, 0, 0, tzinfo=india))
    assert "_20260228T203000Z-" in file_name(artifact, "0")
    assert artifact.created_at.tzinfo is UTC
    assert '"2026-02-28T20:30:00Z"' in dump(artifact)


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="is a symbolic link"):
        write_artifact(SMALL, tmp_path / "results")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(UsageError, match="cannot write to"):
        write_artifact(SMALL, tmp_path / "results")


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IncompleteError, match="No space left on device"):
        write_artifact(SMALL, tmp_path)
    assert not list(tmp_path.iterdir())


# Loading


def test_a_directory_gives_its_artifacts_and_lists_what_is_none(tmp_path: Path) -> None:
    good = write_artifact(SMALL, tmp_path)
    (tmp_path / "tjbench_bad.json").write_text("{}")
    (tmp_path / "tjbench_dir.json").mkdir()
    (tmp_path / "notes.json").write_text("not looked at")
    (tmp_path / "deeper").mkdir()
    write_artifact(SMALL, tmp_path / "deeper")
    loaded = load_path(tmp_path)
    assert loaded.artifacts == {good.name: SMALL}
    assert sorted(loaded.rejected) == ["tjbench_bad.json", "tjbench_dir.json"]
    assert loaded.rejected["tjbench_dir.json"] == "Is a directory"
    assert "Field required" in loaded.rejected["tjbench_bad.json"]


def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    loaded = load_path(tmp_path)
    assert (loaded.artifacts, loaded.rejected) == ({}, {})


def test_a_missing_directory_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no directory {tmp_path}/gone") as caught:
        load_path(tmp_path / "gone")
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_named_file_that_is_broken_is_fatal(tmp_path: Path) -> None:
    path = tmp_path / "any-name.json"
    path.write_text("nope")
    with pytest.raises(UsageError, match=r"any-name\.json is not an artifact"):
        load_path(path)
    path.write_text(dump(SMALL), encoding="utf-8")
    assert load_path(path).artifacts == {"any-name.json": SMALL}


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tjbench_big.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # sparse
    assert load_path(tmp_path).rejected == {"tjbench_big.json": "larger than 64 MiB"}


def test_contents_by_path_are_listed_like_a_directory() -> None:
    loaded = parse_files({"results/a.json": dump(SMALL).encode(), "results/b.json": b"\xff"})
    assert loaded.artifacts == {"results/a.json": SMALL}
    assert list(loaded.rejected) == ["results/b.json"]


# What is not an artifact


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON"),
        (b'{"schema": "tjbench/1"', "not JSON"),
        (b"\xff\xfe\xfa", "not JSON"),
        (b'{"a": "\xc3("}', "not JSON: 'utf-8' codec"),
        (b"[" * 200_000, "not JSON"),
        (b'{"a": ' * 200_000, "not JSON"),
        (b'{"n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"task_id": "\\ud800"}', "not JSON: 'utf-8' codec can't encode"),  # half a pair cannot be shown
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "bench_version: Field required"),
        (as_bytes({**as_data(), "schema": "tjbench/2"}), "schema: Input should be 'tjbench/1'"),
    ],
)
def test_what_is_no_artifact_at_all(content: bytes, why: str) -> None:
    assert why_not(content).startswith(why)


def test_a_task_that_stands_in_it_twice() -> None:
    assert why_not(with_task(1, {"task_id": "humaneval/0"})) == "task id 'humaneval/0' stands in it twice"


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        ({"passes": 2}, "2 passes and 0 unscored of 1 samples"),
        ({"passes": -1}, "-1 passes and 0 unscored of 1 samples"),
        ({"unscored": 1}, "1 passes and 1 unscored of 1 samples"),
        ({"passes": 0, "unscored": -1}, "0 passes and -1 unscored of 1 samples"),
        ({"samples": 2}, "the two models have different numbers of samples"),
        ({"usage": {"input": -1}}, "no usage or latency is like this"),
        ({"usage": {"output": 10**400}}, "no usage or latency is like this"),
        ({"latency_s": -0.5}, "no usage or latency is like this"),
    ],
)
def test_counts_of_a_task_that_do_not_add_up(trial: dict[str, Any], why: str) -> None:
    assert f"tasks.0: {why}" in why_not(with_task(0, trial, "original"))


def test_tasks_with_another_number_of_samples_than_the_artifact() -> None:
    data = as_data()
    for side in ("original", "candidate"):
        data["tasks"][2][side] |= {"samples": 2, "passes": 1}
    assert "task 'humaneval/2' has 2 samples, the artifact 1" in why_not(as_bytes(data))


@pytest.mark.parametrize("samples", [0, -1, 10**6, 10**400, 1.5, "many"])
def test_an_impossible_number_of_samples(samples: object) -> None:
    data = as_data()
    data["sampling"]["samples"] = samples
    for task in data["tasks"]:
        for side in ("original", "candidate"):
            task[side] |= {"samples": samples, "passes": 0, "unscored": 0}
    why_not(as_bytes(data))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("n_tasks", 164, "n_tasks is 164, its tasks make 4"),
        ("n_scored", 4, "n_scored is 4, its tasks make 3"),
        ("n_unscored", 0, "n_unscored is 0, its tasks make 1"),
    ],
)
def test_totals_that_the_tasks_do_not_bear_out(name: str, value: int, why: str) -> None:
    assert why_not(as_bytes({**as_data(), name: value})) == why


@pytest.mark.parametrize(
    "name", ["original_pass", "candidate_cost_usd", "accuracy_delta_pp", "cost_delta_pct", "alpha"]
)
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", '"many"'])
def test_numbers_that_are_none(name: str, value: str) -> None:
    text = json.dumps({**as_data(), name: "HERE"}).replace('"HERE"', value)
    assert why_not(text.encode()).startswith(f"{name}: ")


@pytest.mark.parametrize("latency", [float("nan"), float("inf")])
def test_a_latency_that_is_none(latency: float) -> None:
    assert "tasks.3.candidate.latency_s: " in why_not(with_task(3, {"latency_s": latency}, "candidate"))


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1])
def test_a_price_that_is_none(price: float) -> None:
    data = as_data()
    data["rates"][ORIGINAL]["output"] = price
    assert ORIGINAL in why_not(as_bytes(data))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"created_at": "2026-01-02T03:04:05"}, "created_at: "),  # a time without zone cannot be ordered
        ({"created_at": "yesterday"}, "created_at: "),
        ({"created_at": 10**30}, "created_at: "),
        ({"original_model": "gpt-4o"}, "original_model: "),
        ({"candidate_model": ":x"}, "candidate_model: "),
        ({"verdict": "safe"}, "verdict: "),
        ({"tasks": None}, "tasks: "),
        ({"tasks": [5]}, "tasks.0: "),
        ({"suite": "humaneval"}, "suite: "),
        ({"flags": ["fine"]}, "flags.0: "),
    ],
)
def test_the_first_wrong_field_is_named(change: dict[str, Any], where: str) -> None:
    assert why_not(as_bytes({**as_data(), **change})).startswith(where)


def test_what_is_wrong_is_said_at_once_and_in_a_few_words() -> None:
    two_samples = as_data()
    two_samples["sampling"]["samples"] = 2
    assert why_not(as_bytes(two_samples)).startswith("task 'humaneval/0' has 1 samples")
    assert len(why_not(with_task(0, {"passes": 10**400}, "original"))) <= 300


def test_a_model_that_is_none_is_named_with_the_file() -> None:
    assert "'gpt-4o' is not a model" in why_not(as_bytes({**as_data(), "original_model": "gpt-4o"}))


def test_fields_of_a_later_version_are_passed_over() -> None:
    data = {**as_data(), "new_field": 1}
    data["tasks"][0]["original"]["new_count"] = 2
    assert parse_artifact(as_bytes(data), "x") == SMALL


def test_text_beyond_the_basic_plane_is_text_in_either_spelling() -> None:
    data = as_data(SMALL.model_copy(update={"recommended_by": "\N{GRINNING FACE} Größe"}))
    assert parse_artifact(json.dumps(data).encode(), "x").recommended_by == "\N{GRINNING FACE} Größe"
    assert parse_artifact(json.dumps(data, ensure_ascii=False).encode(), "x").recommended_by == data["recommended_by"]


def test_a_random_prefix_is_never_an_artifact() -> None:
    content = dump(SMALL).encode()
    for end in range(0, len(content) - 2, 97):
        why_not(content[:end])


def test_names_and_time_are_those_of_the_measurement() -> None:
    assert (SMALL.original_model, SMALL.candidate_model, SMALL.created_at) == (ORIGINAL, CANDIDATE, AT)


# Numbers that the tasks do not bear out

WORSE = measurement("p" * 45 + "f" * 5, "p" * 35 + "f" * 13 + "p" * 2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verdict", "no_significant_regression"),
        ("original_pass", 1e300),
        ("candidate_pass", 45.0),
        ("accuracy_delta_pp", 0.0),
        ("original_cost_usd", 1.0),
        ("candidate_cost_usd", 0.0),
        ("cost_delta_pct", -99.0),
        ("output_token_inflation", 1.0),
        ("stats.mcnemar_b", 0),
        ("stats.mcnemar_c", 9),
        ("stats.mcnemar_p_value", 1.0),
        ("stats.delta_ci_pp", [-1.0, 1.0]),
        ("stats.lower_bound_pp", 0.0),
    ],
)
def test_a_number_edited_by_hand_is_refused_by_name(tmp_path: Path, field: str, value: object) -> None:
    data = as_data(WORSE)
    *place, name = field.split(".")
    holder = data[place[0]] if place else data
    true, holder[name] = holder[name], value
    assert why_not(as_bytes(data)).startswith(f"{field} is {value}, its tasks make {true}")
    (tmp_path / "tjbench_x.json").write_bytes(as_bytes(data))
    assert list(load_path(tmp_path).rejected) == ["tjbench_x.json"]
    read_claims(tmp_path / "tjbench_x.json")  # what shows the mismatch reads it


@pytest.mark.parametrize(
    ("field", "value"),
    [("unscored_tolerance_pct", 1000), ("margin_pp", 0), ("margin_pp", 1e9), ("alpha", 1), ("alpha", 0)],
)
def test_a_verdict_rule_that_no_configuration_allows_is_refused(field: str, value: float) -> None:
    assert why_not(as_bytes({**as_data(WORSE), field: value})).startswith(f"{field}: ")


def test_a_model_without_rates_is_named() -> None:
    data = as_data()
    del data["rates"][CANDIDATE]
    assert why_not(as_bytes(data)) == f"it has no rates of {CANDIDATE}"


def test_a_rounding_elsewhere_and_another_wording_are_no_contradiction() -> None:
    data = as_data(WORSE)
    data["verdict_reason"] = "worded by another release"
    data["original_cost_usd"] *= 1 + 1e-8
    data["stats"]["mcnemar_p_value"] *= 1 - 1e-8
    assert parse_artifact(as_bytes(data), "x").verdict is WORSE.verdict


def test_dollars_of_another_tool_need_not_follow_from_tokens() -> None:
    foreign = measurement("pppp", "pppp", source=UNKNOWN, prices=(0.0, 0.0))
    data = {**as_data(foreign), "original_cost_usd": 0.5, "candidate_cost_usd": 0.1, "cost_delta_pct": -80.0}
    assert parse_artifact(as_bytes(data), "x").original_cost_usd == 0.5


def test_a_pipe_among_artifacts_is_listed_and_one_that_is_named_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tjbench_x.json")
    assert load_path(tmp_path).rejected == {"tjbench_x.json": "it is no regular file"}
    with pytest.raises(UsageError) as refused:
        load_path(tmp_path / "tjbench_x.json")
    assert refused.value.why == "it is no regular file"


def test_a_directory_that_takes_no_artifact_is_said_with_what_to_name_instead(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for place, check in product(("file", "file/deeper", "link"), (require_directory, make_directory)):
        with pytest.raises(UsageError) as refused:
            check(tmp_path / place)
        assert "--out" in refused.value.fix
        assert "results-dir" in refused.value.fix
    require_directory(tmp_path / "new" / "one")
    assert not (tmp_path / "new").exists()
    make_directory(tmp_path / "new" / "one")
    assert list((tmp_path / "new" / "one").iterdir()) == []
