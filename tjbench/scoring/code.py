"""A chat answer to a program, and the program to a score."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from tjbench.sandbox import Box, Ending, Program
from tjbench.scoring.fences import blocks
from tjbench.scoring.score import PASSED, Cause, Score, failed
from tjbench.scoring.source import bound, compiles, leading, missing, parse, without_demo
from tjbench.suites.task import UnitTests

_CAUSES = {
    Ending.ASSERTION: Cause.ASSERTION,
    Ending.EXCEPTION: Cause.EXCEPTION,
    Ending.CRASHED: Cause.EXCEPTION,
    Ending.NAME_ERROR: Cause.NAME_ERROR,
    Ending.SYNTAX_ERROR: Cause.SYNTAX_ERROR,
    Ending.TIMEOUT: Cause.TIMEOUT,
    Ending.MEMORY: Cause.MEMORY,
    Ending.HARNESS: Cause.HARNESS,
}
DEADLINE_S = 10.0
"""Wall time of a program whose suite holds no right answer to go by."""
FLOOR_S, CEILING_S, FACTOR = 5.0, 60.0, 20
"""Otherwise so many times what the right answer takes, within these bounds."""

MAX_CHARS = 100_000
"""An answer is read so far: what is longer repeats itself without end."""
_STRETCHES = 20


def score_code(text: str, check: UnitTests, box: Box, *, reference: str | None = None) -> Score:
    """Run the answer in ``text`` against ``check`` in ``box``; the detail holds text that the answer chose.

    ``reference`` is a right answer: the deadline follows from how long it takes here. It is run only when an answer is
    not done by the floor.
    """
    if not text.strip():
        return failed(Cause.NO_ANSWER, "the answer is empty")
    program = _to_run(text, check, DEADLINE_S if reference is None else FLOOR_S)
    if program is None:
        return failed(Cause.NO_CODE, f"no code that defines {check.entry_point}")
    outcome = box.run(program)
    if outcome.ending is Ending.TIMEOUT and reference is not None:
        allowed_s = deadline_s(reference, check, box)
        if allowed_s > FLOOR_S:
            outcome = box.run(replace(program, timeout_s=allowed_s))
    if outcome.ending is Ending.PASSED:
        return PASSED
    return failed(_CAUSES[outcome.ending], outcome.error)


def deadline_s(reference: str, check: UnitTests, box: Box) -> float:
    """Seconds that an answer may take, from what the right answer takes here."""
    program = _to_run(reference, check, CEILING_S)
    outcome = box.run(program) if program else None
    if outcome is None or outcome.ending is not Ending.PASSED:
        return DEADLINE_S
    return min(max(FLOOR_S, FACTOR * outcome.wall_s), CEILING_S)


def _to_run(text: str, check: UnitTests, timeout_s: float) -> Program | None:
    answer = extract(text, check)
    if answer is None:
        return None
    return Program(
        answer=answer,
        entry_point=check.entry_point,
        tests=check.tests,
        preamble=check.preamble,
        timeout_s=timeout_s,
        shared=check.kind == "shared_unit_tests",
    )


def extract(text: str, check: UnitTests) -> str | None:
    """The program that ``text`` means: the prompt's preamble, then the answer's own code. ``None`` when no part of the
    text defines or continues the entry point.

    Fenced code comes first; of several blocks the last one that defines the entry point counts, with those that define
    names it uses. A body continues the prompt. Code that does not parse is kept when it tries to define the entry
    point, so that running it tells why.
    """
    text = _clean(text)
    fenced = blocks(text)
    for candidates in (fenced, [text]) if fenced else ([text],):
        code = _definition(candidates, check) or _continuation(candidates, check)
        if code is not None:
            return code
    if not fenced and (code := _definition(list(_without_prose(text)), check)):
        return code
    tried = [block for block in fenced or [text] if f"def {check.entry_point}" in block and parse(block) is None]
    return _program(textwrap.dedent(tried[0]), check) if tried else None


def _clean(text: str) -> str:
    """Unix line ends, no lone surrogate, no thoughts before the answer."""
    text = text[:MAX_CHARS].encode("utf-8", "replace").decode().removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.rpartition("</think>")[2]


def _definition(candidates: list[str], check: UnitTests) -> str | None:
    """The last candidate that defines the entry point, a real body before a stub, with the helpers it needs."""
    parsed = [(code, tree) for code in map(textwrap.dedent, candidates) if (tree := parse(code)) is not None]
    defining = [item for item in parsed if check.entry_point in bound(item[1])]
    if not defining:
        return None
    code, tree = next((item for item in reversed(defining) if not _stub(item[1], check.entry_point)), defining[-1])
    preamble = parse(_preamble(check))
    lacking = missing(tree) - (bound(preamble) if preamble else set())
    used = lacking | {check.entry_point}
    helpers = [(other, other_tree) for other, other_tree in parsed if other is not code and bound(other_tree) & lacking]
    return _program("\n".join(without_demo(part, its, used) for part, its in [*helpers, (code, tree)]), check)


def _continuation(candidates: list[str], check: UnitTests) -> str | None:
    """The prompt continued by the first candidate that adds to the entry point's body, however it is indented."""
    prompt = check.preamble if check.preamble.endswith("\n") else check.preamble + "\n"
    stub = parse(prompt)
    before = len(_body(stub, check.entry_point)) if stub else 0
    for candidate in candidates:
        for body in _bodies(candidate):
            tree = parse(prompt + body)
            if tree and any(map(_does, _body(tree, check.entry_point)[before:])) and compiles(prompt + body):
                return without_demo(prompt + body, tree, {check.entry_point})
    return None


