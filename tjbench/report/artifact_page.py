"""One measurement as a page: the verdict and why, its numbers, and what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tjbench.compare.artifact import Artifact, Flag
from tjbench.compare.lacking import lacking
from tjbench.compare.pair import Pair, Trial, rank_broken
from tjbench.report.page import Code, Page, Phrase, Section, Table, listing, sentence
from tjbench.report.units import counted, dollars, interval_pp, number, p_value, pass_rate, percent, signed_pp, tokens
from tjbench.report.words import (
    FLAG,
    MOCK_ALERT,
    VERDICT_MARK,
    broken_order,
    causes_phrase,
    cost_change,
    cost_sentence,
    e_value,
    models,
    not_recorded,
    stopped_early,
)

ASIDE = 10
NOT_RECORDED = "not recorded"
RATES_SOURCE = {
    "packaged": "TokenJam's own table",
    "override": "a local override",
    "default": "TokenJam's placeholder, a guess",
}


UNSCORED = tuple(
    (name, "—")
    for name in (
        "original pass",
        "candidate pass",
        "Δ (95 % CI)",
        "Δ, score interval",
        "paired tasks",
        "lower bound (95 %)",
    )
)
ENDED = {
    "budget": "The cap --max-cost-usd was reached: the calls left were not made.",
    "deadline": "The deadline --deadline-minutes had passed: the calls left were not made.",
}


def artifact_page(artifact: Artifact) -> Page:
    """``tasks`` are not listed one by one here."""
    return Page(
        mark=VERDICT_MARK[artifact.verdict],
        title=(Code(artifact.suite.name), f": {artifact.verdict.value}{' (MOCK RUN)' if artifact.mock else ''}"),
        lead=tuple(_lead(artifact)),
        alerts=tuple(_alerts(artifact)),
        tables=(_numbers(artifact),),
        sections=(Section(title=("Tasks, causes and costs",), lines=tuple(_details(artifact))),),
        facts=tuple(_facts(artifact)),
    )


def _lead(artifact: Artifact) -> Iterator[Phrase]:
    if artifact.verdict_reason:
        yield (sentence(artifact.verdict_reason),)
    if artifact.early_stop and artifact.stopped:
        yield (stopped_early(artifact.early_stop),)
    causes = {trial.cause for _, trials in _by_role(artifact) for trial in trials}
    yield from ((words,) for cause, words in ENDED.items() if cause in causes)


def _alerts(artifact: Artifact) -> Iterator[Phrase]:
    if artifact.mock:
        yield MOCK_ALERT
    if artifact.priced_with_defaults:
        yield ("Placeholder prices: the dollars below are a guess.",)
    if Flag.SUSPECT_SCORER in artifact.flags:
        yield (FLAG[Flag.SUSPECT_SCORER],)


def _numbers(artifact: Artifact) -> Table:
    spent = f"{dollars(artifact.original_cost_usd)} → {dollars(artifact.candidate_cost_usd)}"
    if artifact.uncontrolled:
        lines = _agreement(artifact)
        if not artifact.costs_stated:
            spent = f"{NOT_RECORDED} → {dollars(artifact.candidate_cost_usd)}"
    else:
        lines = [*(_scored(artifact) if artifact.n_scored else UNSCORED)]
    lines += [
        ("cost", spent if artifact.costs_known else NOT_RECORDED),
        ("cost Δ", _cost_delta(artifact)),
        ("verdict", artifact.verdict.value),
    ]
    return Table(
        header=(("original → candidate",), models(artifact.original_model, artifact.candidate_model)),
        rows=tuple(((name,), (value,)) for name, value in lines),
    )


def _cost_delta(artifact: Artifact) -> str:
    """The change of cost, with what makes a replay's look better than it is."""
    shown = cost_change(artifact.measured_cost_delta_pct, artifact.claimed_saving_pct, guessed=artifact.costs_guessed)
    partial = artifact.replay.n_partial if artifact.replay and artifact.uncontrolled else 0
    if not partial or artifact.measured_cost_delta_pct is None:
        return shown
    calls = counted(artifact.n_tasks, "call")
    return f"{shown}; too good, since {number(partial)} of {calls} had more input than was recorded"


def _scored(artifact: Artifact) -> list[tuple[str, str]]:
    stats = artifact.stats
    if artifact.early_stop and artifact.stopped:
        changed = f"{stats.mcnemar_b} broke, {stats.mcnemar_c} recovered"
        return [
            ("original pass", _rate(artifact, artifact.original_pass)),
            ("candidate pass", _rate(artifact, artifact.candidate_pass)),
            ("Δ (stopped early)", signed_pp(artifact.accuracy_delta_pp)),
            ("paired tasks", f"{changed}, E = {e_value(artifact.early_stop)}"),
        ]
    return [
        ("original pass", f"{_rate(artifact, artifact.original_pass)}, 95 % CI {_share(stats.original_ci_pp)}"),
        ("candidate pass", f"{_rate(artifact, artifact.candidate_pass)}, 95 % CI {_share(stats.candidate_ci_pp)}"),
        ("Δ (95 % CI)", f"{signed_pp(artifact.accuracy_delta_pp)} ({interval_pp(stats.headline_ci_pp)})"),
        ("Δ, score interval", interval_pp(stats.delta_ci_score_pp)),
        (
            "paired tasks",
            f"{stats.mcnemar_b} broke, {stats.mcnemar_c} recovered, two-sided {p_value(stats.mcnemar_p_value)}",
        ),
        ("lower bound (95 %)", f"{signed_pp(stats.lower_bound_pp)}, margin {number(artifact.margin_pp, 1)} pp"),
    ]


