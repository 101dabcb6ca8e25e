"""What an author says of a plugin before any run, and what the host and people read of it."""

from __future__ import annotations

import json
from typing import Any, Callable, Iterable

from .errors import INTERNAL, INVALID_CONFIG, PluginError
from .needs import Needs, VocabDot, parse_needs
from .numbers import Mistake
from .options import schema
from .parse import parse

PROTOCOL = 1


class Plugin:
    """What planners, samplers and trainers have in common. A class of an author's sets these attributes."""

    kind = ""
    name: str = ""  # [a-z0-9-]
    version: str = "0.0.0"
    summary: str = ""  # one line
    needs: Iterable[str | VocabDot] = ()  # the largest set that any options ask for
    options: type | None = None  # a dataclass
    can_remask: bool = False  # it may mask written positions again or overwrite them
    can_insert: bool = False  # it may insert and delete positions
    adaptive: bool = False  # steps are only a cap: the planner finishes rows by itself
    pure: bool = False  # decisions depend on the step and the options alone: after a crash the host asks a fresh process

    def object(self) -> str:
        """What errors call the plugin."""
        return f"{self.kind} {self.name}"

    def declared(self) -> Needs:
        """The declared needs."""
        return parse_needs(self.needs)

    def check(self) -> None:
        """Raises PluginError where the author's definition is wrong."""
        try:
            if not self.name:
                raise ValueError("the name is empty, expected one")
            self.declared()
            schema(self.options)
        except (TypeError, ValueError) as e:
            raise PluginError(INTERNAL, str(e), "correct the plugin's definition", f"{self.kind} {self.name}".strip()) from None

    def describe(self) -> dict[str, Any]:
        """The description that `describe` prints."""
        return {
            "kind": self.kind, "name": self.name, "version": self.version, "protocol": PROTOCOL, "summary": self.summary,
            "needs": self.declared().list(), "options": schema(self.options),
            "can_remask": self.can_remask, "can_insert": self.can_insert, "adaptive": self.adaptive,
        }

    def description(self, pb: Any) -> Any:
        """The description as a message; pb is the module of the protocol's messages."""
        return pb.DescribeReply(
            kind=self.kind, name=self.name, version=self.version, summary=self.summary, needs=self.declared().proto(pb),
            options_schema=json.dumps(schema(self.options), sort_keys=True, separators=(",", ":")),
            can_remask=self.can_remask, can_insert=self.can_insert, adaptive=self.adaptive, pure=self.pure,
        )

    def parse_options(self, given: bytes | str) -> Any:
        """Reads the options of a run; INVALID_CONFIG, which lists all that is wrong."""
        try:
            return parse(self.options, given)
        except Mistake as e:
            raise PluginError(INVALID_CONFIG, str(e), f"`mdmhost plugin info {self.name}` lists the options", self.object()) from None

    def narrowed(self, asked: Any) -> Needs:
        """The needs of a run: what it asks for, if it says so, within the declared ones."""
        declared = self.declared()
        if asked is None:
            return declared
        needs = parse_needs(asked)
        needs.within(declared)
        return needs


def fresh(plugin: "Plugin | type[Plugin]") -> Callable[[], "Plugin"]:
    """How to get the plugin of a run: a new one of a class, or always the same value."""
    return plugin if isinstance(plugin, type) else lambda: plugin  # type: ignore[return-value]
