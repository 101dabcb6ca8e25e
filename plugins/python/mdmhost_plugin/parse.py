"""Reading what a user set: defaults first, then the given options; all that is wrong is told at once."""

from __future__ import annotations

import json
import math
from typing import Any

from .numbers import Mistake, parse_number, shown
from .options import Field, fields

_SPACE = " \t\n\r"
_WORDS = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a text"}


def parse(options: type | None, given: bytes | str) -> Any:
    """Reads a JSON object into a dataclass of options. Nothing at all, or null, are the defaults. Raises Mistake, which lists all problems
    at once: unknown names with the nearest one, wrong types, values out of bounds. Without a dataclass the result is None."""
    known = fields(options)
    values = _members(given)
    out: dict[str, Any] = {}
    problems: list[str] = []
    for f in known:
        if f.name not in values:
            out[f.attribute] = f.preset
            continue
        try:
            out[f.attribute] = _decode(f, values.pop(f.name))
        except Mistake as e:
            problems.append(f"option {f.name}: {e}")
    for name in sorted(values):
        problems.append(f"option {name}: unknown{_nearest(name, known)}")
    if problems:
        raise Mistake("; ".join(problems))
    return options(**out) if options is not None else None


def check(f: Field, value: Any) -> None:
    """Raises Mistake unless the value is one that the option's bounds and words allow."""
    if f.kind == "string" and f.enum is not None and value not in f.enum:
        raise Mistake(f"expected {_expected(f)}, found {_quoted(value)}{_perhaps(value, f.enum)}")
    if f.kind in ("integer", "number"):
        if math.isnan(value):
            raise Mistake(f"expected {_expected(f)}, found {_quoted('NaN')}")
        if f.min is not None and value < f.min or f.max is not None and value > f.max:
            raise Mistake(f"expected {_expected(f)}, found {value if f.kind == 'integer' else shown(value)}")


def _members(given: bytes | str) -> dict[str, str]:
    """The members of a JSON object with their values as they were written."""

    def number(text: str) -> None:
        raise ValueError(f"{text} is no JSON")

    decoder = json.JSONDecoder(parse_constant=number, parse_float=str, parse_int=str)  # digits without bounds stay texts
    out: dict[str, str] = {}
    try:
        text = given if isinstance(given, str) else given.decode()
        at = _skip(text, 0)
        if text[at:].rstrip(_SPACE) in ("", "null"):
            return out
        if text[at] != "{":
            raise ValueError(f"found {text[at:at + 20]!r}")
        at = _skip(text, at + 1)
        while text[at : at + 1] != "}":
            if out:
                at = _skip(text, _token(text, at, ","))
            name, end = decoder.raw_decode(text, at)
            if text[at] != '"':
                raise ValueError("expected a name in double quotes")
            at = _skip(text, _token(text, _skip(text, end), ":"))
            _, end = decoder.raw_decode(text, at)
            out[name] = text[at:end]
            at = _skip(text, end)
    except (ValueError, RecursionError) as e:
        raise Mistake(f"options: expected a JSON object: {e}") from None
    if text[at + 1 :].strip(_SPACE):
        raise Mistake("options: expected one JSON object and nothing after it")
    return out


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _token(text: str, at: int, token: str) -> int:
    if text[at : at + 1] != token:
        raise ValueError(f"expected {token!r} at character {at}")
    return at + 1


def _decode(f: Field, raw: str) -> Any:
    """Reads a JSON value as the option's kind and checks its bounds."""
    value: Any = None
    is_text = raw.startswith('"')
    is_number = raw[0] in "-0123456789"
    if f.kind == "boolean" and raw in ("true", "false"):
        return raw == "true"
    if f.kind == "integer" and is_number:
        value = _integer(f, raw)
    elif f.kind == "number" and (is_number or is_text):
        text = json.loads(raw) if is_text else raw
        value = parse_number(text)
        if value is None:
            raise Mistake(f"expected {_expected(f)}, found {_quoted(text)}")
    elif f.kind == "string" and is_text:
        value = json.loads(raw)
    else:
        raise Mistake(f"expected {_expected(f)}, found {raw}")
    check(f, value)
    return value


def _integer(f: Field, raw: str) -> int:
    """Whole numbers, 1e3 and 8.0 too, as far as 64 bits hold them, or 53 where they are written with a point or an exponent."""
    x = parse_number(raw)
    if raw.lstrip("-").isdigit() and len(raw) < 21 and -(2**63) <= int(raw) < 2**63:
        return int(raw)
    if x is None or math.isinf(x) or not x.is_integer() or abs(x) > 2**53:
        raise Mistake(f"expected {_expected(f)}, found {raw}")
    return int(x)


def _expected(f: Field) -> str:
    text = _WORDS[f.kind] if f.enum is None else "one of " + ", ".join(f.enum)
    if f.min is not None and f.max is not None:
        return f"{text} from {shown(f.min)} to {shown(f.max)}"
    if f.min is not None:
        return f"{text} of at least {shown(f.min)}"
    if f.max is not None:
        return f"{text} of at most {shown(f.max)}"
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _nearest(name: str, known: list[Field]) -> str:
    if not known:
        return "; there are no options"
    names = tuple(f.name for f in known)
    return _perhaps(name, names) or "; the options are " + ", ".join(names)


def _perhaps(name: str, candidates: tuple[str, ...]) -> str:
    """Says which candidate was probably meant, or nothing when nothing is near."""
    best, least = "", len(name)
    for c in candidates:
        d = _distance(name, c)
        if d <= min(least, 1 + len(name) // 3):
            best, least = c, d - 1
    return f"; did you mean {best}?" if best else ""


def _distance(a: str, b: str) -> int:
    """The Levenshtein distance of two texts."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
