"""What a measurement may cost at most, and that every artifact is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.model import FakeModel, response
from tests.fakes.sums import add, sums
from tests.fakes.tokenjam import BIG, PRICES, SMALL, snapshot
from tjbench.config import Config, ModelSpec, Run, config_of
from tjbench.errors import UsageError
from tjbench.measure import MeasureRun, measure, require_priced
from tjbench.models.model import Model, Request, Response
from tjbench.row_plan import RowPlan
from tjbench.rows import plan_rows
from tjbench.store.artifacts import load_path
from tjbench.suites.task import Suite

OTHER = ModelSpec("openai", "other")


def plans(*proofs: dict[str, object]) -> tuple[RowPlan, ...]:
    found = snapshot(prices={**PRICES, OTHER: (2.0, 6.0)})
    return plan_rows(config_of({"proof": list(proofs)}, "--"), found, lambda name, _: sums(10, name=name)).plans


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
