"""Numbers as people read them: signed, rounded once, with their unit."""

from __future__ import annotations

from tjbench.compare.pair import p_text

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
SMALLEST_DOLLARS = 0.0001


def number(value: float, digits: int = 0) -> str:
    """``1,234.5`` with a true minus sign and without a negative zero."""
    text = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and float(text.replace(",", "")) else text


def signed(value: float, digits: int = 1) -> str:
    """With its sign; what rounds to zero has no sign."""
    text = number(value, digits)
    return text if text.startswith(MINUS) or not float(text.replace(",", "")) else f"+{text}"


def signed_pp(value: float) -> str:
    """A change of a pass rate in percentage points."""
    return f"{signed(value)} pp"


def interval_pp(interval: tuple[float, float]) -> str:
    """Both ends of an interval in percentage points, without the unit."""
    return f"{signed(interval[0])} to {signed(interval[1])}"


def percent(value: float, digits: int = 1) -> str:
    """A share; 100 is the whole."""
    return f"{number(value, digits)} %"


def signed_percent(value: float) -> str:
    """A relative change, whole from 10 % on."""
    return f"{signed(value, 0 if abs(value) >= 10 else 1)} %"


def dollars(value: float) -> str:
    """``$0.0123`` below a dollar, ``$1,234.50`` from there on, ``<$0.0001`` for what is too little to print."""
    if 0 < value < SMALLEST_DOLLARS:
        return f"<${SMALLEST_DOLLARS}"
    if value == 0:
        return "$0"
    sign = MINUS if value < 0 else ""
    return f"{sign}${number(abs(value), 2 if abs(value) >= 1 else 4)}"


def p_value(p: float) -> str:
    """``p = 0.012`` or ``p < 0.001``."""
    return f"p {p_text(p)}"


def passes(value: float) -> str:
    """Passed tasks; with several samples a task a fraction of one may pass."""
    return number(value, 0 if float(value).is_integer() else 1)


def pass_rate(passed: float, scored: int) -> str:
    """``150/164 (91.5 %)``."""
    share = f" ({percent(100 * passed / scored)})" if scored else ""
    return f"{passes(passed)}/{number(scored)}{share}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 task``, ``1,319 tasks``."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def tokens(count: int) -> str:
    """``950``, ``12.3k``, ``1.20M``."""
    if count < 10_000:
        return number(count)
    return f"{number(count / 1_000, 1)}k" if count < 1_000_000 else f"{number(count / 1_000_000, 2)}M"


def times(factor: float) -> str:
    """How many times as much."""
    return f"{number(factor, 1)}{TIMES}"
