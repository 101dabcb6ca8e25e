#!/bin/sh
# Writes the Go code of inference.proto into a folder, below openinference/inference; without one, beside the .proto file.
set -eu
runtimes=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$runtimes}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$runtimes/../plugins/proto/generator"
GOWORK=off go run . "$runtimes" openinference/inference/inference.proto "$out"
