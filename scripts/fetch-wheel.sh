#!/usr/bin/env bash
# Downloads one pinned Python wheel and unpacks it: fetch-wheel.sh REQUIREMENTS DIRECTORY
#
# REQUIREMENTS names one package with its version and hashes; pip refuses a file with another hash. Nothing is
# installed, so an externally managed Python (PEP 668) is no obstacle, and mirrors and proxies stay pip's business.
# The platform is stated, not guessed, so the Python that happens to be here does not decide which file arrives.
set -euo pipefail
requirements=$1
directory=$2

machine=$(uname -m)
download=$directory/.wheel
mkdir -p "$download"
python3 -m pip download --quiet --disable-pip-version-check \
    --no-deps --only-binary=:all: --require-hashes \
    --python-version 3.12 --implementation cp \
    --platform "manylinux_2_28_$machine" --platform "manylinux_2_17_$machine" \
    --dest "$download" --requirement "$requirements" >&2
python3 -m zipfile -e "$download"/*.whl "$directory"
rm -r "$download"
