"""The page as a browser's parser reads it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Flag
from tjbench.compare.decision import BaselineLabel, Decision, Status
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.errors import ExitCode
from tjbench.report.html import render_artifact_html, render_html

HOSTILE = "<script>alert(1)</script>\"'><img src=https://evil.example/x>{{ 7*7 }}&#64;\u202e\x1b"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Reader(HTMLParser):
    """Collects elements, their attributes and the text; fails on a tag closed out of order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\u00a0", " ")


def hostile() -> tuple[Decision, str]:
    ids = [f"{HOSTILE}{i}" for i in range(12)]
    name = "".join(char for char in HOSTILE if char.isprintable())  # a model spec holds nothing else
    models = (f"anthropic:{name}", f"openai:{name}")
    old = measurement("p" * 12, "p" * 12, suite=HOSTILE, task_ids=ids, models=models, version="0.6.0")
    new = measurement("p" * 12, "f" * 12, suite=HOSTILE, task_ids=ids, models=models)
    label = BaselineLabel(ref=HOSTILE, notes=(HOSTILE,))
    decision = decide(build_matrix([new], [old], Rule()), GatePolicy(), baseline=label)
    return decision, render_html(decision, [new], run_url="javascript:alert(1)")


def test_hostile_text_is_only_text() -> None:
    page = Reader(hostile()[1])
    assert not {"script", "img", "a"} & {tag for tag, _ in page.elements}
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text
    assert not re.search("[\u202e\x1b]", page.text)


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = Reader(hostile()[1])
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    names = {name for _, attributes in page.elements for name in attributes}
    assert not names & {"src", "srcset", "href", "action"}
    assert not any(name.startswith("on") for name in names)


def test_the_run_is_the_only_link() -> None:
    decision = hostile()[0]
    page = Reader(render_html(decision, run_url="https://github.com/acme/app/actions/runs/7"))
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert links == ["https://github.com/acme/app/actions/runs/7"]


def test_the_page_says_what_the_markdown_says() -> None:
    before = measurement("p" * 60, "p" * 60, version="0.6.0")
    after = measurement("p" * 60, "f" * 20 + "p" * 40)
    label = BaselineLabel(ref="release/1.0", sha="0123456789abcdef")
    page = Reader(render_html(decide(build_matrix([after], [before], Rule()), GatePolicy(), baseline=label)))
    for words in (
        "TokenJam Bench: regression",
        "20 tasks broke, 0 recovered out of 60",
        "significant_regression",
        f"{ORIGINAL} → {CANDIDATE}",
        f"40/60 ({100 * 40 / 60:.1f} %)",
        "humaneval/19",
        "release/1.0 at 0123456789ab",
        "not a runtime safety certification",
    ):
        assert words in page.text


def test_every_task_is_a_row_and_those_that_broke_come_first() -> None:
    page = render_artifact_html(measurement("pppff", "ppfpu", task_ids=["same", "fine", "broke", "gained", "unscored"]))
    tasks = page[page.index("Task by task") :]
    assert re.findall(r'<th scope="row"><code>(\w+)</code>', tasks) == ["broke", "unscored", "gained", "same", "fine"]
    first = tasks[tasks.index("<code>broke</code>") : tasks.index("<code>unscored</code>")]
    assert "pass" in first
    assert "fail" in first
    assert "wrong_answer" in first
    assert "detail of wrong_answer" in first


def test_a_mock_measurement_is_said_at_the_top() -> None:
    text = Reader(render_artifact_html(measurement("p" * 60, "p" * 60, flags=(Flag.MOCK,)))).text
    assert text.index("MOCK RUN") < text.index("original pass")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_page(status: Status) -> None:
    decision = Decision(status=status, exit_code=ExitCode.PASSED, reasons=("because", "and because"))
    text = Reader(render_html(decision)).text
    assert "because." in text
    assert "and because." in text


def test_light_and_dark_and_phones_are_served() -> None:
    page = hostile()[1]
    assert "prefers-color-scheme: dark" in page
    assert '<meta name="viewport" content="width=device-width' in page
    assert "overflow-x: auto" in page
