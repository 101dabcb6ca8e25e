"""Options of plugins: a dataclass whose fields say everything that a user may set.

    @dataclass
    class Options:
        k: int = option(4, min=1, help="positions opened in a step at most")
        limit: float = option(0.5, min=0, help="entropy in nats; inf never waits")
        proxy: str = option("entropy", enum=["entropy", "margin"])

Fields are bool, int, float or str. A dataclass that inherits from others has their options, too. Floating point options also take the
texts "inf" and "-inf", which JSON has no number for.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any, Sequence

from .numbers import Mistake, whole

_KEY = "mdmhost.option"
KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}
# Numbers written as texts: what JSON numbers can say, and the infinities.
TEXT_NUMBER = r"^[+-]?(inf|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$"


def option(
    default: Any = None,
    *,
    min: float | None = None,
    max: float | None = None,
    enum: Sequence[str] | None = None,
    help: str = "",
    name: str = "",
) -> Any:
    """Declares a field of a dataclass of options: its default, bounds that include their ends, the words that it takes, and one line of
    help. Without a default it is false, 0 or the empty text. name is what users write, where Python does not allow it."""
    return dataclasses.field(default=default, metadata={_KEY: (min, max, tuple(enum) if enum is not None else None, help, name)})


@dataclasses.dataclass
class Field:
    """One option."""

    name: str  # what users write
    attribute: str  # of the dataclass
    kind: str  # boolean, integer, number or string
    help: str
    enum: tuple[str, ...] | None
    min: float | None
    max: float | None
    preset: Any

    def schema(self) -> dict[str, Any]:
        """The option as a property of a JSON Schema."""
        p: dict[str, Any] = {"type": self.kind, "default": self.preset}
        if self.kind == "number":
            p["type"], p["pattern"] = ["number", "string"], TEXT_NUMBER
            p["default"] = ("inf" if self.preset > 0 else "-inf") if math.isinf(self.preset) else whole(self.preset)
        if self.help:
            p["description"] = self.help
        if self.enum is not None:
            p["enum"] = list(self.enum)
        for name, bound in (("minimum", self.min), ("maximum", self.max)):
            if bound is not None and not math.isinf(bound):
                p[name] = whole(bound)
        return p


def fields(options: type | None) -> list[Field]:
    """The options of a dataclass, in the order of its fields. The exception is a mistake of the plugin's author."""
    if options is None:
        return []
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise TypeError(f"options {options!r}: expected a dataclass; put @dataclass before the class")
    types = typing.get_type_hints(options)
    return [_field(options, f, types[f.name]) for f in dataclasses.fields(options) if f.init]


def _field(options: type, f: dataclasses.Field, declared: Any) -> Field:
    where = f"options field {options.__name__}.{f.name}"
    if declared not in KINDS:
        raise TypeError(f"{where}: expected the type bool, int, float or str, found {getattr(declared, '__name__', declared)}")
    low, high, enum, help, name = f.metadata.get(_KEY, (None, None, None, "", ""))
    preset = f.default
    if preset is dataclasses.MISSING or preset is None:
        preset = declared()
    if declared is float and type(preset) is int:
        preset = float(preset)
    if type(preset) is not declared:
        raise TypeError(f"{where}: default: expected {declared.__name__}, found {preset!r}")
    out = Field(name or f.name, f.name, KINDS[declared], help, enum, low, high, preset)
    from .parse import check  # the texts of errors are those of parsing

    try:
        check(out, preset)
    except Mistake as e:
        raise TypeError(f"{where}: default: {e}") from None
    return out


def schema(options: type | None) -> dict[str, Any]:
    """The JSON Schema of a dataclass of options."""
    return {"type": "object", "properties": {f.name: f.schema() for f in fields(options)}, "additionalProperties": False}
