"""What `promptfoo eval -o results.json` writes (version 3): https://www.promptfoo.dev/docs/configuration/outputs/."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field

from tjbench.imports.document import Amount, Count, ForeignCamel, content_of, parsed_json, shaped
from tjbench.imports.outcome import FAILED, Choice, Gathered, Outcome, Results
from tjbench.suites.task import digest

TOOL = "promptfoo"
KINDS = frozenset({"chat", "completion", "completions", "messages", "responses", "assistant", "realtime"})
"""The middle part of a provider's id that names an interface and not a model."""
NO_ASSERTIONS = "No assertions"
"""promptfoo's reason for the success of a test that checks nothing."""
JUDGED = frozenset(
    {
        "llm-rubric",
        "model-graded-closedqa",
        "model-graded-factuality",
        "factuality",
        "g-eval",
        "answer-relevance",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "conversation-relevance",
        "pi",
        "search-rubric",
        "select-best",
    }
)


class _Reason(IntEnum):
    """``ResultFailureReason``."""

    NONE = 0
    ASSERT = 1
    ERROR = 2


class _Details(ForeignCamel):
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _Tokens(ForeignCamel):
    prompt: Count | None = None
    completion: Count | None = None
    completion_details: _Details | None = None


class _Response(ForeignCamel):
    token_usage: _Tokens | None = None
    cost: Amount | None = None


class _Provider(ForeignCamel):
    id: str
    label: str | None = None


class _Prompt(ForeignCamel):
    raw: str | None = None
    label: str | None = None


class _Test(ForeignCamel):
    description: str | None = None
    vars: dict[str, Any] | None = None
    assertions: list[dict[str, Any]] | None = Field(default=None, alias="assert")


class _Grading(ForeignCamel):
    reason: str | None = None


class _Result(ForeignCamel):
    provider: Annotated[_Provider, BeforeValidator(lambda found: {"id": found} if isinstance(found, str) else found)]
    prompt: _Prompt | None = None
    test_idx: int | None = None
    test_case: _Test = _Test()
    success: bool
    grading_result: _Grading | None = None
    failure_reason: _Reason = _Reason.NONE
    error: str | None = None
    response: _Response | None = None
    cost: Amount | None = None
    latency_ms: Amount | None = None


class _Inner(ForeignCamel):
    timestamp: AwareDatetime | None = None
    results: list[_Result]


class _Runtime(ForeignCamel):
    repeat: int | None = None


class _Config(ForeignCamel):
    description: str | None = None


class _Metadata(ForeignCamel):
    promptfoo_version: str | None = None


class _Document(ForeignCamel):
    results: _Inner
    config: _Config = _Config()
    metadata: _Metadata = _Metadata()
    runtime_options: _Runtime = _Runtime()


def read(paths: Sequence[Path], choice: Choice) -> Results:
    """A test's assertions decide it; one that promptfoo could not ask or judge, or without any, is not judged."""
    found = Gathered()
    for path in paths:
        document = shaped(_Document, parsed_json(content_of(path), str(path)), str(path), TOOL)
        found.versions.append(document.metadata.promptfoo_version)
        if document.results.timestamp:
            found.times.append(document.results.timestamp)
        for outcome, result in _outcomes(document, path):
            found.models.setdefault(outcome.model, tuple(dict.fromkeys((outcome.model, _plain(result.provider.id)))))
            found.outcomes.append(outcome)
            found.judges |= dict.fromkeys(_judges(result))
    return found.results()


def _outcomes(document: _Document, path: Path) -> Iterator[tuple[Outcome, _Result]]:
    repeated = (document.runtime_options.repeat or 1) > 1
    results = sorted(enumerate(document.results.results), key=lambda item: item[1].test_idx or 0)
    tests = _test_names([result for _, result in results], repeated=repeated)
    prompts = list(dict.fromkeys(_template(result) for _, result in results))
    samples: Counter[tuple[str, str]] = Counter()
    for place, result in results:
        model = result.provider.label or result.provider.id
        task = tests[_test_key(result, repeated=repeated)]
        if len(prompts) > 1:
            task += f" [prompt {prompts.index(_template(result)) + 1}]"
        sample = samples[model, task]
        samples[model, task] += repeated
        where = f"{path}: results.results[{place}]"
        yield _outcome(result, document.config.description, task, str(sample), where), result


def _template(result: _Result) -> str:
    """The prompt before its variables are filled in."""
    return (result.prompt.label if result.prompt else None) or ""


def _test_key(result: _Result, *, repeated: bool) -> str:
    """Repeats have numbers of their own and are told by what they ask."""
    test = result.test_case
    by_content = repeated or result.test_idx is None
    return digest([test.description, test.vars, test.assertions]) if by_content else str(result.test_idx)


def _test_names(results: Sequence[_Result], *, repeated: bool) -> dict[str, str]:
    """Each test's description, with its number where it has none or shares it."""
    found = {_test_key(result, repeated=repeated): result.test_case.description or "" for result in reversed(results)}
    described = Counter(found.values())
    names = {}
    for number, (key, text) in enumerate(reversed(found.items()), 1):
        names[key] = text if text and described[text] == 1 else f"{text or 'test'} {number}"
    return names


def _outcome(result: _Result, suite: str | None, task: str, sample: str, where: str) -> Outcome:
    passed, cause = _judgement(result)
    usage = result.response.token_usage if result.response else None
    input_tokens, output_tokens, read, written = _tokens(usage)
    # promptfoo writes 0 for a price that it does not know.
    cost = result.cost or (result.response.cost if result.response else None)
    return Outcome(
        suite=suite,
        model=result.provider.label or result.provider.id,
        task_id=task,
        sample=sample,
        passed=passed,
        cause=cause,
        detail="" if passed else result.error or "",
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=cost if cost and cost > 0 else None,
        latency_s=None if result.latency_ms is None else result.latency_ms / 1000,
        prompt=digest([result.prompt.raw]) if result.prompt and result.prompt.raw is not None else None,
        check=_check(result.test_case),
        where=where,
    )


def _judgement(result: _Result) -> tuple[bool | None, str | None]:
    if result.failure_reason is _Reason.ERROR:
        return None, "error"
    if result.grading_result and result.grading_result.reason == NO_ASSERTIONS and not result.test_case.assertions:
        return None, "no_assertion"
    return result.success, None if result.success else FAILED


def _tokens(usage: _Tokens | None) -> tuple[int | None, int | None, int, int]:
    """Input, output, cache read and cache write; of an answer from promptfoo's own cache none are known."""
    if usage is None or not (usage.prompt or usage.completion):
        return None, None, 0, 0
    details = usage.completion_details or _Details()
    read, written = details.cache_read_input_tokens or 0, details.cache_creation_input_tokens or 0
    return max(0, (usage.prompt or 0) - read - written), usage.completion or 0, read, written


def _check(test: _Test) -> str | None:
    """Variables count where an assertion is written with them."""
    if not test.assertions:
        return None
    asserted = json.dumps(test.assertions, sort_keys=True)
    return digest([asserted, test.vars if "{{" in asserted else None])


def _judges(result: _Result) -> Iterator[str]:
    for assertion in result.test_case.assertions or ():
        kind = str(assertion.get("type", "")).removeprefix("not-")
        if kind in JUDGED:
            yield f"promptfoo {kind}"


def _plain(provider: str) -> str:
    """``openai:chat:gpt-4o`` as ``openai:gpt-4o``."""
    parts = provider.split(":", 2)
    return f"{parts[0]}:{parts[2]}" if len(parts) == 3 and parts[1] in KINDS else provider
