#!/bin/sh
# Writes the Go code and the descriptor of mdmhost/v1/plugin.proto into a folder; without one, beside the .proto file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here/generator"
GOWORK=off go run . "$here" "$out"
