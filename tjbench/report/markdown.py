"""The one renderer of text for people: pull request comment, step summary and terminal read the same words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.decision import Decision
from tjbench.compare.history import Entry
from tjbench.compare.series import Series
from tjbench.report.artifact_page import artifact_page
from tjbench.report.decision_page import decision_page
from tjbench.report.escape import code_span, display_width, escape_line_start, escape_markdown
from tjbench.report.history_page import list_page, trend_page
from tjbench.report.page import (
    BOUNDARY,
    Code,
    Link,
    Mark,
    Newline,
    Page,
    Part,
    Phrase,
    Section,
    Table,
    is_address,
    lines_of,
    stacked,
)
from tjbench.report.series_page import series_page

CODE_LIMIT = 80
TEXT_LIMIT = 1_000
SYMBOL = {Mark.GOOD: "✅", Mark.BAD: "❌", Mark.BROKEN: "🟠", Mark.UNSURE: "🟡", Mark.NONE: "⚪"}


def render_decision(
    decision: Decision,
    *,
    folded: bool = True,
    limit: int | None = None,
    run_url: str | None = None,
    width: int | None = None,
) -> str:
    """A decision as GitHub markdown.

    ``folded`` puts details behind a click; without it there is no HTML, for terminals and logs. ``limit`` is the most
    UTF-8 bytes, which GitHub's count of characters never exceeds: details go first, then rows, then reasons. A table
    wider than ``width`` columns is set as one small table a row.
    """
    return _render(decision_page(decision, run_url), _Form(folded=folded, width=width), limit)


def render_artifact(artifact: Artifact) -> str:
    """One measurement for the terminal, without HTML."""
    return _render(artifact_page(artifact), _Form(folded=False), None)


def render_series(series: Series, *, width: int | None = None) -> str:
    """Every row's measurements by tokenjam version, for the terminal."""
    return _render(series_page(series), _Form(folded=False, width=width), None)


def render_history_list(entries: Sequence[Entry], n_stored: int, *, width: int | None = None) -> str:
    """Stored measurements in one table, for the terminal."""
    return _render(list_page(entries, n_stored), _Form(folded=False, width=width), None)


