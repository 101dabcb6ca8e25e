#!/usr/bin/env bash
# Makes third_party/python-kit, the Python environment of the authors' kit (150 MB), and prints its interpreter: setup-python-kit.sh [NAME...]
# It holds scripts/requirements/python-kit.txt and, for each NAME, scripts/requirements/python-kit-NAME.txt. Versions are pinned and files are
# held against their hashes. Does nothing when everything is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=third_party/python-kit

install() { # install NAME : scripts/requirements/NAME.txt
    local pins=scripts/requirements/$1.txt
    if cmp --silent "$pins" "$venv/$1.txt"; then return; fi
    echo "setup: $venv from $pins" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement "$pins" >&2
    cp "$pins" "$venv/$1.txt"
}

if [[ ! -x $venv/bin/python ]]; then
    if ! python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "setup: the Python kit's tests need Python 3.11 or newer with venv; install: apt-get install python3-venv" >&2
        exit 1
    fi
    python3 -m venv "$venv"
fi
install python-kit
for name in "$@"; do
    install "python-kit-$name"
done
echo "$PWD/$venv/bin/python"
