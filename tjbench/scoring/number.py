"""The final number of an answer, read from prose, Markdown or LaTeX as an exact decimal."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Literal

Percent = Literal["as_written", "as_fraction"]

MAX_TEXT = 100_000
"""Only this many last characters of an answer are read."""
MAX_DIGITS = 300
"""A longer number, or one beyond 10^±300, is not read."""

_EXACT = Context(prec=4 * MAX_DIGITS)
_QUOTIENT = Context(prec=60)
_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 1_000,
    "m": 1_000_000,
    "b": 10**9,
}
_CODES = r"USD|EUR|GBP|INR|JPY|CNY|CAD|AUD|CHF|Rs\.?"
_SPACE = r"[ \t\u00a0]"

# Every repetition is bounded or possessive, so a start costs at most a few hundred steps.
_NUMBER = re.compile(
    rf"""
    (?:(?<![\w)\]}}%-])(?P<minus>-))?
    (?P<currency>(?:\\?\$|[€£¥₹]|(?<![A-Za-z])(?:{_CODES})){_SPACE}?)?
    (?P<inner_minus>(?<![\w)\]}}%-])-)?
    (?(currency)|(?:(?<![A-Za-z\d])|(?<=\dx)))
    (?<!\^)(?<!\^\{{)(?<!\^-)(?<!\d\.)(?<![A-Za-z]_)(?<!_\{{)
    (?P<after_slash>(?<=\d/))?
    (?:
        (?P<grouped>\d{{1,3}}(?P<sep>[,_'\u00a0])\d{{3}}(?:(?P=sep)\d{{3}}){{0,99}}(?!\d)(?:\.\d++)?)
      | (?P<indian>\d{{1,2}}(?:,\d{{2}}){{1,8}},\d{{3}}(?!\d)(?:\.\d++)?)
      | (?P<continental>\d{{1,3}}(?:\.\d{{3}}){{1,99}},\d{{1,2}}(?!\d)|\d{{1,3}}(?:\.\d{{3}}){{2,99}}(?!\.?\d)
            |(?<!\d,)\d++,\d{{1,2}}(?![\d,]))
      | (?P<plain>\d++(?:\.\d++)?|(?<![\w.])\.\d++)
    )
    (?(after_slash)|
        (?:
            {_SPACE}{{1,2}}(?:and{_SPACE})?(?P<part>\d{{1,30}})/(?P<whole>\d{{1,30}})(?!\d)(?!/\d)
          | {_SPACE}?/{_SPACE}?(?P<divisor>\d{{1,60}}+(?:\.\d{{1,60}}+)?)(?!\d)(?!/\d)
          | {_SPACE}{{0,2}}(?:\*|x|\\times|\\cdot){_SPACE}{{0,2}}10\^\{{?(?P<ten>[+-]?\d++)\}}?
          | [eE](?P<exponent>[+-]?\d++)(?!\w)
          | \^\{{?(?P<power>-?\d++)\}}?
        )?
    )
    (?:(?P<letter>[kKMB])(?![A-Za-z])|(?:{_SPACE}|-)?(?P<scale>(?i:hundred|thousand|million|billion|trillion))\b)?
    (?P<percent>{_SPACE}?\\?%|{_SPACE}(?i:percent)\b)?
    """,
    re.VERBOSE,
)
_MARKER = re.compile(r"(?<!#)####(?!#)[ \t\u00a0]*(?:\r?\n\s{0,20})?([^\n]{0,300})")
_BOX = re.compile(r"\\boxed\s?\{")
_LEAD = re.compile(r"[^A-Za-z0-9]*")
_ANSWERISH = re.compile(rf"(?i)\\|[^\n]*(?:answer|=)|(?:{_CODES}|about|approx\w*|negative)\b")
_NUMBERED_HEADING = re.compile(r"(\d{1,2})[.):] +\W{0,4}[A-Za-z]")
_SPACED_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,99}(?![\d/])")
_ONLY_SPACED_GROUPS = re.compile(r"\W{0,9}\d{1,3}(?: \d{3}){1,9}(?:[.,]\d{1,9})?[^\d/]{0,40}")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac ?\{ ?([\d.,]{1,30}) ?\} ?\{ ?([\d.]{1,30}) ?\}")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴-⁹⁻⁺]+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_CHARACTERS = {
    **dict.fromkeys("\u2212\uff0d\ufe63\u2010\u2011\u2013", "-"),
    **dict.fromkeys("\u00d7\u22c5\u00b7\u2219\u2217", "*"),
    **dict.fromkeys("\u2009\u202f\u2007\u2008", "\u00a0"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("\u2019\u02bc\uff07", "'"),
    **dict.fromkeys("\u2044\u2215\uff0f", "/"),
    **dict(zip("\uff05\uff04\uff0c\uff0e\uff03", "%$,.#", strict=True)),
}


def parse_number(text: str, *, percent: Percent = "as_written") -> Decimal | None:
    """The final number of an answer, or None when there is none that can be read.

    The number after the last ``####`` wins, then the one in the last ``\\boxed{}``, then the last in the text.
    ``percent`` says what ``60%`` is worth: 60 as written, 0.6 as a fraction. Time is linear in the text's length.
    """
    text = _normalized(text[-MAX_TEXT:])[-MAX_TEXT:]
    if len(text) <= 80 and _ONLY_SPACED_GROUPS.fullmatch(text):
        text = text.replace(" ", "")
    for region in (*_marked(text), *_boxed(text)):
        match = _first_number(region)
        if match:
            return _value(match, percent)
    last = deque(_NUMBER.finditer(text), maxlen=1)
    return _value(last[0], percent) if last else None


def _normalized(text: str) -> str:
    """Unicode and LaTeX spellings as plain ASCII, with the no-break space for every thin one."""
    text = _SUPERSCRIPT_RUN.sub(lambda run: "^" + run[0].translate(_SUPERSCRIPTS), text)
    text = re.sub(r"[^\x00-\x7f\u00a0]", _ascii, text)
    text = text.replace("{,}", ",").replace(r"\!", "").replace(r"\,", "\u00a0")
    text = _LATEX_FRACTION.sub(_plain_fraction, text)
    text = re.sub(r"(=[ ]{0,3})-[ ]{1,3}(?=[$.\d])", r"\1-", text)
    return re.sub(r"(?i)\bnegative (?=[$.\d])", "-", text)


def _ascii(found: re.Match[str]) -> str:
    """One character: a digit of any script, a fraction such as ``½``, or a sign that has an ASCII spelling."""
    character = found[0]
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    kind, _, code_points = unicodedata.decomposition(character).partition(" ")
    if kind != "<fraction>" or not code_points.endswith(tuple("0123456789")):
        return character
    spelled = "".join(chr(int(point, 16)) for point in code_points.split()).replace("\u2044", "/")
    return (" " if _preceding(found).isdigit() else "") + spelled


def _plain_fraction(found: re.Match[str]) -> str:
    return (" " if _preceding(found).isalnum() else "") + f"{found[1]}/{found[2]}"


def _preceding(found: re.Match[str]) -> str:
    return found.string[found.start() - 1] if found.start() else ""


def _marked(text: str) -> Iterator[str]:
    """What stands on the lines of ``####`` markers, last first; Markdown's fourth-level headings are not markers."""
    lines: list[str] = _MARKER.findall(text)[-50:]
    steps = [match for line in lines if (match := _NUMBERED_HEADING.match(line))]
    numbered = bool(steps) and steps[0][1] == "1"
    for line in reversed(lines):
        words = line[_lead_length(line) :]
        is_heading = words[:1].isalpha() and not _ANSWERISH.match(words)
        if not is_heading and not (numbered and _NUMBERED_HEADING.match(line)):
            yield line


def _lead_length(line: str) -> int:
    match = _LEAD.match(line)
    return match.end() if match else 0


def _boxed(text: str) -> Iterator[str]:
    """What stands in ``\\boxed{}``, last first."""
    for box in reversed(list(_BOX.finditer(text))[-50:]):
        depth, start = 1, box.end()
        for position in range(start, min(len(text), start + 300)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                yield text[start:position]
                break


def _first_number(region: str) -> re.Match[str] | None:
    """The number that a marked region states: after its last ``=``, else its first."""
    region = _SPACED_GROUPS.sub(lambda groups: groups[0].replace(" ", ""), region)
    region = re.sub(r"^([\s*$]*)- +(?=[$.\d])", r"\1-", region)
    return _NUMBER.search(region, region.rfind("=") + 1) or _NUMBER.search(region)


def _value(match: re.Match[str], percent: Percent) -> Decimal | None:
    """What the matched number is worth, or None when it is out of bounds."""
    part = match.groupdict()
    digits = next(part[name] for name in ("grouped", "indian", "continental", "plain") if part[name])
    number = _bounded(re.sub(r"[,_'\u00a0]", "", _decimal_point(digits, part["continental"])))
    if number is None:
        return None
    number = _with_tail(number, part)
    if number is None:
        return None
    scale = (part["scale"] or (part["letter"] if part["currency"] else None) or "").lower()
    number = _EXACT.multiply(number, Decimal(_SCALES.get(scale, 1)))
    if part["percent"] and percent == "as_fraction":
        number = _EXACT.divide(number, Decimal(100))
    return _EXACT.minus(number) if part["minus"] or part["inner_minus"] else number


def _decimal_point(digits: str, continental: str | None) -> str:
    return digits.replace(".", "").replace(",", ".") if continental else digits


def _with_tail(number: Decimal, part: dict[str, str | None]) -> Decimal | None:
    """``number`` with the fraction or exponent that follows it; ``3 10/2`` is no mixed number, so 10/2."""
    if part["whole"] and part["part"]:
        over, under = Decimal(part["part"]), Decimal(part["whole"])
        if over >= under:
            return _QUOTIENT.divide(over, under) if under else None
        return _QUOTIENT.divide(_EXACT.add(_EXACT.multiply(number, under), over), under)
    if part["divisor"]:
        divisor = Decimal(part["divisor"])
        return _QUOTIENT.divide(number, divisor) if divisor else None
    power = part["power"] or part["ten"] or part["exponent"]
    if power is None:
        return number
    if len(power) > 4 or abs(int(power)) > MAX_DIGITS:
        return None
    if part["power"] is None:
        return _bounded(str(_EXACT.scaleb(number, int(power))))
    if abs(number.adjusted() * int(power)) > MAX_DIGITS or (not number and int(power) <= 0):
        return None
    return _QUOTIENT.power(number, int(power))


def _bounded(literal: str) -> Decimal | None:
    if len(literal) > MAX_DIGITS + 20:
        return None
    number = Decimal(literal)
    return number if abs(number.adjusted()) <= MAX_DIGITS else None