def _agreement(artifact: Artifact) -> list[tuple[str, str]]:
    """Of a replay without a control: the original's recorded answers are the reference and have no rate."""
    shown = f"{_rate(artifact, artifact.candidate_pass)}, 95 % CI {_share(artifact.stats.candidate_ci_pp)}"
    return [("agrees with the recorded answers", shown if artifact.n_scored else "—")]


def _rate(artifact: Artifact, passed: float) -> str:
    return pass_rate(passed, artifact.n_scored)


def _share(interval: tuple[float, float]) -> str:
    return f"{number(interval[0], 1)} to {percent(interval[1])}"


def _details(artifact: Artifact) -> Iterator[Phrase]:
    scored = [task for task in artifact.tasks if task.original.scored and task.candidate.scored]
    pairs = [Pair(task_id=task.task_id, before=task.original, after=task.candidate) for task in scored]
    broke, surely = rank_broken(pairs, artifact.alpha)
    gained = [task.task_id for task in scored if task.candidate.passes > task.original.passes]
    if broke:
        only = "Not in agreement" if artifact.uncontrolled else "Passed by the original only"
        yield (f"{only} ({number(len(broke))}): ", *listing(broke, ASIDE, surely=surely))
        if order := broken_order(artifact.sampling.samples, len(broke), len(surely)):
            yield (order,)
    if gained:
        yield (f"Passed by the candidate only ({number(len(gained))}): ", *listing(gained, ASIDE))
    if artifact.n_unscored:
        yield (
            f"Unscored: {number(artifact.n_unscored)} of {counted(artifact.n_tasks, 'task')}, not counted as wrong.",
        )
    for role, trials in _by_role(artifact):
        causes = Counter(trial.cause for trial in trials if trial.cause)
        if causes:
            yield (f"Causes of the {role}'s non-passes: ", *causes_phrase(causes), ".")
    if artifact.n_scored and artifact.stats.detectable_drop_pp is not None and not artifact.stopped:
        yield (
            f"Detectable: a true drop of {number(artifact.stats.detectable_drop_pp, 1)} pp is found with 80 % power.",
        )
    if artifact.costs_known:
        yield (
            cost_sentence(
                (artifact.original_cost_usd, artifact.candidate_cost_usd),
                artifact.measured_cost_delta_pct,
                artifact.claimed_saving_pct,
                artifact.output_token_inflation,
                scripted=artifact.mock,
            ),
        )
    for role, trials in _by_role(artifact):
        spent = [trial.usage for trial in trials]
        read = sum(usage.input + usage.cache_read + usage.cache_write for usage in spent)
        shown = f"{tokens(read)} in, " if read else ""
        written = sum(usage.output for usage in spent)
        counts = f"{shown}{tokens(written)} out" if read or written or artifact.mock else NOT_RECORDED
        yield (f"Tokens of the {role}: {counts}.",)
    yield from ((FLAG[flag],) for flag in artifact.flags)


def _by_role(artifact: Artifact) -> tuple[tuple[str, list[Trial]], ...]:
    return (
        ("original", [task.original for task in artifact.tasks]),
        ("candidate", [task.candidate for task in artifact.tasks]),
    )


def _facts(artifact: Artifact) -> Iterator[Phrase]:
    sampling = artifact.sampling
    unset = "temperature not sent" if sampling.max_tokens else "no known temperature"
    heat = unset if sampling.temperature is None else f"temperature {sampling.temperature}"
    most = f"at most {number(sampling.max_tokens)} tokens an answer" if sampling.max_tokens else "no known output limit"
    yield (
        f"{counted(artifact.n_tasks, 'task')} of {number(artifact.suite.n_available)}, "
        f"{counted(sampling.samples, 'sample')} a task, {heat}, "
        f"{most}.",
    )
    yield (
        "tokenjam ",
        Code(artifact.tokenjam_version),
        "; the candidate comes from: ",
        Code(artifact.recommended_by),
        ".",
    )
    for model, rates in artifact.rates.items():
        source = RATES_SOURCE.get(rates.source)
        lacks = "" if rates.cache_read_specified or rates.source == "default" else "; cached tokens unpriced, so free"
        prices = f"${rates.input:g} in, ${rates.output:g} out per million tokens"
        price = f"{prices} ({source}{lacks})" if source else NOT_RECORDED
        yield ("Price of ", Code(model), f": {price}.")
    if artifact.replay:
        yield from _replayed(artifact.replay.control, artifact.replay.judged_by)
    elif artifact.costs_stated:
        yield ("Dollars: as stated by the tool that measured, not tokens at these prices.",)
    if missing := lacking(artifact):
        yield (not_recorded(missing),)
    if artifact.judge:
        yield ("Judge: ", Code(artifact.judge), ".")
    yield ("Sandbox: ", Code(artifact.sandbox_level), "; scorer: ", Code(artifact.scorer_version), ".")


def _replayed(control: bool, judged_by: str) -> Iterator[Phrase]:
    yield (
        "Replay of recorded calls: a pass is agreement with what was answered then, which measures agreement with "
        "history, not correctness.",
    )
    yield ("Agreement is decided by: ", Code(judged_by), ".")
    if not control:
        yield ("Dollars of the original: TokenJam's, of the day of each call; of the candidate: at the prices below.",)
        yield (
            "The candidate is asked what was recorded. Where the original was sent more (system text, history, cached "
            "context), its answer lacks that and the saving looks larger than it is.",
        )
