#!/bin/sh
# Writes the Go code of mdmhost/v1/plugin.proto into a folder; without one, beside the .proto file, and then its descriptor, by which
# breaking changes are found, into testdata.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here/generator"
GOWORK=off go run . "$here" mdmhost/v1/plugin.proto "$out" source/plugin.binpb # the reference is written from the comments
if [ "$out" = "$here" ]; then
	cd "$here"
	go run ./compat/golden testdata/v1.binpb
fi
