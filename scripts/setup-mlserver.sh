#!/usr/bin/env bash
# Makes third_party/mlserver, a Python environment with MLServer and ONNX Runtime (330 MB), and prints its interpreter. Versions are pinned and files
# are held against their hashes. Does nothing when everything is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=third_party/mlserver pins=scripts/requirements/mlserver.txt

if ! cmp --silent "$pins" "$venv/mlserver.txt"; then
    python=$(command -v python3.11 || command -v python3.12 || command -v python3)
    if ! "$python" -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
        echo "setup: MLServer needs Python 3.11 or 3.12 with venv; install: apt-get install python3.11-venv" >&2
        exit 1
    fi
    echo "setup: $venv from $pins" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: --require-hashes --requirement "$pins" >&2
    cp "$pins" "$venv/mlserver.txt"
fi
echo "$PWD/$venv/bin/python"
