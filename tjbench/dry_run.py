"""`--dry-run`: what a run would ask and may cost, said before anything is spent; nothing is called or written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TextIO

from tjbench.config import Config, ModelSpec
from tjbench.errors import ExitCode, UsageError
from tjbench.measure import require_priced
from tjbench.models.model import Request
from tjbench.pricing import Usage, cost_usd
from tjbench.report.units import counted, dollars, number
from tjbench.row_plan import RowPlan
from tjbench.rows import Rows, gateways_of, judge_of, resolve_mock
from tjbench.runner.budget import upper_bound
from tjbench.runner.single import request_of
from tjbench.scoring.judge import JUDGE_SAMPLING, MOST_CALLS, judge_messages
from tjbench.suites.task import JudgedCheck
from tjbench.tokenjam import Snapshot
from tjbench.workplace import RunOptions, Workplace

CHARACTERS_A_TOKEN = 3
Kept = Callable[[ModelSpec, Request], bool]
"""Whether the journal holds the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What one model is asked and may cost at most: every answer as long as allowed, tokens of prompts estimated from
    characters. Of ``calls`` the journal holds ``kept``; tokens and dollars are those of the others. A cap sets aside
    ``reserved_usd`` for all of them, and ``dearest_usd`` for the dearest one."""

    spec: ModelSpec
    calls: int
    kept: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    reserved_usd: float
    dearest_usd: float
    priced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What would be measured. ``as_json``: one document on stdout instead of lines."""

    config: Config
    rows: Rows
    snapshot: Snapshot
    options: RunOptions
    as_json: bool = False


@dataclass(slots=True, kw_only=True)
class _Sum:
    calls: int = 0
    kept: int = 0
    used: Usage = field(default_factory=Usage)
    reserved_usd: float = 0.0
    dearest_usd: float = 0.0