def _bodies(text: str) -> Iterator[str]:
    """Ways in which ``text`` may be meant as a body: as it is, with all of its indentation lost or of another width,
    with its first line's lost; each also cut where unindented text follows it."""
    lines = [line.replace("\t", "    ") if line[:1] == "\t" else line for line in text.strip("\n").split("\n")]
    spaced = "\n".join(lines)
    dedented = textwrap.dedent(spaced)
    lost = "    " + spaced.lstrip(" ")
    whole = (textwrap.indent(dedented, "    "), textwrap.indent(leading(dedented), "    "))
    for body in (spaced, _indented(spaced), *whole, lost, _indented(lost)):
        yield body + "\n"


def _indented(text: str) -> str:
    """``text`` up to its first unindented line."""
    lines = text.split("\n")
    return "\n".join(lines[: next((at for at, line in enumerate(lines) if at and line[:1].strip()), len(lines))])


def _without_prose(text: str) -> Iterator[str]:
    """Stretches of unfenced ``text``, each from a line that opens code to one before unindented words."""
    lines = text.split("\n")
    opening = ("import ", "from ", "def ", "class ", "@", "async ")
    after = 0
    starts = (at for at, line in enumerate(lines) if line.startswith(opening) and at >= after)
    for start in islice(starts, _STRETCHES):
        code = leading("\n".join(lines[start:]))
        after = start + max(1, code.count("\n"))
        yield code


def _program(code: str, check: UnitTests) -> str:
    future = [line for line in code.split("\n") if line.startswith("from __future__ import")]
    rest = "\n".join("" if line in future else line for line in code.split("\n"))
    return "\n".join([*future, _preamble(check), rest]) + "\n"


def _preamble(check: UnitTests) -> str:
    """The prompt's code; without the entry point's signature where nothing follows that to make it whole."""
    if parse(check.preamble) is not None:
        return check.preamble
    return check.preamble.partition(f"def {check.entry_point}")[0]


def _stub(tree: ast.Module, name: str) -> bool:
    function = _function(tree, name)
    return function is not None and all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def _body(tree: ast.Module, name: str) -> list[ast.stmt]:
    function = _function(tree, name)
    return function.body if function else []


def _does(node: ast.stmt) -> bool:
    """Whether a statement works towards a result; words and definitions alone are no body."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Yield, ast.YieldFrom, ast.Await))
    return not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    found = None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            found = node
    return found
