#!/usr/bin/env bash
# Makes .peers, the Python environment of golden files and benchmarks. Does nothing when it is as pinned already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

pins=scripts/requirements/peers.txt
if cmp --silent "$pins" .peers/pins.txt; then exit 0; fi

if ! python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "peers: need Python 3.11 or newer with venv; install: apt-get install python3-venv"
    exit 1
fi
echo "setup: .peers, a Python environment with PyTorch (about 5.5 GB, once)"
rm -rf .peers
python3 -m venv .peers
.peers/bin/python -m pip install --disable-pip-version-check --requirement "$pins"
cp "$pins" .peers/pins.txt