def tell_dry_run(wanted: DryRun, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Say what each model would be asked, and what that may cost at most. A cap that the run would refuse is refused
    here too: raises ``UsageError``."""
    config, plans = wanted.config, wanted.rows.plans
    judge = judge_of(config, plans)
    mock = _is_mock(wanted, place, judge, stderr)
    if not mock:
        require_priced(config.run, plans, wanted.snapshot, judge)
    if mock is False:
        with place.kept_answers(config, wanted.options) as kept:
            found = estimate(plans, wanted.snapshot, judge, kept)
    else:
        found = estimate(plans, wanted.snapshot, judge)
    cap = None if mock else config.run.max_cost_usd
    if wanted.as_json:
        document = {
            "dry_run": True,
            "mock": bool(mock),
            "models": [{"model": str(one.spec), **_figures(one)} for one in found],
            "cost_usd": math.fsum(one.cost_usd for one in found),
            "max_cost_usd": cap,
        }
        stdout.write(json.dumps(document, indent=1) + "\n")
    (stderr if wanted.as_json else stdout).writelines(f"{line}\n" for line in render(found, cap, mock=bool(mock)))
    return ExitCode.PASSED


def _figures(one: Estimate) -> dict[str, object]:
    return {name: value for name, value in asdict(one).items() if name != "spec"}


def _is_mock(wanted: DryRun, place: Workplace, judge: ModelSpec | None, stderr: TextIO) -> bool | None:
    """Whether scripted models would answer; ``None`` where the run would not begin. That keys are missing hinders
    nobody from asking what it would cost."""
    mode, gateways = wanted.config.run.mock, gateways_of(wanted.config)
    silently = wanted.options.silent_mock
    try:
        return resolve_mock(mode, wanted.rows.plans, gateways, place.environ, silently=silently, judge=judge)
    except UsageError as error:
        print(f"warning: the run itself would not begin: {error.what}", file=stderr)
        return None


def estimate(
    plans: Sequence[RowPlan],
    snapshot: Snapshot,
    judge: ModelSpec | None = None,
    kept: Kept = lambda _spec, _request: False,
) -> list[Estimate]:
    """Upper bounds by model for all distinct calls of ``plans``, at three characters a token. A judge may be asked
    twice for a verdict, and what it is asked is not known before it is."""
    sums: dict[ModelSpec, _Sum] = {}
    seen = set()
    for plan in plans:
        for spec, task, sample in product(plan.asked, plan.suite.tasks, plan.draws):
            call = plan.key(spec, task, sample)
            if call in seen:
                continue
            seen.add(call)
            request = request_of(task, plan.sampling, sample)
            total = sums.setdefault(spec, _Sum())
            if kept(spec, request):
                total.calls += 1
                total.kept += 1
            else:
                _add(total, spec, snapshot, request)
            if judge and isinstance(task.check, JudgedCheck):
                asked = Request(
                    task_id=task.id,
                    sample=sample,
                    messages=judge_messages(task, task.check, answer=""),
                    sampling=JUDGE_SAMPLING,
                )
                for _ in range(MOST_CALLS):
                    _add(sums.setdefault(judge, _Sum()), judge, snapshot, asked, answer=plan.sampling.max_tokens)
    return [_estimate(spec, total, snapshot) for spec, total in sums.items()]


def _add(total: _Sum, spec: ModelSpec, snapshot: Snapshot, request: Request, *, answer: int = 0) -> None:
    """One call more; ``answer`` tokens of another model stand in its prompt."""
    size = sum(len(message["content"]) for message in request.messages)
    used = Usage(input=math.ceil(size / CHARACTERS_A_TOKEN) + answer, output=request.sampling.max_tokens)
    reserved = cost_usd(upper_bound(request) + Usage(input=answer), snapshot.rates[spec])
    total.calls += 1
    total.used += used
    total.reserved_usd += reserved
    total.dearest_usd = max(total.dearest_usd, reserved)


def _estimate(spec: ModelSpec, total: _Sum, snapshot: Snapshot) -> Estimate:
    return Estimate(
        spec=spec,
        calls=total.calls,
        kept=total.kept,
        input_tokens=total.used.input,
        output_tokens=total.used.output,
        cost_usd=cost_usd(total.used, snapshot.rates[spec]),
        reserved_usd=total.reserved_usd,
        dearest_usd=total.dearest_usd,
        priced=snapshot.rates[spec].source != "default",
    )


def render(found: Sequence[Estimate], cap_usd: float | None = None, *, mock: bool = False) -> Iterator[str]:
    """The estimates in lines for people, and what the cap makes of them."""
    for one in found:
        kept = f", {number(one.kept)} of them kept in the journal" if one.kept else ""
        guess = "" if one.priced else " (placeholder price: TokenJam does not know this model)"
        yield (
            f"{one.spec}: {counted(one.calls, 'call')}{kept}; about {number(one.input_tokens)} input and at most "
            f"{number(one.output_tokens)} output tokens, at most {dollars(one.cost_usd)}{guess}"
        )
    yield f"in all at most {dollars(math.fsum(one.cost_usd for one in found))}; nothing was called"
    if mock:
        yield "scripted models would answer this run, for nothing: the figures are those of a live one"
    if cap_usd is not None:
        yield from _under_cap(found, cap_usd)


def _under_cap(found: Sequence[Estimate], cap_usd: float) -> Iterator[str]:
    """A call is made only while what it may cost at most is left."""
    dearest = max((one.dearest_usd for one in found), default=0.0)
    if math.fsum(one.reserved_usd for one in found) <= cap_usd:
        yield f"the cap of {dollars(cap_usd)} is enough for every answer at its full length"
        return
    how = "will" if dearest > cap_usd else "may"
    why = f": one call may cost {dollars(dearest)}" if dearest > cap_usd else ""
    yield (
        f"the cap of {dollars(cap_usd)} {how} be hit{why}; the run then ends incomplete (exit 3) and keeps what it has"
    )
