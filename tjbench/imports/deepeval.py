"""DeepEval's test runs: `test_run_DATE.json` of a results folder, and the latest ones in `.deepeval/`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tjbench.errors import UsageError
from tjbench.imports.document import Amount, Count, ForeignCamel, content_of, parsed_json, shaped
from tjbench.imports.outcome import FAILED, Choice, Gathered, Outcome, Results
from tjbench.suites.task import digest

TOOL = "deepeval"
_REPEATED = re.compile(r"(.+?)[-\[](\d+)-(\d+)\]")
_MODEL_KEYS = frozenset({"model", "modelname", "llm", "llmmodel", "generationmodel"})


class _Metric(ForeignCamel):
    name: str
    threshold: float | None = None
    success: bool | None = None
    reason: str | None = None
    error: str | None = None
    flaky: bool = False
    evaluation_model: str | None = None


class _Case(ForeignCamel):
    name: str
    input: Any = None
    scenario: str | None = None
    expected_output: Any = None
    expected_outcome: Any = None
    success: bool | None = None
    metrics_data: list[_Metric] | None = None
    token_cost: Amount | None = None
    input_token_count: Count | None = None
    output_token_count: Count | None = None
    completion_time: Amount | None = None

    @property
    def asked(self) -> str:
        return digest([self.input, self.scenario])


class _Run(ForeignCamel):
    test_cases: tuple[_Case, ...]
    conversational_test_cases: tuple[_Case, ...] = ()
    test_file: str | None = None
    dataset_alias: str | None = None
    hyperparameters: dict[str, Any] | None = None


def read(paths: Sequence[Path], choice: Choice) -> Results:
    """A case's own success decides it, or that of the chosen metric; one whose metric failed to run is not judged.

    The model is the hyperparameter ``model``; a run without it is a model without a name.
    """
    found = Gathered()
    for path in paths:
        document = parsed_json(content_of(path), str(path))
        inner = document.get("testRunData", document) if isinstance(document, dict) else document
        run = shaped(_Run, inner, str(path), TOOL)
        named = _model_of(run)
        model = named or str(path)
        found.models.setdefault(model, (model,) if named else ())
        found.temperatures.append(_temperature(run))
        suite = run.dataset_alias or (Path(run.test_file).stem if run.test_file else None)
        for kind, cases in (
            ("testCases", run.test_cases),
            ("conversationalTestCases", run.conversational_test_cases),
        ):
            for outcome, case in _outcomes(cases, model, suite, choice, f"{path}: {kind}"):
                found.outcomes.append(outcome)
                judges = (m.evaluation_model for m in case.metrics_data or () if m.evaluation_model)
                found.judges |= dict.fromkeys(judges)
    return found.results()


def _model_of(run: _Run) -> str | None:
    for key, value in (run.hyperparameters or {}).items():
        if key.lower().replace("_", "").replace(" ", "").replace("-", "") in _MODEL_KEYS and isinstance(value, str):
            return value
    return None


def _temperature(run: _Run) -> float | None:
    try:
        return float((run.hyperparameters or {})["temperature"])
    except (KeyError, TypeError, ValueError):
        return None


def _outcomes(
    cases: Sequence[_Case], model: str, suite: str | None, choice: Choice, where: str
) -> Iterator[tuple[Outcome, _Case]]:
    cases = _unrepeated(cases)
    names = _names(cases)
    samples: Counter[str] = Counter()
    for place, case in enumerate(cases):
        task = names[case.name, case.asked]
        yield _outcome(case, task, str(samples[task]), model, suite, choice, f"{where}[{place}]"), case
        samples[task] += 1


def _unrepeated(cases: Sequence[_Case]) -> list[_Case]:
    """`deepeval test run --repeat N` ends the names of one case in ``1-N`` to ``N-N``; here they are one name."""
    matches = [_REPEATED.fullmatch(case.name) for case in cases]
    turns: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    for case, match in zip(cases, matches, strict=True):
        if match:
            turns[match[1], case.asked, int(match[3])].add(int(match[2]))
    whole = {key for key, found in turns.items() if found == set(range(1, key[2] + 1)) and key[2] > 1}
    return [
        case.model_copy(update={"name": f"{match[1]}]" if "[" in match[1] else match[1]})
        if match and (match[1], case.asked, int(match[3])) in whole
        else case
        for case, match in zip(cases, matches, strict=True)
    ]


def _names(cases: Sequence[_Case]) -> Mapping[tuple[str, str], str]:
    """Cases of one test function share its name: what they ask tells them apart. The same case again is a sample."""
    asked: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        asked[case.name][case.asked] = None
    return {
        (name, key): name if len(keys) == 1 else f"{name} [{key[:8]}]" for name, keys in asked.items() for key in keys
    }


def _outcome(case: _Case, task: str, sample: str, model: str, suite: str | None, choice: Choice, where: str) -> Outcome:
    metrics = [m for m in case.metrics_data or () if m.name == choice.metric or (not choice.metric and not m.flaky)]
    if choice.metric and not metrics:
        names = ", ".join(dict.fromkeys(m.name for m in case.metrics_data or ()))
        raise UsageError(
            f"{where}: no metric {choice.metric!r}", why=f"there are {names or 'none'}", fix="name one: --metric"
        )
    passed = metrics[0].success if choice.metric else case.success
    error = next((m.error for m in metrics if m.error), None)
    if error or not metrics:
        passed = None
    why = error or next((m.reason for m in metrics if m.success is False and m.reason), "")
    return Outcome(
        suite=suite,
        model=model,
        task_id=task,
        sample=sample,
        passed=passed,
        cause=None if passed else FAILED if passed is False else "error" if error else "no_metric",
        detail="" if passed else why,
        input_tokens=case.input_token_count,
        output_tokens=case.output_token_count,
        cost_usd=case.token_cost,
        latency_s=case.completion_time,
        prompt=case.asked,
        check=digest([[[m.name, m.threshold] for m in metrics], case.expected_output, case.expected_outcome]),
        where=where,
    )
