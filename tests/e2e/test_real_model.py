"""The whole path with a model that really answers: the SDK, its HTTP, its usage, and code nobody scripted."""

from __future__ import annotations

from tests.e2e.shop import Founder

TASKS = 3
CONFIG = f"""\
[[proof]]
suite = ["humaneval", "samples"]
original = "openai:gpt-4o"
candidate = "openai:gpt-4o-mini"
limit = {TASKS}
max_tokens = 96
temperature = 0

[gate]
unscored_tolerance_pct = 100 # answers that are cut count as unscored, and a small model rambles

[run]
concurrency = 2
"""


def test_a_real_model_is_measured_on_code_and_word_problems(found_shop: Founder, model_server: str) -> None:
    shop = found_shop("./")
    shop.commit("main", {"tjbench.toml": CONFIG})
    job = shop.pull_request(1, endpoints={"OPENAI_BASE_URL": model_server})
    assert (job.green, job.exit_code) == (True, 0)
    assert job.outputs["status"] == "no_baseline"
    assert len(shop.comments(1)) == 1
    artifacts = job.artifacts()
    assert set(artifacts) == {"humaneval", "samples"}
    for artifact in artifacts.values():
        assert artifact["mock"] is False
        assert artifact["n_tasks"] == TASKS
        for task in artifact["tasks"]:
            for side in (task["original"], task["candidate"]):
                assert side["usage"]["input"] + side["usage"]["cache_read"] > 20
                assert side["usage"]["output"] > 0
                assert side["latency_s"] > 0
