"""Who moved: every combination of the three tests, and what is missing where nothing can be said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import Artifact
from tjbench.compare.attribution import Attribution, Moved, attribute
from tjbench.compare.matrix import build_row
from tjbench.compare.pair import Rule

N = 40
BEFORE = measurement("p" * N, "p" * N)


def fell(count: int, start: int = 0) -> str:
    """Marks of which ``count`` fail from ``start`` on."""
    return "p" * start + "f" * count + "p" * (N - start - count)


def found(head: Artifact, alpha: float = 0.05) -> Attribution:
    got = attribute(build_row(head.key, head, BEFORE, Rule()), alpha)
    assert got is not None
    return got


@pytest.mark.parametrize(
    ("original", "candidate", "moved", "p_values"),
    [
        (fell(10), fell(10), Moved.TOGETHER, (2**-10, 2**-10, 1)),
        (fell(10), fell(10, 15), Moved.TOGETHER, (2**-10, 2**-10, 0.588099)),  # P(Bin(20, 1/2) <= 10)
        (fell(0), fell(10), Moved.CANDIDATE, (2**-10, 1, 2**-10)),
        (fell(5), fell(20), Moved.CANDIDATE_FURTHER, (2**-20, 2**-5, 2**-15)),
        (fell(10), fell(0), Moved.ORIGINAL, (1, 2**-10, 1)),
        (fell(4), fell(5), Moved.CANNOT_TELL, (2**-5, 2**-4, 2**-1)),
        (fell(1), fell(1), Moved.NEITHER, (2**-1, 2**-1, 1)),
    ],
)
def test_the_three_tests_say_who_moved(
    original: str, candidate: str, moved: Moved, p_values: tuple[float, float, float]
) -> None:
    got = found(measurement(original, candidate))
    assert (got.moved, got.n) == (moved, N)
    assert (got.candidate_p, got.original_p, got.difference_p) == pytest.approx(p_values, rel=1e-5)


def test_both_fell_says_whom_to_suspect() -> None:
    assert str(found(measurement(fell(10), fell(10)))).startswith("moved together: suspect provider or harness (")


def test_alpha_decides() -> None:
    head = measurement(fell(0), fell(5))  # p = 1/32
    assert [found(head, alpha).moved for alpha in (0.05, 0.01)] == [Moved.CANDIDATE, Moved.NEITHER]


def with_reused_originals(count: int) -> Artifact:
    head = measurement(fell(10), fell(10))
    tasks = tuple(
        task.model_copy(update={"original": replace(task.original, reused_from="artifact:x")}) if i < count else task
        for i, task in enumerate(head.tasks)
    )
    return head.model_copy(update={"tasks": tasks})


def test_a_reused_original_attributes_nothing() -> None:
    got = found(with_reused_originals(N))
    assert got.moved is Moved.NOT_POSSIBLE
    assert str(got) == (
        "attribution is not possible: "
        "the original's outcomes are reused from a stored artifact and were not measured again"
    )


def test_a_few_fresh_originals_are_too_few() -> None:
    assert found(with_reused_originals(N - 31)).why.endswith("on 31 of the 40 compared tasks only")
    assert found(with_reused_originals(N - 32)).n == 32  # four fifths suffice


def test_a_row_that_is_not_compared_has_no_attribution() -> None:
    head = measurement(fell(0), fell(10))
    assert attribute(build_row(head.key, head, None, Rule())) is None
