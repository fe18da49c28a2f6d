"""What a measurement may cost at most, and that every artifact is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.model import FakeModel, response
from tests.fakes.sums import add, sums
from tests.fakes.tokenjam import BIG, PRICES, SMALL, snapshot
from tjbench.bench import RowPlan
from tjbench.config import Config, ModelSpec, Run, config_of
from tjbench.errors import UsageError
from tjbench.measure import MeasureRun, estimate, measure, require_priced
from tjbench.models.model import Model, Request, Response
from tjbench.rows import plan_rows
from tjbench.store.artifacts import load_path
from tjbench.suites.task import Suite
from tjbench.tell import render_estimate

OTHER = ModelSpec("openai", "other")


def plans(*proofs: dict[str, object]) -> tuple[RowPlan, ...]:
    found = snapshot(prices={**PRICES, OTHER: (2.0, 6.0)})
    return plan_rows(config_of({"proof": list(proofs)}, "--"), found, lambda name, _: sums(10, name=name)).plans


def test_the_estimate_is_the_longest_answers_at_three_characters_a_token() -> None:
    big, small = estimate(plans({"original": str(BIG), "samples": 2, "max_tokens": 100}), snapshot())
    # "What is 0 + 1?" has 14 characters: 5 tokens; ten tasks, two samples
    assert (big.spec, big.calls, big.input_tokens, big.output_tokens) == (BIG, 20, 100, 2000)
    assert big.cost_usd == pytest.approx((100 * 10 + 2000 * 30) / 1e6)
    assert small.cost_usd == pytest.approx((100 * 1 + 2000 * 3) / 1e6)
    assert big.priced


def test_a_call_that_rows_share_is_counted_once_with_the_most_samples_of_any() -> None:
    shared = plans(
        {"original": str(BIG), "candidate": str(SMALL), "samples": 3},
        {"original": str(BIG), "candidate": str(OTHER)},
        {"original": str(OTHER), "candidate": str(SMALL), "limit": 4},
    )
    found = {e.spec: e.calls for e in estimate(shared, snapshot(prices={**PRICES, OTHER: (2.0, 6.0)}))}
    assert found == {BIG: 30, SMALL: 30, OTHER: 10}
    backwards = {e.spec: e.calls for e in estimate(shared[::-1], snapshot(prices={**PRICES, OTHER: (2.0, 6.0)}))}
    assert backwards == found


def test_the_dry_run_names_every_model_the_sum_and_what_is_a_guess() -> None:
    guessed = snapshot(sources={SMALL: "default"})
    text = render_estimate(estimate(plans({"original": str(BIG), "max_tokens": 100}), guessed))
    big, small, total = text.splitlines()
    assert big == "openai:big: 10 calls, about 50 input and at most 1000 output tokens, at most $0.0305"
    assert small.endswith("at most $0.0031 (placeholder price: TokenJam does not know this model)")
    assert total == "in all at most $0.0335; nothing was called"


def right(request: Request) -> Response:
    return response(add(request.messages[-1]["content"]))


def prepared(out: Path, asked: list[Request]) -> MeasureRun:
    """Two suites of three sums; ``asked`` hears every call."""
    wanted = config_of(
        {"proof": [{"suite": ["a", "b"], "original": str(BIG), "seed": 3}], "run": {"mock": False}}, "--"
    )
    rows = plan_rows(wanted, snapshot(), lambda name, _: sums(3, name=name))

    def heard(request: Request) -> Response:
        asked.append(request)
        return right(request)

    def open_live(config: Config) -> object:
        def opener(spec: ModelSpec, _: Suite) -> Model:
            return FakeModel(heard, spec)

        return opener

    return MeasureRun(
        config=wanted,
        snapshot=snapshot(),
        rows=rows,
        open_live=open_live,  # type: ignore[arg-type]
        mock=False,
        out=out,
        watch=lambda *_: None,
        warn=lambda _: None,
        commit="c" * 40,
    )


def test_one_artifact_a_row_is_written_before_anything_is_judged(tmp_path: Path) -> None:
    run = prepared(tmp_path / "out", [])
    result, written = measure(run)
    assert [measured.artifact.suite.name for measured in result.measured] == ["a", "b"]
    assert load_path(tmp_path / "out").artifacts == {path.name: artifact for path, artifact in written.items()}
    assert {artifact.seed for artifact in written.values()} == {3}
    mocked, _ = measure(replace(run, mock=True))
    assert all(measured.artifact.mock for measured in mocked.measured)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_no_model_is_asked_where_no_artifact_could_be_written(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "results"
    if kind == "file":
        out.touch()
    else:
        out.symlink_to(tmp_path)
    asked: list[Request] = []
    with pytest.raises(UsageError) as refused:
        measure(prepared(out, asked))
    assert "--out" in refused.value.fix
    assert asked == []
    measure(prepared(tmp_path / "other", asked))
    assert len(asked) == 2 * 2 * 3


@pytest.mark.parametrize("source", ["default", "override", "packaged"])
@pytest.mark.parametrize("price", [0.0, 2.0])
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("cap", [None, 5.0])
def test_a_cap_without_a_known_price_is_refused_unless_allowed(
    source: str, price: float, allowed: bool, cap: float | None
) -> None:
    found = snapshot(prices={**PRICES, SMALL: (price, price)}, sources={SMALL: source})
    run = Run(max_cost_usd=cap, allow_unpriced=allowed)
    rows = plans({"original": str(BIG)})
    if cap is not None and not allowed and (source, price) in {("default", 0.0), ("default", 2.0), ("override", 0.0)}:
        with pytest.raises(UsageError, match=r"cap of \$5.00 cannot be held, for openai:small") as refused:
            require_priced(run, rows, found, None)
        assert 'allow-unpriced: "true"' in refused.value.fix
    else:
        require_priced(run, rows, found, None)
