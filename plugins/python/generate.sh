#!/bin/sh
# Writes the Python code of the protocol's messages into a folder; without one, beside the package's own files. It needs the environment
# that scripts/setup-python-kit.sh makes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON_KIT:-$here/../../third_party/python-kit/bin/python}
out=${1:-$here}
mkdir -p "$out/mdmhost_plugin/v1"
# The files lie under the package's own name, so that they import each other there; the messages keep their names of the protocol.
"$python" -m grpc_tools.protoc \
    -I"mdmhost_plugin/v1/plugin.proto=$here/../proto/mdmhost/v1/plugin.proto" \
    -I"mdmhost_plugin/v1/link.proto=$here/mdmhost_plugin/v1/link.proto" \
    --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" mdmhost_plugin/v1/plugin.proto
"$python" -m grpc_tools.protoc -I"mdmhost_plugin/v1/link.proto=$here/mdmhost_plugin/v1/link.proto" \
    --python_out="$out" --pyi_out="$out" mdmhost_plugin/v1/link.proto
