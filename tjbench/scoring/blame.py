"""Whose fault a failure looks like: the model's, or that of what judges it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tjbench.compare.pair import Trial
from tjbench.scoring.fences import blocks
from tjbench.scoring.score import Cause, Score
from tjbench.scoring.source import bound, parse
from tjbench.suites.task import Task, UnitTests

SUSPECT_CAUSES = frozenset({Cause.NAME_ERROR, Cause.NO_CODE, Cause.SYNTAX_ERROR})
"""What a harness makes of right answers when it drops the prompt's code or takes the wrong part of the text."""
SUSPECT_FLOOR = 3
_UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")


def blamed(score: Score, task: Task) -> Score:
    """A name error only where the prompt defines that name: any other undefined name is an exception of the answer's
    own, and an entry point that is no function is no code."""
    if score.cause is not Cause.NAME_ERROR:
        return score
    if not score.detail.startswith(("NameError", "UnboundLocalError")):
        return replace(score, cause=Cause.NO_CODE)
    undefined = _UNDEFINED.match(score.detail)
    if undefined and undefined[1] in names_of_prompt(task):
        return score
    return replace(score, cause=Cause.EXCEPTION)


def names_of_prompt(task: Task) -> set[str]:
    """What the code of the prompt binds: that of the check's preamble, and that in fences of the messages."""
    codes = [block for message in task.messages for block in blocks(message.content)]
    if isinstance(task.check, UnitTests):
        codes.append(task.check.preamble)
    # A prompt may end in a signature with no body.
    trees = (parse(code) or parse(f"{code.rstrip()}\n    pass\n") for code in codes)
    return {name for tree in trees if tree for name in bound(tree)}


def suspect_scorer(trials: Iterable[Trial]) -> bool:
    """Whether one cause that looks like the harness's explains more than half of a model's failures, and at least
    three."""
    causes = Counter(trial.cause for trial in trials if trial.cause and trial.scored)
    worst = max((causes[cause] for cause in SUSPECT_CAUSES), default=0)
    return worst >= SUSPECT_FLOOR and 2 * worst > causes.total()
