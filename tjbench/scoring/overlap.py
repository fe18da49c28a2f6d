"""Agreement of two texts without any model: how many words they share."""

from __future__ import annotations

import unicodedata
from collections import Counter

import regex

from tjbench.scoring.score import PASSED, Cause, Score, failed
from tjbench.suites.task import OverlapCheck

# Chinese, Japanese and Thai do not part words by spaces: there each character is a token. A number is one token.
_TOKEN = regex.compile(
    r"\p{N}+(?:\.\p{N}+)*|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[\p{L}\p{M}--\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]+",
    regex.VERSION1,
)
_GROUPED = regex.compile(r"(?<=\p{N}),(?=\p{N}{3}(?!\p{N}))")
_MAX_TEXT = 1_000_000


def score_overlap(text: str, check: OverlapCheck) -> Score:
    """Whether the F1 of tokens reaches the threshold. The detail holds no word of either text."""
    shared = token_f1(text[:_MAX_TEXT], check.reference[:_MAX_TEXT])
    if shared >= check.threshold:
        return PASSED
    return failed(Cause.WRONG_ANSWER, f"overlap {shared:.2f}, {check.threshold:g} needed")


def token_f1(text: str, reference: str) -> float:
    """Twice the shared tokens over all tokens of both, each as often as it occurs: 1 for the same words, 0 for none.

    Case, punctuation, order and thousands separators do not count. Texts without any token agree when they are equal.
    Rajpurkar et al. 2016, SQuAD, section 6.1 (F1), without dropping articles.
    """
    ours, theirs = tokens(text), tokens(reference)
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else float(text.strip() == reference.strip())


def tokens(text: str) -> Counter[str]:
    """The words, numbers and East Asian characters of ``text``, folded."""
    folded = _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())
    return Counter(_TOKEN.findall(folded))
