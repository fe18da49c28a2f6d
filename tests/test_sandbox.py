# ruff: noqa: E501 (a program on its line is easier to read)
"""The box from outside: endings, values, levels, and that it outlives whatever runs in it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tjbench import sandbox
from tjbench.errors import ExitCode, UsageError
from tjbench.sandbox import Box, Ending, Level, Outcome, Program, detect_level, open_box

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and Landlock are Linux's")
holds = pytest.mark.skipif(detect_level() is Level.NONE, reason="this machine confines nothing")


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with open_box(workers=2, trusted=True) as box:
        yield box


def run(box: Box, answer: str, tests: str, *, preamble: str = "", timeout_s: float = 10.0) -> Outcome:
    body = "\n".join(f"    {line}" for line in tests.strip().splitlines())
    return box.run(
        Program(
            answer=answer,
            entry_point="f",
            tests=f"def check(candidate):\n{body}\n",
            preamble=preamble,
            timeout_s=timeout_s,
        )
    )


IDENTITY = "def f(x):\n    return x"

ENDINGS: dict[str, tuple[str, str, Ending, str]] = {
    "right": (IDENTITY, "assert candidate(1) == 1", Ending.PASSED, ""),
    "wrong": (IDENTITY, "assert candidate(1) == 2", Ending.ASSERTION, "AssertionError at `assert candidate(1) == 2`"),
    "wrong, explained": (IDENTITY, "assert candidate(1) == 2, 'two'", Ending.ASSERTION, "AssertionError: two"),
    "raises": ("def f(x):\n    raise KeyError('k')", "candidate(1)", Ending.EXCEPTION, "KeyError: 'k'"),
    "ends the tests' map": (
        "def f(x):\n    raise StopIteration",
        "assert all(map(lambda x: candidate(x) == x, [1, 2]))",
        Ending.EXCEPTION,
        "StopIteration",
    ),
    "ends the tests' zip": (
        "def f(x):\n    raise StopIteration('early')",
        "for got, want in zip(map(candidate, [1, 2]), [1, 2]):\n    assert got == want",
        Ending.EXCEPTION,
        "early",
    ),
    "raises an assertion of its own": (
        "def f(x):\n    assert x > 5, 'small'",
        "candidate(1)",
        Ending.EXCEPTION,
        "small",
    ),
    "a class of its own": (
        "class Odd(Exception): pass\ndef f(x):\n    raise Odd('o')",
        "candidate(1)",
        Ending.EXCEPTION,
        "Odd: o",
    ),
    "an undefined name": ("def f(x):\n    return y", "candidate(1)", Ending.NAME_ERROR, "name 'y' is not defined"),
    "an undefined name at import": (
        "y: List = 1\n" + IDENTITY,
        "pass",
        Ending.NAME_ERROR,
        "name 'List' is not defined",
    ),
    "no entry point": ("def g(x): pass", "pass", Ending.NAME_ERROR, "does not define the entry point"),
    "an entry point that is no function": ("f = 3", "pass", Ending.NAME_ERROR, "does not define the entry point"),
    "no Python": ("def f(x) return x", "pass", Ending.SYNTAX_ERROR, "SyntaxError"),
    "a misuse by the tests": (IDENTITY, "len(candidate(1))", Ending.EXCEPTION, "TypeError"),
    "too little memory": ("def f(x):\n    return bytearray(1 << 40)", "candidate(1)", Ending.MEMORY, "MemoryError"),
    "leaves": ("import os\ndef f(x):\n    os._exit(0)", "candidate(1)", Ending.CRASHED, "ended its own process"),
    "dies": ("import ctypes\ndef f(x):\n    ctypes.string_at(0)", "candidate(1)", Ending.CRASHED, "SIGSEGV"),
    "returns no plain data": (
        "def f(x):\n    return object()",
        "candidate(1)",
        Ending.EXCEPTION,
        "'object' is not plain",
    ),
    "hears a function": (IDENTITY, "candidate(lambda: 1)", Ending.HARNESS, "'function' is not plain"),
    "tests with a fault": (IDENTITY, "undefined", Ending.HARNESS, "name 'undefined' is not defined"),
    "tests that leave": (IDENTITY, "raise SystemExit(0)", Ending.HARNESS, ""),
}


@pytest.mark.parametrize(("answer", "tests", "ending", "says"), ENDINGS.values(), ids=ENDINGS)
def test_an_ending_is_named(box: Box, answer: str, tests: str, ending: Ending, says: str) -> None:
    outcome = run(box, answer, tests)
    assert outcome.ending is ending
    assert says in outcome.error


def test_suites_whose_code_is_broken_are_the_harness_fault(box: Box) -> None:
    program = Program(answer=IDENTITY, entry_point="f", tests="")
    assert box.run(program).ending is Ending.HARNESS
    assert box.run(replace(program, tests="def check(candidate")).ending is Ending.HARNESS
    assert box.run(replace(program, tests="def check(c): pass", preamble="1/0")).ending is Ending.HARNESS
    assert box.run(replace(program, tests="def check(c): pass")).ending is Ending.PASSED


VALUES = {
    "types stay": (
        IDENTITY,
        "for v in [None, True, 1, 1.5, 'a', b'a', [1], (1,), {1: 2}, {1}, frozenset([1])]:\n    assert candidate(v) == v and type(candidate(v)) is type(v)",
    ),
    "big and small": (
        IDENTITY,
        "for v in [10**300, -1, 2**63, 1e-300, float('inf'), '\\ud800\\0', []]:\n    assert candidate(v) == v",
    ),
    "keywords": ("def f(x, *, y=0):\n    return x + y", "assert candidate(1, y=2) == 3"),
    "state between calls": (
        "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)",
        "assert [candidate(0), candidate(0)] == [1, 2]",
    ),
    "a list is sorted in place": (
        "def f(x):\n    x.sort()",
        "v = [2, 1]\nassert candidate(v) is None\nassert v == [1, 2]",
    ),
    "a list grows": ("def f(x):\n    x.append(3)", "v = [1]\ncandidate(v)\nassert v == [1, 3]"),
    "an inner list changes and stays the same object": (
        "def f(x):\n    x[0].append(9)",
        "inner = [1]\ncandidate([inner, [2]])\nassert inner == [1, 9]",
    ),
    "a list grows around an inner list that stays": (
        "def f(x):\n    x[0].append(9)\n    x.append(0)",
        "inner = [1]\nv = [inner]\ncandidate(v)\nassert v == [[1, 9], 0] and v[0] is inner",
    ),
    "a dict grows around an inner list that stays": (
        "def f(x):\n    x['b'] = 2\n    x['a'].append(9)",
        "inner = [1]\nv = {'a': inner}\ncandidate(v)\nassert v == {'a': [1, 9], 'b': 2} and v['a'] is inner",
    ),
    "a dict loses and reorders": (
        "def f(x):\n    x[1] = x.pop(1)\n    del x[2]",
        "v = {1: 'a', 2: 'b', 3: 'c'}\ncandidate(v)\nassert list(v.items()) == [(3, 'c'), (1, 'a')]",
    ),
    "tuples in a list are replaced": (
        "def f(x):\n    x[0] = (3, 4)",
        "v = [(1, 2)]\ncandidate(v)\nassert v == [(3, 4)]",
    ),
    "a dict changes": ("def f(x):\n    x['b'] = x.pop('a')", "v = {'a': [1]}\ncandidate(v)\nassert v == {'b': [1]}"),
    "a set changes": ("def f(x):\n    x.add(2)", "v = {1}\ncandidate(v)\nassert v == {1, 2}"),
    "true becomes one": ("def f(x):\n    x[0] = 1", "v = [True]\ncandidate(v)\nassert type(v[0]) is int"),
    "an expected exception": (
        "def f(x):\n    raise ValueError('no', 3)",
        "try:\n    candidate(1)\nexcept ValueError as error:\n    assert error.args == ('no', 3)\nelse:\n    assert False",
    ),
    "a subclass of an expected exception": (
        "class Mine(ValueError): pass\ndef f(x):\n    raise Mine",
        "try:\n    candidate(1)\nexcept ValueError:\n    pass",
    ),
    "an error whose class needs arguments": (
        "def f(x):\n    b'\\xff'.decode()",
        "try:\n    candidate(1)\nexcept UnicodeDecodeError as error:\n    assert error.start == 0",
    ),
    "a helper of the tests that calls by name": (IDENTITY, "assert f(3) == 3"),
    "an event loop": (
        "import asyncio\nasync def g(x):\n    await asyncio.sleep(0)\n    return x\ndef f(x):\n    return asyncio.run(g(x))",
        "assert candidate(4) == 4",
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f(x):\n    with ThreadPoolExecutor(4) as pool:\n        return list(pool.map(abs, x))",
        "assert candidate([-1, 2]) == [1, 2]",
    ),
    "modules that were not warm": (
        "import plistlib, sqlite3, ssl, lzma, xml.etree.ElementTree as e\ndef f(x):\n    return e.fromstring('<a>7</a>').text",
        "assert candidate(1) == '7'",
    ),
}


@pytest.mark.parametrize(("answer", "tests"), VALUES.values(), ids=VALUES)
def test_values_cross_as_a_test_expects(box: Box, answer: str, tests: str) -> None:
    outcome = run(box, answer, tests)
    assert (outcome.ending, outcome.error) == (Ending.PASSED, "")


def test_the_prompt_s_helpers_are_there_for_the_tests(box: Box) -> None:
    preamble = "import math\ndef half(x):\n    return x / 2\ndef f(x):\n    '''the stub'''\n"
    assert run(box, IDENTITY, "assert half(candidate(4)) == math.sqrt(4)", preamble=preamble).ending is Ending.PASSED


def test_an_answer_that_ended_cannot_pass_whatever_the_tests_swallow(box: Box) -> None:
    swallowing = "try:\n    candidate(1)\nexcept BaseException:\n    pass"
    assert run(box, "def f(x):\n    raise SystemExit", swallowing).ending is Ending.EXCEPTION
    assert run(box, "import os\ndef f(x):\n    os._exit(0)", swallowing).ending is Ending.CRASHED


def test_text_is_fit_to_be_shown(box: Box) -> None:
    error = run(box, "def f(x):\n    raise ValueError('\\x1b[2J\\0\\ud800' + 'x' * 10**6)", "candidate(1)").error
    assert error.encode() and len(error) <= 1000
    assert error.isprintable()


@pytest.mark.parametrize("answer", ["def f(x):\n    while True: pass", "import time\ndef f(x):\n    time.sleep(99)"])
def test_the_deadline_is_wall_time(box: Box, answer: str) -> None:
    started = time.monotonic()
    outcome = run(box, answer, "candidate(1)", timeout_s=0.5)
    assert outcome.ending is Ending.TIMEOUT
    assert 0.5 <= outcome.wall_s < 5
    assert time.monotonic() - started < 10


def test_tests_that_never_end_are_out_of_time_too(box: Box) -> None:
    assert run(box, IDENTITY, "while True: pass", timeout_s=0.5).ending is Ending.TIMEOUT


def test_sets_and_random_numbers_are_the_same_every_time() -> None:
    answer = "import random\ndef f(x):\n    return [list({'a', 'b', 'c', 'd', 'e'}), random.random()]"
    said = []
    for _ in range(2):
        with open_box(workers=1, trusted=True) as box:
            said.append(run(box, answer, "assert False, candidate(0)").error)
    assert said[0] == said[1]


def test_one_program_leaves_nothing_to_the_next(box: Box) -> None:
    poison = "import heapq, builtins, sys\nheapq.heappop = None\nbuiltins.sorted = None\nsys.path.clear()\n" + IDENTITY
    assert run(box, poison, "candidate(1)").ending is Ending.PASSED
    assert (
        run(
            box, "import heapq\ndef f(x):\n    return heapq.heappop(x), sorted(x)", "assert candidate([1]) == (1, [])"
        ).ending
        is Ending.PASSED
    )


def test_many_threads_share_a_box(box: Box) -> None:
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(
            pool.map(lambda n: run(box, f"def f(x):\n    return {n}", f"assert candidate(0) == {n - n % 2}"), range(40))
        )
    assert [outcome.ending for outcome in outcomes] == [Ending.PASSED, Ending.ASSERTION] * 20


def test_a_box_has_room_for_many_programs_at_once() -> None:
    with open_box(workers=64, trusted=True) as box, ThreadPoolExecutor(64) as pool:
        slow = "import time\ndef f(x):\n    time.sleep(1)\n    return x"
        outcomes = list(pool.map(lambda _: run(box, slow, "assert candidate(1) == 1", timeout_s=60), range(64)))
    assert {outcome.ending for outcome in outcomes} == {Ending.PASSED}


@linux
def test_the_warm_process_has_no_key_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    with open_box(workers=1, trusted=True) as box:
        environment = Path(f"/proc/{pid_of(box)}/environ").read_bytes()
        assert environment == b"PYTHONHASHSEED=0\0"
        assert (
            run(
                box, "import os\ndef f(x):\n    return dict(os.environ)", "assert 'sk-canary' not in str(candidate(1))"
            ).ending
            is Ending.PASSED
        )


@linux
def test_a_box_that_is_killed_comes_back(box: Box) -> None:
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(
            run, box, "import time\ndef f(x):\n    time.sleep(1)\n    return x", "assert candidate(1) == 1"
        )
        time.sleep(0.3)
        os.kill(pid_of(box), signal.SIGKILL)
        assert slow.result().ending is Ending.PASSED
    assert run(box, IDENTITY, "assert candidate(1) == 1").ending is Ending.PASSED


@linux
def test_nothing_is_left_after_closing() -> None:
    with open_box(workers=2, trusted=True) as box:
        leader = pid_of(box)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run, box, "import time\ndef f(x):\n    time.sleep(99)", "candidate(1)", timeout_s=60)
            time.sleep(0.3)
            children = [int(pid) for pid in Path(f"/proc/{leader}/task/{leader}/children").read_text().split()]
            assert len(children) == 2
            box.close()
            with pytest.raises(ValueError, match="closed"):
                running.result()
    for pid in (leader, *children):
        wait_until_gone(pid)


@linux
def test_unconfined_daemons_are_gone_after_their_program() -> None:
    daemon = (
        "import os, time\n"
        "def f(x):\n"
        "    reader, writer = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            os.write(writer, str(os.getpid()).encode())\n"
        "            time.sleep(60)\n"
        "        os._exit(0)\n"
        "    return int(os.read(reader, 20))\n"
    )
    with Box(workers=1, newest_landlock=0, filtered=False) as unconfined:
        outcome = run(unconfined, daemon, "assert False, candidate(1)")
        pid = int(outcome.error.split()[1])
        wait_until_gone(pid)
        assert run(unconfined, IDENTITY, "assert candidate(1) == 1").ending is Ending.PASSED


@linux
@holds
@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5])
def test_an_older_kernel_is_confined_and_says_so(abi: int) -> None:
    with Box(workers=1, newest_landlock=abi) as box:
        assert box.level is Level.CONFINED
        assert run(box, IDENTITY, "assert candidate(1) == 1").ending is Ending.PASSED


@pytest.mark.parametrize("missing", [{"newest_landlock": 0}, {"filtered": False}])
def test_without_landlock_or_filter_the_level_is_none(missing: dict[str, bool]) -> None:
    with Box(workers=1, **missing) as box:
        assert box.level is Level.NONE
        assert run(box, IDENTITY, "assert candidate(1) == 1").ending is Ending.PASSED


def test_where_nothing_holds_code_of_models_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_filter", lambda: b"")
    with pytest.raises(UsageError) as raised:
        open_box(workers=1)
    assert raised.value.exit_code is ExitCode.USAGE
    assert "docker run" in str(raised.value)
    assert "--allow-unsandboxed" in str(raised.value)
    with open_box(workers=1, trusted=True) as ours, open_box(workers=1, allow_unsandboxed=True) as accepted:
        assert (ours.level, accepted.level) == (Level.NONE, Level.NONE)


def test_the_level_is_found_once() -> None:
    assert detect_level() is detect_level()
    with open_box(workers=1, trusted=True) as box:
        assert box.level is detect_level()


def pid_of(box: Box) -> int:
    return box._warm._process.pid


def wait_until_gone(pid: int) -> None:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still there")


SHARED = {
    "a class": (
        "class f:\n    def __init__(self, x):\n        self.x = x\n    def twice(self):\n        return 2 * self.x",
        "assert candidate(2).twice() == 4",
        Ending.PASSED,
    ),
    "a generator": ("def f(x):\n    yield from range(x)", "assert next(candidate(1)) == 0", Ending.PASSED),
    "a function as argument": ("def f(x):\n    return x(1)", "assert candidate(lambda v: v + 1) == 2", Ending.PASSED),
    "a name beside the entry point": (
        "LIMIT = 3\ndef f(x):\n    return x",
        "assert candidate(3) == LIMIT",
        Ending.PASSED,
    ),
    "a wrong answer": ("def f(x):\n    return x", "assert candidate(1) == 2", Ending.ASSERTION),
    "an assertion of its own": ("def f(x):\n    assert x > 1", "candidate(1)", Ending.EXCEPTION),
    "a name of its own": ("def f(x):\n    return y", "candidate(1)", Ending.NAME_ERROR),
    "a name of the tests": ("def f(x):\n    return x", "candidate(y)", Ending.HARNESS),
    "an error inside the library": (
        "import json\ndef f(x):\n    return json.loads('{')",
        "candidate(1)",
        Ending.EXCEPTION,
    ),
    "no Python": ("def f(x) return", "candidate(1)", Ending.SYNTAX_ERROR),
    "leaving at import": ("import os\nos._exit(0)\ndef f(x): pass", "candidate(1)", Ending.CRASHED),
    "leaving in the call": ("import sys\ndef f(x):\n    sys.exit(0)", "candidate(1)", Ending.CRASHED),
    "leaving afterwards": (
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(x):\n    raise SystemExit",
        "candidate(1)",
        Ending.CRASHED,
    ),
    "a verdict without the secret": (
        "import os\nfor fd in range(3, 9):\n    try:\n        os.write(fd, b'\\x15\\0\\0\\0t\\x02\\0\\0\\0s\\x06\\0\\0\\0passeds\\0\\0\\0\\0')\n    except OSError:\n        pass\ndef f(x): pass",
        "assert candidate(1)",
        Ending.CRASHED,
    ),
    "never ending": ("def f(x):\n    while True: pass", "candidate(1)", Ending.TIMEOUT),
    "a file": ("def f(x):\n    return open('/etc/passwd').read()", "candidate(1)", Ending.EXCEPTION),
}


@holds
@pytest.mark.parametrize(("answer", "tests", "ending"), SHARED.values(), ids=SHARED)
def test_tests_may_share_the_interpreter(box: Box, answer: str, tests: str, ending: Ending) -> None:
    program = Program(
        answer=answer, entry_point="f", tests=f"def check(candidate):\n    {tests}\n", timeout_s=1.0, shared=True
    )
    assert box.run(program).ending is ending
