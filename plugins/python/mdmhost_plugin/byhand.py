"""What a plugin says to somebody who started it without the host."""

from __future__ import annotations

import json
import sys

from .definition import Plugin


def by_hand(plugin: Plugin, args: list[str]) -> int:
    """Explains the plugin, or describes it as JSON with the argument `describe`. Returns the exit status."""
    if args and args[-1] == "describe":
        json.dump(plugin.describe(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
        print()
        return 0
    command = "train" if plugin.kind == "trainer" else "sample"
    print(
        f"{plugin.object()} is a plugin of mdmhost, which starts it: mdmhost {command} --{plugin.kind} PATH-OF-THIS-FILE\n"
        "To see what it does: run it with the argument `describe`. To debug it: run it with the argument `--debug`.",
        file=sys.stderr,
    )
    return 1
