#!/usr/bin/env bash
# Makes .peers, the Python environment of golden files and benchmarks: setup-peers.sh [torch]
# Without `torch` it holds what the golden files need (250 MB); with it PyTorch too (5.5 GB). Does nothing when that is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

install() { # install NAME : scripts/requirements/NAME.txt
    local pins=scripts/requirements/$1.txt
    if cmp --silent "$pins" ".peers/$1.txt"; then return; fi
    echo "setup: .peers from $pins"
    .peers/bin/python -m pip install --disable-pip-version-check --requirement "$pins"
    cp "$pins" ".peers/$1.txt"
}

if [[ ! -x .peers/bin/python ]]; then
    if ! python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "peers: need Python 3.11 or newer with venv; install: apt-get install python3-venv"
        exit 1
    fi
    python3 -m venv .peers
fi
install peers
if [[ ${1:-} == torch ]]; then install peers-torch; fi
