"""Reports as one self-contained HTML page: nothing is loaded, nothing runs, and every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import Decision
from tjbench.report.artifact_page import artifact_page
from tjbench.report.decision_page import decision_page
from tjbench.report.escape import clean
from tjbench.report.page import BOUNDARY, Code, Link, Mark, Newline, Page, Phrase, Table, is_address
from tjbench.report.tasks_table import tasks_table

# Spaces at which a number would lose its unit or an interval its other end.
_TOGETHER = re.compile(
    r"(?<=\d) (?=%|pp\b|to [+\u2212\d])|(?<=\d to) (?=[+\u2212\d])|(?<=\bp) (?=[=<])|(?<=[=<]) (?=\d)"
)


def render_html(decision: Decision, artifacts: Sequence[Artifact] = (), *, run_url: str | None = None) -> str:
    """A decision as a page; ``artifacts`` add a table of their tasks each."""
    return _render(decision_page(decision, run_url), artifacts)


def render_artifact_html(artifact: Artifact) -> str:
    """One measurement as a page, with its tasks."""
    return _render(artifact_page(artifact), [artifact])


def _render(page: Page, artifacts: Sequence[Artifact]) -> str:
    tasks: list[Table] = [tasks_table(artifact) for artifact in artifacts]
    return _environment().get_template("page.html.j2").render(page=page, tasks=tasks, boundary=BOUNDARY)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tjbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"clean": clean, "spaced": _spaced, "plain": _plain}
    environment.tests |= {
        "code": lambda part: isinstance(part, Code),
        "link": _is_link,
        "newline": lambda part: isinstance(part, Newline),
        "mark": lambda part: isinstance(part, Mark),
    }
    return environment


def _is_link(part: object) -> bool:
    return isinstance(part, Link) and is_address(part.url)


def _spaced(part: str | Link) -> str:
    """One line that keeps its outer spaces, which part it from its neighbours."""
    text = part.url if isinstance(part, Link) else part
    lead, tail = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
    kept = _TOGETHER.sub("\N{NO-BREAK SPACE}", clean(text))
    return f"{lead}{kept}{tail}" if text.strip() else " " * bool(text)


def _plain(phrase: Phrase) -> str:
    """For the page's title and for labels, which hold no elements."""
    words = (part.text if isinstance(part, Code) else part for part in phrase)
    return clean("".join(part for part in words if isinstance(part, str) and not isinstance(part, Mark)))
