#!/usr/bin/env bash
# Makes .peers, the Python environment of golden files and benchmarks: setup-peers.sh [molecules | torch]
# Without a word it holds what most golden files need (250 MB), with `molecules` RDKit too (150 MB more), with `torch` all there is
# (6 GB). Does nothing when that is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

install() { # install NAME PIP_OPTIONS... : scripts/requirements/NAME.txt
    local pins=scripts/requirements/$1.txt
    if cmp --silent "$pins" ".peers/$1.txt"; then return; fi
    echo "setup: .peers from $pins"
    .peers/bin/python -m pip install --disable-pip-version-check --requirement "$pins" "${@:2}" || return
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
if [[ ${1:-} == molecules || ${1:-} == torch ]]; then
    install peers-molecules
fi
if [[ ${1:-} == torch ]]; then
    install peers-torch
    # Nobody but framework/training/ortartifact needs the last, and not every Python has it.
    install peers-ort-training --no-deps --target .peers/ort-training --upgrade ||
        echo "peers: no ONNX Runtime training for this Python; the golden files of framework/training/ortartifact stay as they are"
fi
