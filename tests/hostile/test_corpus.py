"""Hostile programs neither pass nor get out, at every level that holds; and the box goes on after each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.corpus import Hostile, Surroundings, complaint, corpus, run, still_works, surroundings
from tjbench.sandbox import Box, Ending, Level, detect_level

PROGRAMS = corpus()
holds = pytest.mark.skipif(detect_level() is Level.NONE, reason="this machine confines nothing")


@pytest.fixture(scope="module")
def around() -> Iterator[Surroundings]:
    with surroundings() as found:
        yield found


@pytest.fixture(scope="module", params=[1 << 16, 4], ids=["newest kernel", "Landlock ABI 4"])
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    with Box(workers=1, newest_landlock=request.param) as box:
        yield box


def test_the_corpus_is_large_enough() -> None:
    assert len(PROGRAMS) >= 40
    assert len({(hostile.kind, hostile.name) for hostile in PROGRAMS}) == len(PROGRAMS)


@holds
@pytest.mark.parametrize("hostile", PROGRAMS, ids=lambda hostile: f"{hostile.kind}-{hostile.name}")
def test_a_hostile_program_is_held(hostile: Hostile, box: Box, around: Surroundings) -> None:
    outcome = run(hostile, box, around)
    assert complaint(hostile, outcome) == ""
    assert around.changes() == []
    assert still_works(box)


@pytest.mark.parametrize(
    "hostile", [hostile for hostile in PROGRAMS if hostile.kind == "forge"], ids=lambda hostile: hostile.name
)
def test_no_confinement_is_needed_to_refuse_a_forged_pass(hostile: Hostile, around: Surroundings) -> None:
    with Box(workers=1, newest_landlock=0, filtered=False) as unconfined:
        assert unconfined.level is Level.NONE
        assert run(hostile, unconfined, around).ending is not Ending.PASSED
