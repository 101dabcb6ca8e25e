#!/usr/bin/env bash
# Writes the requirements of Python projects anew: the newest versions for Python 3.10 and newer, with the digests of all their files, as
# the package index lists them. It needs uv (`pip install uv`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/template/python"

pin() { # pin FILE PACKAGE...
    local file=$1
    shift
    {
        echo "# The packages that ./setup puts into .venv, with the digests of their files. The kit itself lies in wheels/. To add a package,"
        echo "# name it, too, in"
        echo "#   echo $* | tr ' ' '\\n' | uv pip compile --universal --python-version 3.10 --generate-hashes --no-header - -o requirements.txt"
        echo
        printf '%s\n' "$@" | uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate -
    } >"$file.new"
    mv "$file.new" "$file"
}
pin project/requirements.txt grpcio protobuf numpy
pin trainer/requirements.txt grpcio protobuf numpy onnx
