"""What GitHub would make of escaped text: read by a CommonMark parser, then by GitHub's own patterns for links."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tjbench.report.escape import clean, code_span, display_width, escape_line_start, escape_markdown

ZWSP = "\u200b"
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PIECES = st.sampled_from(
    [
        *"|`*_~[]()<>!#@&$\\-+=.: \n\t",
        "a",
        "1",
        "x y",
        "http://",
        "www.",
        "&#64;",
        "<!--",
        "GH-1",
        "deadbeef",
        "\u202e",
        "🙂",
    ]
)
HOSTILE = st.lists(PIECES, min_size=1, max_size=14).map("".join)
GITHUB_LINKS = re.compile(
    r"@\w|#\d|\bGH-\d|https?://|\bwww\.|\b[0-9a-f]{7,40}\b|[\w.+-]+@[\w-]+\.\w", re.IGNORECASE | re.ASCII
)


def shown(rendered: str) -> str:
    """What a reader sees: no tags, entities decoded, our zero-width breaks gone."""
    return html.unescape(re.sub(r"<[^>]*>", "", rendered)).replace(ZWSP, "").strip()


def tags(rendered: str) -> set[str]:
    return set(re.findall(r"</?([a-z0-9]+)", rendered))


@given(HOSTILE)
def test_escaped_text_shows_itself_as_one_paragraph(text: str) -> None:
    rendered = PARSER.render(escape_line_start(escape_markdown(text)))
    assert shown(rendered) == clean(text)
    assert tags(rendered) <= {"p"}


@given(HOSTILE)
def test_escaped_text_shows_itself_in_one_table_cell(text: str) -> None:
    rendered = PARSER.render(f"| a | b |\n|---|---|\n| {escape_markdown(text)} | last |")
    cells = re.findall(r"<td>(.*?)</td>", rendered, re.DOTALL)
    assert [shown(cell) for cell in cells] == [clean(text), "last"]
    assert not tags("".join(cells))


@given(HOSTILE)
def test_escaped_text_stays_within_its_list_item(text: str) -> None:
    rendered = PARSER.render(f"- {escape_line_start(escape_markdown(text))}\n- next")
    assert rendered.count("<li>") == 2
    assert tags(rendered) == {"ul", "li"}


@given(HOSTILE)
def test_nothing_in_the_rendered_text_is_a_link_for_github(text: str) -> None:
    rendered = PARSER.render(escape_markdown(text))
    assert not GITHUB_LINKS.search(html.unescape(re.sub(r"<[^>]*>", "", rendered)))


@given(HOSTILE)
def test_code_shows_itself_verbatim_in_a_paragraph_and_in_a_cell(text: str) -> None:
    expected = clean(text) or "(empty)"
    assert shown(PARSER.render(f"see {code_span(text)} there")) == f"see {expected} there"
    cell = PARSER.render(f"| a | b |\n|---|---|\n| {code_span(text, in_table=True)} | last |")
    assert [shown(c) for c in re.findall(r"<td>(.*?)</td>", cell, re.DOTALL)] == [expected, "last"]


@given(HOSTILE)
def test_code_never_holds_what_could_pass_for_a_comment_marker(text: str) -> None:
    assert "<!--" not in code_span(text)
    assert "<!--" not in escape_markdown(text)


@pytest.mark.parametrize("entity", ["&#64;octocat", "&commat;octocat", "&#x40;octocat", "&amp;#64;octocat"])
def test_an_entity_encoded_mention_is_shown_as_it_is_written(entity: str) -> None:
    rendered = PARSER.render(escape_markdown(entity))
    assert shown(rendered) == entity
    assert "@" not in html.unescape(rendered)


@pytest.mark.parametrize(
    "char", ["\x00", "\x1b", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\ud800"]
)
def test_what_cannot_be_seen_is_shown_as_a_replacement(char: str) -> None:
    assert clean(f"a{char}b") == "a\ufffdb"


def test_truncation_comes_before_escaping_so_that_no_escape_is_cut() -> None:
    text = escape_markdown("|" * 50, 10)
    assert text == "\\|" * 9 + "…"


def test_text_that_needs_no_escape_reads_as_it_was_written() -> None:
    plain = "no_significant_regression: 9 tasks broke, 1 recovered (p < 0.001), $0.0123 → $0.0456, 95 %"
    assert escape_markdown(plain) == plain


def test_a_wide_character_takes_two_columns_and_a_mark_none() -> None:
    assert [display_width(text) for text in ("ab", "✅", "日本", "e\u0301", f"a{ZWSP}b")] == [2, 2, 4, 1, 2]
