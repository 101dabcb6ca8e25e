"""Numbers of options as texts, written and read as the host does it."""

from __future__ import annotations

import math
import re


class Mistake(Exception):
    """What is wrong with one option."""


_NUMBER = re.compile(r"[+-]?(inf|infinity|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE | re.ASCII)


def parse_number(text: str) -> float | None:
    """Reads a number, "inf" or "-inf"; None where it is none or no double holds it."""
    if not _NUMBER.fullmatch(text):
        return None
    x = float(text)
    return None if math.isinf(x) and "n" not in text.lower() else x


def shown(x: float) -> str:
    """The shortest text of a number that reads back as the same, with an exponent below 1e-4 and from 1e6 on."""
    if math.isinf(x):
        return "+Inf" if x > 0 else "-Inf"
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    mantissa = f"{x!r}".lower().split("e")[0].lstrip("-").replace(".", "").strip("0")
    digits = len(mantissa)
    scientific = f"{x:.{digits - 1}e}"
    exponent = int(scientific.split("e")[1])
    if exponent < -4 or exponent >= 6:
        return scientific
    return f"{x:.{max(digits - 1 - exponent, 0)}f}"


def whole(x: float) -> int | float:
    """An integer where the number is one, so that JSON says 1 and not 1.0."""
    return int(x) if float(x).is_integer() and abs(x) < 1e21 else x
