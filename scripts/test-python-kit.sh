#!/usr/bin/env bash
# Tests the Python authors' kit: its generated code is fresh, its own tests, plugins in Python as processes under the supervisor, and the examples.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$(scripts/setup-python-kit.sh examples mtls)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
PYTHON_KIT=$python plugins/python/generate.sh "$fresh"
if ! diff -ru --exclude=__pycache__ --exclude=__init__.py --exclude='*.proto' plugins/python/mdmhost_plugin/v1 "$fresh/mdmhost_plugin/v1"; then
    echo "plugins/python/mdmhost_plugin/v1 is not what the .proto files say; run plugins/python/generate.sh and commit the result" >&2
    exit 1
fi
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=plugins/python "$python" -m unittest discover --start-directory plugins/python/tests
PYTHON_KIT=$python go test -count 1 -timeout 40m -run Python ./plugins/supervise ./plugins/plugintest
PYTHON_KIT=$python go test -count 1 -timeout 40m ./plugins/python/...