def render_trends(rows: Mapping[RowKey, Sequence[Entry]], n_stored: int, *, width: int | None = None) -> str:
    """Each row's stored measurements by tokenjam version, for the terminal."""
    return _render(trend_page(rows, n_stored), _Form(folded=False, width=width), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a page is set: folded or plain, columns padded or not, and what had to be left out."""

    folded: bool
    width: int | None = None
    padded: bool = True
    missing: tuple[str, ...] = ()


def size(text: str) -> int:
    """UTF-8 bytes: at least as many as characters or UTF-16 units, whichever GitHub counts."""
    return len(text.encode("utf-8", "surrogatepass"))


def _render(page: Page, form: _Form, limit: int | None) -> str:
    text = _compose(page, form)
    if limit is None or size(text) <= limit:
        return text
    form = replace(form, padded=False)
    for cut in (_keep_sections, _keep_rows, _keep_lead):
        kept = _most(cut, page, form, limit)
        text = _compose(*kept)
        if size(text) <= limit:
            return text
        page, form = cut(page, form, 0)
    return _first_lines(text, limit)


_Cut = Callable[[Page, _Form, int], tuple[Page, _Form]]


def _most(cut: _Cut, page: Page, form: _Form, limit: int) -> tuple[Page, _Form]:
    """The page with as many of its parts as fit; with none when even that does not."""
    most = len(page.sections) + sum(len(table.rows) for table in page.tables) + len(page.lead)
    count = bisect_right(range(most + 1), limit, key=lambda n: size(_compose(*cut(page, form, n)))) - 1
    return cut(page, form, max(0, count))


def _keep_sections(page: Page, form: _Form, count: int) -> tuple[Page, _Form]:
    left = len(page.sections) - count
    note = (f"the details of {left} of {len(page.sections)} rows",) if left > 0 else ()
    return replace(page, sections=page.sections[:count]), replace(form, missing=form.missing + note)


def _keep_rows(page: Page, form: _Form, count: int) -> tuple[Page, _Form]:
    tables, room, total = [], count, sum(len(table.rows) for table in page.tables)
    for table in page.tables:
        tables.append(replace(table, rows=table.rows[:room]))
        room = max(0, room - len(table.rows))
    note = (f"{total - count} of {total} rows",) if total > count else ()
    kept = tuple(table for table in tables if table.rows)
    return replace(page, tables=kept), replace(form, missing=form.missing + note)


def _keep_lead(page: Page, form: _Form, count: int) -> tuple[Page, _Form]:
    left = len(page.lead) - count
    note = (f"{left} of {len(page.lead)} reasons",) if left > 0 else ()
    return replace(page, lead=page.lead[:count]), replace(form, missing=form.missing + note)


def _first_lines(text: str, limit: int) -> str:
    lines = text.splitlines(keepends=True)
    while lines and size("".join(lines)) > limit:
        lines.pop()
    return "".join(lines)


def _compose(page: Page, form: _Form) -> str:
    blocks = [f"### {SYMBOL[page.mark]} {_inline(page.title, form)}"]
    blocks += [f"> **⚠ {_inline(alert, form)}**" for alert in page.alerts]
    blocks += _lead(page.lead, form)
    for table in page.tables:
        blocks += _table_blocks(table, form)
    if page.legend and page.tables:
        blocks.append(_inline(page.legend, form))
    if page.steps:
        blocks.append(
            "\n".join(
                [_line(page.steps[0], form), "", *(f"{i}. {_line(s, form)}" for i, s in enumerate(page.steps[1:], 1))]
            )
        )
    if form.missing:
        blocks.append(f"**Left out for length:** {'; '.join(form.missing)}.")
    if page.sections:
        is_open = page.mark is Mark.BAD
        blocks += _folded("Tasks, causes and costs, row by row", _sections(page.sections, form), form, is_open=is_open)
    if page.facts:
        blocks += _folded(
            "How this was measured", [_bullets(page.facts, form)], form, always="**How this was measured**"
        )
    blocks.append(f"*{BOUNDARY}*")
    return "\n\n".join(blocks) + "\n"


def _lead(lead: Iterable[Phrase], form: _Form) -> list[str]:
    """One reason as a paragraph, several as a list; the further lines of a reason stand under it."""
    reasons = [lines_of(reason) for reason in lead]
    if len(reasons) == 1:
        (first, *more) = reasons[0]
        return [_line(first, form), *([_bullets(more, form)] if more else [])]
    items = [
        "\n".join([f"- {_line(first, form)}", *(f"  - {_line(line, form)}" for line in more)])
        for first, *more in reasons
    ]
    return ["\n".join(items)] if items else []


def _folded(summary: str, blocks: list[str], form: _Form, always: str = "", *, is_open: bool = False) -> list[str]:
    if not form.folded:
        return [always, *blocks] if always else blocks
    return ["<details open>" if is_open else "<details>", f"<summary>{summary}</summary>", *blocks, "</details>"]


def _sections(sections: Iterable[Section], form: _Form) -> list[str]:
    return [
        part for section in sections for part in (f"**{_inline(section.title, form)}**", _bullets(section.lines, form))
    ]


def _bullets(lines: Iterable[Phrase], form: _Form) -> str:
    return "\n".join(f"- {_line(line, form)}" for line in lines)


def _line(phrase: Phrase, form: _Form) -> str:
    return escape_line_start(_inline(phrase, form))


def _inline(phrase: Phrase, form: _Form, *, in_table: bool = False) -> str:
    return "".join(_part(part, form, in_table) for part in phrase)


def _part(part: Part, form: _Form, in_table: bool) -> str:
    if isinstance(part, Mark):
        return SYMBOL[part]
    if isinstance(part, Code):
        return code_span(part.text, CODE_LIMIT, in_table=in_table, linked=form.folded)
    if isinstance(part, Link):
        return part.url if is_address(part.url) else escape_markdown(part.url, linked=form.folded)
    if isinstance(part, Newline):
        return " "
    lead, tail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
    if not part.strip():
        return " " * bool(part)
    return f"{lead and ' '}{escape_markdown(part, TEXT_LIMIT, linked=form.folded)}{tail and ' '}"


def _table_blocks(table: Table, form: _Form) -> list[str]:
    title = [f"**{_inline(table.title, form)}**"] if table.title else []
    text = _table(table, form)
    if form.width is not None and max(map(display_width, text.splitlines())) > form.width:
        return title + [_table(part, form, form.width) for part in stacked(table)]
    return [*title, text]


def _table(table: Table, form: _Form, width: int | None = None) -> str:
    header = [_inline(cell, form, in_table=True) for cell in table.header]
    rows = [[_inline(cell, form, in_table=True) for cell in row] for row in table.rows]
    widths = [
        max(3, *(display_width(row[i]) for row in (header, *rows))) if form.padded else 3 for i in range(len(header))
    ]
    if width is not None:
        widths[-1] = max(3, min(widths[-1], width - sum(widths[:-1]) - 3 * len(widths) - 1))
    rule = ["-" * (width - 1) + ":" if i in table.right else ":" + "-" * (width - 1) for i, width in enumerate(widths)]
    return "\n".join(_row(cells, widths, table.right) for cells in (header, rule, *rows))


def _row(cells: list[str], widths: list[int], right: frozenset[int]) -> str:
    padded = []
    for i, cell in enumerate(cells):
        space = " " * max(0, widths[i] - display_width(cell))
        padded.append(space + cell if i in right else cell + space)
    return f"| {' | '.join(padded)} |"
