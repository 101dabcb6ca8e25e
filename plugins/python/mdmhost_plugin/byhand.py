"""What a plugin says to somebody who started it without the host, in the words of the Go kit."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .definition import Plugin
from .numbers import shown
from .options import schema


def by_hand(plugin: Plugin, path: str, args: list[str]) -> int:
    """Explains the plugin, or describes it as JSON with the argument `describe`. path is that of the script. Returns the exit status."""
    if not args:  # nobody asked
        print(explanation(plugin, path), file=sys.stderr)
        return 1
    if args == ["describe"]:
        print(json.dumps(plugin.describe(), indent=2, sort_keys=True, ensure_ascii=False))
        return 0
    if args in (["--help"], ["-h"], ["help"]):
        print(explanation(plugin, path))
        return 0
    given = " ".join(json.dumps(a, ensure_ascii=False) for a in args)
    print(f"{plugin.object()}: unknown arguments [{given}]; expected describe, --debug or --help", file=sys.stderr)
    return 2


def explanation(plugin: Plugin, path: str) -> str:
    """Says in words what the plugin is and how it is used."""
    command = "train" if plugin.kind == "trainer" else "sample"
    run = f"  mdmhost {command} --{plugin.kind} {_launcher(path)}"
    out = [f"{plugin.object()} {plugin.version}" + (f": {plugin.summary}" if plugin.summary else ""), "", "It is a plugin of mdmhost, which starts it:", run]
    options = sorted(schema(plugin.options)["properties"].items())
    if options:
        name, first = options[0]
        out += [f"{run} --set {plugin.kind}.{name}={_example(first['default'])}", "", "options"]
        out += _table([(f"{plugin.kind}.{name}", _option(p)) for name, p in options])
    needs = plugin.declared().list()
    if needs:
        out += ["", "needs", "  " + ", ".join(needs)]
    out += ["", "arguments", *_table([("describe", "prints all this as JSON"),
                                      ("--debug", "serves until Ctrl-C, for a debugger, and prints the line by which mdmhost finds it"), ("--help", "prints this")])]
    return "\n".join(out)


def _launcher(path: str) -> str:
    """The program that starts the script: itself, or the executable beside it that bears its name."""
    folder, name = os.path.split(path)
    stem, _ = os.path.splitext(name)
    programs = [os.path.join(folder or ".", n) for n in (name, stem, stem.replace("_", "-"))]
    return next((p for p in programs if os.path.isfile(p) and os.access(p, os.X_OK)), programs[0])


def _option(p: dict[str, Any]) -> str:
    """An option's property of the JSON Schema as people read it: "integer from 1, default 4: positions opened in a step"."""
    text = "one of " + ", ".join(p["enum"]) if "enum" in p else "number" if isinstance(p["type"], list) else p["type"]
    low, high = p.get("minimum"), p.get("maximum")
    if low is not None:
        text += f" from {shown(low)}" + (f" to {shown(high)}" if high is not None else "")
    elif high is not None:
        text += f" up to {shown(high)}"
    text += f", default {json.dumps(p['default'], ensure_ascii=False)}"
    return text + (f": {p['description']}" if "description" in p else "")


def _example(default: Any) -> str:
    """A value that the option takes, as a shell takes it."""
    text = default if isinstance(default, str) else json.dumps(default)
    if not text:
        return "VALUE"
    return f"'{text}'" if set(text) & set("[]{} *?'\"$") else text


def _table(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:{width}}  {text}" for name, text in rows]
