"""Text from models, tasks and files made harmless in GitHub's markdown, in HTML and in XML.

GitHub reads mentions, references and addresses from the rendered text, so escaping ``@`` or writing it as an entity
does not stop it: a zero-width space after it does. Truncation comes first, or it would cut an escape in two.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
BREAK = "\N{ZERO WIDTH SPACE}"
ELLIPSIS = "…"

# Letters and marks that show as nothing, by which one id would look like another.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"([\\`*~\[\]|])"), r"\\\1"),
    (re.compile(r"(?<![^\W_])_|_(?![^\W_])"), r"\\_"),
    (re.compile(r"&(?=[#A-Za-z])"), "&amp;"),
    (re.compile(r"<(?=[A-Za-z/!?])"), "&lt;"),
    (re.compile(r"\$(?!\d)"), r"\\$"),
)
_LINKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"@(?=\S)"), f"@{BREAK}"),
    (re.compile(r"(?<![&])#(?=\d)"), f"#{BREAK}"),
    (re.compile(r"\b(GH)-(?=\d)", re.IGNORECASE), rf"\1-{BREAK}"),
    (re.compile(r":(?=//)"), f":{BREAK}"),
    (re.compile(r"\b(www)\.", re.IGNORECASE), rf"\1{BREAK}."),
)
# Seven hexadecimal digits or more name a commit.
_COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b", re.IGNORECASE)
_LINE_START = re.compile(r"(?:[-+](?=\s|$)|[-=]{2,}|#{1,6}(?=\s|$)|>|\d{1,9}(?=[.)](?:\s|$)))")


def clean(text: str, limit: int | None = None) -> str:
    """One line of visible characters, at most ``limit`` of them; what cannot be seen becomes U+FFFD."""
    line = " ".join(text.split())
    if not line.isprintable() or not _BLANKS.isdisjoint(line):
        line = "".join(REPLACEMENT if _hidden(char) else char for char in line)
    return line if limit is None or len(line) <= limit else line[: limit - 1] + ELLIPSIS


def _hidden(char: str) -> bool:
    """Controls, bidi overrides, zero-width and tag characters, surrogates, private use, unassigned, and blanks."""
    return not char.isprintable() or char in _BLANKS


# A report is composed several times to fit a limit, and its separators repeat.
@lru_cache(maxsize=4096)
def escape_markdown(text: str, limit: int | None = None, *, linked: bool = True) -> str:
    """``text`` as plain words for a paragraph, a list item or a table cell: it links, mentions and formats nothing.

    Where nothing is ``linked``, as in a terminal, links are left whole, so that they can be copied.
    """
    line = clean(text, limit)
    for pattern, replacement in _RULES:
        line = pattern.sub(replacement, line)
    if not linked:
        return line
    for pattern, replacement in _LINKS:
        line = pattern.sub(replacement, line)
    return _COMMIT.sub(lambda match: re.sub("(.{6})(?=.)", rf"\1{BREAK}", match[0]), line)


def escape_line_start(markdown: str) -> str:
    """Keep escaped text from opening a list, quote, heading or rule where it begins a block."""
    match = _LINE_START.match(markdown)
    if not match:
        return markdown
    at = match.end() if markdown[0].isdigit() else 0
    return f"{markdown[:at]}\\{markdown[at:]}"


@lru_cache(maxsize=4096)
def code_span(text: str, limit: int | None = None, *, in_table: bool = False, linked: bool = True) -> str:
    """``text`` verbatim as code, for ids and model names: nothing is inserted, so that it can be copied.

    A pipe in a table and an HTML comment (which could pass for the marker of a comment) are escaped as words instead.
    """
    line = clean(text, limit)
    if not line:
        return "(empty)"
    if (in_table and "|" in line) or "<!--" in line:
        return escape_markdown(line, linked=linked)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def display_width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
