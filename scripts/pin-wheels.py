#!/usr/bin/env python3
"""Writes the pins of one variant of `mdmhost runtime install`: pin-wheels.py PATTERN... -- WHEEL... > runtimes/install/pins/VARIANT-OS-ARCH.txt

Of each wheel the shared libraries whose names match a PATTERN (of fnmatch) are pinned. The library that programs look for comes first:
give its wheel first, and its pattern first.
"""

import fnmatch
import hashlib
import pathlib
import sys
import zipfile


def main() -> None:
    patterns, wheels = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    print("# Written by scripts/pin-wheels.py: wheels, and the files taken from each, with sha256 and bytes.")
    for path in map(pathlib.Path, wheels):
        with path.open("rb") as file:
            print("wheel", path.name, hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            taken = dict.fromkeys(n for p in patterns for n in sorted(names) if fnmatch.fnmatch(n.rpartition("/")[2], p))
            if not taken:
                sys.exit(f"{path}: no file matches")
            for name in taken:
                with wheel.open(name) as file:
                    print("file", name, hashlib.file_digest(file, "sha256").hexdigest(), wheel.getinfo(name).file_size)


main()
